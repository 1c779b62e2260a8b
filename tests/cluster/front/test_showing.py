"""A front shows what the log says: to who watches, who comes and who comes back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from agenthost.cluster.numbers import message_of
from agenthost.protocol import SUPPORTED_VERSIONS
from tests.cluster.front.feeding import RecordedHost, Shown, Stream, front
from tests.wire.client import ROOT, WireClient, open_client
from tests.wire.mirrors import assert_ascending, assert_mirrors

SESSION = "ahp-session:/s"
OLDEST = SUPPORTED_VERSIONS[-1]


@asynccontextmanager
async def realm(**settings: str) -> AsyncIterator[tuple[Stream, WireClient, AsyncExitStack]]:
    """A host that writes to a stream, and a client of it."""
    stream = Stream()
    async with AsyncExitStack() as stack:
        host = await stack.enter_async_context(RecordedHost(stream=stream, **settings))
        url = await host.listen(port=0)
        client = await stack.enter_async_context(open_client(url, "writer"))
        await client.initialize(ROOT)
        yield stream, client, stack


async def test_a_front_mirrors_what_happens_on_the_host_live_and_in_snapshots() -> None:
    async with realm() as (stream, writer, stack):
        shown: Shown = await stack.enter_async_context(front(stream))
        chat = await writer.ready_session(SESSION)
        await writer.subscribe(chat)
        watchers = []
        for version in SUPPORTED_VERSIONS:
            watcher = await stack.enter_async_context(open_client(shown.url, version, version))
            await watcher.initialize(ROOT)
            await watcher.subscribe(SESSION)
            await watcher.subscribe(chat)
            watchers.append(watcher)
        await writer.run_turn(chat, "t1", "hello")
        for watcher in watchers:
            await watcher.turn_end(chat, "t1")
            await assert_mirrors(watcher)
            assert_ascending(watcher)
            assert message_of(watcher.last_seen) <= stream.last
