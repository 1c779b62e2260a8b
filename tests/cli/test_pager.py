"""Long text in a pager: at once, lazily, and with nothing in it that a terminal obeys."""

from __future__ import annotations

import asyncio
import shlex
import shutil
import signal
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from agenthost.cli.interactive.display.code_colours import WORDS
from agenthost.cli.interactive.display.styled_text import StyledLine
from agenthost.cli.interactive.screen import STYLE
from agenthost.cli.pager import (
    _CODES,
    _interrupts_ignored,
    ansi_row,
    page,
    page_if_long,
    pager_command,
    run_pager,
    text_rows,
)
from tests.cli.interactive.terminal import TMUX, terminal

SHOW = """
import asyncio
from agenthost.cli.pager import page
lines = ((("good", f"+line {number}"),) for number in range(1, 10_001))
print("shown", asyncio.run(page(lines, title="50% of a.py: x", screen=None, line=4)))
"""


def test_rows_are_written_to_the_pager(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    assert run_pager(["sh", "-c", 'cat > "$0"', str(seen)], ["one", "zwei ü", "\udc80"])
    assert seen.read_text() == "one\nzwei ü\n?\n"


def test_no_more_rows_are_made_than_the_reader_wants(tmp_path: Path) -> None:
    seen, made = tmp_path / "seen", 0

    def endless() -> Iterator[str]:
        nonlocal made
        for made in count():
            yield f"row {made}"

    assert run_pager(["sh", "-c", 'head -n 2 > "$0"', str(seen)], endless())
    assert seen.read_text() == "row 0\nrow 1\n"
    assert made > 2


def test_a_pager_starts_no_programs_for_what_agents_wrote(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    assert run_pager(["sh", "-c", 'echo "$LESSSECURE" > "$0"', str(seen)], [])
    assert seen.read_text() == "1\n"


def test_a_pager_that_cannot_be_run_is_told() -> None:
    assert not run_pager(["/nowhere/less"], ["row"])


async def test_without_a_terminal_there_is_no_pager() -> None:
    assert not await page("text", title="t", screen=None)


async def test_only_long_text_is_paged_and_what_cannot_be_is_left_to_print(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = [(("", f"row {number}"),) for number in range(30)]
    assert await page_if_long(iter(rows[:5]), title="t", screen=None, rows=5) == rows[:5]
    assert await page_if_long(iter(rows), title="t", screen=None, rows=5) == rows
    for stream in (sys.stdin, sys.stdout):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    monkeypatch.setenv("PAGER", "true")
    assert await page_if_long(iter(rows), title="t", screen=None, rows=5) == []


@pytest.mark.parametrize("pager", ["sleep 600", "sh -c 'trap \"\" TERM; exec sleep 600'"])
async def test_a_pager_ends_with_who_started_it(
    monkeypatch: pytest.MonkeyPatch, pager: str
) -> None:
    for stream in (sys.stdin, sys.stdout):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    monkeypatch.setenv("PAGER", pager)
    loop, begun = asyncio.get_running_loop(), asyncio.Event()

    def rows() -> Iterator[StyledLine]:
        loop.call_soon_threadsafe(begun.set)
        yield from ((("", "row"),) for _ in count())

    paging = asyncio.create_task(page(rows(), title="t", screen=None))
    async with asyncio.timeout(60):
        await begun.wait()
        # Until it is what it will be.
        await asyncio.sleep(0.3)
        paging.cancel()
        with pytest.raises(asyncio.CancelledError):
            await paging


def test_the_readers_own_pager_is_taken() -> None:
    assert pager_command({"PAGER": "cat -n"}) == ["cat", "-n"]


@pytest.mark.skipif(shutil.which("less") is None, reason="less is not installed")
@pytest.mark.parametrize("wished", ["", "no-such-pager-anywhere", "'unbalanced"])
def test_without_one_it_is_less(wished: str) -> None:
    command = pager_command({"PAGER": wished}, title="a%b", line=9)
    assert command is not None
    assert command[1:] == ["-R", r"-Psa\%b, line %lt (q leaves)", "+10g"]
    assert (pager_command({}, at_end=True) or [])[-1] == "+G"


def test_styles_become_colours_and_nothing_else_is_obeyed() -> None:
    assert ansi_row((("bold good", "+a"), ("", " b"))) == "\x1b[1;32m+a\x1b[0m b"
    assert ansi_row((("", "\x1b[2J\x9b2J"),)) == "\\x1b[2J\\x9b2J"
    assert list(text_rows("a\x1b]0;t\x07\n\u202eb")) == ["a\\x1b]0;t\\x07", "\\u202eb"]


def test_every_style_of_the_screen_has_a_colour_here() -> None:
    words = {name for names, _ in STYLE.style_rules for name in names.split()}
    # But for what only a screen has.
    assert {*words, *WORDS} - {"bar", "chosen", "search-toolbar"} <= set(_CODES)


async def test_ctrl_c_is_the_pagers_while_there_is_one() -> None:
    before = signal.getsignal(signal.SIGINT)
    async with _interrupts_ignored():
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.skipif(TMUX is None or not shutil.which("less"), reason="needs tmux and less")
async def test_ten_thousand_lines_are_paged_and_left(tmp_path: Path) -> None:
    async with terminal(60, 12) as tty:
        script = tmp_path / "show.py"
        script.write_text(SHOW)
        await tty.start(f"PAGER= LESS= {shlex.join((sys.executable, str(script)))}", tmp_path)
        shown = await tty.see("+line 5", "50% of a.py: x, line 5 (q leaves)")
        assert "+line 4\n" not in shown
        await tty.key("G")
        await tty.see("+line 10000")
        await tty.key("q")
        await tty.see("shown True", "exit code 0", gone="+line")
