"""What a host of an older model left is all there for this one, also if it is killed over it."""

from __future__ import annotations

import asyncio
import hashlib
import os
import sqlite3
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from functools import cache
from pathlib import Path
from typing import Any

import orjson
import pytest

from agenthost.host.channels.content_upgrade import StoredModel
from agenthost.host.clients.resent_actions import done_since
from agenthost.host.store import PutSession, SaveSnapshot, SqliteStore, StoredChannel
from agenthost.host.store.inspection import inspect_store
from agenthost.host.store.upgrade import UpgradeProgress, UpgradeReport
from agenthost.protocol.schema.validation import validate_as
from agenthost.protocol.versions import translator
from agenthost.protocol.versions.step import Whereabouts
from tests.host.store.old_data import MODEL, rows_of, told, unpacked
from tests.thoroughness import THOROUGH

Json = dict[str, Any]

NOTES = "ahp-session:/notes"
TYPES = {
    "root": "RootState",
    "session": "SessionState",
    "chat": "ChatState",
    "annotations": "AnnotationsState",
}
# How many statements bringing up the old data takes, more or less.
STATEMENTS = 640
PATIENCE = 60.0


@asynccontextmanager
async def brought_up(path: Path, **options: Any) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(path, **options)
    store.upgrade_with(StoredModel())
    async with store:
        yield store


async def channel(store: SqliteStore, uri: str) -> StoredChannel:
    found = await store.load_channel(uri)
    assert found is not None
    return found


async def test_every_channel_is_to_a_client_of_then_what_it_was(tmp_path: Path) -> None:
    stored = told()["stored"]
    kinds = set()
    async with brought_up(unpacked(tmp_path)) as store:
        report = store.upgrade_report
        assert report is not None
        assert (report.before, report.sessions, report.channels) == (MODEL, 11, len(stored))
        assert (report.damaged, report.failed) == (0, 0)
        for uri, before in stored.items():
            found = await channel(store, uri)
            state = orjson.loads(found.state)
            assert found.tail == ()
            assert translator(MODEL).state_down(found.kind, state) == before["state"], uri
            validate_as(TYPES[found.kind], state)
            kinds.add(found.kind)
    assert kinds == set(TYPES)
    assert inspect_store(tmp_path / "agenthost.sqlite").damages == 0


async def test_what_the_old_model_could_not_say_is_found_out(tmp_path: Path) -> None:
    async with brought_up(unpacked(tmp_path)) as store:
        notes = orjson.loads((await channel(store, f"{NOTES}/annotations")).state)["annotations"]
        session = orjson.loads((await channel(store, NOTES)).state)
        origins = {note["id"]: note["origin"] for note in notes}
        default = session["defaultChat"]
        assert origins == {
            "n1": {"session": NOTES, "chat": default, "turnId": "t1"},
            # Of a turn that was cut off, and of none.
            "n2": {"session": NOTES, "turnId": "t2"},
            "n3": {"session": NOTES},
            "n4": {"session": NOTES, "chat": "ahp-chat:/notes-other", "turnId": "o1"},
        }
        failed = orjson.loads((await channel(store, "ahp-session:/failed")).state)
        assert failed["lifecycle"] == "failed"
        configured = orjson.loads((await channel(store, "ahp-session:/configured")).state)
        off, on = configured["activeClients"][0]["customizations"]
        assert off["enablement"] == [{"kind": "global", "enabled": False}]
        assert on["enablement"] == [{"kind": "global", "enabled": True}]
        broken = orjson.loads((await channel(store, default_chat("questions"))).state)
        last = broken["turns"][-1]
        assert (last["state"], last["responseParts"][-1]["kind"]) == ("error", "error")
        assert "error" not in last


