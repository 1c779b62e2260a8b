"""What the host remembers of its clients, and for how long."""

from __future__ import annotations

from agenthost.host import Host
from tests.wire.client import open_client


async def test_how_a_channel_was_seen_is_forgotten_with_the_channel() -> None:
    async with Host(disposal="delete") as host:
        url = await host.listen(port=0)
        async with open_client(url, "sees much") as client:
            await client.initialize()
            chats = []
            for number in range(3):
                session = f"ahp-session:/{number}"
                chats.append(await client.ready_session(session))
                await client.subscribe(chats[-1], delivery={"maxLatencyMs": 5})
                if number < 2:
                    await client.request("disposeSession", channel=session)
            record = host.core.clients.recall("sees much")
            assert record is not None
            assert record.views == {chats[-1]: (0, 0.005)}
