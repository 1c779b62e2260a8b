"""Watches that survive drops: every change is told, or it is told that some may be missing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agenthost.client import (
    ClientClosed,
    FileWatch,
    SessionFiles,
    Unsupported,
    WatchInterrupted,
)
from agenthost.client.file_watch import MOST_WAITING
from agenthost.errors import NotFound, PermissionDenied
from tests.client.scripted import PATIENCE, ROOT, ScriptedHost, Side, snapshot
from tests.client.world import World

Json = dict[str, Any]

WATCH = "ahp-resource-watch:/w"
STATE: Json = {"root": "file:///w", "recursive": True}


@pytest.fixture
async def files(world: World, tmp_path: Path) -> AsyncIterator[SessionFiles]:
    client = await world.join("me")
    async with await client.sessions.create(directories=[tmp_path.as_uri()]) as session:
        yield session.files


async def told(watch: FileWatch, *names: str) -> dict[str, str]:
    """Read until all of these were told of; return how each of them changed last."""
    seen: dict[str, str] = {}
    async with asyncio.timeout(60):
        while not set(names) <= set(seen):
            changes = await anext(watch)
            assert not isinstance(changes, WatchInterrupted)
            seen |= {change["uri"].rpartition("/")[2]: change["type"] for change in changes}
    return seen


async def interrupted(watch: FileWatch) -> None:
    """Read up to where something may be missing."""
    async with asyncio.timeout(60):
        async for item in watch:
            if isinstance(item, WatchInterrupted):
                return


async def test_changes_are_told_as_they_come(files: SessionFiles, tmp_path: Path) -> None:
    async with await files.watch() as watch:
        (tmp_path / "a").write_text("1")
        assert await told(watch, "a") == {"a": "added"}
        (tmp_path / "a").write_text("2")
        assert await told(watch, "a") == {"a": "updated"}
        (tmp_path / "deep").mkdir()
        (tmp_path / "deep" / "b").write_text("3")
        assert (await told(watch, "b"))["b"] == "added"
        (tmp_path / "a").unlink()
        assert (await told(watch, "a"))["a"] == "deleted"


async def test_what_is_excluded_is_not_told(files: SessionFiles, tmp_path: Path) -> None:
    for name in ("out", "src"):
        (tmp_path / name).mkdir()
    async with await files.watch(excludes=["out/**", "*.log"]) as watch:
        (tmp_path / "out" / "a").touch()
        (tmp_path / "b.log").touch()
        (tmp_path / "src" / "c").touch()
        assert set(await told(watch, "c")) == {"c"}


async def test_what_cannot_be_watched_is_refused(files: SessionFiles) -> None:
    with pytest.raises(NotFound):
        await files.watch("missing")
    with pytest.raises(PermissionDenied):
        await files.watch("/")


async def test_after_a_drop_there_is_a_marker_and_then_every_change(
    world: World, files: SessionFiles, tmp_path: Path
) -> None:
    async with await files.watch() as watch:
        (tmp_path / "a").touch()
        await told(watch, "a")
        for number in range(3):
            world.wire("me").cut(0, 0)
            (tmp_path / f"missed{number}").touch()
            await interrupted(watch)
            (tmp_path / f"b{number}").touch()
            assert f"b{number}" in await told(watch, f"b{number}")


async def test_a_watch_outlives_its_host(world: World, files: SessionFiles, tmp_path: Path) -> None:
    async with await files.watch() as watch:
        await world.stop()
        await world.start()
        await interrupted(watch)
        (tmp_path / "a").touch()
        assert await told(watch, "a") == {"a": "added"}


async def test_what_is_gone_after_a_drop_ends_the_watch(
    world: World, files: SessionFiles, tmp_path: Path
) -> None:
    (tmp_path / "folder").mkdir()
    async with await files.watch("folder") as watch:
        await world.stop()
        (tmp_path / "folder").rmdir()
        await world.start()
        with pytest.raises(NotFound):
            await interrupted(watch)


async def test_a_watch_that_is_closed_ends_for_whoever_reads_it(files: SessionFiles) -> None:
    watch = await files.watch()

    async def read() -> list[object]:
        return [item async for item in watch]

    reading = asyncio.create_task(read())
    await asyncio.sleep(0)
    watch.close()
    watch.close()
    async with asyncio.timeout(60):
        assert await reading == []


# By the wire alone.


def changed(*names: str) -> Json:
    items = [{"uri": f"file:///w/{name}", "type": "added"} for name in names]
    return {"type": "resourceWatch/changed", "changes": {"items": items}}


async def created(side: Side, uri: str, *early: Json) -> Json:
    """Answer that there is a watch, with some changes right behind the answer."""
    request = await side.next("createResourceWatch")
    side.answer(request, {"channel": uri})
    subscribe = await side.next("subscribe")
    assert subscribe["params"]["channel"] == uri
    side.answer(subscribe, {"snapshot": {"resource": uri, "state": STATE, "fromSeq": 1}})
    for seq, action in enumerate(early, 2):
        side.action(uri, seq, action)
    params: Json = request["params"]
    return params


async def test_a_change_right_behind_the_answer_is_told() -> None:
    host = ScriptedHost()
    client = host.client()
    side = await host.welcome(client)
    try:
        making = asyncio.create_task(client.files.watch("/w", excludes=["*.log"]))
        params = await created(side, WATCH, changed("early"))
        assert params["excludes"] == {"items": ["*.log"]}
        assert params["uri"] == "file:///w"
        watch = await making
        assert await anext(watch) == changed("early")["changes"]["items"]
        watch.close()
        assert (await side.next("unsubscribe"))["params"]["channel"] == WATCH
    finally:
        await client.aclose()
    with pytest.raises(StopAsyncIteration):
        await anext(watch)


async def test_a_watch_that_went_with_the_connection_is_made_anew_and_what_was_told_is_kept() -> (
    None
):
    host = ScriptedHost()
    client = host.client()
    side = await host.welcome(client)
    try:
        making = asyncio.create_task(client.files.watch("/w"))
        await created(side, WATCH, changed("a"))
        watch = await making
        asking = asyncio.create_task(client.request("ping"))
        side.answer(await side.next("ping"), None)
        await asking
        await side.close()
        side = await host.accept()
        request = await side.next("reconnect")
        side.answer(request, {"type": "replay", "actions": [], "missing": [WATCH]})
        # The first answer is lost, and what it made with it.
        await side.next("createResourceWatch")
        await side.close()
        side = await host.accept()
        request = await side.next("reconnect")
        side.answer(request, {"type": "replay", "actions": [], "missing": []})
        await created(side, "ahp-resource-watch:/v", changed("b"))
        async with asyncio.timeout(PATIENCE):
            assert await anext(watch) == changed("a")["changes"]["items"]
            assert await anext(watch) == WatchInterrupted()
            assert await anext(watch) == changed("b")["changes"]["items"]
    finally:
        await client.aclose()
    with pytest.raises(ClientClosed):
        await anext(watch)


async def test_a_watch_that_others_kept_alive_is_marked_too() -> None:
    host = ScriptedHost()
    client = host.client()
    side = await host.welcome(client)
    try:
        making = asyncio.create_task(client.files.watch("/w"))
        await created(side, WATCH)
        watch = await making
        await side.close()
        side = await host.accept()
        side.answer(await side.next("reconnect"), {"type": "replay", "actions": []})
        side.action(WATCH, 9, changed("b"))
        async with asyncio.timeout(PATIENCE):
            assert await anext(watch) == WatchInterrupted()
            assert await anext(watch) == changed("b")["changes"]["items"]
        await side.close()
        side = await host.accept()
        states = [snapshot(ROOT, 20), {"resource": WATCH, "state": STATE, "fromSeq": 20}]
        request = await side.next("reconnect")
        side.answer(request, {"type": "snapshot", "snapshots": states})
        side.action(WATCH, 21, changed("c"))
        async with asyncio.timeout(PATIENCE):
            assert await anext(watch) == WatchInterrupted()
            assert await anext(watch) == changed("c")["changes"]["items"]
    finally:
        await client.aclose()


async def test_whoever_reads_too_slowly_is_told_to_look_anew() -> None:
    host = ScriptedHost()
    client = host.client()
    side = await host.welcome(client)
    try:
        making = asyncio.create_task(client.files.watch("/w"))
        await created(side, WATCH)
        watch = await making
        many = changed(*(f"f{number}" for number in range(1000)))
        for seq in range(MOST_WAITING // 1000 + 1):
            side.action(WATCH, 10 + seq, many)
        side.action(WATCH, 10_000, changed("last"))
        # Once this is answered, all before it has come.
        asking = asyncio.create_task(client.request("ping"))
        side.answer(await side.next("ping"), None)
        await asking
        async with asyncio.timeout(PATIENCE):
            assert await anext(watch) == WatchInterrupted()
            assert await anext(watch) == changed("last")["changes"]["items"]
    finally:
        await client.aclose()


async def test_a_host_without_watches_says_so() -> None:
    host = ScriptedHost()
    client = host.client()
    side = await host.welcome(client)
    try:
        making = asyncio.create_task(client.files.watch("/w"))
        side.refuse(await side.next("createResourceWatch"), -32601)
        with pytest.raises(Unsupported, match="this host has no watches"):
            await making
    finally:
        await client.aclose()
