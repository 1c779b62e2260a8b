"""What sessions changed: found out by git, shown to everybody who follows, true to the files."""

from __future__ import annotations

import asyncio
import itertools
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from agenthost.host.channels.changeset import changesets
from agenthost.host.channels.changeset.turn_changes import TurnChanges
from agenthost.host.store import MemoryBacking, MemoryStore
from agenthost.workspace.git.checkpoints import Checkpoints
from tests.flags import Flag, eventually
from tests.wire.changing import SESSION, Handy, changing, content, names, open_changes, opened
from tests.wire.client import Json, WireClient, open_client
from tests.wire.hosting import embed
from tests.workspace.git.repositories import commit, digest, git, repository, status
from tests.workspace.git.test_checkpoints import everything


@pytest.fixture(autouse=True)
def _real_repositories(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.delenv("GIT_DIR")
    monkeypatch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return repository(tmp_path / "r")


async def test_a_turn_and_its_session_show_what_the_turn_did(folder: Path) -> None:
    (folder / "b").write_text("edited before\n")
    before = digest(folder)
    async with changing(folder) as scene:
        client = scene.client
        turn = await scene.turn(lambda: (folder / "a").write_text("a\n" * 19 + "new\n"))
        for uri in (scene.uri(f"turn/{turn}"), scene.uri("session")):
            state = await open_changes(client, uri)
            assert names(state, folder) == {"a": "edited"}
            (file,) = state["files"]
            assert file["edit"]["diff"] == {"added": 1, "removed": 1}
            assert await content(client, file["edit"]["before"]) == b"a\n" * 20
            assert await content(client, file["edit"]["after"]) == b"a\n" * 19 + b"new\n"
        state = await open_changes(client, scene.uri("uncommitted"))
        assert names(state, folder) == {"a": "edited", "b": "edited"}
    assert digest(folder) == before


class Mover(Handy):
    """Goes on in another folder when it is told to."""

    capabilities: Mapping[str, Any] = {
        "multipleChats": {},
        "multipleWorkingDirectories": {"primaryReplacement": True},
    }


async def test_a_session_that_moves_while_its_turn_begins_offers_nothing_of_the_old_folder(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    take, taking, may_take = Checkpoints.take, Flag(), Flag()
    offer, turn_offered = TurnChanges._offer, Flag()

    async def slow_take(self: Checkpoints, *args: Any) -> Any:
        taking.set()
        await may_take.wait()
        return await take(self, *args)

    async def noted_offer(self: TurnChanges, *args: Any) -> None:
        await offer(self, *args)
        if args[1] is not None:
            turn_offered.set()

    monkeypatch.setattr(Checkpoints, "take", slow_take)
    monkeypatch.setattr(TurnChanges, "_offer", noted_offer)
    async with changing(folder, agent=Mover(), roots=[tmp_path]) as scene:
        client = scene.client
        await client.until(lambda: client.states[SESSION].get("changesets") or None)
        await client.start_turn(scene.chat, "t1", "wait")
        await taking.wait()
        moved = {"directory": folder.as_uri(), "replacement": elsewhere.as_uri()}
        await client.accepted(SESSION, {"type": "session/workingDirectoryReplaced", **moved})
        await client.until(lambda: {} if not client.states[SESSION]["changesets"] else None)
        may_take.set()
        await turn_offered.wait()
        await client.ping()
        assert client.states[SESSION]["changesets"] == []
        scene.agent.may_finish.set()


async def test_the_catalogue_grows_with_the_first_turn(folder: Path) -> None:
    git(folder, "checkout", "-q", "-b", "feature")
    async with changing(folder) as scene:
        client = scene.client
        await client.until(lambda: {} if "changesets" in client.states[SESSION] else None)
        assert client.states[SESSION]["changesets"] == [
            {
                "label": "Uncommitted Changes",
                "uriTemplate": f"{SESSION}/changeset/uncommitted",
                "changeKind": "uncommitted",
                "capabilities": {"review": {}},
            }
        ]
        await scene.turn(lambda: None)
        await client.until(lambda: {} if len(client.states[SESSION]["changesets"]) > 1 else None)
        told = client.states[SESSION]["changesets"]
        assert [(entry["label"], entry["changeKind"]) for entry in told] == [
            ("Branch Changes", "branch"),
            ("Session Changes", "session"),
            ("Uncommitted Changes", "uncommitted"),
            ("This Turn", "turn"),
            ("Compare Turns", "compare-turns"),
        ]
        assert told[0]["description"] == "feature → main"
        (folder / "a").write_text("committed\n")
        commit(folder, "second")
        (folder / "c").write_text("not yet\n")
        state = await open_changes(client, scene.uri("branch"))
        assert names(state, folder) == {"a": "edited", "c": "made"}


async def test_a_changeset_that_cannot_be_is_not_found(folder: Path) -> None:
    async with changing(folder) as scene:
        client = scene.client
        for name in ("", "x", "turn", "turn/{turnId}", "turn/a/b", "session/x", "compare/a"):
            failure = await client.refusal("subscribe", channel=scene.uri(name))
            assert failure.code == -32008, name
        nobody = "ahp-session:/nobody/changeset/session"
        assert (await client.refusal("subscribe", channel=nobody)).code == -32001
        async with open_client(scene.url, "other") as other:
            await other.initialize(scene.uri("turn/none"))
            assert other.states[scene.uri("turn/none")]["files"] == []


async def test_a_changeset_is_what_git_says(folder: Path) -> None:
    everything(folder)
    before = digest(folder)
    async with changing(folder) as scene:
        state = await open_changes(scene.client, scene.uri("uncommitted"))
        told = {file["id"]: file["edit"] for file in state["files"]}
        listed = {side["uri"] for edit in told.values() for side in _sides(edit)}
        assert listed == {_uri(folder, name) for name in status(folder)}
        assert {uri.rpartition("/")[2]: edit.get("diff") for uri, edit in told.items()} == {
            "mod": {"added": 1, "removed": 0},
            "staged": {"added": 1, "removed": 0},
            "both": {"added": 2, "removed": 0},
            "del": {"added": 0, "removed": 30},
            "ren-%C3%A4%20%0A2": {"added": 0, "removed": 0},
            "bin": None,
            "new": {"added": 1, "removed": 0},
            "sub": None,
        }
        for uri, edit in told.items():
            if not uri.endswith("/sub"):
                for side in _sides(edit):
                    is_old = side is edit.get("before")
                    await _compare_with_git(scene.client, folder, side, is_old=is_old)
    assert digest(folder) == before


def _sides(edit: Json) -> list[Json]:
    return [edit[side] for side in ("before", "after") if side in edit]


def _uri(folder: Path, name: str) -> str:
    return (folder / name).as_uri()


async def _compare_with_git(client: WireClient, folder: Path, side: Json, *, is_old: bool) -> None:
    name = unquote(side["uri"].removeprefix(folder.as_uri() + "/"))
    if is_old:
        blob = git(folder, "rev-parse", f"HEAD:{name}")
        assert side["content"]["nonce"] == blob
        assert side["content"]["sizeHint"] == int(git(folder, "cat-file", "-s", blob))
    read = await content(client, side)
    assert len(read) == side["content"]["sizeHint"]
    if not is_old:
        assert read == (folder / name).read_bytes()


async def test_twenty_turns_compare_pairwise(folder: Path) -> None:
    before = digest(folder)
    async with changing(folder) as scene:
        turns = []
        for number in range(20):
            file = folder / f"f{number % 7}"
            turns.append(await scene.turn(lambda f=file, n=number: f.write_text(f"{n}\n")))  # type: ignore[misc]
        for one, other in itertools.combinations(range(0, 20, 3), 2):
            uri = scene.uri(f"compare/{turns[one]}/{turns[other]}")
            state = await open_changes(scene.client, uri)
            wanted = {f"f{number % 7}" for number in range(one + 1, other + 1)}
            assert set(names(state, folder)) == wanted
            back = await open_changes(
                scene.client, scene.uri(f"compare/{turns[other]}/{turns[one]}")
            )
            assert set(names(back, folder)) == wanted
        state = await open_changes(scene.client, scene.uri("turn/t20"))
        (file,) = state["files"]
        assert await content(scene.client, file["edit"]["before"]) == b"12\n"
        assert await content(scene.client, file["edit"]["after"]) == b"19\n"
    assert digest(folder) == before


async def test_what_the_user_did_between_turns_is_not_the_turns(folder: Path) -> None:
    async with changing(folder) as scene:
        await scene.turn(lambda: (folder / "a").write_text("agent\n"))
        await _counted(scene.client, 1)
        (folder / "b").write_text("user\n")
        await scene.turn(lambda: (folder / "c").write_text("agent\n"))
        state = await open_changes(scene.client, scene.uri("turn/t2"))
        assert names(state, folder) == {"c": "made"}
        state = await open_changes(scene.client, scene.uri("session"))
        assert set(names(state, folder)) == {"a", "b", "c"}


async def _counted(client: WireClient, files: int) -> None:
    """Wait until the list of sessions says how many files have changed."""
    await client.notification(
        "root/sessionSummaryChanged",
        lambda params: params["changes"].get("changes", {}).get("files") == files,
    )


async def test_lines_of_lists_say_how_much_has_changed(folder: Path) -> None:
    async with changing(folder) as scene:
        assert "changes" not in scene.client.states[SESSION]["chats"][0]
        await scene.turn(lambda: (folder / "a").write_text("new\n"))
        await _counted(scene.client, 1)
        told = {"additions": 1, "deletions": 20, "files": 1}
        (entry,) = scene.client.states[SESSION]["chats"]
        assert entry["changes"] == told
        async with open_client(scene.url, "late") as late:
            await late.initialize(scene.chat)
            assert late.states[scene.chat]["changes"] == told
            (item,) = (await late.request("listSessions"))["items"]
            assert item["changes"] == told


async def test_whoever_follows_sees_files_change_by_any_hand(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Three times in a row.
    monkeypatch.setattr(changesets, "LOOK_SECONDS", 0.2)
    async with changing(folder) as scene:
        client, uri = scene.client, scene.uri("uncommitted")
        assert (await open_changes(client, uri))["files"] == []
        assert [e["action"]["type"] for e in client.envelopes[uri]] == [
            "changeset/contentChanged",
            "changeset/statusChanged",
        ]
        (folder / "a").write_text("by hand\n")
        told = await client.action(uri, "changeset/fileSet")
        assert told["file"]["id"] == (folder / "a").as_uri()
        # Nobody asked for it, so nothing is said to be computed.
        assert client.states[uri]["status"] == "ready"
        assert len([e for e in client.envelopes[uri] if "status" in e["action"]]) == 1
        git(folder, "checkout", "-q", "--", "a")
        await client.action(uri, "changeset/fileRemoved", fileId=(folder / "a").as_uri())
        for number in range(60):
            (folder / f"n{number}").write_text("x\n")
        await client.until(lambda: {} if len(client.states[uri]["files"]) == 60 else None)
        mirrored, fresh = await client.compared(uri)
        assert mirrored == fresh


async def test_a_turn_that_runs_is_shown_as_it_goes(folder: Path) -> None:
    async with changing(folder) as scene:
        client = scene.client
        await client.start_turn(scene.chat, "w", "wait")
        await client.action(scene.chat, "chat/delta")
        (folder / "a").write_text("while it runs\n")
        state = await open_changes(client, scene.uri("turn/w"))
        assert names(state, folder) == {"a": "edited"}
        scene.agent.may_finish.set()
        await client.turn_end(scene.chat, "w")
        await client.action(scene.uri("turn/w"), "changeset/statusChanged", status="recomputing")
        await opened(client, scene.uri("turn/w"))


async def test_two_sessions_share_a_repository_and_not_their_changes(folder: Path) -> None:
    async with changing(folder) as scene:
        client, other = scene.client, "ahp-session:/other"
        chat = await client.ready_session(
            other, provider="handy", workingDirectories=[folder.as_uri()]
        )
        await client.subscribe(chat)
        scene.agent.jobs["x"] = lambda: (folder / "b").write_text("other\n")
        await client.run_turn(chat, "x", "x")
        followed = f"{other}/changeset/uncommitted"
        assert names(await open_changes(client, followed), folder) == {"b": "edited"}
        turn = await scene.turn(lambda: (folder / "a").write_text("mine\n"))
        state = await open_changes(client, scene.uri("session"))
        assert names(state, folder) == {"a": "edited"}
        # Told to those who look at the same files from elsewhere.
        await client.until(lambda: {} if len(client.states[followed]["files"]) == 2 else None)
        elsewhere = f"{other}/changeset/turn/{turn}"
        await client.subscribe(elsewhere)
        assert (await opened(client, elsewhere, "error"))["error"]["errorType"] == "unknownTurn"


async def test_checkpoints_and_reviews_outlive_the_host(folder: Path, tmp_path: Path) -> None:
    backing = MemoryBacking()
    own = tmp_path / "own"
    async with changing(folder, store=MemoryStore(backing), workspace_dir=own) as scene:
        await scene.turn(lambda: (folder / "a").write_text("new\n"))
        await _counted(scene.client, 1)
        state = await open_changes(scene.client, scene.uri("session"))
        (file,) = state["files"]
        action = {"type": "changeset/filesReviewChanged", "files": [file["id"]], "reviewed": True}
        await scene.client.accepted(scene.uri("session"), action)
        uri, chat = file["edit"]["before"]["content"]["uri"], scene.chat
    async with (
        embed(
            Handy(), store=MemoryStore(backing), default_directory=folder, workspace_dir=own
        ) as url,
        open_client(url) as client,
    ):
        await client.initialize(SESSION)
        read = await client.request("resourceRead", uri=uri)
        assert read["data"] == "a\n" * 20
        state = await open_changes(client, f"{SESSION}/changeset/session")
        assert [each.get("reviewed") for each in state["files"]] == [True]
        state = await open_changes(client, f"{SESSION}/changeset/turn/t1")
        assert names(state, folder) == {"a": "edited"}
        state = await open_changes(client, f"{chat}/changeset/session")
        assert names(state, folder) == {"a": "edited"}


async def test_a_repository_that_is_gone_is_no_empty_changeset(folder: Path) -> None:
    async with changing(folder) as scene:
        await scene.turn(lambda: (folder / "a").write_text("new\n"))
        await _counted(scene.client, 1)
        shutil.rmtree(folder / ".git")
        for name in ("uncommitted", "session", "turn/t1"):
            await scene.client.subscribe(scene.uri(name))
            state = await opened(scene.client, scene.uri(name), "error")
            assert state["error"]["errorType"] == "noRepository"
        # The session goes on.
        await scene.turn(lambda: (folder / "a").write_text("newer\n"))


async def test_nothing_that_a_repository_names_is_run(folder: Path, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    (folder / "c.evil").write_text("c\n")
    commit(folder, "second")
    (folder / ".gitattributes").write_text("* filter=evil diff=evil\n")
    program = tmp_path / "evil"
    program.write_text(f"#!/bin/sh\ntouch {marker}\ncat\n")
    program.chmod(0o755)
    for key in (
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "diff.evil.textconv",
        "diff.evil.command",
        "diff.external",
        "core.fsmonitor",
        "core.sshCommand",
    ):
        git(folder, "config", key, str(program))
    git(folder, "config", "filter.evil.required", "true")
    for hook in ("post-checkout", "post-index-change", "pre-commit", "reference-transaction"):
        shutil.copy(program, folder / ".git" / "hooks" / hook)
    marker.unlink(missing_ok=True)
    before = digest(folder)
    async with changing(folder) as scene:
        await scene.turn(lambda: (folder / "a").write_text("new\n"))
        for name in ("uncommitted", "session", "turn/t1"):
            state = await open_changes(scene.client, scene.uri(name))
            assert "a" in names(state, folder)
        (file,) = [f for f in state["files"] if f["id"].endswith("/a")]
        assert await content(scene.client, file["edit"]["after"]) == b"new\n"
        target = {"kind": "resource", "resource": file["id"]}
        uri = scene.uri("session")
        await scene.client.request(
            "invokeChangesetOperation",
            channel=uri,
            operationId="discard-changes",
            target=target,
        )
        assert (folder / "a").read_text() == "a\n" * 20
    assert not marker.exists()
    assert digest(folder) == before


async def test_an_old_client_sees_changes_in_its_own_words(folder: Path) -> None:
    async with changing(folder, "0.5.0") as scene:
        client = scene.client
        turn = await scene.turn(lambda: (folder / "a").write_text("new\n"))
        await client.until(
            lambda: {} if len(client.states[SESSION].get("changesets", ())) > 1 else None
        )
        entries = client.states[SESSION]["changesets"]
        assert {entry["changeKind"] for entry in entries} >= {"uncommitted", "session", "turn"}
        assert all("capabilities" not in entry for entry in entries)
        uri = scene.uri(f"turn/{turn}")
        state = await open_changes(client, uri)
        assert names(state, folder) == {"a": "edited"}
        uri = scene.uri("uncommitted")
        await open_changes(client, uri)
        (folder / "a").write_text("newer\n")
        await scene.turn(lambda: None)
        statuses = ("computing", "ready")
        await client.until(lambda: {} if client.states[uri]["files"][0]["edit"]["diff"] else None)
        seen = [e["action"].get("status") for e in client.envelopes[uri]]
        assert {status for status in seen if status} <= set(statuses)
        mirrored, fresh = await client.compared(uri)
        assert mirrored == fresh


async def test_without_git_the_edits_of_tools_are_shown(tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    (folder / "a").write_text("before\n")
    async with changing(folder) as scene:
        client, session = scene.client, "ahp-session:/plain"
        chat = await client.ready_session(
            session, provider="demo", workingDirectories=[folder.as_uri()]
        )
        await client.subscribe(chat)
        for turn, text in (("t1", "/edit a first"), ("t2", "/edit a second")):
            await client.start_turn(chat, turn, text)
            ready = await client.action(chat, "chat/toolCallReady", turnId=turn)
            confirmed = {
                "type": "chat/toolCallConfirmed",
                "turnId": turn,
                "toolCallId": ready["toolCallId"],
                "approved": True,
                "confirmed": "user-action",
            }
            await client.dispatch(chat, confirmed)
            await client.turn_end(chat, turn)
        await client.action(session, "session/changesetsChanged")
        entries = client.states[session]["changesets"]
        assert [entry["changeKind"] for entry in entries] == ["session", "turn"]
        state = await open_changes(client, f"{session}/changeset/session")
        assert names(state, folder) == {"a": "edited"}
        (file,) = state["files"]
        assert await content(client, file["edit"]["before"]) == b"before\n"
        assert await content(client, file["edit"]["after"]) == b"second\n"
        state = await open_changes(client, f"{session}/changeset/turn/t2")
        assert await content(client, state["files"][0]["edit"]["before"]) == b"first\n"
        assert not state["operations"]
        uri = f"{session}/changeset/compare/t1/t2"
        await client.subscribe(uri)
        assert (await opened(client, uri, "error"))["error"]["errorType"] == "notKept"


async def test_a_session_that_goes_takes_its_changesets_with_it(
    folder: Path, tmp_path: Path
) -> None:
    own = tmp_path / "own"
    async with changing(folder, workspace_dir=own) as scene:
        client = scene.client
        await scene.turn(lambda: (folder / "a").write_text("new\n"))
        uri = scene.uri("session")
        state = await open_changes(client, uri)
        kept = state["files"][0]["edit"]["before"]["content"]["uri"]
        await client.request("disposeSession", channel=SESSION)
        await client.action(uri, "changeset/cleared")
        assert (await client.refusal("subscribe", channel=uri)).code == -32001
        assert (await client.refusal("resourceRead", uri=kept)).code == -32008
        assert len([*(own / "checkpoints").iterdir()]) == 1
        await client.request("agenthost/restoreSession", channel=SESSION)
        state = await open_changes(client, uri)
        assert names(state, folder) == {"a": "edited"}
        await client.request("disposeSession", channel=SESSION)
        await client.request("agenthost/purgeSession", channel=SESSION)
        await eventually(lambda: not [*(own / "checkpoints").iterdir()])


async def test_checkpoints_of_a_session_that_went_as_the_host_ended_go_with_the_next(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, backing = tmp_path / "own", MemoryBacking()
    options: Json = {"workspace_dir": own, "disposal": "delete"}
    with monkeypatch.context() as patch:
        # The host ends before they are removed.
        patch.setattr(Checkpoints, "remove", lambda _: asyncio.Event().wait())
        async with changing(folder, store=MemoryStore(backing), **options) as scene:
            await scene.turn(lambda: (folder / "a").write_text("new\n"))
            await _counted(scene.client, 1)
            await scene.client.request("disposeSession", channel=SESSION)
    assert len([*(own / "checkpoints").iterdir()]) == 1
    async with changing(folder, store=MemoryStore(backing), **options):
        assert [*(own / "checkpoints").iterdir()] == []


async def test_two_chats_may_call_their_turns_the_same(folder: Path) -> None:
    async with changing(folder) as scene:
        client, agent = scene.client, scene.agent
        other = "ahp-chat:/other"
        await client.request("createChat", channel=SESSION, chat=other)
        await client.subscribe(other)
        agent.jobs |= {name: (folder / name).touch for name in ("one", "two")}
        await client.run_turn(scene.chat, "same", "one")
        await client.run_turn(other, "same", "two")
        for chat, name in ((scene.chat, "one"), (other, "two")):
            state = await open_changes(client, f"{chat}/changeset/turn/same")
            assert names(state, folder) == {name: "made"}


async def test_a_fork_shows_what_it_can_and_begins_anew(folder: Path) -> None:
    async with changing(folder) as scene:
        client = scene.client
        await scene.turn(lambda: (folder / "a").write_text("new\n"))
        fork = "ahp-chat:/fork"
        await client.request(
            "createChat",
            channel=SESSION,
            chat=fork,
            source={"kind": "fork", "chat": scene.chat, "turnId": "t1"},
        )
        for uri in (f"{fork}/changeset/turn/t1", f"{fork}/changeset/session"):
            state = await open_changes(client, uri)
            assert names(state, folder) == {"a": "edited"}
        session = "ahp-session:/forked"
        await client.request(
            "createSession",
            channel=session,
            _meta={"agenthost.fork": {"session": SESSION, "turnId": "t1"}},
        )
        state = await open_changes(client, f"{session}/changeset/session")
        assert state["files"] == []
        # Taken back, a turn is still known by its name; of the session all is shown.
        await client.accepted(scene.chat, {"type": "chat/truncated"})
        assert names(await open_changes(client, scene.uri("session")), folder) == {"a": "edited"}
        state = await open_changes(client, f"{scene.chat}/changeset/session")
        assert state["files"] == []


async def test_a_chat_that_moves_takes_its_changesets_along(folder: Path) -> None:
    async with changing(folder) as scene:
        client, chat = scene.client, "ahp-chat:/movable"
        await scene.turn(lambda: None)
        await client.request("createChat", channel=SESSION, chat=chat)
        await client.subscribe(chat)
        scene.agent.jobs["m"] = lambda: (folder / "a").write_text("moved\n")
        await client.run_turn(chat, "m", "m")
        await _counted(client, 1)
        uri = f"{chat}/changeset/session"
        await open_changes(client, uri)
        result = await client.request("moveChat", channel=chat, destination={"kind": "newSession"})
        session = result["session"]
        await client.request("disposeSession", channel=SESSION)
        scene.agent.jobs["n"] = lambda: (folder / "b").write_text("there\n")
        await client.run_turn(chat, "n", "n")
        state = await open_changes(client, f"{session}/changeset/session")
        assert names(state, folder) == {"b": "edited"}
        state = await open_changes(client, uri)
        assert "b" in names(state, folder)


async def test_what_a_former_turn_did_is_not_looked_at_again(folder: Path) -> None:
    async with changing(folder) as scene:
        client = scene.client
        first = await scene.turn(lambda: (folder / "n1").write_text("one\n"))
        await _counted(client, 1)
        former = scene.uri(f"turn/{first}")
        await open_changes(client, former)
        await scene.turn(lambda: (folder / "n2").write_text("two\n"))
        await _counted(client, 2)
        await opened(client, former)
        told = len(client.envelopes[former])
        await scene.turn(lambda: (folder / "n3").write_text("three\n"))
        await _counted(client, 3)
        # What is looked at again says so at once.
        await client.request("ping")
        assert len(client.envelopes[former]) == told
