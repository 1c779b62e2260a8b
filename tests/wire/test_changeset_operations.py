"""Doing something about changes: staging, discarding, committing, reviewing; and who may."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.flags import eventually
from tests.wire.changing import SESSION, Changing, changing, names, open_changes, opened
from tests.wire.client import Json, WireClient, open_client
from tests.workspace.git.repositories import git, repository


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


@pytest.fixture
async def scene(folder: Path) -> AsyncIterator[Changing]:
    """A session in which one file was changed, one made and one removed."""
    async with changing(folder) as scene:

        def work() -> None:
            (folder / "a").write_text("changed\n")
            (folder / "b").unlink()
            (folder / "new").mkdir()
            (folder / "new" / "c").write_text("c\n")

        await scene.turn(work)
        yield scene


def staged(folder: Path) -> set[str]:
    return set(git(folder, "diff", "--cached", "--name-only").splitlines())


async def invoke(client: WireClient, uri: str, id: str, file: Path | None = None) -> Json:
    target: Json = {}
    if file is not None:
        target["target"] = {"kind": "resource", "resource": file.as_uri()}
    result: Json = await client.request(
        "invokeChangesetOperation", channel=uri, operationId=id, **target
    )
    return result


def statuses(client: WireClient, uri: str, id: str) -> list[str]:
    actions = [envelope["action"] for envelope in client.envelopes[uri]]
    return [
        action["status"]
        for action in actions
        if action["type"] == "changeset/operationStatusChanged" and action["operationId"] == id
    ]


async def test_a_file_is_staged_and_then_the_rest(scene: Changing) -> None:
    uri, client = scene.uri("uncommitted"), scene.client
    state = await open_changes(client, uri)
    assert [each["id"] for each in state["operations"]] == ["commit", "stage", "discard-changes"]
    assert {each["status"] for each in state["operations"]} == {"idle"}
    assert await invoke(client, uri, "stage", scene.folder / "b") == {"message": "Staged b"}
    assert staged(scene.folder) == {"b"}
    assert statuses(client, uri, "stage") == ["running", "idle"]
    # What is gone already is staged again without complaint.
    assert await invoke(client, uri, "stage") == {"message": "Staged 3 files"}
    assert staged(scene.folder) == {"a", "b", "new/c"}


async def test_a_commit_has_the_sessions_title_and_everybody_sees_its_effects_first(
    scene: Changing,
) -> None:
    uri, client = scene.uri("uncommitted"), scene.client
    await open_changes(client, uri)
    async with open_client(scene.url, "other") as other:
        await other.initialize()
        await open_changes(other, uri)
        result = await invoke(client, uri, "commit")
        assert result["message"].startswith("Committed ")
        assert git(scene.folder, "log", "-1", "--format=%s") == "t1"
        assert git(scene.folder, "status", "--porcelain") == ""
        await other.action(uri, "changeset/operationStatusChanged", status="idle")
        told = [envelope["action"] for envelope in other.envelopes[uri]]
        types = [action["type"] for action in told]
        idle = next(n for n, action in enumerate(told) if action.get("status") == "idle")
        assert "changeset/fileRemoved" in types[:idle]
        assert "changeset/fileRemoved" not in types[idle:]
        assert other.states[uri]["files"] == []


async def test_a_hook_that_refuses_a_commit_is_quoted_and_nothing_is_staged(
    scene: Changing,
) -> None:
    hook = scene.folder / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho 'the tests are red' >&2\nexit 1\n")
    hook.chmod(0o755)
    uri, client = scene.uri("uncommitted"), scene.client
    await open_changes(client, uri)
    head = git(scene.folder, "rev-parse", "HEAD")
    failure = await client.refusal("invokeChangesetOperation", channel=uri, operationId="commit")
    assert (failure.code, failure.message) == (-32603, "the tests are red")
    assert statuses(client, uri, "commit") == ["running", "error"]
    (shown,) = [op for op in client.states[uri]["operations"] if op["id"] == "commit"]
    assert shown["error"]["message"] == "the tests are red"
    assert git(scene.folder, "rev-parse", "HEAD") == head
    assert staged(scene.folder) == set()
    # It can be tried again.
    hook.unlink()
    await invoke(client, uri, "commit")
    assert statuses(client, uri, "commit") == ["running", "error", "running", "idle"]
    # There is nothing left to do it to.
    assert client.states[uri]["operations"] == []


@pytest.mark.parametrize("name", ["uncommitted", "session"])
async def test_changes_of_files_are_discarded(scene: Changing, name: str) -> None:
    uri, client, folder = scene.uri(name), scene.client, scene.folder
    await open_changes(client, uri)
    index = (folder / ".git" / "index").read_bytes()
    result = await invoke(client, uri, "discard-changes", folder / "a")
    assert result == {"message": "Discarded the changes in a"}
    assert (folder / "a").read_text() == "a\n" * 20
    await invoke(client, uri, "discard-changes", folder / "b")
    assert (folder / "b").read_text() == "b\n"
    await invoke(client, uri, "discard-changes", folder / "new" / "c")
    assert not (folder / "new" / "c").exists()
    assert client.states[uri]["files"] == []
    assert (folder / ".git" / "index").read_bytes() == index


async def test_what_was_changed_meanwhile_is_not_discarded(scene: Changing) -> None:
    uri, client, file = scene.uri("uncommitted"), scene.client, scene.folder / "a"
    await open_changes(client, uri)
    file.write_text("newer\n")
    failure = await client.refusal(
        "invokeChangesetOperation",
        channel=uri,
        operationId="discard-changes",
        target={"kind": "resource", "resource": file.as_uri()},
    )
    assert failure.code == -32011
    assert file.read_text() == "newer\n"


async def test_nonsense_is_refused_by_name(scene: Changing) -> None:
    uri, client = scene.uri("uncommitted"), scene.client
    await open_changes(client, uri)
    file = {"kind": "resource", "resource": (scene.folder / "a").as_uri()}
    wrong = [
        ("nothing", None, "operationId"),
        ("discard-changes", None, "target"),
        ("commit", file, "target"),
        ("stage", {**file, "resource": "file:///etc/passwd"}, "target.resource"),
    ]
    for id, target, path in wrong:
        params = {"target": target} if target else {}
        failure = await client.refusal(
            "invokeChangesetOperation", channel=uri, operationId=id, **params
        )
        assert (failure.code, failure.data) == (-32602, {"path": path})
    turn = scene.uri("turn/t1")
    for channel, code in ((turn, -32602), (scene.uri("x"), -32008), (SESSION, -32008)):
        failure = await client.refusal(
            "invokeChangesetOperation", channel=channel, operationId="commit"
        )
        assert failure.code == code
    missing = "ahp-session:/none/changeset/session"
    failure = await client.refusal(
        "invokeChangesetOperation", channel=missing, operationId="commit"
    )
    assert failure.code == -32001


async def test_nothing_is_done_while_a_turn_runs(scene: Changing) -> None:
    uri, client = scene.uri("uncommitted"), scene.client
    await open_changes(client, uri)

    async def until_all_are(status: str) -> None:
        def found() -> Json | None:
            offered = client.states[uri].get("operations", ())
            return {} if {each["status"] for each in offered} == {status} else None

        await client.until(found)

    await client.start_turn(scene.chat, "w", "wait")
    await until_all_are("disabled")
    failure = await client.refusal("invokeChangesetOperation", channel=uri, operationId="stage")
    assert failure.code == -32004
    scene.agent.may_finish.set()
    await until_all_are("idle")
    await invoke(client, uri, "stage")


async def test_who_locks_the_index_is_not_disturbed(scene: Changing) -> None:
    uri, client = scene.uri("uncommitted"), scene.client
    lock = scene.folder / ".git" / "index.lock"
    lock.write_bytes(b"")
    state = await open_changes(client, uri)
    assert len(state["files"]) == 3
    failure = await client.refusal("invokeChangesetOperation", channel=uri, operationId="stage")
    assert failure.code == -32603
    assert "index.lock" in failure.message
    assert lock.exists()


async def test_two_who_want_the_same_share_the_answer(scene: Changing) -> None:
    uri, client = scene.uri("uncommitted"), scene.client
    await open_changes(client, uri)
    async with open_client(scene.url, "other") as other:
        await other.initialize()
        answers = await asyncio.gather(*(invoke(each, uri, "commit") for each in (client, other)))
    # Or the second found nothing left to do, if it came when the first was done: not here.
    assert answers[0] == answers[1]
    assert git(scene.folder, "rev-list", "--count", "HEAD") == "2"


async def test_reviewed_files_stay_so_until_they_change(scene: Changing) -> None:
    uri, client, file = scene.uri("session"), scene.client, scene.folder / "a"
    await open_changes(client, uri)
    reviewed = {"type": "changeset/filesReviewChanged", "files": [file.as_uri()], "reviewed": True}
    await client.accepted(uri, reviewed)
    await client.request("ping")
    # Nobody follows it for a moment.
    await client.send({"method": "unsubscribe", "params": {"channel": uri}})
    state = await open_changes(client, uri)
    flags = {each["id"]: each.get("reviewed") for each in state["files"]}
    assert flags[file.as_uri()] is True
    assert [*flags.values()].count(True) == 1
    await scene.turn(lambda: file.write_text("changed again\n"))
    told = await client.action(uri, "changeset/fileSet")
    assert told["file"]["reviewed"] is False
    await scene.turn(lambda: file.write_text("changed\n"))
    await client.until(
        lambda: {} if any(each.get("reviewed") for each in client.states[uri]["files"]) else None
    )


async def test_a_turn_cannot_be_reviewed(scene: Changing) -> None:
    uri = scene.uri("turn/t1")
    state = await open_changes(scene.client, uri)
    ids = [each["id"] for each in state["files"]]
    action = {"type": "changeset/filesReviewChanged", "files": ids, "reviewed": True}
    assert "cannot be reviewed" in await scene.client.rejected(uri, action)
    assert names(await opened(scene.client, uri), scene.folder) == {
        "a": "edited",
        "b": "gone",
        "new/c": "made",
    }


async def test_what_was_begun_is_done_although_whoever_asked_has_left(
    scene: Changing, tmp_path: Path
) -> None:
    uri, go = scene.uri("uncommitted"), tmp_path / "go"
    hook = scene.folder / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\nwhile ! test -e '{go}'; do sleep 0.05; done\n")
    hook.chmod(0o755)
    async with open_client(scene.url, "hasty") as hasty:
        await hasty.initialize()
        await open_changes(hasty, uri)
        params = {"channel": uri, "operationId": "commit"}
        await hasty.send({"id": 99, "method": "invokeChangesetOperation", "params": params})
        await hasty.action(uri, "changeset/operationStatusChanged", status="running")
        hasty.abort()
    go.touch()
    await eventually(lambda: git(scene.folder, "rev-list", "--count", "HEAD") == "2")
    state = await open_changes(scene.client, uri)
    assert state["files"] == []


async def test_several_files_are_discarded_at_once(scene: Changing) -> None:
    uri, client, folder = scene.uri("uncommitted"), scene.client, scene.folder
    await open_changes(client, uri)
    files = (folder / "a", folder / "b", folder / "new" / "c")
    await asyncio.gather(*(invoke(client, uri, "discard-changes", file) for file in files))
    assert git(folder, "status", "--porcelain") == ""
    assert client.states[uri]["files"] == []
    told = statuses(client, uri, "discard-changes")
    assert told.count("idle") == 1
    assert told[-1] == "idle"
