"""A client that does not read: it costs the host little, the others nothing, and is told why."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.flags import eventually
from tests.wire.client import WireClient, open_client
from tests.wire.hosting import ServedHost
from tests.wire.mirrors import assert_ascending, assert_mirrors, texts
from tests.wire.on_cluster import ON_CLUSTER
from tests.wire.talking import ACTIVITY, IDLE, IN_PROGRESS

Json = dict[str, Any]
SESSION = "ahp-session:/s1"

# More text than sockets hold, in few enough pieces that those who read keep up on a busy machine.
DELTAS, SIZE = 2_400, 2_000
# Bytes that the socket of a client holds which does not read: the kernel would let it grow.
SOCKET = 64 * 1024
# Kilobytes by which the host may grow meanwhile; a node is two hosts, which both hold the chat.
MOST_GROWTH = (128 if ON_CLUSTER else 64) * 1024
TRY_AGAIN_LATER = 1013


def streamed(count: int, size: int = 24) -> str:
    return "".join(f"{number} ".ljust(size, ".") for number in range(count))


def memory(host: ServedHost, field: str) -> int:
    """Return one of the sizes that the kernel knows of the host's process, in kilobytes."""
    found = re.search(rf"{field}:\s+(\d+) kB", Path(f"/proc/{host.pid}/status").read_text())
    assert found is not None
    return int(found[1])


def heard(client: WireClient, chat: str) -> str:
    """Return all text that a client was sent, which does not mirror the chat."""
    pieces = []
    for envelope in client.envelopes.get(chat, ()):
        action = envelope["action"]
        if action["type"] == "chat/responsePart":
            pieces.append(action["part"]["content"])
        elif action["type"] == "chat/delta":
            pieces.append(action["content"])
    return "".join(pieces)


def chat_becomes(status: int) -> Callable[[Json], bool]:
    """Return what recognises the session's news that its chat has come to a status."""

    def matches(envelope: Json) -> bool:
        changes: Json = envelope["action"].get("changes", {})
        return bool(changes.get("status", 0) & ACTIVITY == status)

    return matches


def small_socket(host: ServedHost) -> socket.socket:
    """Return a connection to the host that holds little of what its owner does not read."""
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SOCKET)
    name, _, port = host.address.rpartition(":")
    made.connect((name, int(port)))
    made.setblocking(False)
    return made


def stop_reading(client: WireClient) -> None:
    client.socket.transport.pause_reading()


def read_again(client: WireClient) -> None:
    client.socket.transport.resume_reading()


async def given_up(host: ServedHost) -> None:
    """Wait until the host has given a client up, which it then tells why for a while only."""
    await eventually(lambda: " bytes wait for it" in host.output)


async def read_once_given_up(client: WireClient, host: ServedHost) -> None:
    """Read again not before the host has given a client up, however fast the others were."""
    await given_up(host)
    read_again(client)


async def test_a_subscriber_that_stops_reading_is_told_why_and_resumes(host: ServedHost) -> None:
    async with (
        open_client(host.url, "talker") as talker,
        open_client(host.url, "watcher", "0.6.0") as watcher,
        open_client(host.url, "sleeper", sock=small_socket(host)) as sleeper,
    ):
        for client in (talker, watcher, sleeper):
            await client.initialize()
        # What a host loads for its first turn is not what somebody costs who does not read.
        await talker.used_session("ahp-session:/first")
        chat = await talker.ready_session(SESSION)
        # Nobody mirrors the chat: to append to a long text thousands of times is slow.
        for client in (talker, watcher, sleeper):
            await client.snapshot(chat)
        stop_reading(sleeper)
        before = memory(host, "VmRSS")
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(read_once_given_up(sleeper, host))
            await talker.run_turn(chat, "t1", f"/stream {DELTAS} {SIZE}")
            await watcher.turn_end(chat, "t1")
            assert memory(host, "VmHWM") - before < MOST_GROWTH
        for client in (talker, watcher):
            assert heard(client, chat) == streamed(DELTAS, SIZE)
            assert_ascending(client)
        code, reason = await sleeper.end()
        assert code == TRY_AGAIN_LATER
        assert reason.startswith("stopped reading")
        assert reason.endswith("reconnect to resume")
        assert streamed(DELTAS, SIZE).startswith(heard(sleeper, chat))
    await check_resumption(host, sleeper, chat)


