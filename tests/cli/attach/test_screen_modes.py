"""Modes that a program leaves behind are found, however its output is cut, and undone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenthost.cli.attach.screen_modes import ScreenModes, after_last_clear

USUAL = "\x1b[0m\x1b(B\x0f"


def seen(*texts: str) -> ScreenModes:
    modes = ScreenModes()
    for text in texts:
        modes.see(text)
    return modes


@pytest.mark.parametrize(
    ("output", "undone"),
    [
        ("plain text", ""),
        ("\x1b[?25l", "\x1b[?25h"),
        ("\x1b[?25l\x1b[?25h", ""),
        ("\x1b[?1000;1006h", "\x1b[?1000l\x1b[?1006l"),
        ("\x1b[?1h\x1b=", "\x1b[?1l\x1b>"),
        ("\x1b[?1h\x1b=\x1b[?1l\x1b>", ""),
        ("\x1b[2;20r", "\x1b7\x1b[r\x1b8"),
        ("\x1b[2;20r\x1b[r", ""),
        ("\x1b[5 q", "\x1b[0 q"),
        ("\x1b[>1u\x1b[>5u", "\x1b[<2u"),
        ("\x1b[>1u\x1b[<u", ""),
        ("\x1b[>4;2m", "\x1b[>4m"),
        ("\x1b[?2004h\x1b[?1049h", "\x1b[?2004l\x1b[?1049l"),
        ("\x1b[?1049h\x1b[?25lfoo\x1bc", ""),
        # No mode has such a number.
        (f"\x1b[?{'1' * 5000}h\x1b[>1u\x1b[<{'1' * 5000}u", "\x1b[<1u"),
        # Asked for, and not set.
        ("\x1b[?25$p\x1b[?u\x1b[>c", ""),
    ],
)
def test_what_a_program_changed_is_undone(output: str, undone: str) -> None:
    assert seen(output).undo() == USUAL + undone


def test_an_editor_is_told_from_a_shell() -> None:
    assert not seen("$ ls\r\n").is_alternate
    assert seen("\x1b[?1049h~\r\n~").is_alternate
    assert not seen("\x1b[?1049h", "\x1b[?1049l").is_alternate


@given(st.data())
def test_it_does_not_matter_where_the_output_is_cut(data: st.DataObject) -> None:
    whole = "a\x1b[?1049;25hb\x1b[?25l\x1b=\x1b[1;5rx\x1b[>1u\x1b[6 q\x1b[?2004h"
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=8)))
    pieces = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    assert seen(*pieces).undo() == seen(whole).undo()
    assert seen(*pieces).is_alternate


@pytest.mark.parametrize(
    ("output", "left"),
    [
        ("no clear", "no clear"),
        ("a\x1b[H\x1b[2J\x1b[3Jb\x1b[H\x1b[Jc", "c"),
        # What it switched on has to be switched on again.
        ("a\x1b[?1h\x1b[H\x1b[2Jb", "a\x1b[?1h\x1b[H\x1b[2Jb"),
        ("a\x1b[?2004h\x1b[?2004l\x1b[H\x1b[2Jb", "b"),
    ],
)
def test_what_was_cleared_is_left_out(output: str, left: str) -> None:
    assert after_last_clear(output) == left
