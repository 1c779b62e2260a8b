"""``agenthost new-agent``: what it makes works, and what it prints runs as printed."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agenthost.cli.commands.new_agent import names_for, next_commands, write_agent
from agenthost.cli.main import main
from tests.wire.hosting import NOWHERE, PATIENCE

AGENTHOST = Path(sys.executable).parent / "agenthost"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    kept = {name: text for name, text in os.environ.items() if "AGENTHOST" not in name}
    ours = {"AGENTHOST_DATA_DIR": str(tmp_path / "data"), "PYTHONUNBUFFERED": "1"}
    # The plugins of this suite are no concern of the new agent's.
    return {**kept, **ours, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


def test_what_is_printed_runs_as_printed(tmp_path: Path, environment: dict[str, str]) -> None:
    here = tmp_path / "with space"
    here.mkdir()
    made = subprocess.run(
        [AGENTHOST, "new-agent", "guest-book"],
        cwd=here, env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    tests, serve, chat = made.stdout.splitlines()
    done = subprocess.run(
        ["bash", "-c", tests], cwd=here, env=environment, capture_output=True, text=True
    )
    assert (done.returncode, "3 passed" in done.stdout) == (0, True), done.stdout + done.stderr
    # On a port that is free, and without what lies in the home of whoever runs this.
    serve = serve.strip().removesuffix(")") + f" --port 0 --user-folder {NOWHERE})"
    with served(serve, here, environment):
        talk = f"{chat.strip()} --json"
        told = subprocess.run(
            ["bash", "-c", talk], cwd=here, env=environment, capture_output=True, text=True,
            input="hi\n", timeout=PATIENCE,
        )  # fmt: skip
        assert "Who are you?" in told.stdout, told.stdout + told.stderr


def test_what_is_printed_runs_beside_a_host_that_runs_already(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    first = f"{AGENTHOST} serve --agent demo --port 0 --user-folder {NOWHERE}"
    with served(first, tmp_path, environment):
        made = subprocess.run(
            [AGENTHOST, "new-agent", "guest-book"],
            cwd=tmp_path, env=environment, capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert "A host runs here already" in made.stderr
        _, serve, chat = made.stdout.splitlines()
        serve = serve.strip().removesuffix(")") + f" --user-folder {NOWHERE})"
        with served(serve, tmp_path, environment):
            told = subprocess.run(
                ["bash", "-c", f"{chat.strip()} --json"], cwd=tmp_path, env=environment,
                capture_output=True, text=True, input="hi\n", timeout=PATIENCE,
            )  # fmt: skip
            assert "Who are you?" in told.stdout, told.stdout + told.stderr


@contextmanager
def served(command: str, cwd: Path, environment: dict[str, str]) -> Iterator[None]:
    """Run a host by a shell's line, from when it says that it is ready, and stop it."""
    process = subprocess.Popen(
        ["bash", "-c", command], cwd=cwd, env=environment, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    seen = []
    try:
        for line in process.stdout:
            seen.append(line)
            if "Ctrl-C stops it" in line:
                break
        else:
            raise AssertionError("".join(seen))
        yield
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.stdout.close()
        process.wait(PATIENCE)


def test_the_package_offers_the_agent_to_every_host_that_has_it(tmp_path: Path) -> None:
    write_agent(tmp_path / "guest-book", names_for("guest_book"))
    project = tomllib.loads((tmp_path / "guest-book" / "pyproject.toml").read_text())
    points = project["project"]["entry-points"]["agenthost.agents"]
    assert points == {"guest-book": "guest_book.agent:GuestBook"}
    source = tmp_path / "guest-book" / "src" / "guest_book" / "agent.py"
    assert "class GuestBook(Agent):" in source.read_text()
    written = [path for path in (tmp_path / "guest-book").rglob("*") if path.is_file()]
    assert len(written) == 5
    for path in written:
        assert not re.search(r"\$(module|class_name|title|distribution)", path.read_text()), path
    spec = "guest_book.agent:GuestBook"
    assert spec in (tmp_path / "guest-book" / "README.md").read_text()
    serve = next_commands(tmp_path / "guest-book", names_for("guest-book"))[1]
    assert shlex.split(serve.strip("()"))[-4:] == ["--agent", spec, "--reload", "--dev"]


def test_nothing_that_is_there_is_written_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "greeter").mkdir()
    (tmp_path / "file").touch()
    assert main(["new-agent", "greeter", "--dir", str(tmp_path)]) == 1
    assert "already" in capsys.readouterr().err
    assert main(["new-agent", "greeter", "--dir", str(tmp_path / "file")]) == 1
    assert "cannot be written: Not a directory" in capsys.readouterr().err
    assert list((tmp_path / "greeter").iterdir()) == []


@pytest.mark.parametrize(
    "name",
    [
        *("", "Greeter", "../x", "a b", "1a", "a--b", "-a", "ä", "a" * 41, "a\nb"),
        *("json", "class", "none", "llm", "agent", "path", "pytest", "agenthost", "conftest"),
    ],
)
def test_a_name_that_would_not_work_is_refused(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["new-agent", "--dir", str(tmp_path), "--", name])
    assert re.search("no name for an agent|is taken", capsys.readouterr().err)
    assert list(tmp_path.iterdir()) == []
