"""What a newer peer says and this host does not know is kept word for word, over restarts."""

from __future__ import annotations

from typing import Any

from agenthost.host import Host
from agenthost.host.channels.chat.kind import CHAT
from agenthost.host.store import MemoryBacking, MemoryStore
from agenthost.protocol import SUPPORTED_VERSIONS
from tests.wire.agents import Puppet
from tests.wire.client import WireClient, open_client
from tests.wire.mirrors import assert_mirrors

Json = dict[str, Any]
NEWEST = SUPPORTED_VERSIONS[0]
SESSION = "ahp-session:/s"
NOTES = f"{SESSION}/annotations"
NEWS = {"future": {"nested": [1, None, {"x": 0.5}]}, "extra": 7}

MESSAGE = {
    "text": "hi",
    "origin": {"kind": "user", **NEWS},
    "attachments": [
        {"type": "simple", "label": "a", "modelRepresentation": "A", **NEWS},
        {"type": "hologram", **NEWS},
    ],
    **NEWS,
}
ACTIVE = {
    "clientId": "c",
    "displayName": "C",
    "tools": [{"name": "t", "description": "T", "inputSchema": {"type": "object"}, **NEWS}],
    "customizations": [
        {
            "type": "plugin",
            "id": "p",
            "uri": "file:///p",
            "name": "P",
            "enablement": [{"kind": "planet", "enabled": True, **NEWS}],
            "children": [{"type": "spell", "id": "p/s", **NEWS}],
            **NEWS,
        }
    ],
    **NEWS,
}
CUSTOMIZATIONS = [
    {"type": "future/unknownCustomization", "id": "u", "path": "/x", "extra": 7},
    {"type": "plugin", "id": "q", "uri": "future:/q", "name": "Q", **NEWS},
]
WORK = {"kind": "futureKind", "id": "f", "label": "L", "startedAt": "2026-09-25T00:01:00.000Z"}


def annotation() -> Json:
    return {
        "id": "a",
        "origin": {"session": SESSION, **NEWS},
        "resource": "file:///f",
        "resolved": False,
        "entries": [{"id": "e", "text": "t", **NEWS}],
        **NEWS,
    }


def newer(session: Json) -> list[Json]:
    """Return what the agent of tomorrow brings, as a session shows it."""
    return [entry for entry in session["customizations"] if entry.get("extra") == 7]


async def said_by_the_client(client: WireClient, chat: str) -> None:
    """Say everything that a newer client may, in actions that this host knows."""
    for channel, action in (
        (SESSION, {"type": "session/activeClientSet", "activeClient": ACTIVE}),
        (NOTES, {"type": "annotations/set", "annotation": annotation()}),
        (chat, {"type": "chat/draftChanged", "draft": MESSAGE}),
        (chat, {**client.turn_started("t1", "hi"), "message": MESSAGE}),
    ):
        envelope = await client.accepted(channel, {**action, **NEWS})
        assert {**envelope["action"], "startedAt": None} == {**action, **NEWS, "startedAt": None}
    await client.turn_end(chat, "t1")
    unknown, plugin = newer(client.states[SESSION])
    unread = {"type": "session/customizationToggled", "id": unknown["id"]}
    await client.accepted(SESSION, {**unread, "enablement": [{"kind": "session", "enabled": True}]})
    toggle = {"type": "session/customizationToggled", "id": plugin["id"]}
    decision = {"kind": "session", "enabled": False, **NEWS}
    await client.accepted(SESSION, {**toggle, "enablement": [decision]})
    # What this host could not carry out is not taken as if it could.
    refused = {**toggle, "enablement": [{"kind": "planet", "enabled": False}]}
    envelope = await client.dispatched(SESSION, refused)
    assert envelope["rejectionReason"] == "nothing can be decided for planet"


def said_by_the_host(host: Host, chat: str) -> None:
    """Say what an agent of tomorrow may."""
    core = host.core
    channel = core.directory.get(chat, CHAT)
    assert channel is not None
    message = {"text": "relayed", "origin": {"kind": "integration"}}
    started: Json = {"type": "chat/turnStarted", "turnId": "t0", "message": message}
    started["startedAt"] = core.clock.now()
    assert core.writer.apply(channel, started)


class Newer(Puppet):
    """Brings customizations of which some are not known here."""

    customizations = CUSTOMIZATIONS


async def test_what_is_not_known_here_survives() -> None:
    backing = MemoryBacking()
    async with Host([Newer()], store=MemoryStore(backing)) as host:
        url = await host.listen(port=0)
        async with open_client(url, "c", NEWEST) as client:
            await client.initialize()
            chat = await client.ready_session(SESSION, config={"mode": "ask"})
            for channel in (chat, NOTES):
                await client.subscribe(channel)
            await client.until(lambda: client.states[SESSION].get("customizations") and {})
            said_by_the_host(host, chat)
            await client.turn_end(chat, "t0")
            await said_by_the_client(client, chat)
            await client.ping()
            await assert_mirrors(client)
            held = {channel: await client.fresh(channel) for channel in client.states}
            relayed, turn = held[chat]["turns"]
            assert relayed["message"]["origin"] == {"kind": "integration"}
            assert turn["message"] == held[chat]["draft"] == MESSAGE
            assert held[SESSION]["activeClients"] == [ACTIVE]
            unknown, plugin = newer(held[SESSION])
            assert unknown == {**CUSTOMIZATIONS[0], "id": unknown["id"], "enabled": True}
            assert plugin["enablement"][0]["kind"] == "session"
            assert not plugin["enablement"][0]["enabled"]
            assert plugin["extra"] == 7
            assert held[NOTES]["annotations"] == [annotation()]
    async with Host([Newer()], store=MemoryStore(backing)) as host:
        url = await host.listen(port=0)
        async with open_client(url, "c", NEWEST) as client:
            await client.initialize(SESSION, chat, NOTES)
            assert client.states == held


async def test_background_work_of_a_kind_that_is_not_known_is_shown() -> None:
    async with Host([Puppet()]) as host:
        url = await host.listen(port=0)
        async with open_client(url, "c", NEWEST) as client:
            await client.initialize()
            chat = await client.ready_session(SESSION, config={"mode": "ask"})
            await client.subscribe(chat)
            channel = host.core.directory.get(chat, CHAT)
            assert channel is not None
            work = {**WORK, "target": "reviewer", **NEWS}
            assert host.core.writer.apply(channel, {"type": "chat/backgroundWorkSet", "work": work})
            await client.ping()
            assert client.states[chat]["backgroundWork"] == [work]
            await assert_mirrors(client)


async def test_an_action_that_is_not_known_is_refused_and_comes_back_as_it_was_sent() -> None:
    async with Host([Puppet()]) as host:
        url = await host.listen(port=0)
        async with open_client(url, "c", NEWEST) as client:
            await client.initialize()
            await client.ready_session(SESSION, config={"mode": "ask"})
            reason = await client.rejected(SESSION, {"type": "future/newAction", "foo": 42})
            assert reason == "future/newAction does not belong on a session channel"


async def test_nobody_but_a_user_speaks_for_a_client() -> None:
    async with Host([Puppet()]) as host:
        url = await host.listen(port=0)
        async with open_client(url, "c", NEWEST) as client:
            await client.initialize()
            chat = await client.ready_session(SESSION, config={"mode": "ask"})
            await client.subscribe(chat)
            for kind in ("integration", "automation", "tool"):
                action = client.turn_started("t1", "hi")
                action["message"]["origin"]["kind"] = kind
                reason = await client.rejected(chat, action)
                assert reason == "a client may only send messages of origin user"
