"""``agenthost diff`` and the chat's terminals as people see them: in a real terminal."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from agenthost.client import ConfirmationNeeded, connect
from tests.cli.interactive.terminal import TMUX, terminal
from tests.wire.hosting import serve
from tests.workspace.git.repositories import git

pytestmark = pytest.mark.skipif(TMUX is None, reason="tmux is not installed")

AGENTHOST = (sys.executable, "-m", "agenthost.cli.main")


async def test_a_diff_is_coloured_and_nothing_in_a_file_is_obeyed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GIT_DIR", raising=False)
    work = tmp_path / "work"
    work.mkdir()
    git(work, "init", "-q", "-b", "main")
    (work / "greeting").write_text("hello\nworld\n")
    git(work, "add", "-A")
    git(work, "commit", "-q", "-m", "first")
    async with (
        serve(tmp_path / "data", "--root", str(work)) as host,
        connect(host.address, token=host.token) as client,
        terminal(80, 24) as tty,
    ):
        session = await client.sessions.create(directories=[work.as_uri()], keep=True)
        chat = await session.chat()
        async for event in chat.send("/edit greeting bye"):
            if isinstance(event, ConfirmationNeeded):
                await chat.approve(event.call)
        (work / "evil").write_text("\x1b[2J\x1b]0;evil\x07\tx\n")
        where = ("--data-dir", str(host.data_dir))
        both = " && ".join(
            shlex.join((*AGENTHOST, "diff", *words, *where)) for words in (("--stat",), ())
        )
        await tty.start(both, work)
        screen = await tty.see("2 files changed", "-hello", "+bye", "exit code 0")
        assert " greeting | 3 +--" in screen
        assert "+\\x1b[2J\\x1b]0;evil\\x07 " in screen
        styled = await tty.screen("-e")
        assert "\x1b[32m+bye" in styled
        assert "\x1b[31m-hello" in styled
        assert "\x1b[1m" in styled


async def test_the_chat_shows_the_end_of_what_a_running_terminal_prints(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    async with (
        serve(tmp_path / "data", "--root", str(work)) as host,
        terminal(90, 32) as tty,
    ):
        await tty.chat("--data-dir", str(host.data_dir), cwd=work)
        await tty.see("/help · Ctrl-D leaves")
        # It goes on once there is a file, so that nothing depends on how long anything takes.
        loop = r"seq -f 'row %02g' 30; printf '\033[2Jno harm\n'"
        await tty.enter(f"/run {loop}; until [ -e go ]; do sleep 0.1; done; echo over")
        await tty.see("approve?")
        await tty.enter("1")
        screen = await tty.see("│ row 30", "│ no harm", "Ctrl-C cancels")
        assert "│ row 22" in screen
        assert "│ row 20" not in screen
        assert "more rows" in screen
        (work / "go").touch()
        screen = await tty.see("✓ Shell", "│ over", "/help · Ctrl-D leaves")
        # Once, though the host tells it as the terminal's and as text.
        whole = await tty.screen("-S", "-")
        assert whole.count("│ over") == 1
