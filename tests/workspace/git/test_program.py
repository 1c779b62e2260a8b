"""Running git: nothing that a repository names is run, nothing lasts, a failure says why."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from agenthost.workspace.git import program as module
from agenthost.workspace.git.program import (
    Configured,
    GitFailed,
    GitProgram,
    environment,
    read_configured,
)
from agenthost.workspace.git.status import git_status
from tests.children import gone
from tests.flags import eventually
from tests.workspace.git.repositories import git, repository


def script(folder: Path, text: str) -> None:
    """Put a program called git before the real one."""
    folder.mkdir(exist_ok=True)
    (folder / "git").write_text(f"#!/bin/sh\n{text}\n")
    (folder / "git").chmod(0o755)


async def test_a_failure_says_why_and_with_what_code(tmp_path: Path) -> None:
    folder = repository(tmp_path / "r")
    program = GitProgram()
    with pytest.raises(GitFailed, match="Not a valid object name nothing") as error:
        await program.run(folder, "cat-file", "-t", "nothing")
    assert error.value.code == 128
    with pytest.raises(GitFailed, match="ended with code 1") as error:
        await program.run(folder, "config", "--get", "no.thing")
    assert error.value.code == 1
    for wrong in (str(tmp_path / "gone"), f"{tmp_path}\0"):
        with pytest.raises(GitFailed):
            await program.run(wrong, "status")


async def test_git_that_takes_too_long_ends_with_all_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid = tmp_path / "pid"
    script(tmp_path / "bin", f"sleep 300 & echo $! > {pid}.new; mv {pid}.new {pid}; wait")
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    with pytest.raises(GitFailed, match="took longer than 1 s"):
        await GitProgram().run(tmp_path, "status", patience=1.0)
    await gone(int(pid.read_text()))


async def test_git_that_prints_too_much_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(tmp_path / "bin", "yes")
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    monkeypatch.setattr(module, "MOST_OUTPUT", 100_000)
    with pytest.raises(GitFailed, match="printed too much"):
        await GitProgram().run(tmp_path, "status")


async def test_no_more_than_so_many_run_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Each fails if it finds two others at work.
    text = "if mkdir one 2> /dev/null; then d=one; else mkdir two || exit 9; d=two; fi"
    script(tmp_path / "bin", f"cd {tmp_path}; {text}; sleep 0.02; rmdir $d")
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    program = GitProgram(at_once=2)
    await asyncio.gather(*(program.run(tmp_path, "status") for _ in range(8)))


async def test_repositories_that_do_not_answer_keep_nobody_waiting_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = tmp_path / "begun"
    script(tmp_path / "bin", f'case "$2" in hung*) touch {begun}; sleep 60;; esac')
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    monkeypatch.setattr(module, "SEATED", 0.1, raising=False)
    program = GitProgram(at_once=2)
    folders = [f"hung{number % 3}" for number in range(12)]
    async with asyncio.TaskGroup() as group:
        hung = [group.create_task(program.run(each, "status", patience=60)) for each in folders]
        await eventually(begun.exists)
        await program.run("good", "status")
        assert not any(task.done() for task in hung)
        for task in hung:
            task.cancel()


def test_git_sees_neither_secrets_nor_settings_of_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GIT_INDEX_FILE", "AGENTHOST_DATA", "GITHUB_TOKEN", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, "x")
    env = environment([("filter.a=b.clean", "")], {"MORE": "1"})
    assert not {"GIT_INDEX_FILE", "AGENTHOST_DATA", "GITHUB_TOKEN", "OPENAI_API_KEY"} & set(env)
    assert (env["GIT_CONFIG_KEY_0"], env["GIT_CONFIG_VALUE_0"]) == ("filter.a=b.clean", "")
    assert (env["PATH"], env["MORE"]) == (os.environ["PATH"], "1")
    assert "GIT_DIR" not in env
    # The way to say that there are no repositories.
    monkeypatch.setenv("GIT_DIR", os.devnull)
    assert environment([])["GIT_DIR"] == os.devnull


def test_filters_of_the_user_stay_and_those_of_the_repository_do_not() -> None:
    listed = b"global\0filter.lfs.clean\ngit-lfs\0local\0filter.x.clean\nevil\0"
    listed += b"worktree\0filter.x.required\ntrue\0local\0remote.origin.url\n/a\0"
    assert read_configured(listed) == Configured(
        (("filter.x.clean", ""), ("filter.x.required", "false")), ("/a",)
    )
    assert read_configured(b"") == Configured()


async def test_where_the_filters_are_not_known_nothing_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, trace = repository(tmp_path / "r"), tmp_path / "trace"
    (folder / ".gitattributes").write_text("* filter=spy\n")
    (folder / "a").write_text("changed")
    git(folder, "config", "filter.spy.clean", f"touch {trace}; cat")
    git(folder, "config", "filter.long.clean", "x" * 5000)
    # More than is read of what git prints: the list of filters, but not the status.
    monkeypatch.setattr(module, "MOST_OUTPUT", 4000)
    assert await git_status(folder) is None
    assert not trace.exists()
