"""``agenthost terminal attach`` as people see it: in a real terminal, against a real host."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agenthost.client import connect
from agenthost.client.terminals import TerminalView
from tests.cli.interactive.terminal import PATIENCE, TMUX, Terminal, terminal
from tests.wire.hosting import ServedHost, serve

pytestmark = pytest.mark.skipif(TMUX is None, reason="tmux is not installed")

DETACH = "C-]"
AGENTHOST = shlex.join((sys.executable, "-m", "agenthost.cli.main"))


@asynccontextmanager
async def attached(
    tmp_path: Path, columns: int = 90, rows: int = 24, *options: str
) -> AsyncIterator[tuple[ServedHost, Terminal, TerminalView]]:
    """Run a host with one shell, and attach a real terminal to it."""
    work = tmp_path / "work"
    work.mkdir()
    async with (
        serve(tmp_path / "data", "--root", str(work)) as host,
        connect(host.address, token=host.token) as client,
        terminal(columns, rows) as tty,
    ):
        session = await client.sessions.create(directories=[work.as_uri()])
        shell = await session.terminals.create(name="the shell")
        # A prompt that is the same everywhere.
        await shell.type("PS1='ready> '; clear\r")
        await tty.start(attach(host, shell, *options), work)
        await tty.see("[agenthost: attached to", "ready>")
        yield host, tty, shell


def attach(host: ServedHost, shell: TerminalView, *options: str) -> str:
    """Return a command that attaches to a terminal, and then says what the tty's modes are."""
    words = ("terminal", "attach", shell.uri, "--data-dir", str(host.data_dir), *options)
    command = f"{AGENTHOST} {shlex.join(words)}"
    kept = "stty -g | cmp - modes && echo modes kept"
    return f"stty -g > modes; {command}; code=$?; {kept}; (exit $code)"


async def test_what_is_typed_reaches_the_shell_and_the_key_leaves_it_running(
    tmp_path: Path,
) -> None:
    async with attached(tmp_path) as (host, tty, shell):
        await tty.enter("echo $((6*7))")
        await tty.see("\n42")
        # Ctrl-C and Ctrl-Z are the program's.
        await tty.enter("sh -c 'echo begun; exec sleep 600'")
        # Not before it has the terminal: until then the shell itself would take the signal.
        await tty.see("\nbegun")
        await tty.key("C-c")
        await tty.enter("echo status $?")
        await tty.see("status 130")
        await tty.key(DETACH)
        hint = f"terminal attach {shell.uri.rpartition('/')[2][:8]} --data-dir {host.data_dir}"
        screen = await tty.see("left the shell, which runs on", "modes kept", "exit code 0")
        assert hint in screen.replace("\n", "")
        assert shell.running


async def test_another_one_sees_what_was_there_and_nothing_is_typed_by_itself(
    tmp_path: Path,
) -> None:
    async with attached(tmp_path) as (host, tty, shell):
        # Questions to a terminal, which answers each of them by typing; the shell reads that.
        await tty.enter(r"printf 'asked \033[6n\n'; read -rs -t 1 -n 99 -d @; echo over")
        await tty.see("asked", "\nover")
        assert "asked \x1b[6n" in shell.text
        async with terminal(90, 24) as another:
            await another.start(attach(host, shell), tmp_path / "work")
            await another.see("attached to the shell", "asked", "\nover")
            await another.enter("echo from the other")
            await another.see("\nfrom the other")
            screen = await tty.see("\nfrom the other")
        # An answer that was typed would stand at the prompt, or be run.
        assert "ready> echo from the other" in screen
        assert "not found" not in screen
        assert ";1R" not in shell.text


async def test_the_size_of_the_window_is_the_size_of_the_terminal(tmp_path: Path) -> None:
    async with attached(tmp_path, 90, 24) as (_, tty, shell):
        await tty.enter("stty size")
        await tty.see("\n24 90")
        await tty.resize(70, 20)
        await shell.channel.until(lambda state: (state.get("cols"), state.get("rows")) == (70, 20))
        await tty.enter("stty size")
        await tty.see("\n20 70")


