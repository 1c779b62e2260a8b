"""Hosts of an older protocol version: spoken to in theirs, and in a newer one after an upgrade."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agenthost.client import (
    Client,
    CreationFailed,
    Reset,
    Session,
    TurnFailed,
    Unsupported,
)
from agenthost.protocol import NEWEST, SUPPORTED_VERSIONS, reduce, translator
from agenthost.protocol.chat.parts import error_of
from agenthost.protocol.json_edits import without
from agenthost.protocol.versions.supported import parse_version
from tests.client.follower import titled
from tests.client.scripted import (
    CHAT,
    PATIENCE,
    ROOT,
    SESSION,
    ScriptedHost,
    Side,
    snapshot,
)
from tests.client.talking import EACH_VERSION

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


# Everything that changed its shape between the versions, on a host of each of them.


FAILED_TURN: Json = {
    "id": "t",
    "startedAt": "2026-01-01T00:00:00.000Z",
    "message": {"text": "hi", "origin": {"kind": "user"}},
    "responseParts": [{"kind": "error", "error": {"errorType": "e", "message": "oh"}}],
    "state": "error",
    "duration": 1,
}
PLUGIN: Json = {"type": "plugin", "id": "p", "uri": "file:///p", "name": "P"}


def at_least(version: str, other: str) -> bool:
    return parse_version(version) >= parse_version(other)


def told(version: str, kind: str, uri: str, seq: int, state: Json) -> Json:
    """Return a snapshot as a host of this version would send it."""
    older = translator(version).state_down(kind, state)
    return {"resource": uri, "state": older, "fromSeq": seq}


@asynccontextmanager
async def session_of(version: str, **state: Any) -> AsyncIterator[tuple[Client, Side, Session]]:
    """A client that follows a session of a host that speaks this version alone."""
    host = ScriptedHost()
    client = host.client()
    async with asyncio.timeout(2 * PATIENCE):
        side = await host.welcome(client, version=version)
        try:
            following = asyncio.create_task(client.sessions.get(SESSION))
            canonical = snapshot(SESSION, 10, **state)["state"]
            await side.subscribed(told(version, "session", SESSION, 10, canonical))
            yield client, side, await following
        finally:
            await client.aclose()


@EACH_VERSION
async def test_why_a_turn_or_a_session_failed_shows_in_every_version(version: str) -> None:
    error = {"errorType": "e", "message": "no licence"}
    async with session_of(version, lifecycle="failed", creationError=error) as (_, side, session):
        assert session.state["lifecycle"] == "failed"
        with pytest.raises(CreationFailed, match="no licence"):
            await session.ready()
        opening = asyncio.create_task(session.chat(CHAT))
        state = snapshot(CHAT, 11, turns=[FAILED_TURN])["state"]
        await side.subscribed(told(version, "chat", CHAT, 11, state))
        chat = await opening
        assert error_of(chat.state["turns"][0]) == {"errorType": "e", "message": "oh"}
        assert "error" not in chat.state["turns"][0]


@EACH_VERSION
async def test_a_turn_fails_while_it_is_followed_in_every_version(version: str) -> None:
    async with session_of(version) as (_, side, session):
        opening = asyncio.create_task(session.chat(CHAT))
        running = without(FAILED_TURN, "state", "duration") | {"responseParts": []}
        before = snapshot(CHAT, 11, status=8, activeTurn=running)["state"]
        await side.subscribed(told(version, "chat", CHAT, 11, before))
        chat = await opening
        envelopes = chat.channel.envelopes()
        stream = chat.follow()
        assert stream is not None
        failing = asyncio.create_task(stream.text())
        await asyncio.sleep(0)
        part = FAILED_TURN["responseParts"][0]
        action = {"type": "chat/error", "turnId": "t", "duration": 1, "part": part}
        after = reduce("chat", before, action, now="2026-01-01T00:00:01.000Z")
        for older in translator(version).action_down("chat", before, action, after):
            side.action(CHAT, 12, older)
        with pytest.raises(TurnFailed, match="oh"):
            await failing
        envelope = await anext(envelopes)
        assert not isinstance(envelope, Reset)
        told_action: Any = envelope["action"]
        assert told_action["part"] == part


@EACH_VERSION
async def test_an_annotation_says_what_it_is_about_in_every_version(version: str) -> None:
    async with session_of(version) as (_, side, session):
        opening = asyncio.create_task(session.annotations())
        uri = f"{SESSION}/annotations"
        entries = [{"id": "e", "text": "Why?"}]
        first = {"id": "a", "resource": "file:///a", "resolved": False, "entries": entries}
        state = {"annotations": [{**first, "origin": {"session": SESSION, "turnId": "t"}}]}
        await side.subscribed(told(version, "annotations", uri, 11, state))
        notes = await opening
        assert notes["a"]["origin"] == {"session": SESSION, "turnId": "t"}
        id, adding = notes.add("file:///b", "And this?", turn_id="u", chat=CHAT)
        sent = await side.next("dispatchAction")
        annotation = sent["params"]["action"]["annotation"]
        if at_least(version, "0.9.0"):
            assert annotation["origin"] == {"session": SESSION, "chat": CHAT, "turnId": "u"}
        else:
            assert annotation["turnId"] == "u"
            assert "origin" not in annotation
        side.echo(sent, 12, "me")
        await adding
        assert notes[id]["origin"]["turnId"] == "u"
        assert notes[id]["origin"]["session"] == SESSION


@EACH_VERSION
async def test_a_customization_is_switched_in_every_version(version: str) -> None:
    workspace = {"kind": "workspace", "uri": "file:///w", "enabled": True}
    entry = {**PLUGIN, "enablement": [workspace]}
    async with session_of(version, customizations=[entry]) as (_, side, session):
        switching = session.toggle("p", False)
        sent = await side.next("dispatchAction")
        action = sent["params"]["action"]
        if at_least(version, "0.8.0"):
            assert action["enablement"] == [{"kind": "session", "enabled": False}, workspace]
        else:
            assert action == {"type": "session/customizationToggled", "id": "p", "enabled": False}
        side.echo(sent, 11, "me")
        await switching
        (shown,) = session.state["customizations"]
        assert shown["enablement"][0] == {"kind": "session", "enabled": False}  # type: ignore[typeddict-item]


@EACH_VERSION
async def test_a_session_is_forked_in_every_version(version: str) -> None:
    async with session_of(version) as (_, side, session):
        forking = asyncio.create_task(session.fork("t"))
        params = (await side.next("createSession"))["params"]
        source = {"session": SESSION, "turnId": "t"}
        if at_least(version, "0.9.0"):
            assert params["_meta"] == {"agenthost/fork": source}
        else:
            assert params["fork"] == source
            assert "_meta" not in params
        forking.cancel()


@EACH_VERSION
async def test_a_terminal_has_ended_or_not_in_every_version(version: str) -> None:
    host = ScriptedHost()
    client = host.client()
    async with asyncio.timeout(2 * PATIENCE):
        side = await host.welcome(client, version=version)
        try:
            uri = "ahp-terminal:/t"
            subscribing = asyncio.create_task(client.subscribe(uri))
            claim = {"kind": "client", "clientId": "me"}
            state = {
                "title": "T",
                "content": [],
                "claim": claim,
                "lifecycle": {"status": "running"},
            }
            await side.subscribed(told(version, "terminal", uri, 11, state))
            terminal = await subscribing
            assert terminal.state["lifecycle"] == {"status": "running"}
            side.action(uri, 12, {"type": "terminal/exited", "exitCode": 3})
            ended = await terminal.until(lambda state: state["lifecycle"]["status"] == "exited")
            assert ended["lifecycle"]["exitCode"] == 3
        finally:
            await client.aclose()


async def test_what_an_old_host_says_in_one_action_may_be_two_of_ours() -> None:
    """Up to 0.8.0 new content of a changeset brings the error along, or takes it away."""
    host = ScriptedHost()
    client = host.client()
    async with asyncio.timeout(2 * PATIENCE):
        side = await host.welcome(client, version="0.7.0")
        try:
            uri = "ahp-changeset:/c"
            subscribing = asyncio.create_task(client.subscribe(uri))
            error = {"errorType": "e", "message": "oh"}
            state: Json = {"status": "error", "error": error, "files": []}
            await side.subscribed({"resource": uri, "state": state, "fromSeq": 11})
            channel = await subscribing
            envelopes = channel.envelopes()
            worse = {"errorType": "e", "message": "worse"}
            content = {"type": "changeset/contentChanged", "files": [], "error": worse}
            side.action(uri, 12, content)
            first, second = await anext(envelopes), await anext(envelopes)
            assert not isinstance(first, Reset)
            assert not isinstance(second, Reset)
            assert first["action"] == {"type": "changeset/contentChanged", "files": []}
            status: Any = second["action"]
            assert (status["type"], status["error"]) == ("changeset/statusChanged", worse)
            assert first["serverSeq"] == second["serverSeq"] == 12
            assert channel.state["error"] == worse
        finally:
            await client.aclose()
