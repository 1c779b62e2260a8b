"""Two clients do the same thing at the same moment: one wins, the other learns why it did not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

from tests.wire.client import WireClient, open_client, user_message
from tests.wire.hosting import ServedHost
from tests.wire.talking import NEWEST
from tests.wire.wording import annotated_by, turn_cancelled, turn_started

pytestmark = pytest.mark.asyncio(loop_scope="module")

Json = dict[str, Any]

BYSTANDER = "0.8.0"


@asynccontextmanager
async def racers(host: ServedHost, name: str, channels: str) -> AsyncIterator[Any]:
    """Two clients and a bystander on one session, of three versions, all mirroring."""
    session = f"ahp-session:/{name}"
    async with AsyncExitStack() as stack:
        clients: list[WireClient] = []
        for version in (NEWEST, "0.5.2", BYSTANDER):
            opened = open_client(host.url, f"{name} {version}", version)
            clients.append(await stack.enter_async_context(opened))
            await clients[-1].initialize()
        if channels == "chat":
            channel = await clients[0].ready_session(session)
        else:
            await clients[0].used_session(session)
            channel = f"{session}/annotations"
        for client in clients:
            await client.subscribe(session)
            await client.subscribe(channel)
        yield channel, clients


async def race(
    channel: str, clients: list[WireClient], first: Json, second: Json
) -> tuple[Json, Json]:
    """Let the first two clients dispatch at once; return the winner's and the loser's envelope."""
    left, right, _ = clients
    answers = await asyncio.gather(
        left.dispatched(channel, first), right.dispatched(channel, second)
    )
    refused = [answer for answer in answers if "rejectionReason" in answer]
    won = [answer for answer in answers if "rejectionReason" not in answer]
    assert len(refused) == len(won) == 1
    for client in clients:
        await client.ping()
        if "activeTurn" in client.states[channel]:
            await client.working_slowly(channel)
        heard = [e for e in client.envelopes[channel] if e["serverSeq"] == refused[0]["serverSeq"]]
        assert bool(heard) == (client.client_id == refused[0]["origin"]["clientId"])
        assert any(e["serverSeq"] == won[0]["serverSeq"] for e in client.envelopes[channel])
        mirrored, fresh = await client.compared(channel)
        assert mirrored == fresh
    return won[0], refused[0]


def started(client: WireClient, turn: str, text: str) -> Json:
    return turn_started(client.version, turn, text)


def cancelled(client: WireClient, turn: str) -> Json:
    return turn_cancelled(client.version, turn)


def annotation(id: str, **fields: Any) -> Json:
    """Return what the bystander says to set an annotation."""
    entries = [{"id": "e1", "text": "one"}, {"id": "e2", "text": "two"}]
    return {
        "type": "annotations/set",
        "annotation": {
            "id": id,
            **annotated_by(BYSTANDER, "", turn_id="t1"),
            "resource": "file:///a",
            "resolved": False,
            "entries": entries,
            **fields,
        },
    }


async def test_of_two_turns_started_at_once_one_runs(shared_host: ServedHost) -> None:
    async with racers(shared_host, "start", "chat") as (chat, clients):
        for round in range(5):
            first = started(clients[0], f"left {round}", "/slow 60")
            second = started(clients[1], f"right {round}", "/slow 60")
            won, refused = await race(chat, clients, first, second)
            running = clients[2].states[chat]["activeTurn"]["id"]
            assert running == won["action"]["turnId"]
            assert "already in progress" in refused["rejectionReason"]
            await clients[0].accepted(chat, cancelled(clients[0], running))
        await clients[2].ping()
        assert len(clients[2].states[chat]["turns"]) == 5


async def test_of_two_turns_with_one_id_one_runs(shared_host: ServedHost) -> None:
    async with racers(shared_host, "same-id", "chat") as (chat, clients):
        won, _ = await race(
            chat,
            clients,
            started(clients[0], "same", "/slow 60"),
            started(clients[1], "same", "/slow 61"),
        )
        active = clients[2].states[chat]["activeTurn"]
        assert active["message"] == won["action"]["message"]


async def test_of_two_cancels_of_one_turn_one_counts(shared_host: ServedHost) -> None:
    async with racers(shared_host, "cancel", "chat") as (chat, clients):
        for round in range(5):
            turn = f"t{round}"
            await clients[2].start_turn(chat, turn, "/slow 60")
            _, refused = await race(
                chat, clients, cancelled(clients[0], turn), cancelled(clients[1], turn)
            )
            assert "no turn to cancel" in refused["rejectionReason"]
            ended = clients[2].states[chat]["turns"][-1]
            assert (ended["id"], ended["state"]) == (turn, "cancelled")


async def test_a_late_cancel_does_not_reach_the_next_turn(shared_host: ServedHost) -> None:
    async with racers(shared_host, "late", "chat") as (chat, clients):
        await clients[0].start_turn(chat, "first", "/slow 60")
        await clients[0].accepted(chat, cancelled(clients[0], "first"))
        await clients[0].start_turn(chat, "second", "/slow 60")
        reason = await clients[1].rejected(chat, cancelled(clients[1], "first"))
        assert "first is not the one that is running" in reason
        assert clients[1].states[chat]["activeTurn"]["id"] == "second"


async def test_of_two_removals_of_one_annotation_one_counts(shared_host: ServedHost) -> None:
    async with racers(shared_host, "remove", "annotations") as (notes, clients):
        for round in range(5):
            await clients[2].accepted(notes, annotation(f"n{round}"))
            removed = {"type": "annotations/removed", "annotationId": f"n{round}"}
            _, refused = await race(notes, clients, removed, removed)
            assert "there is no annotation" in refused["rejectionReason"]
            assert clients[2].states[notes]["annotations"] == []


async def test_of_two_removals_of_one_entry_one_counts(shared_host: ServedHost) -> None:
    async with racers(shared_host, "entry", "annotations") as (notes, clients):
        await clients[2].accepted(notes, annotation("n1"))
        removed = {"type": "annotations/entryRemoved", "annotationId": "n1", "entryId": "e1"}
        await race(notes, clients, removed, removed)
        (kept,) = clients[2].states[notes]["annotations"]
        assert [entry["id"] for entry in kept["entries"]] == ["e2"]


async def test_an_edit_that_meets_a_removal_is_applied_before_it_or_refused(
    shared_host: ServedHost,
) -> None:
    async with racers(shared_host, "edit", "annotations") as (notes, clients):
        left, right, bystander = clients
        for round in range(10):
            id = f"n{round}"
            await bystander.accepted(notes, annotation(id))
            removed = {"type": "annotations/removed", "annotationId": id}
            edited = {"type": "annotations/updated", "annotationId": id, "resolved": True}
            pair = (left, right) if round % 2 else (right, left)
            gone, edit = await asyncio.gather(
                pair[0].dispatched(notes, removed), pair[1].dispatched(notes, edited)
            )
            assert "rejectionReason" not in gone
            assert ("rejectionReason" in edit) == (edit["serverSeq"] > gone["serverSeq"])
            for client in clients:
                await client.ping()
                assert client.states[notes]["annotations"] == []


async def test_of_two_edits_of_one_annotation_the_later_stands_everywhere(
    shared_host: ServedHost,
) -> None:
    async with racers(shared_host, "edits", "annotations") as (notes, clients):
        await clients[2].accepted(notes, annotation("n1"))
        edits = [
            {"type": "annotations/updated", "annotationId": "n1", "resource": f"file:///{side}"}
            for side in ("left", "right")
        ]
        answers = await asyncio.gather(
            *(client.dispatched(notes, edit) for client, edit in zip(clients, edits, strict=False))
        )
        last = max(answers, key=lambda answer: int(answer["serverSeq"]))
        for client in clients:
            await client.ping()
            (kept,) = client.states[notes]["annotations"]
            assert kept["resource"] == last["action"]["resource"]
            assert client.states[notes] == await client.fresh(notes)


async def test_of_two_removals_of_one_queued_message_one_counts(shared_host: ServedHost) -> None:
    async with racers(shared_host, "queue", "chat") as (chat, clients):
        await clients[2].start_turn(chat, "t1", "/slow 60")
        message = {"kind": "queued", "id": "q1", "message": user_message("later")}
        await clients[2].accepted(chat, {"type": "chat/pendingMessageSet", **message})
        removed = {"type": "chat/pendingMessageRemoved", "kind": "queued", "id": "q1"}
        await race(chat, clients, removed, removed)
        assert "queuedMessages" not in clients[2].states[chat]


async def test_two_sessions_created_under_one_uri_are_one(shared_host: ServedHost) -> None:
    async with racers(shared_host, "create", "chat") as (_, (left, right, _bystander)):
        calls = [client.request("createSession", channel="x:/same") for client in (left, right)]
        results = await asyncio.gather(*calls, return_exceptions=True)
        (failure,) = [result for result in results if result is not None]
        assert getattr(failure, "code", None) == -32003