@pytest.mark.skipif(shutil.which("vim") is None, reason="vim is not installed")
async def test_an_editor_is_left_and_found_again(tmp_path: Path) -> None:
    async with attached(tmp_path, 80, 20) as (host, tty, shell):
        await tty.enter("vim -u NONE -N text")
        await tty.see("~\n~\n")
        await tty.type("ia line of text")
        await tty.see("a line of text", "-- INSERT --", gone="ready>")
        await tty.key(DETACH)
        # The screen is the shell's again, and the cursor can be seen.
        await tty.see("left the shell", "modes kept", gone="-- INSERT --")
        assert await tty.flag("alternate_on") == "0"
        assert await tty.flag("cursor_flag") == "1"
        async with terminal(60, 16) as another:
            await another.start(attach(host, shell), tmp_path / "work")
            # Drawn anew, for a window of another size.
            await another.see("a line of text" + 14 * "\n~" + "\n-- INSERT --")
            await another.key("Escape")
            await another.enter(":wq")
            await another.see("ready>")
            await another.enter("cat text")
            await another.see("\na line of text")


async def test_the_exit_code_is_that_of_the_program(tmp_path: Path) -> None:
    async with attached(tmp_path) as (host, tty, shell):
        await tty.enter("exit 7")
        await tty.see("the shell ended with exit code 7", "modes kept", "exit code 7")
        async with terminal(80, 20) as another:
            # What is over can still be looked at.
            await another.start(attach(host, shell), tmp_path / "work")
            await another.see("exit 7", "ended with exit code 7", "modes kept")


async def test_the_terminal_is_given_back_when_the_host_is_killed(tmp_path: Path) -> None:
    async with attached(tmp_path) as (host, tty, _):
        await tty.enter("printf '\\033[?1049h\\033[?25l\\033[?1000h'; echo drawn")
        await tty.see("drawn")
        await host.kill()
        await tty.see("connection lost")
        await tty.key(DETACH)
        await tty.see("left the shell", "modes kept")
        assert [await tty.flag(name) for name in ("alternate_on", "mouse_any_flag")] == ["0", "0"]
        assert await tty.flag("cursor_flag") == "1"


async def test_a_terminal_that_went_with_its_host_is_told_when_there_is_another_one(
    tmp_path: Path,
) -> None:
    async with attached(tmp_path) as (host, tty, _):
        await host.kill()
        await host.start()
        await tty.see("the shell is gone", "modes kept", "exit code 1")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
async def test_the_terminal_is_given_back_on_a_signal(
    tmp_path: Path, number: signal.Signals
) -> None:
    async with attached(tmp_path) as (_, tty, shell):
        await tty.enter("printf '\\033[?2004h\\033[?25l'; echo drawn")
        await tty.see("\ndrawn")
        os.kill(await child(tty), number)
        await tty.see("left the shell", "modes kept", f"exit code {128 + number}")
        assert await tty.flag("cursor_flag") == "1"
        assert shell.running


def children(pid: str) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


async def child(tty: Terminal) -> int:
    """Return the process of the command that runs in a terminal."""
    shell = await tty.flag("pane_pid")
    async with asyncio.timeout(PATIENCE):
        while True:
            if found := children(shell):
                return int(found[-1])
            await asyncio.sleep(0.05)


async def test_a_viewer_watches_and_is_told_so(tmp_path: Path) -> None:
    async with attached(tmp_path) as (host, tty, shell):
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "agenthost.cli.main", "token", "create", "guest"),
            *("--role", "viewer", "--data-dir", str(host.data_dir)),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        out, _ = await process.communicate()
        token = out.decode().split()[-1]
        url = f"ws://{host.address}"
        words = ("terminal", "attach", shell.uri, "--url", url, "--token", token)
        async with terminal(80, 20) as guest:
            await guest.start(f"{AGENTHOST} {shlex.join(words)}", tmp_path / "work")
            await guest.see("watching the shell, nothing can be typed", "ready>")
            await guest.enter("echo intruded")
            await tty.enter("echo seen by all")
            screen = await guest.see("\nseen by all")
            assert "intruded" not in screen
            assert "intruded" not in shell.text
            # Its window is not everybody's.
            assert shell.state.get("cols") == 90
            await guest.key(DETACH)
            await guest.see("exit code 0")


async def test_a_shell_is_opened_and_attached_to_in_one_step(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    async with serve(tmp_path / "data", "--root", str(work)) as host, terminal(90, 24) as tty:
        words = ("terminal", "new", "--attach", "--data-dir", str(host.data_dir))
        await tty.start(f"{AGENTHOST} {shlex.join(words)}", work)
        await tty.see("attached to")
        await tty.enter("echo $((1+1)); exit 3")
        await tty.see("\n2", "ended with exit code 3", "exit code 3")
        async with connect(host.address, token=host.token) as client:
            assert await client.terminals.list() == []
