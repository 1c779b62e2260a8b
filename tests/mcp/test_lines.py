"""Messages as lines, however the bytes come."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenthost.mcp.lines import McpLineTooLong, MessageLines, encoded


@given(st.lists(st.binary(max_size=20).map(lambda b: b.replace(b"\n", b"")), max_size=8), st.data())
def test_any_cutting_gives_the_same_lines(lines: list[bytes], data: st.DataObject) -> None:
    whole = b"".join(line + b"\n" for line in lines)
    splitter = MessageLines(20)
    found: list[bytes] = []
    while whole:
        size = data.draw(st.integers(1, len(whole)))
        found += splitter.feed(whole[:size])
        whole = whole[size:]
    assert found == [line.strip() for line in lines if line.strip()]


def test_a_line_that_is_too_long_is_refused_before_it_ends() -> None:
    splitter = MessageLines(10)
    assert list(splitter.feed(b"short\n12345")) == [b"short"]
    with pytest.raises(McpLineTooLong):
        list(splitter.feed(b"678901"))


def test_a_message_is_one_line() -> None:
    assert encoded({"text": "a\nb"}) == b'{"text":"a\\nb"}\n'
    with pytest.raises(TypeError):
        encoded({"number": 10**30})
