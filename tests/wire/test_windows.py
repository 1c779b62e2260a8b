"""Long chats: a window on the newest turns, older ones on request, and nothing ever in between."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agenthost.host import Limits
from agenthost.host.clients import resume as catchup
from agenthost.protocol import SUPPORTED_VERSIONS
from tests.wire.client import WireClient, open_client, promised
from tests.wire.hosting import ServedHost, embed

pytestmark = pytest.mark.asyncio(loop_scope="module")

INVALID, NOT_FOUND = -32602, -32008
SESSION = "ahp-session:/long"
TURNS = [f"t{number}" for number in range(8)]
# How many turns the host gives at once in these tests.
PAGE = 2

Json = dict[str, Any]


@asynccontextmanager
async def long_chat() -> AsyncIterator[tuple[str, WireClient, str]]:
    """A host with small pages, a client that follows a chat of eight turns as a whole, the chat."""
    async with (
        embed(limits=Limits(max_turns_page=PAGE)) as url,
        open_client(url, "writes") as writer,
    ):
        await writer.initialize()
        chat = await writer.ready_session(SESSION)
        await writer.subscribe(chat)
        for turn in TURNS:
            await writer.run_turn(chat, turn, f"say {turn}")
        yield url, writer, chat


def ids(state: Json) -> list[str]:
    return [turn["id"] for turn in state["turns"]]


def loaded(client: WireClient, chat: str) -> list[Json]:
    actions = [envelope["action"] for envelope in client.envelopes[chat]]
    return [action for action in actions if action["type"] == "chat/turnsLoaded"]


async def test_a_view_shows_the_newest_turns_and_where_the_others_are() -> None:
    async with long_chat() as (url, _, chat), open_client(url, "looks") as client:
        await client.initialize()
        everything = await client.subscribe(chat)
        assert ids(everything) == TURNS
        assert "turnsNextCursor" not in everything
        for count in (0, 1, 3, 7):
            state = await client.subscribe(chat, view={"turns": count})
            assert ids(state) == TURNS[len(TURNS) - count :]
            assert state["turnsNextCursor"]
        for count in (8, 9, 10**6):
            state = await client.subscribe(chat, view={"turns": count})
            assert promised(state) == promised(everything)
        # A view that this host does not know is no reason to refuse.
        assert ids(await client.subscribe(chat, view={"sideways": True})) == TURNS
        for wrong in (-1, "3", 1.5, True):
            failure = await client.refusal("subscribe", channel=chat, view={"turns": wrong})
            assert failure.code == INVALID


@pytest.mark.parametrize("by_cursor", [True, False])
async def test_older_turns_come_page_by_page_before_each_answer(by_cursor: bool) -> None:
    async with long_chat() as (url, writer, chat), open_client(url, "pages") as client:
        await client.initialize()
        await client.subscribe(chat, view={"turns": 3})
        shown = 3
        while "turnsNextCursor" in client.states[chat]:
            cursor = {"cursor": client.states[chat]["turnsNextCursor"]} if by_cursor else {}
            at_answer: list[int] = []
            result = await client.request(
                "fetchTurns",
                channel=chat,
                at_answer=lambda at=at_answer: at.append(len(client.states[chat]["turns"])),  # type: ignore[misc]
                **cursor,
            )
            assert result == {}
            shown = min(len(TURNS), shown + PAGE)
            assert at_answer == [shown]
            assert ids(client.states[chat]) == TURNS[-shown:]
        assert shown == len(TURNS)
        mirrored, fresh = await client.compared(chat)
        assert mirrored == fresh
        # Once there is nothing older, asking again changes nothing.
        assert await client.request("fetchTurns", channel=chat) == {}
        assert ids(client.states[chat]) == TURNS
        # Nobody else is bothered.
        await writer.ping()
        assert loaded(writer, chat) == []


async def test_cursors_that_name_no_turn_here_are_refused() -> None:
    async with long_chat() as (url, writer, chat), open_client(url, "asks") as client:
        await client.initialize()
        state = await client.subscribe(chat, view={"turns": 1})
        good = state["turnsNextCursor"]
        for cursor in ("", "nonsense", "t3", good + "A", good[1:], "é"):
            failure = await client.refusal("fetchTurns", channel=chat, cursor=cursor)
            assert failure.code == INVALID
        assert (await client.refusal("fetchTurns", channel=chat, cursor=7)).code == INVALID
        for channel in ("c:/nowhere", SESSION, "ahp-root://"):
            failure = await client.refusal("fetchTurns", channel=channel)
            assert failure.code == NOT_FOUND
        # A cursor into what was cut off is not known any more.
        cursor = (await client.subscribe(chat, view={"turns": 2}))["turnsNextCursor"]
        await writer.accepted(chat, {"type": "chat/truncated", "turnId": "t3"})
        failure = await client.refusal("fetchTurns", channel=chat, cursor=cursor)
        assert failure.code == INVALID


async def test_a_cursor_from_earlier_leaves_no_gap() -> None:
    async with long_chat() as (url, _, chat), open_client(url, "keeps cursors") as client:
        await client.initialize()
        earlier = (await client.subscribe(chat, view={"turns": 5}))["turnsNextCursor"]
        await client.subscribe(chat, view={"turns": 1})
        await client.request("fetchTurns", channel=chat, cursor=earlier)
        assert ids(client.states[chat]) == TURNS[1:]
        # And one that was used before neither repeats turns nor forgets how far it got.
        await client.request("fetchTurns", channel=chat, cursor=earlier)
        assert ids(client.states[chat]) == TURNS
        assert "turnsNextCursor" not in client.states[chat]


async def test_a_truncation_outside_the_window_reveals_its_turn_first() -> None:
    async with long_chat() as (url, writer, chat), open_client(url, "narrow") as client:
        await client.initialize()
        await client.subscribe(chat, view={"turns": 2})
        await writer.accepted(chat, {"type": "chat/truncated", "turnId": "t3"})
        await client.action(chat, "chat/truncated")
        types = [envelope["action"]["type"] for envelope in client.envelopes[chat]]
        assert types == ["chat/turnsLoaded", "chat/truncated"]
        assert client.states[chat]["turns"] == writer.states[chat]["turns"][3:]
        assert loaded(writer, chat) == []
        # What is older still is there for the asking.
        while "turnsNextCursor" in client.states[chat]:
            await client.request("fetchTurns", channel=chat)
        assert ids(client.states[chat]) == TURNS[:4]
        await client.run_turn(chat, "t9", "go on")
        mirrored, fresh = await client.compared(chat)
        assert mirrored == fresh


async def test_a_truncation_inside_the_window_moves_nothing_else() -> None:
    async with long_chat() as (url, writer, chat), open_client(url, "narrow") as client:
        await client.initialize()
        cursor = (await client.subscribe(chat, view={"turns": 4}))["turnsNextCursor"]
        await writer.accepted(chat, {"type": "chat/truncated", "turnId": "t5"})
        await client.action(chat, "chat/truncated")
        assert ids(client.states[chat]) == TURNS[4:6]
        assert client.states[chat]["turnsNextCursor"] == cursor
        await client.request("fetchTurns", channel=chat, cursor=cursor)
        assert ids(client.states[chat]) == TURNS[2:6]


async def test_a_chat_that_was_wiped_behind_a_window_starts_afresh() -> None:
    async with long_chat() as (url, writer, chat), open_client(url, "narrow") as client:
        await client.initialize()
        await client.subscribe(chat, view={"turns": 2})
        await writer.accepted(chat, {"type": "chat/truncated"})
        for turn in ("n1", "n2", "n3"):
            await writer.run_turn(chat, turn, "anew")
        await client.turn_end(chat, "n3")
        assert ids(client.states[chat]) == ["n1", "n2", "n3"]
        assert "turnsNextCursor" not in client.states[chat]
        await client.request("fetchTurns", channel=chat)
        seen = len(loaded(client, chat))
        await writer.accepted(chat, {"type": "chat/truncated", "turnId": "n1"})
        await client.action(chat, "chat/truncated", turnId="n1")
        # It had been shown everything since, so there was nothing to reveal.
        assert len(loaded(client, chat)) == seen
        mirrored, fresh = await client.compared(chat)
        assert mirrored == fresh


async def test_a_fork_of_a_turn_outside_the_window_reveals_it() -> None:
    async with long_chat() as (url, _, chat), open_client(url, "narrow") as client:
        await client.initialize()
        await client.subscribe(chat, view={"turns": 1})
        source = {"kind": "fork", "chat": chat, "turnId": "t4"}
        await client.request("createChat", channel=SESSION, chat="c:/fork", source=source)
        assert ids(client.states[chat]) == TURNS[4:]
        assert ids(await client.subscribe("c:/fork")) == TURNS[:5]


async def test_a_window_outlives_a_dropped_connection() -> None:
    async with long_chat() as (url, writer, chat):
        async with open_client(url, "drops") as client:
            await client.initialize()
            await client.subscribe(chat, view={"turns": 2})
            client.abort()
            await client.closed
        await writer.run_turn(chat, "t8", "while you were away")
        async with open_client(url, "drops") as again:
            state = client.states[chat]
            again.take_snapshot({"resource": chat, "state": state, "fromSeq": client.last_seen})
            result = await again.reconnect(client.last_seen, chat)
            assert result["type"] == "replay"
            assert ids(again.states[chat]) == [*TURNS[-2:], "t8"]
            await writer.accepted(chat, {"type": "chat/truncated", "turnId": "t3"})
            await again.action(chat, "chat/truncated")
            assert ids(again.states[chat]) == ["t3"]
            while "turnsNextCursor" in again.states[chat]:
                await again.request("fetchTurns", channel=chat)
            mirrored, fresh = await again.compared(chat)
            assert mirrored == fresh


@pytest.mark.parametrize("version", [SUPPORTED_VERSIONS[0], "0.5.1"])
@pytest.mark.parametrize("kept", ["t2", "t6"])
async def test_a_truncation_that_was_missed_behind_a_window_takes_a_snapshot(
    version: str, kept: str
) -> None:
    async with long_chat() as (url, writer, chat):
        async with open_client(url, "drops", version) as client:
            await client.initialize()
            await client.subscribe(chat, view={"turns": 2})
            client.abort()
            await client.closed
        await writer.accepted(chat, {"type": "chat/truncated", "turnId": kept})
        await writer.run_turn(chat, "t8", "while you were away")
        async with open_client(url, "drops", version) as again:
            # To this client the turn may be unknown, and the truncation nothing.
            result = await again.resume(client)
            assert result["type"] == "snapshot"
            assert ids(again.states[chat])[-1] == "t8"
            assert not set(ids(again.states[chat])) & set(TURNS[TURNS.index(kept) + 1 :])
            while "turnsNextCursor" in again.states[chat]:
                await again.request("fetchTurns", channel=chat)
            mirrored, fresh = await again.compared(chat)
            assert mirrored == fresh


async def test_a_truncation_that_was_missed_without_a_window_is_replayed() -> None:
    async with long_chat() as (url, writer, chat):
        async with open_client(url, "drops") as client:
            await client.initialize()
            await client.subscribe(chat)
            client.abort()
            await client.closed
        await writer.accepted(chat, {"type": "chat/truncated", "turnId": "t2"})
        async with open_client(url, "drops") as again:
            assert (await again.resume(client))["type"] == "replay"
            assert ids(again.states[chat]) == TURNS[:3]


async def test_a_window_outlives_a_gap_that_takes_snapshots(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(catchup, "MOST_REPLAYED", 3)
    async with long_chat() as (url, writer, chat):
        async with open_client(url, "drops") as client:
            await client.initialize()
            delivery = {"maxLatencyMs": 1}
            await client.subscribe(chat, view={"turns": 2}, delivery=delivery)
            client.abort()
            await client.closed
        await writer.run_turn(chat, "t8", "while you were away")
        for _ in range(2):
            async with open_client(url, "drops") as again:
                result = await again.reconnect(client.last_seen, chat)
                assert result["type"] == "snapshot"
                assert ids(again.states[chat]) == [*TURNS[-2:], "t8"]
                assert again.states[chat]["turnsNextCursor"]
        await writer.accepted(chat, {"type": "chat/truncated", "turnId": "t4"})
        async with open_client(url, "drops") as again:
            await again.reconnect(client.last_seen, chat)
            # All that it was shown is cut off, so it is shown one page of what is left.
            assert ids(again.states[chat]) == ["t3", "t4"]
            while "turnsNextCursor" in again.states[chat]:
                await again.request("fetchTurns", channel=chat)
            mirrored, fresh = await again.compared(chat)
            assert mirrored == fresh


async def test_the_oldest_version_gets_pages_as_answers(shared_host: ServedHost) -> None:
    async with open_client(shared_host.url, "oldest", SUPPORTED_VERSIONS[-1]) as client:
        await client.initialize()
        chat = await client.ready_session(SESSION)
        await client.subscribe(chat)
        for turn in TURNS:
            await client.run_turn(chat, turn, "hello")
        everything = client.states[chat]["turns"]
        assert await client.request("fetchTurns", channel=chat) == {
            "turns": everything,
            "hasMore": False,
        }
        assert await client.request("fetchTurns", channel=chat, before="t5", limit=2) == {
            "turns": everything[3:5],
            "hasMore": True,
        }
        assert await client.request("fetchTurns", channel=chat, before="t0") == {
            "turns": [],
            "hasMore": False,
        }
        failure = await client.refusal("fetchTurns", channel=chat, before="unknown")
        assert failure.code == INVALID
        assert loaded(client, chat) == []
        assert client.states[chat]["turns"] == everything


@pytest.mark.parametrize("latency", [0, 1, 40, 300])
async def test_gathered_delivery_leads_to_the_same_state(
    shared_host: ServedHost, latency: int
) -> None:
    session = f"ahp-session:/latency-{latency}"
    async with (
        open_client(shared_host.url, f"patient {latency}") as patient,
        open_client(shared_host.url, f"prompt {latency}") as prompt,
    ):
        for client in (patient, prompt):
            await client.initialize()
        chat = await prompt.ready_session(session)
        await prompt.subscribe(chat)
        await patient.subscribe(chat, delivery={"maxLatencyMs": latency})
        await prompt.run_turn(chat, "t1", "/stream 400")
        await prompt.run_turn(chat, "t2", "/think")
        await patient.turn_end(chat, "t2")
        assert promised(patient.states[chat]) == promised(prompt.states[chat])
        seqs = [envelope["serverSeq"] for envelope in patient.envelopes[chat]]
        assert seqs == sorted(set(seqs))
        if latency == 0:
            assert len(patient.envelopes[chat]) == len(prompt.envelopes[chat])


async def test_an_answer_does_not_overtake_what_was_gathered_before_it(
    shared_host: ServedHost,
) -> None:
    async with open_client(shared_host.url, "gathers") as client:
        await client.initialize()
        chat = await client.ready_session("ahp-session:/gathers")
        await client.subscribe(chat, delivery={"maxLatencyMs": 4000})
        await client.dispatch(
            chat,
            {
                "type": "chat/turnStarted",
                "turnId": "t1",
                "startedAt": "2026-01-01T00:00:00.000Z",
                "message": {"text": "/slow 60", "origin": {"kind": "user"}},
            },
        )
        await client.ping()
        assert client.states[chat]["activeTurn"]["id"] == "t1"


@pytest.mark.parametrize("latency", [-1, "5", None, True])
async def test_a_latency_that_is_no_time_is_refused_or_ignored(
    shared_host: ServedHost, latency: Any
) -> None:
    async with open_client(shared_host.url, f"latency {latency!r}") as client:
        await client.initialize()
        if latency is None:
            assert await client.subscribe("ahp-root://", delivery={"maxLatencyMs": None})
            return
        failure = await client.refusal(
            "subscribe", channel="ahp-root://", delivery={"maxLatencyMs": latency}
        )
        assert failure.code == INVALID
