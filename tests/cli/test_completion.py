"""``agenthost completion``: scripts that shells take, and what they complete."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from agenthost.cli.commands import completion
from agenthost.cli.commands.completion import fitting, host_options, script
from agenthost.cli.main import main
from tests.cli.running import Cli

BASH = shutil.which("bash")
READS_ONLY = {"bash": "-n", "zsh": "-n", "fish": "--no-execute"}


@pytest.mark.parametrize("shell", READS_ONLY)
def test_shells_can_read_their_scripts(shell: str, tmp_path: Path) -> None:
    program = shutil.which(shell)
    text = script(shell)
    assert "completion" in text
    if program is None:
        pytest.skip(f"{shell} is not installed")
    file = tmp_path / "script"
    file.write_text(text)
    done = subprocess.run(
        [program, READS_ONLY[shell], str(file)], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_without_a_shell_it_says_which_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion"]) == 2
    assert "bash, zsh, fish" in capsys.readouterr().err


COMPLETE = """
source "$1"
shift
COMP_LINE="$*"
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_shtab_agenthost
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.mark.skipif(BASH is None, reason="bash is not installed")
@pytest.mark.asyncio(loop_scope="module")
async def test_bash_completes_commands_options_and_the_host_s_sessions(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(completion, "_PATIENCE", 30.0)
    uri = await cli.new("complete me")
    short = uri.rpartition("/")[2][:8]
    # As people have it on their path.
    program = tmp_path / "agenthost"
    patient = "import agenthost.cli.commands.completion as c; c._PATIENCE = 30.0"
    call = f"{patient}; from agenthost.cli.main import main; import sys; sys.exit(main())"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{call}" "$@"\n')
    program.chmod(0o755)
    (tmp_path / "script").write_text(script("bash"))

    async def complete(*words: str) -> list[str]:
        process = await asyncio.create_subprocess_exec(
            *(str(BASH), "-c", COMPLETE, "bash", str(tmp_path / "script"), str(program), *words),
            stdout=asyncio.subprocess.PIPE,
            env=cli._environ({}),
            cwd=cli.cwd,
        )
        out, _ = await process.communicate()
        return out.decode().split()

    assert set(await complete("se")) == {"serve", "sessions", "send"}
    assert "--ephemeral" in await complete("send", "--")
    assert await complete("export", short[:6]) == [short]
    assert await complete("sessions", "show", "complete") == [short]
    assert await complete("export", "--data-dir", "/no/host/here", short[:6]) == []


def test_names_that_a_shell_could_obey_are_left_out() -> None:
    sessions = [
        ("x:/$(touch evil)", "Evil"),
        ("x:/a;b", "Worse"),
        ("x:/--help", "An option"),
        ("x:/good", "\x1b[31mred\ttab\nline"),
    ]
    assert list(fitting(sessions, "")) == [("good", "red tab line")]


def test_a_word_becomes_the_id_that_it_begins_or_the_one_title_that_has_it() -> None:
    twins = [f"x:/{'a' * 8}{n}{'b' * 27}" for n in range(2)]
    sessions = [(twins[0], "One"), (twins[1], "Two"), ("x:/" + "c" * 36, "Three")]
    assert [name for name, _ in fitting(sessions, "c")] == ["c" * 8]
    assert [name for name, _ in fitting(sessions, "c" * 9)] == ["c" * 36]
    # Where short ids are the same, only whole ones tell them apart.
    assert [name for name, _ in fitting(sessions, "a")] == [uri[3:] for uri in twins]
    assert [name for name, _ in fitting(sessions, "thr")] == ["c" * 8]
    assert list(fitting(sessions, "t")) == []


@pytest.mark.parametrize(
    ("line", "url", "folder"),
    [
        ("agenthost chat ", None, None),
        ("agenthost chat --url ws://far:1 x", "ws://far:1", None),
        ("agenthost chat --data-dir='a b' --last", None, "a b"),
        ("agenthost chat --data-dir", None, None),
        ("agenthost send 'not closed --url=x", "x", None),
    ],
)
def test_the_host_is_the_one_that_the_line_names(
    line: str, url: str | None, folder: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AGENTHOST_URL", raising=False)
    found = host_options(line)
    assert (found.url, found.data_dir) == (url, None if folder is None else Path(folder))


def test_where_no_host_is_it_says_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    line = f"agenthost chat --data-dir {tmp_path} "
    assert main(["completion", "--list", "sessions", "--line", line]) == 0
    assert capsys.readouterr() == ("", "")
