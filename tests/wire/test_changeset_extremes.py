"""Changesets at their edges: every version, files too large to keep, contents that are lost."""

from __future__ import annotations

import asyncio
import os
import shutil
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from agenthost.host.channels.changeset import turn_changes
from agenthost.host.store import MemoryBacking, MemoryStore
from agenthost.host.turns import turn_hooks
from agenthost.protocol import SUPPORTED_VERSIONS
from agenthost.workspace.git import checkpoints
from agenthost.workspace.git.checkpoints import MOST_NEW
from tests.wire.changing import SESSION, Handy, changing, content, names, open_changes, opened
from tests.wire.client import Json, WireClient, open_client
from tests.wire.hosting import embed
from tests.wire.schemas import complaints_about, needs_schemas
from tests.workspace.git.repositories import commit, git, repository


@pytest.fixture(autouse=True)
def _real_repositories(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = tmp_path_factory.mktemp("home")
    monkeypatch.delenv("GIT_DIR")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    (home / ".gitconfig").write_text("[user]\nname = a\nemail = a@example.com\n")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return repository(tmp_path / "r")


@needs_schemas
async def test_clients_of_every_version_hold_the_same_and_are_told_nothing_strange(
    folder: Path,
) -> None:
    git(folder, "checkout", "-q", "-b", "feature")
    async with changing(folder) as scene, AsyncExitStack() as stack:
        clients = [scene.client]
        for version in SUPPORTED_VERSIONS:
            opening = open_client(scene.url, f"of {version}", version)
            client = await stack.enter_async_context(opening)
            await client.initialize("ahp-root://", SESSION, scene.chat)
            clients.append(client)
        await scene.turn(lambda: (folder / "a").write_text("new\n"))
        uris = [scene.uri(name) for name in ("branch", "uncommitted", "session", "turn/t1")]
        for client in clients:
            for uri in uris:
                assert names(await open_changes(client, uri), folder) == {"a": "edited"}
        review = {
            "type": "changeset/filesReviewChanged",
            "files": [(folder / "a").as_uri()],
            "reviewed": True,
        }
        await scene.client.accepted(scene.uri("session"), review)
        await scene.turn(lambda: (folder / "c").write_text("c\n"))
        for client in clients:
            for uri in uris[:3]:
                await client.until(
                    lambda c=client, u=uri: {} if len(c.states[u]["files"]) == 2 else None  # type: ignore[misc]
                )
        await scene.client.until(lambda: {} if _counted(scene.client) == 2 else None)
        await scene.client.request(
            "invokeChangesetOperation", channel=scene.uri("uncommitted"), operationId="commit"
        )
        failing = scene.uri("compare/t1/none")
        for client in clients:
            await client.subscribe(failing)
            await opened(client, failing, "error")
        for client in clients:
            await client.ping()
            for uri in uris:
                await opened(client, uri)
            for uri in uris:
                mirrored, fresh = await client.compared(uri)
                assert mirrored == fresh, client.version
            assert complaints_about(client) == []


def _counted(client: WireClient) -> int:
    """Return how many files a chat is said to have changed, once its turn was looked at."""
    counts: Json = client.states[SESSION]["chats"][0].get("changes", {})
    return int(counts.get("files", 0))


async def test_a_file_that_is_too_large_to_keep_is_named_and_not_discarded(folder: Path) -> None:
    large = folder / "large"
    with large.open("wb") as file:
        file.truncate(MOST_NEW + 1)
    async with changing(folder) as scene:
        uri, client = scene.uri("uncommitted"), scene.client
        (shown,) = (await open_changes(client, uri))["files"]
        assert shown["id"] == large.as_uri()
        assert shown["edit"]["after"]["content"]["uri"] == large.as_uri()
        failure = await client.refusal(
            "invokeChangesetOperation",
            channel=uri,
            operationId="discard-changes",
            target={"kind": "resource", "resource": large.as_uri()},
        )
        assert (failure.code, failure.data) == (-32602, {"path": "target.resource"})
        assert large.exists()
        await client.request("invokeChangesetOperation", channel=uri, operationId="stage")
        assert git(folder, "diff", "--cached", "--name-only") == "large"


async def test_contents_that_are_lost_are_an_error_and_not_nothing(
    folder: Path, tmp_path: Path
) -> None:
    own = tmp_path / "own"
    async with changing(folder, workspace_dir=own) as scene:
        client = scene.client
        await scene.turn(lambda: (folder / "a").write_text("new\n"))
        uri = scene.uri("turn/t1")
        state = await open_changes(client, uri)
        (file,) = state["files"]
        await client.until(lambda: client.states[SESSION]["chats"][0].get("changes"))
        (objects,) = (own / "checkpoints").glob("*/objects")
        shutil.rmtree(objects)
        await client.send({"method": "unsubscribe", "params": {"channel": uri}})
        await client.subscribe(uri)
        state = await opened(client, uri, "error")
        assert state["error"]["errorType"] == "gitFailed"
        side = file["edit"]["after"]["content"]["uri"]
        assert (await client.refusal("resourceRead", uri=side)).code == -32008
        # What the repository itself has can still be read, and turns go on.
        assert await content(client, file["edit"]["before"]) == b"a\n" * 20
        turn = await scene.turn(lambda: (folder / "b").write_text("new\n"))
        state = await open_changes(client, scene.uri(f"turn/{turn}"))
        assert names(state, folder) == {"b": "edited"}


async def test_checkpoints_that_went_with_a_temporary_folder_are_not_missed(folder: Path) -> None:
    backing = MemoryBacking()
    async with changing(folder, store=MemoryStore(backing)) as scene:
        await scene.turn(lambda: (folder / "a").write_text("new\n"))
        await scene.client.until(lambda: scene.client.states[SESSION]["chats"][0].get("changes"))
    agent = Handy()
    options = {"store": MemoryStore(backing), "default_directory": folder}
    async with embed(agent, **options) as url, open_client(url) as client:
        await client.initialize(SESSION)
        chat = client.states[SESSION]["defaultChat"]
        await client.subscribe(chat)
        # No tool said that it edited something.
        assert (await open_changes(client, f"{SESSION}/changeset/turn/t1"))["files"] == []
        agent.jobs["x"] = lambda: (folder / "b").write_text("new\n")
        await client.run_turn(chat, "x", "x")
        for name in ("session", "turn/x"):
            state = await open_changes(client, f"{SESSION}/changeset/{name}")
            assert names(state, folder) == {"b": "edited"}


async def test_a_session_below_the_top_sees_its_own_folder_only(folder: Path) -> None:
    sub = folder / "sub"
    sub.mkdir()
    (sub / "x").write_text("x\n")
    commit(folder, "second")
    # An owner chose it, so that the repository around it counts.
    async with changing(sub) as scene:

        def work() -> None:
            (sub / "x").write_text("new\n")
            (folder / "a").write_text("outside\n")

        await scene.turn(work)
        for name in ("uncommitted", "session", "turn/t1"):
            state = await open_changes(scene.client, scene.uri(name))
            assert names(state, folder) == {"sub/x": "edited"}, name


async def test_a_repository_without_a_commit_has_only_new_files(tmp_path: Path) -> None:
    folder = tmp_path / "fresh"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "a").write_text("a\n")
    async with changing(folder) as scene:
        uri = scene.uri("uncommitted")
        assert names(await open_changes(scene.client, uri), folder) == {"a": "made"}
        await scene.client.request("invokeChangesetOperation", channel=uri, operationId="commit")
        assert git(folder, "rev-list", "--count", "HEAD") == "1"
        assert scene.client.states[uri]["files"] == []


