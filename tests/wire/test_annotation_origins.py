"""Annotations say where they come from, and older versions just name a turn."""

from __future__ import annotations

from typing import Any

import pytest

from agenthost.protocol import SUPPORTED_VERSIONS
from tests.wire.agents import Puppet
from tests.wire.client import WireClient, open_client
from tests.wire.hosting import embed
from tests.wire.mirrors import assert_mirrors

Json = dict[str, Any]
SESSION, OTHER = "ahp-session:/s", "ahp-chat:/other"
NOTES = f"{SESSION}/annotations"
NEWEST, OLDER = SUPPORTED_VERSIONS[0], SUPPORTED_VERSIONS[2:]


def annotation(id: str = "a", **where: Any) -> Json:
    entries = [{"id": "e", "text": "t"}]
    return {"id": id, "resource": "file:///f", "resolved": False, "entries": entries, **where}


def put(annotation: Json) -> Json:
    return {"type": "annotations/set", "annotation": annotation}


async def turns_in_two_chats(client: WireClient) -> str:
    """Run turn t1 in the default chat and t2 in another; follow all, and give the default."""
    await client.initialize()
    chat = await client.ready_session(SESSION, config={"mode": "ask"})
    await client.request("createChat", channel=SESSION, chat=OTHER)
    for turn, uri in (("t1", chat), ("t2", OTHER)):
        await client.subscribe(uri)
        await client.run_turn(uri, turn, "hi")
    await client.subscribe(NOTES)
    return chat


def origin_of(client: WireClient, id: str = "a") -> Json:
    notes = client.states[NOTES]["annotations"]
    found: Json = next(note["origin"] for note in notes if note["id"] == id)
    return found


@pytest.mark.parametrize("version", OLDER)
async def test_a_turn_that_an_older_client_names_is_found_in_its_chat(version: str) -> None:
    async with embed(Puppet()) as url, open_client(url, "c", NEWEST) as client:
        chat = await turns_in_two_chats(client)
        async with open_client(url, "old", version) as old:
            await old.initialize(NOTES)
            for turn, expected in (
                ("t2", {"session": SESSION, "chat": OTHER, "turnId": "t2"}),
                ("t1", {"session": SESSION, "chat": chat, "turnId": "t1"}),
                ("", {"session": SESSION}),
            ):
                sent = put(annotation(turnId=turn))
                assert (await old.accepted(NOTES, sent))["action"] == sent
                await client.ping()
                assert origin_of(client) == expected
                await assert_mirrors(old)
            moved = {"type": "annotations/updated", "annotationId": "a", "turnId": "t2"}
            await old.accepted(NOTES, moved)
            await client.ping()
            assert origin_of(client) == {"session": SESSION, "chat": OTHER, "turnId": "t2"}
            reason = await old.rejected(NOTES, put(annotation("b", turnId="gone")))
            assert reason == "there is no turn gone in this session"
            await assert_mirrors(old)
            await assert_mirrors(client)


async def test_an_annotation_comes_from_its_own_session() -> None:
    async with embed(Puppet()) as url, open_client(url, "c", NEWEST) as client:
        chat = await turns_in_two_chats(client)
        for origin, reason in (
            ({"session": "ahp-session:/x"}, "comes from the session that it belongs to"),
            ({"session": SESSION, "chat": "ahp-chat:/x"}, "there is no chat ahp-chat:/x"),
            ({"session": SESSION, "turnId": "gone"}, "there is no turn gone"),
            ({"session": SESSION, "chat": chat, "turnId": "t2"}, "turn t2 is in another chat"),
        ):
            refused = await client.rejected(NOTES, put(annotation(origin=origin)))
            assert reason in refused
        for id, origin in enumerate(
            (
                {"session": SESSION},
                {"session": SESSION, "chat": OTHER},
                {"session": SESSION, "turnId": "t2"},
                {"session": SESSION, "chat": OTHER, "turnId": "t2"},
            )
        ):
            await client.accepted(NOTES, put(annotation(str(id), origin=origin)))
            assert origin_of(client, str(id)) == origin


async def test_an_annotation_outlives_the_turn_that_it_comes_from() -> None:
    async with embed(Puppet()) as url, open_client(url, "c", NEWEST) as client:
        await turns_in_two_chats(client)
        origin = {"session": SESSION, "chat": OTHER, "turnId": "t2"}
        await client.accepted(NOTES, put(annotation(origin=origin)))
        await client.accepted(OTHER, {"type": "chat/truncated"})
        await client.accepted(NOTES, put({**annotation(origin=origin), "resolved": True}))
        refused = await client.rejected(NOTES, put(annotation("b", origin=origin)))
        assert refused == "there is no turn t2 in this session"