async def check_resumption(host: ServedHost, former: WireClient, chat: str) -> None:
    async with open_client(host.url, former.client_id) as client:
        result = await client.reconnect(former.last_seen, chat)
        assert result["type"] == "replay"
        assert heard(former, chat) + heard(client, chat) == streamed(DELTAS, SIZE)
        await client.subscribe(chat)
        assert texts(client.states[chat]["turns"][0]) == streamed(DELTAS, SIZE)
        await client.run_turn(chat, "t2", "hello")
        await assert_mirrors(client)


async def test_a_subscriber_that_falls_too_far_behind_is_disconnected_at_once(
    host: ServedHost,
) -> None:
    async with (
        open_client(host.url, "talker") as talker,
        open_client(host.url, "sleeper") as sleeper,
    ):
        for client in (talker, sleeper):
            await client.initialize()
        chat = await talker.ready_session(SESSION)
        await sleeper.snapshot(chat)
        stop_reading(sleeper)
        # The talker does not follow the chat: on a busy machine it could fall behind as well.
        await talker.dispatch(chat, talker.turn_started("t1", "/stream 15000 2000"))
        await given_up(host)
        # It may come back before it has read to the end of its old connection.
        async with open_client(host.url, "sleeper") as client:
            await client.reconnect(sleeper.last_seen, SESSION)
        read_again(sleeper)
        code, reason = await sleeper.end()
        assert code == TRY_AGAIN_LATER
        assert reason.endswith("reconnect to resume")
        await talker.envelope(SESSION, chat_becomes(IN_PROGRESS))
        await talker.envelope(SESSION, chat_becomes(IDLE))
        async with open_client(host.url, "sleeper") as client:
            await client.reconnect(sleeper.last_seen, chat)
            assert texts(client.states[chat]["turns"][0]) == streamed(15_000, 2000)


async def test_large_answers_in_a_row_are_no_sign_of_falling_behind(host: ServedHost) -> None:
    """Each answer is more than may wait for a slow client; one that reads gets them all."""
    chats = []
    async with open_client(host.url, "talker") as talker:
        await talker.initialize()
        for number in range(3):
            chat = await talker.ready_session(f"ahp-session:/large{number}")
            await talker.snapshot(chat)
            await talker.run_turn(chat, "t1", "/stream 9 1000000")
            chats.append(chat)
    async with open_client(host.url, "reader") as reader:
        await reader.initialize()
        states = await asyncio.gather(*(reader.snapshot(chat) for chat in chats * 2))
        assert {len(texts(state["turns"][0])) for state in states} == {9_000_000}


async def test_who_does_not_take_its_answers_is_not_given_more(host: ServedHost) -> None:
    async with open_client(host.url, "talker") as talker, open_client(host.url, "greedy") as greedy:
        await talker.initialize()
        await greedy.initialize()
        chat = await talker.ready_session(SESSION)
        await talker.snapshot(chat)
        await talker.run_turn(chat, "t1", "/stream 9 1000000")
        await greedy.snapshot(chat)
        before = memory(host, "VmHWM")
        stop_reading(greedy)
        asking = [asyncio.create_task(greedy.snapshot(chat)) for _ in range(20)]
        for number in range(5):
            await talker.run_turn(chat, f"more {number}", "/stream 500")
        assert memory(host, "VmHWM") - before < MOST_GROWTH
        read_again(greedy)
        for state in await asyncio.gather(*asking):
            assert len(texts(state["turns"][0])) == 9_000_000


async def test_merged_text_stays_below_what_tunnels_pass(host: ServedHost) -> None:
    async with (
        open_client(host.url, "talker") as talker,
        open_client(host.url, "pausing") as pausing,
    ):
        for client in (talker, pausing):
            await client.initialize()
        chat = await talker.ready_session(SESSION)
        for client in (talker, pausing):
            await client.snapshot(chat)
        stop_reading(pausing)
        # Enough to be merged, too little to be disconnected for.
        await talker.run_turn(chat, "t1", "/stream 35000")
        read_again(pausing)
        await pausing.turn_end(chat, "t1")
        assert heard(pausing, chat) == streamed(35_000)
        pieces = [e["action"].get("content", "") for e in pausing.envelopes[chat]]
        assert len(pieces) < 35_000
        assert max(map(len, pieces)) < 300_000
        assert_ascending(pausing)