async def test_whoever_comes_and_goes_leaves_nothing_running(folder: Path) -> None:
    async with changing(folder) as scene:
        uri = scene.uri("session")
        for number in range(20):
            async with open_client(scene.url, f"guest {number}") as client:
                await client.initialize()
                await client.subscribe(uri)
        await open_changes(scene.client, uri)
        await scene.client.send({"method": "unsubscribe", "params": {"channel": uri}})
        await scene.client.ping()
        left = [task.get_name() for task in asyncio.all_tasks() if "look after" in task.get_name()]
        # Those that were told to end may need another moment.
        assert len(left) <= 1


async def test_what_could_not_be_kept_is_said_so(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # More new files than a checkpoint takes.
    monkeypatch.setattr(checkpoints, "MOST_UNTRACKED", 3)
    for number in range(4):
        (folder / f"n{number}").touch()
    async with changing(folder) as scene:
        turn = await scene.turn(lambda: (folder / "a").write_text("new\n"))
        uri = scene.uri(f"turn/{turn}")
        await scene.client.subscribe(uri)
        state = await opened(scene.client, uri, "error")
        assert state["error"]["errorType"] == "notKept"
        # From then on it is known again.
        for number in range(4):
            (folder / f"n{number}").unlink()
        turn = await scene.turn(lambda: (folder / "b").write_text("new\n"))
        state = await open_changes(scene.client, scene.uri(f"turn/{turn}"))
        assert names(state, folder) == {"b": "edited"}


async def test_a_turn_that_leaves_too_much_to_be_kept_is_not_one_without_changes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "MOST_UNTRACKED", 3)
    async with changing(folder) as scene:
        client = scene.client
        turn = await scene.turn(
            lambda: [(folder / f"n{number}").write_text("") for number in range(4)]
        )
        uri = scene.uri(f"turn/{turn}")
        await client.subscribe(uri)

        def not_kept() -> Json | None:
            error = client.states[uri].get("error") or {}
            return error if error.get("errorType") == "notKept" else None

        # As long as the host still looks, they are too many.
        await client.until(not_kept)
        await client.subscribe(scene.uri("session"))
        await opened(client, scene.uri("session"), "error")


