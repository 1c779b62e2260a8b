"""Whatever happens on a host, a front shows it exactly as the host does, in every version."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agenthost.host.channels.chat.consequences import ShowTurn
from agenthost.host.channels.chat.kind import CHAT
from agenthost.host.channels.chat.window import show_turn
from agenthost.host.channels.session.kind import SESSION
from agenthost.host.log.channel import AnyChannel
from agenthost.protocol import SUPPORTED_VERSIONS, reduce
from tests.cluster.front.feeding import RecordedHost, Shown, Stream, front
from tests.strategies import SEEDS, History, chat_histories, session_histories
from tests.thoroughness import examples
from tests.wire.client import ROOT, WireClient, open_client

CHAT_URI, SESSION_URI = "ahp-chat:/1", "ahp-session:/s"
VERSIONS = [SUPPORTED_VERSIONS[at] for at in (0, len(SUPPORTED_VERSIONS) // 2, -1)]

Json = dict[str, Any]


class Pair:
    """One client of the host and one of a front, which do the same at the same time."""

    def __init__(self, there: WireClient, here: WireClient) -> None:
        self.there, self.here = there, here

    async def follow(self, **params: Any) -> None:
        for client in (self.there, self.here):
            for channel in (SESSION_URI, CHAT_URI):
                await client.subscribe(channel, **params)

    async def check(self) -> None:
        await self.there.ping()
        await self.here.ping()
        for channel in (SESSION_URI, CHAT_URI):
            assert self.here.states[channel] == self.there.states[channel]
            assert _told(self.here, channel) == _told(self.there, channel)
            assert await self.here.fresh(channel) == await self.there.fresh(channel)


def _told(client: WireClient, channel: str) -> list[Json]:
    return [{**envelope, "serverSeq": 0} for envelope in client.envelopes[channel]]


async def _play(chat: History, session: History, random: Random) -> None:
    stream = Stream()
    async with AsyncExitStack() as stack:
        host = await stack.enter_async_context(RecordedHost(stream=stream))
        core = host.core
        # What follows from the actions is in the histories already.
        core.effects.silence()
        session_state: Any = session.initial
        chat_state: Any = chat.initial
        core.directory.create(SESSION_URI, SESSION, session_state)
        core.directory.create(CHAT_URI, CHAT, chat_state, SESSION_URI)
        url = await host.listen(port=0)
        await core.writer.ledger.settle()
        shown: Shown = await stack.enter_async_context(front(stream))
        pairs: list[Pair] = []

        async def join() -> None:
            version = VERSIONS[len(pairs) % len(VERSIONS)]
            clients = []
            for address in (url, shown.url):
                opened = open_client(address, f"c{len(pairs)}", version)
                client = await stack.enter_async_context(opened)
                await client.initialize(ROOT)
                clients.append(client)
            pair = Pair(*clients)
            view = {"view": {"turns": random.randint(0, 2)}} if random.random() < 0.5 else {}
            await pair.follow(**(view if version == VERSIONS[0] else {}))
            pairs.append(pair)

        await join()
        waiting = {SESSION_URI: [*session.actions], CHAT_URI: [*chat.actions]}
        while any(waiting.values()):
            uri = random.choice([uri for uri, actions in waiting.items() if actions])
            count = random.randint(1, 6)
            channel = core.directory.get(uri)
            assert channel is not None
            for action in waiting[uri][:count]:
                _show_what_it_names(channel, action)
                core.writer.apply(channel, action)
            del waiting[uri][:count]
            if random.random() < 0.5:
                await core.writer.ledger.settle()
            if random.random() < 0.2 and len(pairs) < len(VERSIONS):
                await core.writer.ledger.settle()
                await join()
            if random.random() < 0.3:
                # Nobody follows it for a while, as far as the front knows: it is read anew.
                _forget_unfollowed(shown)
        while len(pairs) < len(VERSIONS):
            await core.writer.ledger.settle()
            await join()
        await core.writer.ledger.settle()
        for pair in pairs:
            await pair.check()


def _show_what_it_names(channel: AnyChannel, action: Json) -> None:
    """Show what a client's action names, as the host does before it takes it."""
    before = channel.state
    if channel.kind is CHAT and reduce("chat", before, action, now="2026") is not before:
        for first in CHAT.prepare(channel, None, action, action, "2026").first:
            if isinstance(first, ShowTurn):
                show_turn(first.chat, first.turn_id)


def _forget_unfollowed(shown: Shown) -> None:
    shown.host.core.directory.sweep(idle_seconds=-1)


@examples(30)
@given(chat_histories(), session_histories(), SEEDS)
def test_a_front_shows_what_the_host_shows(chat: History, session: History, seed: int) -> None:
    asyncio.run(_play(chat, session, Random(seed)))


@examples(9)
@given(st.integers(1, 3), SEEDS)
def test_numbers_are_the_same_on_every_front(fronts: int, seed: int) -> None:
    random = Random(seed)

    async def play() -> None:
        stream = Stream()
        async with AsyncExitStack() as stack:
            host = await stack.enter_async_context(RecordedHost(stream=stream))
            writer = await stack.enter_async_context(open_client(await host.listen(port=0)))
            await writer.initialize(ROOT)
            chat = await writer.used_session(SESSION_URI)
            clients = []
            for index in range(fronts + 1):
                shown = await stack.enter_async_context(front(stream, f"n{index}"))
                client = await stack.enter_async_context(open_client(shown.url, f"c{index}"))
                await client.initialize(ROOT)
                await client.subscribe(chat)
                clients.append(client)
            for turn in range(random.randint(1, 3)):
                await writer.run_turn(chat, f"n{turn}", "hello")
            for client in clients:
                await client.turn_end(chat, f"n{turn}")
            first, *others = ([e["serverSeq"] for e in c.envelopes[chat]] for c in clients)
            assert all(numbers == first for numbers in others)

    asyncio.run(play())
