"""Where sessions work: the project, what git says of it, settings, and who may know of it."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from agenthost.host.channels.session import git_metadata, places
from agenthost.host.channels.session.kind import SESSION, extra_of
from agenthost.tokens import Role
from agenthost.workspace.git.status import GitOverview, git_overview
from tests.flags import eventually
from tests.wire.client import PATIENCE, WireClient
from tests.wire.people import peopled
from tests.wire.placing import Roomy, S, clients, git_of, listed, mirrored
from tests.workspace.git.repositories import commit, git, repository

Json = dict[str, Any]


@pytest.fixture(autouse=True)
def _real_repositories(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("GIT_DIR")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    # A busy machine's git is no slow one.
    monkeypatch.setattr(places, "MOMENT", PATIENCE)


# Project and metadata


async def test_a_session_in_a_repository_tells_its_project_and_its_branch(tmp_path: Path) -> None:
    folder = repository(tmp_path / "my project")
    inner = folder / "sub"
    inner.mkdir()
    async with clients() as (new, old):
        chat = await new.ready_session(S, workingDirectories=[inner.as_uri()])
        project = {"uri": folder.as_uri(), "displayName": "my project"}
        added = await old.notification("root/sessionAdded", lambda p: True)
        assert added["summary"]["project"] == project
        assert (await new.fresh(S))["project"] == project
        assert (await listed(new))["project"] == project
        await git_of(new, branchName="main", uncommittedChanges=0)
        assert (await listed(new))["_meta"]["git"]["branchName"] == "main"
        # Kept current: after a turn.
        git(folder, "checkout", "-q", "-b", "work")
        (folder / "a").write_text("changed")
        await new.subscribe(chat)
        await new.run_turn(chat, "t1", "hello")
        told = await git_of(new, branchName="work", uncommittedChanges=1)
        assert (told["baseBranchName"], told["hasBaseBranchChanges"]) == ("main", False)
        await mirrored(new)
        assert (await old.subscribe(S))["title"]


async def test_what_is_known_of_a_place_comes_back_from_the_trash(tmp_path: Path) -> None:
    folder = repository(tmp_path / "r")
    async with clients() as (new, _):
        await new.used_session(S, workingDirectories=[folder.as_uri()])
        await git_of(new, branchName="main")
        before = await listed(new)
        await new.request("disposeSession", channel=S)
        await new.request("agenthost/restoreSession", channel=S)

        async def is_back() -> bool:
            back = await listed(new)
            known = back.get("project"), back.get("_meta", {}).get("git")
            return known == (before["project"], before["_meta"]["git"])

        async with asyncio.timeout(PATIENCE):
            while not await is_back():
                pass


async def test_what_happens_in_a_repository_is_told_while_somebody_follows(tmp_path: Path) -> None:
    folder = repository(tmp_path / "r")
    git(folder, "branch", "packed/one")
    async with clients() as (new, _):
        await new.ready_session(S, workingDirectories=[folder.as_uri()])
        await git_of(new, branchName="main", uncommittedChanges=0)
        # Nobody takes a turn. Each of these is another file of git's.
        git(folder, "checkout", "-q", "packed/one")
        await git_of(new, branchName="packed/one")
        commit(folder, "one")
        await git_of(new, outgoingChanges=1)
        (folder / "new").write_text("x")
        git(folder, "add", "new")
        await git_of(new, uncommittedChanges=1)
        shutil.rmtree(folder / ".git")
        await new.until(lambda: None if (new.states[S].get("_meta") or {}).get("git") else {})


async def test_outside_of_a_repository_there_is_no_project(tmp_path: Path) -> None:
    async with clients() as (new, _):
        await new.ready_session(S, workingDirectories=[tmp_path.as_uri()])
        assert "project" not in await new.fresh(S)
        assert "project" not in await listed(new)
        assert "_meta" not in await new.fresh(S)


async def test_a_repository_is_looked_at_once_for_all_sessions_that_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = repository(tmp_path / "r")
    looks, may_end = 0, asyncio.Event()

    async def slowly(*words: Any) -> GitOverview | None:
        nonlocal looks
        looks += 1
        await may_end.wait()
        return await git_overview(*words)

    monkeypatch.setattr(git_metadata, "git_overview", slowly)
    async with clients() as (new, _):
        names = [f"ahp-session:/many-{number}" for number in range(12)]
        for name in names:
            await new.ready_session(name, workingDirectories=[folder.as_uri()])
        await eventually(lambda: looks > 0)
        git(folder, "checkout", "-q", "-b", "later")
        may_end.set()
        for name in names:
            await git_of(new, name, branchName="later")
        assert looks < len(names), looks


async def test_project_and_metadata_follow_the_directories(tmp_path: Path) -> None:
    one, two = repository(tmp_path / "one"), repository(tmp_path / "two")
    git(two, "checkout", "-q", "-b", "other")
    plain = tmp_path / "plain"
    plain.mkdir()
    uris = [folder.as_uri() for folder in (one, two, plain)]
    async with clients() as (new, old):
        await new.ready_session(S, workingDirectories=uris[:1])
        await git_of(new, branchName="main")
        replaced = {"type": "session/workingDirectoryReplaced"}
        await new.accepted(S, {**replaced, "directory": uris[0], "replacement": uris[1]})
        await git_of(new, branchName="other")

        def of(uri: str) -> Any:
            return lambda p: p["changes"].get("project", {}).get("uri") == uri

        await old.notification("root/sessionSummaryChanged", of(uris[1]))
        assert (await new.fresh(S))["project"] == {"uri": uris[1], "displayName": "two"}
        await new.accepted(S, {"type": "session/workingDirectorySet", "directory": uris[0]})
        await new.accepted(S, {**replaced, "directory": uris[1], "replacement": uris[2]})
        await old.notification("root/sessionSummaryChanged", of(uris[2]))
        assert (await new.fresh(S))["project"]["displayName"] == "plain"
        await new.until(lambda: None if (new.states[S].get("_meta") or {}).get("git") else {})
        assert "git" not in (await listed(new)).get("_meta", {})


# Settings


async def resolved(client: WireClient, folder: Path, **config: Any) -> Json:
    params: Json = {"workingDirectory": folder.as_uri(), "config": config}
    found: Json = await client.request("resolveSessionConfig", **params)
    return found


async def completed(client: WireClient, folder: Path, setting: str, query: str = "") -> list[str]:
    params: Json = {"workingDirectory": folder.as_uri(), "property": setting, "query": query}
    items = (await client.request("sessionConfigCompletions", **params))["items"]
    return [item["value"] for item in items]


async def test_where_to_work_is_a_setting_of_every_session(tmp_path: Path) -> None:
    folder = repository(tmp_path / "r")
    git(folder, "branch", "old")
    async with clients() as (new, old):
        plain = await resolved(new, folder)
        properties = plain["schema"]["properties"]
        assert properties["isolation"]["enum"] == ["folder", "worktree"]
        assert not properties["isolation"].keys() & {"readOnly", "sessionMutable", "enumDynamic"}
        # Clients show it, and offer nothing: it is whatever is checked out.
        assert (properties["branch"]["readOnly"], properties["branch"]["default"]) == (True, "main")
        assert properties["directory"]["enumDynamic"] is True
        assert plain["values"] == {"isolation": "folder", "branch": "main", "directory": ""}
        isolated = await resolved(old, folder, isolation="worktree", branch="old")
        branch = isolated["schema"]["properties"]["branch"]
        assert (branch["enumDynamic"], "readOnly" in branch) == (True, False)
        assert isolated["values"]["branch"] == "old"
        for nonsense in ("gone", "--all", "main^{commit}", "HEAD", "../main", "", 7, None):
            wrong = await resolved(new, folder, isolation="worktree", branch=nonsense)
            assert wrong["values"]["branch"] == "main"
        # Outside of a repository there is no choice, and clients hide it.
        outside = await resolved(new, tmp_path, isolation="worktree", branch="main")
        assert outside["schema"]["properties"]["isolation"]["readOnly"] is True
        assert outside["values"] == {"isolation": "folder", "directory": ""}


async def test_a_repository_without_a_commit_offers_no_worktree(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "trunk")
    async with clients() as (new, _):
        found = await resolved(new, folder, isolation="worktree")
        assert found["values"] == {"isolation": "folder", "branch": "trunk", "directory": ""}


async def test_branches_are_found_among_many(tmp_path: Path) -> None:
    folder = repository(tmp_path / "r")
    head = git(folder, "rev-parse", "HEAD")
    odd = ["feature/ü-ñ", "with'quote", "a;b", "x" * 100, "UPPER"]
    names = [f"topic-{number}" for number in range(200)] + odd
    for name in names:
        ref = folder / ".git" / "refs" / "heads" / name
        ref.parent.mkdir(exist_ok=True)
        ref.write_text(f"{head}\n")
    async with clients() as (new, _):
        assert len(await completed(new, folder, "branch")) == 50
        assert await completed(new, folder, "branch", "topic-199") == ["topic-199"]
        assert await completed(new, folder, "branch", "upper") == ["UPPER"]
        assert await completed(new, folder, "branch", "99") == ["topic-199", "topic-99"]
        for name in odd:
            assert await completed(new, folder, "branch", name) == [name]
            found = await resolved(new, folder, isolation="worktree", branch=name)
            assert found["values"]["branch"] == name
        assert await completed(new, folder, "branch", "--all") == []
        assert await completed(new, tmp_path, "branch") == []


async def test_a_session_may_work_in_a_folder_inside(tmp_path: Path) -> None:
    for name in ("src/core", "src/cli", "docs", ".hidden", "a b/c"):
        (tmp_path / "r" / name).mkdir(parents=True)
    (tmp_path / "r" / "file").write_text("x")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "r" / "link").symlink_to(tmp_path / "elsewhere")
    folder = tmp_path / "r"
    async with clients() as (new, _):
        # The first is none of them: what one goes back to.
        assert await completed(new, folder, "directory") == ["", "a b", "docs", "src"]
        assert await completed(new, folder, "directory", "working") == [""]
        assert await completed(new, folder, "directory", "src/c") == ["src/cli", "src/core"]
        for nonsense in ("..", "../", "../elsewhere", "/etc/", "link/", "gone/", "file/", "a\0/"):
            assert await completed(new, folder, "directory", nonsense) == []
        for chosen in ("..", "src/../..", "/etc", "link", "gone", "file", "a\0b", 7):
            assert (await resolved(new, folder, directory=chosen))["values"]["directory"] == ""
        config = {"directory": "a b/c"}
        await new.ready_session(S, workingDirectories=[folder.as_uri()], config=config)
        inner = (folder / "a b" / "c").as_uri()
        assert new.states[S]["workingDirectories"] == [inner]
        assert new.states[S]["config"]["values"]["directory"] == "a b/c"
        reason = await new.rejected(
            S, {"type": "session/configChanged", "config": {"directory": "docs"}}
        )
        assert reason == "directory cannot be changed"


async def test_an_editor_that_changes_its_mind_before_the_first_message_is_heard(
    tmp_path: Path,
) -> None:
    folder = repository(tmp_path / "r")
    async with clients() as (new, _):
        at: Json = {"workingDirectories": [folder.as_uri()]}
        await new.ready_session(S, **at, config={"isolation": "folder"})
        config = {"isolation": "worktree", "branch": "main"}
        await new.request("createSession", channel=S, **at, config=config)
        await new.ping()
        assert new.states[S]["config"]["values"]["isolation"] == "worktree"
        await mirrored(new)


# Who may know of what


async def test_operators_learn_nothing_of_what_lies_outside_of_the_hosts_folders(
    tmp_path: Path,
) -> None:
    secret = repository(tmp_path / "secret")
    git(secret, "checkout", "-q", "-b", "secret-branch")
    root = secret / "root"
    root.mkdir()
    pointing = root / "pointing"
    pointing.mkdir()
    (pointing / ".git").write_text(f"gitdir: {secret / '.git'}\n")
    moved = repository(root / "moved")
    git(moved, "config", "core.worktree", str(secret))
    inside = repository(root / "inside")
    options: Json = {"agents": [Roomy()], "roots": [root], "default_directory": root}
    async with (
        peopled(tmp_path, **options) as people,
        people.client("owner") as owner,
        people.client("op") as operator,
        people.client("viewer", Role.VIEWER) as viewer,
    ):
        for number, folder in enumerate((root, pointing, moved)):
            session = f"ahp-session:/{number}"
            found = await resolved(operator, folder, isolation="worktree")
            assert found["values"]["isolation"] == "folder"
            assert "branch" not in found["values"]
            assert await completed(operator, folder, "branch") == []
            await operator.ready_session(session, workingDirectories=[folder.as_uri()])
            chat = operator.states[session]["defaultChat"]
            await operator.subscribe(chat)
            await operator.run_turn(chat, "t1", "x")
            state = await operator.fresh(session)
            assert "secret" not in str(state.get("project")) + str(state.get("_meta"))
        # A worktree would lie beside it, inside.
        found = await resolved(operator, inside, isolation="worktree")
        assert (found["values"]["isolation"], found["values"]["branch"]) == ("worktree", "main")
        # Outside they get nothing at all, and viewers nowhere.
        for client, folder in ((operator, secret), (viewer, inside), (viewer, secret)):
            found = await resolved(client, folder, isolation="worktree", directory="root")
            assert found["values"] == {"isolation": "folder"}
            for setting in ("branch", "directory"):
                assert await completed(client, folder, setting) == []
        # Owners choose for themselves.
        found = await resolved(owner, root, isolation="worktree")
        assert (found["values"]["isolation"], found["values"]["branch"]) == (
            *("worktree", "secret-branch"),
        )


async def test_what_an_operator_brings_into_an_owners_session_is_not_trusted(
    tmp_path: Path,
) -> None:
    secret = repository(tmp_path / "secret")
    git(secret, "checkout", "-q", "-b", "secret-branch")
    root = tmp_path / "root"
    pointing = root / "pointing"
    pointing.mkdir(parents=True)
    (pointing / ".git").write_text(f"gitdir: {secret / '.git'}\n")
    options: Json = {"agents": [Roomy()], "roots": [root], "default_directory": root}
    async with (
        peopled(tmp_path, **options) as people,
        people.client("owner") as owner,
        people.client("op") as operator,
    ):
        await owner.ready_session(S, workingDirectories=[secret.as_uri()])
        await git_of(owner, branchName="secret-branch")
        await operator.subscribe(S)
        replaced = {"directory": secret.as_uri(), "replacement": pointing.as_uri()}
        await operator.accepted(S, {"type": "session/workingDirectoryReplaced", **replaced})
        await owner.until(lambda: None if (owner.states[S].get("_meta") or {}).get("git") else {})
        assert (await owner.fresh(S))["project"]["displayName"] == "pointing"


async def test_sessions_of_older_hosts_go_on_to_tell_of_their_repositories(tmp_path: Path) -> None:
    folder, root = repository(tmp_path / "r"), tmp_path / "root"
    root.mkdir()
    options: Json = {"agents": [Roomy()], "roots": [root], "default_directory": root}
    async with peopled(tmp_path, **options) as people, people.client("owner") as owner:
        chat = await owner.used_session(S, workingDirectories=[folder.as_uri()])
        await git_of(owner, branchName="main")
        session = people.host.core.directory.get(S, SESSION)
        assert session is not None
        extra_of(session).place = None
        git(folder, "checkout", "-q", "-b", "later")
        await owner.run_turn(chat, "t2", "again")
        await git_of(owner, branchName="later")


# Nobody waits


async def test_a_repository_that_does_not_answer_holds_nobody_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, programs = repository(tmp_path / "r"), tmp_path / "bin"
    programs.mkdir()
    stuck, asked = programs / "git", tmp_path / "asked"
    stuck.write_text(f"#!/bin/sh\ntouch {asked}\nexec sleep 1000\n")
    stuck.chmod(0o755)
    monkeypatch.setattr(places, "MOMENT", 0.05)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    async with clients() as (new, old):
        for number in range(8):
            uri = f"ahp-session:/{number}"
            config = {"isolation": "worktree"}
            params: Json = {"workingDirectories": [folder.as_uri()], "config": config}
            await new.request("createSession", channel=uri, **params)
            await old.ping()
        # Whoever was not waited for may not have come to it yet.
        await eventually(asked.exists)
        state = await new.subscribe("ahp-session:/7")
        assert "project" not in state
        # What was asked for was not given up.
        assert state["config"]["values"]["isolation"] == "worktree"
        assert (await resolved(new, folder))["values"]["isolation"] == "folder"
