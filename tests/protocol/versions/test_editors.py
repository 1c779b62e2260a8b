"""Which version today's editors speak with a host."""

from __future__ import annotations

import pytest

from agenthost.protocol import SUPPORTED_VERSIONS, negotiate
from agenthost.protocol.versions.editors import EDITOR_OFFERS, spoken_by_editors


@pytest.mark.parametrize(
    ("versions", "spoken"),
    [
        (SUPPORTED_VERSIONS, ["0.9.0", "1.0.0"]),
        (("0.7.0", "0.6.0"), ["0.7.0", None]),
        (("1.0.0",), [None, "1.0.0"]),
        (("0.8.0",), [None, None]),
        ((), [None, None]),
    ],
)
def test_an_editor_speaks_the_newest_that_both_know(
    versions: tuple[str, ...], spoken: list[str | None]
) -> None:
    assert list(spoken_by_editors(versions).values()) == spoken


@pytest.mark.parametrize(("editor", "offered"), EDITOR_OFFERS)
def test_this_host_answers_an_editor_as_said(editor: str, offered: tuple[str, ...]) -> None:
    assert negotiate(list(offered)).version == spoken_by_editors(SUPPORTED_VERSIONS)[editor]
