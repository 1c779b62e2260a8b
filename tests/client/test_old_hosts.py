"""Hosts of an older protocol version: spoken to in theirs, and in a newer one after an upgrade."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agenthost.client import (
    Unsupported,
)
from agenthost.protocol import NEWEST, SUPPORTED_VERSIONS
from tests.client.follower import titled
from tests.client.scripted import (
    CHAT,
    ROOT,
    SESSION,
    ScriptedHost,
    snapshot,
)

Json = dict[str, Any]


async def test_a_host_that_was_upgraded_meanwhile_is_spoken_to_in_its_new_version() -> None:
    host = ScriptedHost()
    client = host.client()
    side = await host.welcome(client, version="0.5.1")
    try:
        subscribing = asyncio.create_task(client.subscribe(SESSION))
        old = snapshot(SESSION, 10, workingDirectory="file:///w")
        await side.subscribed(old)
        session = await subscribing
        assert session.state["workingDirectories"] == ["file:///w"]
        with pytest.raises(Unsupported):
            client.dispatch(SESSION, {"type": "session/workingDirectorySet", "directory": "x"})
        await side.close()
        side = await host.accept()
        request = await side.next("reconnect")
        dispatch = client.dispatch(SESSION, titled("Mine"))
        side.refuse(request, -32008)
        fresh = snapshot(SESSION, 20, workingDirectories=["file:///w", "file:///x"])
        await side.initialize(snapshot(ROOT, 20), fresh, seq=20)
        side.echo(await side.next("dispatchAction"), 21, "me")
        await dispatch
        assert client.version == NEWEST
        assert session.state["workingDirectories"] == ["file:///w", "file:///x"]
    finally:
        await client.aclose()


async def test_a_host_of_one_old_version_only_is_spoken_to_in_it() -> None:
    """A host that offers nothing but 0.5.1: requests go down, states and results come up."""
    host = ScriptedHost()
    client = host.client()
    entering = asyncio.create_task(client.__aenter__())
    side = await host.accept()
    request = await side.next("initialize")
    assert request["params"]["protocolVersions"] == list(SUPPORTED_VERSIONS)
    side.answer(
        request,
        {"protocolVersion": "0.5.1", "serverSeq": 1, "snapshots": [snapshot(ROOT, 1)]},
    )
    await entering
    try:
        assert client.version == "0.5.1"
        creating = asyncio.create_task(client.sessions.create(directories=["file:///w"]))
        created = await side.next("createSession")
        assert created["params"]["workingDirectory"] == "file:///w"
        side.answer(created, None)
        subscribed = await side.next("subscribe")
        uri = subscribed["params"]["channel"]
        old = {**snapshot(SESSION, 2, workingDirectory="file:///w"), "resource": uri}
        side.answer(subscribed, {"snapshot": old})
        session = await creating
        assert session.state.get("workingDirectories") == ["file:///w"]

        opening = asyncio.create_task(session.chat())
        asking: Json = {"id": "r", "message": "Who?"}
        turn = {"id": "t", "message": {"text": "", "origin": {"kind": "user"}}, "responseParts": []}
        await side.subscribed(snapshot(CHAT, 3, status=24, activeTurn=turn, inputRequests=[asking]))
        chat = await opening
        (part,) = chat.state["activeTurn"]["responseParts"]
        assert part == {"kind": "inputRequest", "request": asking}
        declining = chat.decline("r")
        sent = await side.next("dispatchAction")
        side.echo(sent, 4, client.client_id)
        await declining
        assert "inputRequests" not in chat.channel.mirror.raw
        cancelling = chat.cancel()
        assert cancelling is not None
        sent = await side.next("dispatchAction")
        assert sent["params"]["action"] == {"type": "chat/turnCancelled", "turnId": "t"}
        side.echo(sent, 5, client.client_id)
        await cancelling
        assert chat.state["turns"][0]["state"] == "cancelled"
    finally:
        await client.aclose()
