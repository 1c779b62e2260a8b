"""A session that could not be created: what it says, in every version, and what becomes of it."""

from __future__ import annotations

from typing import Any

import pytest

from agenthost.host import Host
from agenthost.host.channels.session.kind import SESSION as KIND
from agenthost.host.store import MemoryBacking, MemoryStore
from agenthost.protocol import SUPPORTED_VERSIONS
from agenthost.protocol.session.state import SessionState
from tests.wire.client import ROOT, open_client
from tests.wire.hosting import embed
from tests.wire.on_cluster import ON_CLUSTER

Json = dict[str, Any]
SESSION = "ahp-session:/s"
ERROR = 2


async def interrupted() -> MemoryBacking:
    """Return what a host leaves behind that died while it made a session."""
    backing = MemoryBacking()
    async with Host(store=MemoryStore(backing)) as host:
        state: SessionState = {
            "provider": "demo",
            "title": "S",
            "status": 33,
            "lifecycle": "creating",
            "activeClients": [],
            "chats": [],
        }
        session = host.core.directory.create(SESSION, KIND, state)
        host.core.catalogue.add(session, host.core.clock.now())
    return backing


@pytest.mark.parametrize("version", SUPPORTED_VERSIONS)
async def test_a_creation_that_a_crash_ended_is_told_and_can_be_tried_again(version: str) -> None:
    older = version not in SUPPORTED_VERSIONS[:2]
    async with (
        embed(store=MemoryStore(await interrupted())) as url,
        open_client(url, "c", version) as client,
    ):
        await client.initialize(ROOT)
        state = await client.subscribe(SESSION)
        if ON_CLUSTER:
            # Whoever takes it up says so, a moment later.
            await client.until(lambda: {} if "creationError" in client.states[SESSION] else None)
            state = client.states[SESSION]
        assert state["lifecycle"] == ("creationFailed" if older else "failed")
        assert state["creationError"]["errorType"] == "hostRestarted"
        await client.ping()
        (line,) = (await client.request("listSessions"))["items"]
        assert line["status"] & 31 == ERROR
        refused = await client.refusal("createSession", channel=SESSION)
        assert refused.code == -32003
        await client.request("disposeSession", channel=SESSION)
        await client.ready_session(SESSION)
