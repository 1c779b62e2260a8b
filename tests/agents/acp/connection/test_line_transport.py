"""Messages over pipes: what is skipped, what ends them, and that nobody is flooded."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import orjson
import pytest

from agenthost.agents.acp.connection.line_transport import AcpLineTransport
from agenthost.agents.acp.turns.updates import MOST_WAITING, TurnUpdates
from tests.agents.fakes import FakePort, make_turn


async def no_hurry() -> None:
    return None


def transport(reader: asyncio.StreamReader, has_room: Any = no_hurry) -> AcpLineTransport:
    return AcpLineTransport("it", reader, cast(asyncio.StreamWriter, None), has_room)


def update(kind: str) -> bytes:
    params = {"sessionId": "s", "update": {"sessionUpdate": kind}}
    return orjson.dumps({"method": "session/update", "params": params}) + b"\n"


async def test_only_messages_of_use_are_received() -> None:
    reader = asyncio.StreamReader()
    reader.feed_data(b'\n  \nhello\n[1]\n{"broken\n\xff\n{"id": 1}\n')
    reader.feed_data(update("of_the_future") + b'{"method": "session/update"}\n')
    reader.feed_data(update("tool_call") + b'{"id": 2')
    reader.feed_eof()
    lines = transport(reader)
    assert await lines.receive() == {"id": 1}
    received = await lines.receive()
    assert received is not None
    assert received["params"]["update"] == {"sessionUpdate": "tool_call"}
    assert not lines.ended.is_set()
    assert await lines.receive() is None
    assert lines.ended.is_set()
    assert lines.trouble is None


async def test_a_line_without_end_is_trouble() -> None:
    reader = asyncio.StreamReader(limit=100)
    reader.feed_data(b"x" * 300)
    lines = transport(reader)
    assert await lines.receive() is None
    assert lines.trouble == "sent a message that is too large"


async def test_nothing_is_read_while_the_turn_is_behind() -> None:
    reader, inbox = asyncio.StreamReader(), TurnUpdates(make_turn(FakePort()))
    lines = transport(reader, inbox.has_room)
    for number in range(MOST_WAITING):
        reader.feed_data(b'{"id": %d}\n' % number)
        inbox.put(await lines.receive())
    reader.feed_data(b'{"id": "last"}\n')
    reading = asyncio.ensure_future(lines.receive())
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.shield(reading), 0.01)
    assert await inbox.next() == {"id": 0}
    assert await reading == {"id": "last"}


async def test_nobody_waits_for_a_turn_that_is_over() -> None:
    inbox = TurnUpdates(make_turn(FakePort()))
    for number in range(MOST_WAITING):
        inbox.put(number)
    waiting = asyncio.ensure_future(inbox.has_room())
    inbox.leave()
    await asyncio.wait_for(waiting, 60)
