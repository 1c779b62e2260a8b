"""Envelopes with a number from the past: dropped, unless the host may have begun to count anew."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.client.follower import assert_quiet, followed, resumed, titled
from tests.client.scripted import CHAT, ROOT, SESSION, ScriptedHost, enveloped, snapshot

Json = dict[str, Any]

NOTHING: Json = {"type": "replay", "actions": [], "missing": []}


async def test_a_duplicate_is_dropped_without_a_word() -> None:
    host = ScriptedHost()
    async with followed(host) as (client, side, session):
        side.action(SESSION, 17, titled("New"))
        side.action(SESSION, 17, titled("Twice"))
        side.action(SESSION, 12, titled("Old"))
        await assert_quiet(client, side)
        assert session.state["title"] == "New"
        side.action(SESSION, 18, titled("Newer"))
        await session.until(lambda state: state["title"] == "Newer")


async def test_an_envelope_that_the_snapshot_holds_already_is_dropped() -> None:
    host = ScriptedHost()
    async with followed(host) as (client, side, session):
        side.action(SESSION, 10, titled("Held already"))
        side.action(ROOT, 1, {"type": "root/activeSessionsChanged", "activeSessions": 4})
        await assert_quiet(client, side)
        assert session.state["title"] == "First"


async def test_a_replay_that_overlaps_what_was_seen_is_no_reason_to_ask_again() -> None:
    host = ScriptedHost()
    async with followed(host) as (client, side, session):
        side.action(SESSION, 17, titled("Seen"))
        await side.close()
        overlap = [enveloped(SESSION, 9, titled("Old")), enveloped(SESSION, 17, titled("Seen"))]
        side = await resumed(host, {**NOTHING, "actions": overlap})
        await assert_quiet(client, side)
        assert session.state["title"] == "Seen"


async def test_a_duplicate_after_something_new_on_a_resumed_link_is_dropped() -> None:
    host = ScriptedHost()
    async with followed(host) as (client, side, session):
        await side.close()
        side = await resumed(host, NOTHING)
        side.action(SESSION, 11, titled("Live"))
        side.action(SESSION, 11, titled("Twice"))
        await assert_quiet(client, side)
        assert session.state["title"] == "Live"


async def test_a_host_that_replays_something_newer_counts_on_for_every_channel() -> None:
    host = ScriptedHost()
    async with followed(host) as (client, side, session):
        await side.close()
        missed = enveloped(ROOT, 12, {"type": "root/activeSessionsChanged", "activeSessions": 4})
        side = await resumed(host, {**NOTHING, "actions": [missed]})
        side.action(SESSION, 10, titled("Twice"))
        await assert_quiet(client, side)
        assert session.state["title"] == "First"


async def test_a_host_that_counts_anew_without_a_word_is_asked_for_a_snapshot() -> None:
    host = ScriptedHost()
    async with followed(host) as (_, side, session):
        side.action(SESSION, 1_000, titled("Before"))
        await side.close()
        side = await resumed(host, NOTHING)
        side.action(SESSION, 4, titled("Counted anew"))
        side.action(SESSION, 5, titled("Counted on"))
        await side.subscribed(snapshot(SESSION, 5, title="Counted on"))
        side.action(SESSION, 6, titled("Seen"))
        await session.until(lambda state: state["title"] == "Seen")


async def test_a_host_that_counts_anew_is_asked_once_per_channel() -> None:
    host = ScriptedHost()
    async with followed(host) as (client, side, session):
        subscribing = asyncio.create_task(client.subscribe(CHAT))
        await side.subscribed(snapshot(CHAT, 1_000))
        chat = await subscribing
        side.action(SESSION, 1_001, titled("Before"))
        await side.close()
        side = await resumed(host, NOTHING)
        side.action(SESSION, 4, titled("Counted anew"))
        await side.subscribed(snapshot(SESSION, 4, title="Counted anew"))
        side.action(SESSION, 4, titled("Twice"))
        side.action(CHAT, 5, {"type": "chat/activityChanged", "activity": "on"})
        await side.subscribed(snapshot(CHAT, 5, activity="on"))
        await chat.until(lambda state: "activity" in state)
        await assert_quiet(client, side)
        assert session.state["title"] == "Counted anew"


async def test_the_next_reconnect_goes_by_the_new_count() -> None:
    host = ScriptedHost()
    async with followed(host) as (_, side, session):
        side.action(SESSION, 1_000, titled("Before"))
        await side.close()
        side = await resumed(host, NOTHING)
        side.action(SESSION, 4, titled("Counted anew"))
        await side.subscribed(snapshot(SESSION, 5, title="Read anew"))
        await session.until(lambda state: state["title"] == "Read anew")
        await side.close()
        side = await host.accept()
        assert (await side.next("reconnect"))["params"]["lastSeenServerSeq"] == 5
