"""Text that may be a string or markdown."""

from __future__ import annotations

from agenthost.protocol.markdown import markdown_of


def test_text_or_markdown_is_text() -> None:
    assert markdown_of("a") == markdown_of({"markdown": "a"}) == "a"


def test_what_says_nothing_is_no_text() -> None:
    assert markdown_of(None) == markdown_of({}) == ""
