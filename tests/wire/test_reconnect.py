"""Coming back after a drop: nothing twice, nothing lost, and nothing before the answer."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agenthost.host import Limits
from agenthost.host.store import MemoryBacking, MemoryStore
from agenthost.protocol import SUPPORTED_VERSIONS
from tests.wire.client import ROOT, WireClient, WireFailure, open_client, user_message
from tests.wire.hosting import ServedHost, embed
from tests.wire.mirrors import assert_ascending, assert_mirrors, idle, texts
from tests.wire.wording import annotated_by

pytestmark = pytest.mark.asyncio(loop_scope="module")

Json = dict[str, Any]
NEWEST = SUPPORTED_VERSIONS[0]

# More than the host replays in one answer.
TOO_MANY = 20_500


def after_deltas(count: int) -> Callable[[Json], bool]:
    """Say yes at the ``count``-th piece of text."""
    numbers = itertools.count(1)

    def matches(message: Json) -> bool:
        action = message.get("params", {}).get("action", {})
        return action.get("type") == "chat/delta" and next(numbers) == count

    return matches


def streamed(count: int) -> str:
    return "".join(f"{number} ".ljust(24, ".") for number in range(count))


async def settle_in(client: WireClient, name: str) -> str:
    """Initialize, create a session, follow everything of it; return its chat."""
    await client.initialize(ROOT)
    chat = await client.ready_session(f"ahp-session:/{name}")
    await client.subscribe(chat)
    await client.subscribe(f"ahp-session:/{name}/annotations")
    return chat


async def drop_during(client: WireClient, chat: str, text: str, deltas: int) -> None:
    """Start a turn and lose the connection after some of its text."""
    client.drop_when = after_deltas(deltas)
    await client.dispatch(chat, client.turn_started("t1", text))
    await client.closed
    assert "activeTurn" in client.states[chat]


@asynccontextmanager
async def dropped(
    host: ServedHost, name: str, version: str = NEWEST, text: str = "/stream 3000", deltas: int = 40
) -> AsyncIterator[tuple[WireClient, WireClient, str]]:
    """A client that lost its connection during a turn, its next connection, and the chat."""
    async with open_client(host.url, name, version) as former:
        chat = await settle_in(former, name)
        await drop_during(former, chat, text, deltas)
    async with open_client(host.url, name, version) as client:
        yield former, client, chat


@pytest.mark.parametrize("version", SUPPORTED_VERSIONS)
async def test_a_drop_in_the_middle_of_a_stream_loses_and_repeats_no_token(
    shared_host: ServedHost, version: str
) -> None:
    name = f"drop-{version}"
    async with dropped(shared_host, name, version) as (former, client, chat):
        result = await client.resume(former)
        if version == NEWEST:
            assert result["type"] == "replay"
            assert result["missing"] == []
        state = await idle(client, chat)
        assert texts(state["turns"][0]) == streamed(3000)
        assert_ascending(client)
        await assert_mirrors(client)


@pytest.mark.parametrize("version", SUPPORTED_VERSIONS)
async def test_a_short_absence_is_replayed_in_the_version_of_the_client(
    shared_host: ServedHost, version: str
) -> None:
    name = f"short-{version}"
    async with open_client(shared_host.url, name, version) as former:
        chat = await settle_in(former, name)
        await former.run_turn(chat, "t0", "hello")
        former.abort()
    async with open_client(shared_host.url, f"{name}-other") as other:
        await other.initialize()
        await other.subscribe(chat)
        await other.run_turn(chat, "t1", "hello")
        await other.run_turn(chat, "t2", "/think")
        await other.run_turn(chat, "t3", "/fail")
        await other.dispatched(chat, {"type": "chat/truncated", "turnId": "t2"})
        await annotate(other, f"ahp-session:/{name}/annotations")
    async with open_client(shared_host.url, name, version) as client:
        result = await client.resume(former)
        assert result["type"] == "replay"
        assert all(envelope["serverSeq"] > former.last_seen for envelope in result["actions"])
        assert [turn["id"] for turn in client.states[chat]["turns"]] == ["t0", "t1", "t2"]
        assert_ascending(client)
        await assert_mirrors(client)


async def annotate(client: WireClient, channel: str, id: str = "a1") -> None:
    """Leave a remark and wait until the host has it."""
    entry = {"id": f"{id}-1", "text": "look here"}
    origin = annotated_by(client.version, channel.removesuffix("/annotations"), turn_id="t1")
    annotation = {"id": id, **origin, "resource": "file:///x", "entries": [entry]}
    action = {"type": "annotations/set", "annotation": {**annotation, "resolved": False}}
    await client.subscribe(channel)
    assert "rejectionReason" not in await client.dispatched(channel, action)


async def test_live_envelopes_never_overtake_the_answer(shared_host: ServedHost) -> None:
    """Drop and come back again and again while text streams; the answer is always first."""
    async with open_client(shared_host.url, "overtake") as former:
        chat = await settle_in(former, "overtake")
        await drop_during(former, chat, "/stream 15000", 100)
    cycles = 0
    while "activeTurn" in former.states[chat]:
        async with open_client(shared_host.url, "overtake") as client:
            client.drop_when = after_deltas(400)
            result = await client.resume(former)
            assert client.received[0]["result"] is not None
            assert "id" in client.received[0]
            assert result["type"] == "replay"
            assert all(e["serverSeq"] > former.last_seen for e in result["actions"])
            if "activeTurn" in client.states[chat]:
                await client.until(lambda: ended(client, chat))
            assert_ascending(client)
        former = client
        cycles += 1
    # How often depends on how fast the host is; it was dropped in the middle at least once.
    assert cycles
    assert texts(former.states[chat]["turns"][0]) == streamed(15_000)


def ended(client: WireClient, chat: str) -> Json | None:
    """Return something once the turn is over or the connection was dropped."""
    over = client.closed.done() or "activeTurn" not in client.states[chat]
    return client.states[chat] if over else None


@pytest.mark.parametrize("version", [NEWEST, "0.6.0", "0.5.0"])
async def test_a_gap_that_is_too_large_is_answered_with_snapshots(
    shared_host: ServedHost, version: str
) -> None:
    name = f"gap-{version}"
    async with open_client(shared_host.url, name, version) as former:
        chat = await settle_in(former, name)
        former.abort()
    async with open_client(shared_host.url, f"{name}-other") as other:
        await other.initialize()
        await other.subscribe(chat)
        await other.run_turn(chat, "t1", f"/stream {TOO_MANY} 1")
    async with open_client(shared_host.url, name, version) as client:
        result = await client.resume(former)
        assert result["type"] == "snapshot"
        assert {s["resource"] for s in result["snapshots"]} == set(former.states)
        assert len(client.states[chat]["turns"]) == 1
        await assert_mirrors(client)
        await client.run_turn(chat, "t2", "hello")
        await assert_mirrors(client)


async def test_a_client_that_comes_back_during_its_turn_sees_it_go_on_and_end(
    shared_host: ServedHost,
) -> None:
    async with open_client(shared_host.url, "during") as former:
        chat = await settle_in(former, "during")
        await former.start_turn(chat, "t1", "/slow 60")
        await former.action(chat, "chat/activityChanged")
        former.abort()
    async with open_client(shared_host.url, "during") as client:
        await client.resume(former)
        assert client.states[chat]["activeTurn"]["id"] == "t1"
        steering = {"type": "chat/pendingMessageSet", "kind": "steering", "id": "m1"}
        await client.dispatched(chat, {**steering, "message": user_message("left")})
        await client.turn_end(chat, "t1")
        (turn,) = client.states[chat]["turns"]
        assert (turn["state"], texts(turn)) == ("complete", "You steer me: left")
        await assert_mirrors(client)


@pytest.mark.parametrize("first_message", [None, "hello"], ids=["empty", "with a turn"])
async def test_a_session_disposed_meanwhile_is_missing(
    shared_host: ServedHost, first_message: str | None
) -> None:
    name = f"disposed-{bool(first_message)}"
    session = f"ahp-session:/{name}"
    async with open_client(shared_host.url, name) as former:
        chat = await settle_in(former, name)
        if first_message is not None:
            await former.run_turn(chat, "t1", first_message)
        former.abort()
    async with open_client(shared_host.url, f"{name}-other") as other:
        await other.initialize()
        await other.request("disposeSession", channel=session)
    async with open_client(shared_host.url, name) as client:
        result = await client.resume(former)
        assert result["type"] == "replay"
        assert set(result["missing"]) == {session, chat, f"{session}/annotations"}
        assert all(envelope["channel"] == ROOT for envelope in result["actions"])


async def test_a_session_that_was_taken_back_meanwhile_comes_with_snapshots(
    shared_host: ServedHost,
) -> None:
    session = "ahp-session:/reopened"
    async with open_client(shared_host.url, "reopened") as former:
        chat = await settle_in(former, "reopened")
        await former.run_turn(chat, "t1", "hello")
        former.abort()
    async with open_client(shared_host.url, "reopens") as other:
        await other.initialize()
        await other.request("disposeSession", channel=session)
        await other.request("agenthost/restoreSession", channel=session)
    async with open_client(shared_host.url, "reopened") as client:
        client.inherit(former)
        result = await client.reconnect(client.last_seen, session, chat)
        assert result["type"] == "snapshot"
        assert [snapshot["resource"] for snapshot in result["snapshots"]] == [session, chat]
        await assert_mirrors(client)


async def test_an_unknown_client_is_told_so_and_may_initialize_on_the_same_connection(
    shared_host: ServedHost,
) -> None:
    async with open_client(shared_host.url, "never seen") as client:
        with pytest.raises(WireFailure) as failure:
            await client.reconnect(0, ROOT)
        assert failure.value.code == -32008
        assert (await client.initialize(ROOT))["protocolVersion"] == NEWEST
        await settle_in_after_initialize(client)


async def settle_in_after_initialize(client: WireClient) -> None:
    chat = await client.ready_session("ahp-session:/fallback")
    await client.subscribe(chat)
    await client.run_turn(chat, "t1", "hello")
    await assert_mirrors(client)


async def test_a_repeated_uri_changes_nothing(shared_host: ServedHost) -> None:
    async with dropped(shared_host, "repeated", text="/stream 300") as (former, client, chat):
        client.inherit(former)
        session = "ahp-session:/repeated"
        result = await client.reconnect(
            former.last_seen, *[chat, session] * 50, ROOT, "ahp-root:", "ahp-root:", ROOT
        )
        assert result["type"] == "replay"
        assert result["missing"] == []
        await idle(client, chat)
        assert_ascending(client)
        assert texts(client.states[chat]["turns"][0]) == streamed(300)
        await client.run_turn(chat, "t2", "hello")
        assert_ascending(client)
        assert all(e["channel"] in (chat, session, ROOT) for e in result["actions"])


async def test_a_client_ahead_of_the_host_is_answered_with_snapshots(
    shared_host: ServedHost,
) -> None:
    async with open_client(shared_host.url, "ahead") as former:
        chat = await settle_in(former, "ahead")
        former.abort()
    async with open_client(shared_host.url, "ahead") as client:
        result = await client.reconnect(2**53, ROOT, chat)
        assert result["type"] == "snapshot"
        assert [s["resource"] for s in result["snapshots"]] == [ROOT, chat]
        # Whoever was ahead takes the lower number.
        assert all(s["fromSeq"] < 2**53 for s in result["snapshots"])
        await client.run_turn(chat, "t1", "hello")
        await assert_mirrors(client)


async def test_a_channel_first_named_at_the_reconnect_comes_with_a_snapshot_if_it_is_new(
    shared_host: ServedHost,
) -> None:
    async with open_client(shared_host.url, "first-named") as former:
        await former.initialize(ROOT)
        former.abort()
    async with open_client(shared_host.url, "first-named-other") as other:
        await other.initialize()
        chat = await other.ready_session("ahp-session:/first-named")
    async with open_client(shared_host.url, "first-named") as client:
        client.inherit(former)
        result = await client.reconnect(former.last_seen, ROOT, chat)
        assert result["type"] == "snapshot"
        await assert_mirrors(client)


async def test_a_second_connection_of_a_client_ends_the_first(shared_host: ServedHost) -> None:
    async with open_client(shared_host.url, "superseded") as former:
        chat = await settle_in(former, "superseded")
        async with open_client(shared_host.url, "superseded") as client:
            assert (await client.resume(former))["type"] == "replay"
            code, reason = await former.closed
            assert code == 1008
            assert "newer connection" in reason
            await client.run_turn(chat, "t1", "hello")
            await assert_mirrors(client)


async def test_who_comes_back_is_told_what_changed_in_the_list(shared_host: ServedHost) -> None:
    async with open_client(shared_host.url, "list away") as former:
        chat = await settle_in(former, "list-away")
        await former.start_turn(chat, "t1", "/slow 60")
        await former.working_slowly(chat)
        await former.ready_session("ahp-session:/list-gone")
        await former.ping()
        former.abort()
    async with open_client(shared_host.url, "list here") as other:
        await other.initialize(ROOT)
        cancel = {"type": "chat/turnCancelled", "turnId": "t1", "duration": 1}
        await other.subscribe(chat)
        await other.accepted(chat, cancel)
        await other.ready_session("ahp-session:/list-new")
        await other.request("disposeSession", channel="ahp-session:/list-gone")
        await other.ping()
    async with open_client(shared_host.url, "list away") as client:
        await client.resume(former)
        await client.notification(
            "root/sessionAdded", lambda p: p["summary"]["resource"] == "ahp-session:/list-new"
        )
        await client.notification(
            "root/sessionRemoved", lambda p: p["session"] == "ahp-session:/list-gone"
        )
        told = await client.notification(
            "root/sessionSummaryChanged", lambda p: p["session"] == "ahp-session:/list-away"
        )
        assert told["changes"]["status"] & 31 == 1
        # An update cannot leave out what is no longer so.
        assert told["changes"]["activity"] == ""
        # Behind the answer, never before it.
        assert "id" in client.received[0]


class SlowSummaries(MemoryStore):
    """Says what a session is in the list when a test lets it."""

    def __init__(self) -> None:
        super().__init__(MemoryBacking())
        self.may_tell = asyncio.Event()

    async def session_summary(self, session: str) -> bytes | None:
        await self.may_tell.wait()
        return await super().session_summary(session)


async def test_a_ping_is_answered_behind_what_changed_in_the_list() -> None:
    store = SlowSummaries()
    async with embed(store=store) as url:
        async with open_client(url, "away") as former:
            await former.initialize(ROOT)
            former.abort()
        async with open_client(url, "here") as other:
            await other.initialize()
            await other.ready_session("ahp-session:/new")
        async with open_client(url, "away") as client:
            await client.resume(former)
            ping = asyncio.create_task(client.ping())
            # Time enough for an answer that waits for nothing.
            await asyncio.wait({ping}, timeout=0.5)
            store.may_tell.set()
            await ping
            assert [m for m in client.received if m.get("method") == "root/sessionAdded"]


@pytest.mark.parametrize(("version", "kind"), [(NEWEST, "replay"), ("0.6.0", "snapshot")])
async def test_a_log_that_is_too_long_to_be_translated_is_not_replayed_to_an_old_client(
    version: str, kind: str
) -> None:
    """What it missed is little; but to say it in old words, all since the last state is walked."""
    async with embed(limits=Limits(max_replay_bytes=20_000)) as url:
        async with open_client(url, "away", version) as former:
            chat = await settle_in(former, "long")
            await former.run_turn(chat, "t1", "/stream 200")
            former.abort()
        async with open_client(url, "other") as other:
            await other.initialize()
            await other.subscribe(chat)
            await other.run_turn(chat, "t2", "hello")
        async with open_client(url, "away", version) as client:
            assert (await client.resume(former))["type"] == kind
            assert len(client.states[chat]["turns"]) == 2
            await assert_mirrors(client)
