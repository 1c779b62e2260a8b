"""Worktrees of sessions: made for the first turn, kept over restarts, removed when clean."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from agenthost.protocol.own_members import FORK
from tests.children import gone
from tests.flags import eventually
from tests.wire.client import WireClient, open_client
from tests.wire.hosting import ServedHost, serve
from tests.wire.placing import NEW, S, begin_isolated, clients, git_of, mirrored, said, worktrees
from tests.workspace.git.repositories import commit, git, repository

Json = dict[str, Any]


@pytest.fixture(autouse=True)
def _real_repositories(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("GIT_DIR")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)


async def test_a_worktree_is_made_for_the_first_turn_and_goes_with_the_session(
    tmp_path: Path,
) -> None:
    folder = repository(tmp_path / "r")
    git(folder, "branch", "old")
    first = git(folder, "rev-parse", "HEAD")
    commit(folder, "newer")
    (folder / "mine").write_text("not committed")
    before = git(folder, "status", "--porcelain"), git(folder, "branch", "--show-current")
    made = tmp_path / "r.worktrees" / "write-notes"
    async with clients() as (new, old):
        chat = await begin_isolated(new, folder, branch="old")
        await old.subscribe(S)
        await old.subscribe(chat)
        assert worktrees(folder) == []
        await new.run_turn(chat, "t1", "write notes")
        assert said(new, chat) == str(made)
        assert (made / "notes").read_text() == "work"
        assert worktrees(folder) == [str(made)]
        assert git(made, "branch", "--show-current") == "agents/write-notes"
        assert git(made, "rev-parse", "HEAD") == first
        assert (git(folder, "status", "--porcelain"), git(folder, "branch", "--show-current")) == (
            before
        )
        replaced = {"directory": folder.as_uri(), "replacement": made.as_uri()}
        await new.action(S, "session/workingDirectoryReplaced", **replaced)
        for client in (new, old):
            await client.action(chat, "chat/activityChanged", activity="Creating isolated worktree")
            await client.ping()
            assert "activity" not in client.states[chat]
        assert new.states[S]["workingDirectories"] == [made.as_uri()]
        told = await git_of(new, branchName="agents/write-notes", uncommittedChanges=1)
        assert (told["baseBranchName"], told["hasBaseBranchChanges"]) == ("old", False)
        # It belongs to the project that it was made of.
        assert (await new.fresh(S))["project"]["uri"] == folder.as_uri()
        await mirrored(new)
        # In its version no action tells of another directory; whoever comes new sees it.
        assert (await old.fresh(S))["workingDirectory"] == made.as_uri()
        # Another turn, the same worktree.
        await new.run_turn(chat, "t2", "again")
        assert said(new, chat) == str(made)
        assert worktrees(folder) == [str(made)]
        # With work in it, it stays; its session may come back from the trash.
        await new.request("disposeSession", channel=S)
        await new.request("agenthost/restoreSession", channel=S)
        chat = (await new.subscribe(S))["defaultChat"]
        await new.subscribe(chat)
        await new.run_turn(chat, "t3", "once more")
        assert said(new, chat) == str(made)
        commit(made, "work")
        await new.request("disposeSession", channel=S)
        assert worktrees(folder) == [str(made)]
        await new.request("agenthost/purgeSession", channel=S)
        await eventually(lambda: worktrees(folder) == [])
        assert os.listdir(made.parent) == []
        assert git(folder, "show", "agents/write-notes:notes") == "work"
        assert (folder / "mine").read_text() == "not committed"


async def test_a_worktree_with_work_in_it_is_kept(tmp_path: Path) -> None:
    folder = repository(tmp_path / "r")
    async with clients(disposal="delete") as (new, _):
        chat = await begin_isolated(new, folder)
        await new.run_turn(chat, "t1", "write x")
        await new.request("disposeSession", channel=S)
        await new.ready_session("ahp-session:/other", workingDirectories=[folder.as_uri()])
    assert worktrees(folder) == [str(tmp_path / "r.worktrees" / "write-x")]
    assert (tmp_path / "r.worktrees" / "write-x" / "x").read_text() == "work"


def failure(client: WireClient, chat: str) -> tuple[str, Json]:
    """The error that the last turn ended with, and the notice before it."""
    parts = client.states[chat]["turns"][-1]["responseParts"]
    (notice,) = [part for part in parts if part["kind"] == "systemNotification"]
    (error,) = [part["error"] for part in parts if part["kind"] == "error"]
    assert error["errorType"] == "worktreeCreationFailure"
    assert notice["content"] == error["message"]
    return error["message"], notice["_meta"]


async def test_a_worktree_that_cannot_be_made_is_an_error_that_says_why_and_is_tried_again(
    tmp_path: Path,
) -> None:
    folder = repository(tmp_path / "r")
    beside = tmp_path / "r.worktrees"
    beside.write_text("in the way")
    async with clients() as (new, _):
        chat = await begin_isolated(new, folder)
        await new.run_turn(chat, "t1", "first try")
        message, meta = failure(new, chat)
        assert message.startswith("No worktree could be made: ")
        assert "r.worktrees" in message
        assert meta == {"kind": "worktreeCreationFailure"}
        assert new.states[S]["workingDirectories"] == [folder.as_uri()]
        assert git(folder, "branch", "--list", "agents/*") == ""
        beside.unlink()
        beside.symlink_to(tmp_path)
        await new.run_turn(chat, "t2", "second try")
        assert failure(new, chat)[0].endswith("r.worktrees leads somewhere else")
        beside.unlink()
        await new.run_turn(chat, "t3", "third try")
        assert said(new, chat) == str(beside / "first-try")
        assert worktrees(folder) == [str(beside / "first-try")]
        await mirrored(new)


@pytest.mark.skipif(os.geteuid() != 0, reason="a small filesystem is mounted by root alone")
async def test_without_room_for_its_files_a_worktree_is_an_error_and_nothing_is_left(
    tmp_path: Path,
) -> None:
    folder = repository(tmp_path / "r")
    (folder / "large").write_bytes(os.urandom(4 * 1024 * 1024))
    commit(folder, "large")
    beside = tmp_path / "r.worktrees"
    beside.mkdir()
    with small_filesystem(beside):
        async with clients() as (new, _):
            chat = await begin_isolated(new, folder)
            await new.run_turn(chat, "t1", "too large")
            message, _ = failure(new, chat)
            assert message.startswith("No worktree could be made: ")
        assert os.listdir(beside) == []
    assert worktrees(folder) == []
    assert git(folder, "branch", "--list", "agents/*") == ""


@contextmanager
def small_filesystem(folder: Path) -> Iterator[None]:
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder])
    if mounted.returncode:
        pytest.skip("nothing can be mounted here")
    try:
        yield
    finally:
        subprocess.run(["umount", folder], check=True)


async def test_names_that_are_taken_are_left_alone(tmp_path: Path) -> None:
    folder = repository(tmp_path / "r")
    git(folder, "branch", "agents/same")
    theirs = tmp_path / "r.worktrees" / "same-2"
    theirs.mkdir(parents=True)
    (theirs / "mine").write_text("mine")
    async with clients(disposal="delete") as (new, _):
        chats = []
        for number in range(3):
            session = f"ahp-session:/same-{number}"
            config = {"isolation": "worktree"}
            params: Json = {"workingDirectories": [folder.as_uri()], "config": config}
            chats.append(await new.ready_session(session, **params))
            await new.subscribe(chats[-1])
        for chat in chats:
            await new.start_turn(chat, "t1", "same")
        for chat in chats:
            await new.turn_end(chat, "t1")
        names = {os.path.basename(said(new, chat)) for chat in chats}
        assert names == {"same-3", "same-4", "same-5"}
        for number in range(3):
            await new.request("disposeSession", channel=f"ahp-session:/same-{number}")
        await eventually(lambda: worktrees(folder) == [])
    assert (theirs / "mine").read_text() == "mine"


async def test_a_fork_works_where_its_source_works_and_keeps_the_worktree(tmp_path: Path) -> None:
    folder = repository(tmp_path / "r")
    fork = "ahp-session:/fork"
    async with clients(disposal="delete") as (new, _):
        chat = await begin_isolated(new, folder)
        await new.run_turn(chat, "t1", "x")
        (made,) = worktrees(folder)
        other = await new.ready_session(fork, _meta={FORK: {"session": S, "turnId": "t1"}})
        await new.subscribe(other)
        await new.run_turn(other, "t2", "y")
        assert said(new, other) == made
        await new.request("disposeSession", channel=S)
        await new.run_turn(other, "t3", "z")
        assert worktrees(folder) == [made]
        await new.request("disposeSession", channel=fork)
    # It was not made for the fork.
    assert worktrees(folder) == [made]


async def test_nothing_that_a_repository_names_is_run(tmp_path: Path) -> None:
    folder, trace = repository(tmp_path / "r"), tmp_path / "trace"
    (folder / ".gitattributes").write_text("* filter=spy\n")
    commit(folder, "attributes")
    for name in ("post-checkout", "post-index-change", "reference-transaction"):
        hook = folder / ".git" / "hooks" / name
        hook.write_text(f"#!/bin/sh\necho {name} >> {trace}\n")
        hook.chmod(0o755)
    for key in ("filter.spy.smudge", "filter.spy.clean", "core.fsmonitor"):
        git(folder, "config", key, f"echo {key} >> {trace}; cat")
    trace.unlink(missing_ok=True)
    async with clients() as (new, _):
        chat = await begin_isolated(new, folder)
        await new.run_turn(chat, "t1", "x")
        assert said(new, chat) == str(tmp_path / "r.worktrees" / "x")
        await git_of(new, branchName="agents/x")
    assert not trace.exists()


# Across restarts


async def restarted(host: ServedHost, how: str) -> None:
    await (host.stop() if how == "stop" else host.kill())
    await host.start()


@pytest.mark.parametrize("how", ["stop", "kill"])
async def test_a_worktree_outlives_the_host(tmp_path: Path, how: str) -> None:
    folder = repository(tmp_path / "r")
    async with serve(tmp_path / "data", cwd=folder) as host:
        async with open_client(host.url, "one", NEW) as client:
            await client.initialize()
            chat = await begin_isolated(client, folder)
            await client.run_turn(chat, "t1", "hello there")
        (made,) = worktrees(folder)
        await restarted(host, how)
        async with open_client(host.url, "one", NEW) as client:
            await client.initialize(S, chat)
            assert client.states[S]["workingDirectories"] == [Path(made).as_uri()]
            assert client.states[S]["project"]["displayName"] == "r"
            await client.run_turn(chat, "t2", "again")
            assert worktrees(folder) == [made]
            await client.request("disposeSession", channel=S)
        await restarted(host, how)
        async with open_client(host.url, "one", NEW) as client:
            await client.initialize()
            await client.request("agenthost/purgeSession", channel=S)
            await eventually(lambda: worktrees(folder) == [])


def slow_repository(tmp_path: Path) -> Path:
    """Make a repository whose checkout tells that it has started, and waits until it may go on."""
    folder = repository(tmp_path / "r")
    slow = tmp_path / "slow"
    # A filter of the user's own, which the host leaves on, holds the checkout up.
    (tmp_path / ".gitconfig").write_text(f'[filter "slow"]\nsmudge = {slow}\n')
    slow.write_text(SLOW.format(started=tmp_path / "started", go=tmp_path / "go"))
    slow.chmod(0o755)
    (folder / ".gitattributes").write_text("a filter=slow\n")
    (tmp_path / "go").touch()
    commit(folder, "slow")
    (tmp_path / "go").unlink()
    return folder


async def test_who_does_not_wait_for_a_worktree_takes_it_from_nobody(tmp_path: Path) -> None:
    folder = slow_repository(tmp_path)
    started, go = tmp_path / "started", tmp_path / "go"
    async with clients(disposal="delete") as (new, _):
        chat = await begin_isolated(new, folder)
        await new.start_turn(chat, "t1", "hello there")
        await eventually(started.exists)
        ended = {"type": "chat/turnCancelled", "turnId": "t1", "duration": 1}
        await new.accepted(chat, ended)
        await new.until(lambda: {} if "activity" not in new.states[chat] else None)
        await new.start_turn(chat, "t2", "again")
        await new.action(chat, "chat/activityChanged", activity="Creating isolated worktree")
        go.touch()
        await new.turn_end(chat, "t2")
        assert said(new, chat) == str(tmp_path / "r.worktrees" / "hello-there")
        assert len(worktrees(folder)) == 1


async def test_a_session_that_goes_while_its_worktree_is_made_leaves_none(tmp_path: Path) -> None:
    folder = slow_repository(tmp_path)
    started, go = tmp_path / "started", tmp_path / "go"
    async with clients(disposal="delete") as (new, _):
        chat = await begin_isolated(new, folder)
        await new.start_turn(chat, "t1", "hello there")
        await eventually(started.exists)
        await new.request("disposeSession", channel=S)
        assert len(worktrees(folder)) == 1
        go.touch()
        await eventually(lambda: worktrees(folder) == [])


async def test_a_host_that_stops_ends_the_making_of_a_worktree(tmp_path: Path) -> None:
    folder = slow_repository(tmp_path)
    started = tmp_path / "started"
    async with clients() as (new, _):
        chat = await begin_isolated(new, folder)
        await new.start_turn(chat, "t1", "hello there")
        await eventually(started.exists)
    # It did not wait for git, and git is gone.
    await gone(int(started.read_text()))


@pytest.mark.parametrize("orphan", ["goes on", "is killed"])
async def test_a_host_that_dies_while_a_worktree_is_made(tmp_path: Path, orphan: str) -> None:
    folder = slow_repository(tmp_path)
    started = tmp_path / "started"
    async with serve(tmp_path / "data", cwd=folder) as host:
        async with open_client(host.url, "one", NEW) as client:
            await client.initialize()
            chat = await begin_isolated(client, folder)
            await client.start_turn(chat, "t1", "hello there")
            await eventually(started.exists)
            await client.ping()
            assert client.states[chat]["activity"] == "Creating isolated worktree"
        (made,) = worktrees(folder)
        await host.kill()
        if orphan == "is killed":
            os.killpg(int(started.read_text()), signal.SIGKILL)
        (tmp_path / "go").touch()
        await host.start()
        async with open_client(host.url, "one", NEW) as client:
            await client.initialize(S, chat)
            assert client.states[S]["workingDirectories"] == [folder.as_uri()]
            await client.run_turn(chat, "t2", "again")
            assert client.states[S]["workingDirectories"] == [Path(made).as_uri()]
        assert worktrees(folder) == [made]
        assert git(Path(made), "status", "--porcelain") == ""
        assert git(folder, "branch", "--list", "agents/*").split() == ["+", "agents/hello-there"]


SLOW = """#!/bin/sh
ps -o pgid= $$ > {started}.new
mv {started}.new {started}
while [ ! -e {go} ]; do sleep 0.05; done
cat
"""
