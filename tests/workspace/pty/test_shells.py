"""Real shells in real terminals: their commands, their codes, and whose startup files they read."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from agenthost.workspace.pty.osc import FolderMark
from agenthost.workspace.pty.shells import (
    find_shell,
    interactive,
    one_command,
    terminal_environment,
)
from tests.workspace.pty.running import RunningTerminal, shell

SHELLS = pytest.mark.parametrize("name", ["bash", "zsh"])
STARTUP = {"bash": ".bashrc", "zsh": ".zshrc"}


@SHELLS
async def test_a_command_is_told_with_its_line_its_output_and_its_code(
    name: str, tmp_path: Path
) -> None:
    async with RunningTerminal.interactive(name, tmp_path) as terminal:
        began, output, ended = await terminal.run(r"echo 'a;b' \\; (exit 7)")
        assert began.line == r"echo 'a;b' \\; (exit 7)"
        assert output.splitlines() == ["a;b \\"]
        assert (ended.command, ended.exit_code) == (began.command, 7)
        began, output, ended = await terminal.run("false")
        assert (output, ended.exit_code) == ("", 1)
        began, output, ended = await terminal.run("for i in 1 2; do echo ü$i; done")
        assert (output.split(), ended.exit_code) == (["ü1", "ü2"], 0)


@SHELLS
async def test_a_program_cannot_end_its_command_nor_learn_the_secret(
    name: str, tmp_path: Path
) -> None:
    async with RunningTerminal.interactive(name, tmp_path) as terminal:
        fake = r"printf '\033]633;C\007x\033]633;D;9\007\033]633;A\007y\n'"
        _, output, ended = await terminal.run(fake)
        assert (output.split(), ended.exit_code) == (["xy"], 0)
        _, output, _ = await terminal.run("env | grep -c -e AHP_SI_NONCE -e AGENTHOST")
        assert output.split() == ["0"]


@SHELLS
async def test_the_folder_follows_the_shell(name: str, tmp_path: Path) -> None:
    inner = tmp_path / "a ü;b"
    inner.mkdir()
    async with RunningTerminal.interactive(name, tmp_path) as terminal:
        await terminal.until(lambda: FolderMark(str(tmp_path)) in terminal.events)
        await terminal.run("cd 'a ü;b'")
        await terminal.until(lambda: FolderMark(str(inner)) in terminal.events)


@SHELLS
async def test_a_shell_reads_its_owners_startup_files_and_keeps_its_hooks(
    name: str, tmp_path: Path
) -> None:
    hook = {"bash": 'PROMPT_COMMAND="seen; $PROMPT_COMMAND"', "zsh": "precmd_functions+=(seen)"}
    lines = ["alias hello='echo from the startup file'", "PS1='prompt> '"]
    lines += ["seen() { last=$?; }", hook[name]]
    (tmp_path / STARTUP[name]).write_text("\n".join(lines) + "\n")
    async with RunningTerminal.interactive(name, tmp_path) as terminal:
        _, output, _ = await terminal.run("hello")
        assert output.split() == ["from", "the", "startup", "file"]
        await terminal.until(lambda: "prompt> " in terminal.text)
        await terminal.run("(exit 3)")
        _, output, _ = await terminal.run("echo $last")
        assert output.split() == ["3"]
        _, output, _ = await terminal.run('echo "[${ZDOTDIR-unset}]"')
        assert output.split() == ["[unset]"]


@pytest.mark.parametrize(
    "startup",
    [
        "PROMPT_COMMAND=true; readonly PROMPT_COMMAND",
        "PS1='> '; readonly PS1",
        "PS1='> '; shopt -u promptvars",
        "set -u; unset PS1",
    ],
)
async def test_a_shell_that_cannot_tell_its_commands_complains_of_nothing(
    startup: str, tmp_path: Path
) -> None:
    (tmp_path / ".bashrc").write_text(f"{startup}\n")
    async with RunningTerminal.interactive("bash", tmp_path) as terminal:
        for number in range(2):
            terminal.type(f"echo $((40+{number}))\r")
            await terminal.until(lambda: f"{40 + number}\r\n" in terminal.text)  # noqa: B023
        assert "variable" not in terminal.text
        assert "__ahp" not in terminal.text


@SHELLS
async def test_interrupted_commands_and_empty_lines(name: str, tmp_path: Path) -> None:
    async with RunningTerminal.interactive(name, tmp_path) as terminal:
        await terminal.until(lambda: terminal.interpreter.tracker.detected)
        terminal.type("\r\r")
        terminal.type("cat\r")
        await terminal.until(lambda: terminal.interpreter.tracker.busy)
        # Once it echoes, it is `cat` that reads.
        terminal.type("echoed\r")
        await terminal.until(lambda: terminal.text.count("echoed") >= 2)
        terminal.type("\x03")
        await terminal.until(lambda: not terminal.interpreter.tracker.busy)
        _, _, ended = await terminal.run("true")
        assert (ended.command, ended.exit_code) == ("cmd-2", 0)


@SHELLS
async def test_an_editor_takes_the_whole_screen_and_gives_it_back(
    name: str, tmp_path: Path
) -> None:
    editor = shell("vim")
    async with RunningTerminal.interactive(name, tmp_path) as terminal:
        await terminal.until(lambda: terminal.interpreter.tracker.detected)
        terminal.type(f"{editor} -u NONE -N -n new\r")
        # To the alternate screen, and as soon as it reads keys, what was typed.
        await terminal.until(lambda: "\x1b[?1049h" in terminal.text)
        terminal.type("ihello\x1b:wq\r")
        await terminal.until(lambda: "\x1b[?1049l" in terminal.text)
        await terminal.until(lambda: not terminal.interpreter.tracker.busy)
        _, output, _ = await terminal.run("cat new")
        assert output.split() == ["hello"]


@SHELLS
async def test_resizing_reaches_the_program(name: str, tmp_path: Path) -> None:
    async with RunningTerminal.interactive(name, tmp_path) as terminal:
        assert (await terminal.run("stty size"))[1].split() == ["24", "80"]
        terminal.pty.resize(132, 43)
        assert (await terminal.run("stty size"))[1].split() == ["43", "132"]
        terminal.pty.resize(10**6, -5)
        assert (await terminal.run("stty size"))[1].split() == ["2", "1000"]


def test_which_shell_is_started(tmp_path: Path) -> None:
    bash = shell("bash")
    assert find_shell(bash, {"SHELL": "/bin/sh"}) == bash
    assert find_shell(None, {"SHELL": bash}) == bash
    plain = tmp_path / "plain"
    plain.write_text("")
    for wrong in ("bash", "/nowhere/bash", str(tmp_path), str(plain)):
        assert find_shell(wrong, {"SHELL": "/bin/sh"}) == "/bin/sh"
        assert os.access(find_shell(None, {"SHELL": wrong}), os.X_OK)


def test_a_terminal_has_none_of_the_hosts_own_variables() -> None:
    given = {"AGENTHOST_TOKEN": "t", "TMUX": "x", "LINES": "9", "A": "b", "LC_ALL": "C"}
    env = terminal_environment(given, "/bin/sh")
    assert env == {
        "A": "b",
        "COLORTERM": "truecolor",
        "LC_CTYPE": "C.UTF-8",
        "SHELL": "/bin/sh",
        "TERM": "xterm-256color",
    }
    assert terminal_environment({"LANG": "de_DE.UTF-8"}, "/bin/sh").get("LC_CTYPE") is None
    assert terminal_environment({}, "/bin/sh", unattended=True)["PAGER"] == ""


def test_each_terminal_has_a_secret_of_its_own_and_only_where_a_script_uses_it() -> None:
    first, second = interactive("/bin/bash", {}), interactive("/bin/bash", {})
    assert first.nonce != second.nonce
    assert re.fullmatch("[0-9a-f]{32}", first.nonce or "")
    assert interactive("/bin/sh", {}).nonce is None
    assert one_command("a b", "/bin/sh", {}).words == ("/bin/sh", "-c", "a b")
    assert one_command(["a", "b"], "/bin/sh", {}).words == ("a", "b")