async def test_chats_that_people_made_can_be_moved_now(tmp_path: Path) -> None:
    async with brought_up(unpacked(tmp_path)) as store:
        found: dict[str, bool] = {}
        for uri, before in told()["stored"].items():
            state = orjson.loads((await channel(store, uri)).state)
            if before["kind"] == "session":
                listed = {chat["resource"]: chat.get("movable", False) for chat in state["chats"]}
                assert not listed.get(state.get("defaultChat"))
                found.update(listed)
        for uri, movable in found.items():
            state = orjson.loads((await channel(store, uri)).state)
            assert state.get("movable", False) is movable
        workers = [uri for uri in found if uri.startswith("ahp-chat://subagent/")]
        assert workers
        assert not any(found[uri] for uri in workers)
        for name in ("fork", "side", "notes-other"):
            assert found[f"ahp-chat:/{name}"]


def default_chat(session: str) -> str:
    state = told()["stored"][f"ahp-session:/{session}"]["state"]
    chat: str = state["defaultChat"]
    return chat


async def test_the_list_names_the_chats_of_each_session(tmp_path: Path) -> None:
    async with brought_up(unpacked(tmp_path)) as store:
        page = await store.page_sessions(100)
        assert len(page.items) == 11
        for uri, encoded in page.items:
            summary = validate_as("SessionSummary", orjson.loads(encoded))
            state = told()["stored"][uri]["state"]
            assert summary["defaultChat"] == state["defaultChat"]
            for chat, before in zip(summary["chats"], state["chats"], strict=True):
                kept = ("resource", "title", "origin", "interactivity", "status")
                assert chat == {key: before[key] for key in kept if key in before}


async def test_what_is_in_the_trash_and_what_side_chats_know_comes_along(tmp_path: Path) -> None:
    async with brought_up(unpacked(tmp_path)) as store:
        uri = "ahp-session:/trashed"
        packed = await store.record("trashed", uri)
        assert packed is not None
        trashed = orjson.loads(packed)
        validate_as("SessionState", trashed["state"])
        first, second = trashed["annotations"]["annotations"]
        chat, side = trashed["chats"]
        assert first["origin"] == {
            "session": uri,
            "chat": chat["state"]["resource"],
            "turnId": "t2",
        }
        assert second["origin"] == {"session": uri}
        for turn in (chat["state"]["turns"][1], side["context"][1]):
            assert turn["state"] == "error"
            assert turn["responseParts"][-1]["error"]["errorType"] == "demoFailure"
            assert "error" not in turn
        context = await store.record("contexts", "ahp-chat:/side")
        assert context is not None
        assert [turn["id"] for turn in orjson.loads(context)] == ["t1"]


async def test_what_a_client_sent_before_is_known_when_it_comes_again(tmp_path: Path) -> None:
    last = told()["last"]
    (sent,) = last["sent"]
    uri, session = sent["channel"], "ahp-session:/streaming"
    around = Whereabouts(session, chat_of_turn=lambda _: default_chat("streaming"))
    async with brought_up(unpacked(tmp_path)) as store:
        done = await done_since(store, last["clientId"], [uri], last["lastSeen"])
        state = orjson.loads((await channel(store, uri)).state)
        again = translator(MODEL).action_up(
            "annotations", sent["action"], state, now="2026-01-01T00:00:00.000Z", around=around
        )
        assert again != sent["action"]
        assert done.is_done(uri, sent["clientSeq"], again)
        # And whoever was away gets a snapshot, because it was told in the old model.
        assert (await store.channel_positions([uri]))[uri] > last["lastSeen"]


async def test_what_hosts_published_is_switched_off_in_the_session_alone(tmp_path: Path) -> None:
    uri = "ahp-session:/custom"
    plugin = {"type": "plugin", "id": "p", "uri": "plugin:/p", "name": "P", "enabled": False}
    state = {**told()["stored"][NOTES]["state"], "customizations": [plugin]}
    path = unpacked(tmp_path)
    async with SqliteStore(path) as older:
        await older.reserve(older.first_seq)
        await older.write(
            SaveSnapshot(uri, "session", older.first_seq, orjson.dumps(state)),
            PutSession(uri, "2026", orjson.dumps({**told()["summaries"][NOTES], "resource": uri})),
        )
    async with brought_up(path) as store:
        (found,) = orjson.loads((await channel(store, uri)).state)["customizations"]
        assert found["enablement"] == [{"kind": "session", "enabled": False}]
        assert "enabled" not in found


