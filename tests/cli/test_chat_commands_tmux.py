"""Slash commands of ``agenthost chat`` as people see them: in real terminals, wide and narrow."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from agenthost.agents.demo import Demo
from agenthost.cli.interactive.commands.registry import COMMANDS
from tests.cli.interactive.commands.test_configuring import Chooser
from tests.cli.interactive.terminal import TMUX, terminal
from tests.wire.hosting import embed

pytestmark = [
    pytest.mark.skipif(TMUX is None, reason="tmux is not installed"),
    pytest.mark.asyncio(loop_scope="module"),
]

DETACH = "C-]"


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def url() -> AsyncIterator[str]:
    """The address of a host for all tests of this module."""
    async with embed(Chooser(), Demo()) as address:
        yield address


@pytest.mark.parametrize(
    ("columns", "rows", "bar"),
    [
        (120, 40, "Chooser · Big One · allow edits · 310 tokens · 31 % of context · Short · "),
        (40, 30, "Chooser · allow edits · 31 %      /help"),
    ],
    ids=["wide", "narrow"],
)
async def test_commands_in_a_terminal(
    url: str, tmp_path: Path, columns: int, rows: int, bar: str
) -> None:
    async with terminal(columns, rows) as tty:
        await tty.chat("--url", url, "--new", cwd=tmp_path)
        await tty.see("Chooser · new session", "/help")

        # Settings, and where they are seen.
        await tty.enter("/model big")
        await tty.enter("/mode edits")
        await tty.enter("/rename Short")
        await tty.see("is called Short")
        await tty.enter("/set steps 3")
        await tty.enter("hello")
        await tty.see("I am big-1, in 3 steps.", bar)
        await tty.enter("again")
        # A running turn cannot be undone.
        await tty.see("› again\n\nI am big-1, in 3 steps.", bar, gone="working")

        # Undoing asks, and gives the message back.
        await tty.enter("/undo")
        await tty.see("Files stay as they are.", "› /undo 1 yes", "Enter does it")
        await tty.key("Enter")
        await tty.see("the last turn was removed", "\n› again\n")
        await tty.key("C-c")

        # Help fits.
        await tty.enter("/help")
        screen = await tty.see("//help asks the agent", "/terminal", bar)
        assert all(f"/{name}" in screen for name in COMMANDS)

        # A terminal of the session and back; the chat still follows the size of its own.
        await tty.enter("/terminal new")
        await tty.see("attached to")
        await tty.enter("echo $((6*7))")
        await tty.see("\n42")
        await tty.key(DETACH)
        await tty.see("which runs on", bar)
        await tty.resize(columns - 2, rows)
        await tty.see("which runs on", "/help")

        # Elsewhere.
        await tty.enter("/new demo")
        await tty.see("Demo · new session")
        await tty.key("C-d")
        await tty.see("exit code 0")
