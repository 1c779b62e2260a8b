"""Messages as lines."""

from __future__ import annotations

import pytest

from agenthost.mcp.lines import encoded


def test_a_message_is_one_line() -> None:
    assert encoded({"text": "a\nb"}) == b'{"text":"a\\nb"}\n'
    with pytest.raises(TypeError):
        encoded({"number": 10**30})