async def test_files_that_were_looked_at_too_late_are_not_those_before_a_turn(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, program = tmp_path / "slow", tmp_path / "bin" / "git"
    slow.touch()
    program.parent.mkdir()
    wait = f'case "$3" in write-tree) while [ -e {slow} ]; do sleep 0.02; done;; esac'
    program.write_text(f'#!/bin/sh\n{wait}\nexec {shutil.which("git")} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setattr(turn_hooks, "WITNESS_PATIENCE", 0.1)
    monkeypatch.setattr(turn_changes, "IN_TIME", 0.0, raising=False)
    async with changing(folder) as scene:
        turn = await scene.turn(lambda: (folder / "a").write_text("new\n"))
        slow.unlink()
        for name in (f"turn/{turn}", "session"):
            await scene.client.subscribe(scene.uri(name))
            state = await opened(scene.client, scene.uri(name), "error")
            assert state["error"]["errorType"] == "notKept"
        # However long it takes: as long as the agent does nothing, the files are as they were.
        monkeypatch.setattr(turn_hooks, "WITNESS_PATIENCE", 30.0)
        turn = await scene.turn(lambda: (folder / "b").write_text("new\n"))
        state = await open_changes(scene.client, scene.uri(f"turn/{turn}"))
        assert names(state, folder) == {"b": "edited"}


async def test_a_session_of_an_earlier_host_offers_its_changes_too(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backing = MemoryBacking()
    monkeypatch.setenv("GIT_DIR", "/dev/null")
    async with changing(folder, store=MemoryStore(backing)) as scene:
        await scene.turn(lambda: None)
        assert "changesets" not in scene.client.states[SESSION]
    monkeypatch.delenv("GIT_DIR")
    (folder / "a").write_text("new\n")
    options = {"store": MemoryStore(backing), "default_directory": folder}
    async with embed(Handy(), **options) as url, open_client(url) as client:
        await client.initialize(SESSION)
        await client.until(lambda: {} if "changesets" in client.states[SESSION] else None)
        state = await open_changes(client, f"{SESSION}/changeset/uncommitted")
        assert names(state, folder) == {"a": "edited"}


async def test_too_many_files_are_an_error_that_says_how_many(folder: Path) -> None:
    async with changing(folder) as scene:
        await scene.turn(lambda: None)
        for number in range(5001):
            (folder / f"n{number}").touch()
        uri = scene.uri("uncommitted")
        await scene.client.subscribe(uri)
        state = await opened(scene.client, uri, "error")
        assert state["error"]["errorType"] == "tooManyFiles"
        assert "5001" in state["error"]["message"]
        assert state["files"] == []
        for number in range(5001):
            (folder / f"n{number}").unlink()
        # And it is well again as soon as there are fewer.
        await opened(scene.client, uri)


async def test_names_of_contents_cannot_be_made_up(folder: Path) -> None:
    async with changing(folder) as scene:
        client = scene.client
        await scene.turn(lambda: (folder / "a").write_text("new\n"))
        state = await open_changes(client, scene.uri("session"))
        uri = state["files"][0]["edit"]["before"]["content"]["uri"]
        path, _, said = uri.partition("?")
        assert path == f"git-blob:{folder / 'a'}"
        resolved = await client.request("resourceResolve", uri=uri)
        assert (resolved["type"], resolved["size"]) == ("file", 40)
        whose, blob, signature = said.split(".")
        other = git(folder, "rev-parse", "HEAD:b")
        for wrong in (
            f"{path}?{whose}.{other}.{signature}",
            f"{path}?{whose}.{blob}.{'0' * 20}",
            f"{path}?{whose}x.{blob}.{signature}",
            f"{path}?{said}#b",
            path,
            "git-blob:",
            "git-blob:/x",
            f"git-blob://elsewhere/a?{said}",
        ):
            assert (await client.refusal("resourceRead", uri=wrong)).code in (-32008, -32602)
        assert (await client.refusal("resourceWrite", uri=uri, data="x", encoding="utf-8")).code


async def test_a_git_that_is_killed_is_an_error_with_nothing_to_do_and_no_empty_repository(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs, killed = tmp_path / "programs", tmp_path / "killed"
    programs.mkdir()
    program = programs / "git"
    program.write_text(
        f"#!/bin/sh\n[ -e '{killed}' ] && case $* in *--verify*) kill -9 $$;; esac\n"
        f"exec '{shutil.which('git')}' \"$@\"\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    async with changing(folder) as scene:
        client, uri = scene.client, scene.uri("uncommitted")
        await scene.turn(lambda: (folder / "a").write_text("new\n"))
        state = await open_changes(client, uri)
        offered = state["operations"]
        assert [each["id"] for each in offered] == ["commit", "stage", "discard-changes"]
        await scene.turn(killed.touch)
        state = await opened(client, uri, "error")
        assert state["error"]["errorType"] == "gitFailed"
        assert state["operations"] == []
        failure = await client.refusal(
            "invokeChangesetOperation", channel=uri, operationId="commit"
        )
        assert failure.code == -32602
        await scene.turn(killed.unlink)
        state = await open_changes(client, uri)
        assert names(state, folder) == {"a": "edited"}
        assert state["operations"] == offered
