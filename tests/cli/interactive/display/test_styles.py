"""The colours of the chat: the sixteen that every theme has, so that dark and light ones hold."""

from __future__ import annotations

from prompt_toolkit.styles import ANSI_COLOR_NAMES

from agenthost.cli.interactive.display.code_colours import WORDS
from agenthost.cli.interactive.screen import STYLE

ATTRIBUTES = {"bold", "dim", "italic", "underline", "strike", "reverse", ""}


def test_only_colours_of_the_terminals_own_theme_are_used() -> None:
    for names, looks in STYLE.style_rules:
        used = set(looks.split()) - ATTRIBUTES
        assert used <= set(ANSI_COLOR_NAMES), names
        # White on a light theme and black on a dark one cannot be read, and no background is ours.
        assert not {"ansiwhite", "ansiblack", "ansigray", "ansibrightblack"} & used, names
        assert not any(word.startswith("bg:") for word in used), names


def test_every_word_for_code_and_diffs_has_looks() -> None:
    styled = {name for names, _ in STYLE.style_rules for name in names.split()}
    assert {*WORDS, "good", "bad", "marked"} <= styled