async def test_a_copy_that_older_hosts_can_use_is_there_until_all_is_done(tmp_path: Path) -> None:
    path = unpacked(tmp_path)
    before = rows_of(path)
    seen: list[Any] = []

    def look(news: UpgradeProgress | UpgradeReport) -> None:
        copy = Path(f"{path}.before-{StoredModel.newest}")
        if isinstance(news, UpgradeProgress):
            with closing(sqlite3.connect(copy)) as plain:
                seen.append(plain.execute("PRAGMA user_version").fetchone())
            seen.append(rows_of(copy) == before)
        else:
            seen.append(copy.exists())

    async with brought_up(path, on_upgrade=look):
        pass
    assert seen == [(4,), True, False]
    assert sorted(os.listdir(tmp_path)) == [path.name, f"{path.name}.lock"]


# Ended in the middle.


@cache
def whole(directory: Path) -> dict[str, list[Any]]:
    """Return what the old data is once it was brought up at one go."""
    path = unpacked(directory)

    async def bring_up() -> None:
        async with brought_up(path) as store:
            await store.seal(store.first_seq - 1)

    asyncio.run(bring_up())
    return rows_of(path)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    return whole(tmp_path_factory.mktemp("whole"))


async def victim(*arguments: object) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.host.store.upgrade_victim", *map(str, arguments)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(PATIENCE):
        output, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, output.decode()


async def completed(path: Path) -> dict[str, list[Any]]:
    """Open a store once more, to the end, and return all that it holds."""
    async with brought_up(path) as store:
        await store.seal(store.first_seq - 1)
    assert not list(path.parent.glob("*.before-*"))
    return rows_of(path)


# Seven or twenty places, from the first statement to the last.
@pytest.mark.parametrize("number", range(1, STATEMENTS, STATEMENTS // (19 if THOROUGH else 6)))
async def test_a_host_killed_over_it_loses_nothing_and_the_next_one_goes_on(
    tmp_path: Path, number: int, expected: dict[str, list[Any]]
) -> None:
    path = unpacked(tmp_path)
    assert await victim("kill", path, number) == (-9, "")
    assert await completed(path) == expected


async def test_a_host_killed_while_it_copies_has_changed_nothing(
    tmp_path: Path, expected: dict[str, list[Any]]
) -> None:
    path = unpacked(tmp_path)
    before = rows_of(path)
    assert await victim("copy", path) == (-9, "")
    assert rows_of(path) == before
    assert await completed(path) == expected


async def test_hosts_that_are_killed_again_and_again_come_to_the_end(
    tmp_path: Path, expected: dict[str, list[Any]]
) -> None:
    path = unpacked(tmp_path)
    code, rounds = -9, 0
    while code == -9:
        rounds += 1
        # Each gets a little further than the one before: the first batch is the longest.
        code, output = await victim("kill", path, 150 * rounds)
    assert (code, output) == (0, "11\n")
    assert rounds > 2
    assert await completed(path) == expected


async def test_a_full_disk_is_told_and_costs_nothing(
    tmp_path: Path, expected: dict[str, list[Any]]
) -> None:
    path = unpacked(tmp_path)
    size = path.stat().st_size
    before = hashlib.sha256(path.read_bytes()).digest()
    code, output = await victim("full", path, size // 2)
    assert (code, output[:6]) == (0, "failed")
    assert hashlib.sha256(path.read_bytes()).digest() == before
    assert not any("before" in name for name in os.listdir(tmp_path))
    assert await completed(path) == expected
