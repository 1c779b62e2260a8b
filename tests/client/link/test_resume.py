"""Coming back to a scripted host: every answer it may give, and what becomes of every action."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agenthost.client import (
    CannotConnect,
    ChannelGone,
    NotSent,
    Uncertain,
)
from tests.client.follower import assert_quiet, connected, followed, resumed, titled
from tests.client.scripted import (
    CHAT,
    ROOT,
    SESSION,
    ScriptedHost,
    enveloped,
    snapshot,
)

Json = dict[str, Any]


async def test_a_reconnect_names_every_channel_and_the_last_number_seen() -> None:
    host = ScriptedHost()
    async with followed(host) as (_, side, _):
        side.action(SESSION, 17, titled("Seen"))
        await side.close()
        side = await host.accept()
        params = (await side.next("reconnect"))["params"]
        assert params["clientId"] == "me"
        assert params["lastSeenServerSeq"] == 17
        assert set(params["subscriptions"]) == {ROOT, SESSION}
        assert params["channel"] == ROOT


async def test_what_is_replayed_is_applied_and_live_actions_go_on_behind_it() -> None:
    host = ScriptedHost()
    async with followed(host) as (client, side, session):
        await side.close()
        missed = [
            enveloped(SESSION, 11, titled("Missed")),
            enveloped(ROOT, 12, {"type": "root/activeSessionsChanged", "activeSessions": 4}),
        ]
        side = await resumed(host, {"type": "replay", "actions": missed, "missing": []})
        side.action(SESSION, 13, {"type": "session/activityChanged", "activity": "live"})
        state = await session.until(lambda state: "activity" in state)
        assert state["title"] == "Missed"
        assert client.root.state["activeSessions"] == 4
        assert (await connected(client)).resumed == "replay"


async def test_an_action_whose_echo_is_replayed_is_accepted() -> None:
    host = ScriptedHost()
    async with followed(host) as (client, side, session):
        dispatch = client.dispatch(SESSION, titled("Mine"))
        await side.next("dispatchAction")
        await side.close()
        echo = enveloped(SESSION, 11, titled("Mine"), ("me", dispatch.client_seq))
        await resumed(host, {"type": "replay", "actions": [echo], "missing": []})
        assert (await dispatch)["serverSeq"] == 11
        assert session.pending == ()
        assert session.confirmed["title"] == "Mine"


async def test_an_action_whose_echo_is_not_replayed_is_uncertain_and_not_sent_again() -> None:
    host = ScriptedHost()
    async with followed(host) as (client, side, session):
        dispatch = client.dispatch(SESSION, titled("Mine"))
        await side.next("dispatchAction")
        await side.close()
        side = await resumed(host, {"type": "replay", "actions": [], "missing": []})
        with pytest.raises(Uncertain):
            await dispatch
        assert session.state["title"] == "First"
        await assert_quiet(client, side)


async def test_a_late_echo_of_an_uncertain_action_still_counts_for_the_state() -> None:
    host = ScriptedHost()
    async with followed(host) as (client, side, session):
        dispatch = client.dispatch(SESSION, titled("Mine"))
        sent = await side.next("dispatchAction")
        await side.close()
        side = await resumed(host, {"type": "replay", "actions": [], "missing": []})
        with pytest.raises(Uncertain):
            await dispatch
        side.echo(sent, 15, "me")
        await session.until(lambda state: state["title"] == "Mine")


async def test_an_action_dispatched_while_away_is_sent_once_when_back() -> None:
    host = ScriptedHost()
    async with followed(host) as (client, side, session):
        await side.close()
        side = await host.accept()
        request = await side.next("reconnect")
        first = client.dispatch(SESSION, titled("One"))
        second = client.dispatch(SESSION, titled("Two"))
        assert session.state["title"] == "Two"
        side.answer(request, {"type": "replay", "actions": [], "missing": []})
        for seq, dispatch in ((11, first), (12, second)):
            sent = await side.next("dispatchAction")
            assert sent["params"]["clientSeq"] == dispatch.client_seq
            side.echo(sent, seq, "me")
            assert (await dispatch)["serverSeq"] == seq
        await assert_quiet(client, side)


async def test_an_action_waits_through_links_that_never_open() -> None:
    host = ScriptedHost()
    async with followed(host) as (client, side, session):
        host.failures.extend([CannotConnect("not there"), CannotConnect("not there")])
        await side.close()
        side = await host.accept()
        await side.next("reconnect")
        dispatch = client.dispatch(SESSION, titled("Mine"))
        await side.close()
        side = await resumed(host, {"type": "replay", "actions": [], "missing": []})
        side.echo(await side.next("dispatchAction"), 11, "me")
        await dispatch
        assert session.confirmed["title"] == "Mine"


async def test_a_channel_that_is_missing_is_gone_for_its_readers_and_its_actions() -> None:
    host = ScriptedHost()
    async with followed(host) as (client, side, session):
        sent = client.dispatch(SESSION, titled("Sent"))
        await side.next("dispatchAction")
        await side.close()
        side = await host.accept()
        request = await side.next("reconnect")
        unsent = client.dispatch(SESSION, titled("Unsent"))
        side.answer(request, {"type": "replay", "actions": [], "missing": [SESSION]})
        with pytest.raises(Uncertain):
            await sent
        with pytest.raises(NotSent):
            await unsent
        with pytest.raises(ChannelGone):
            await session.until(lambda state: False)
        await side.close()
        side = await host.accept()
        assert (await side.next("reconnect"))["params"]["subscriptions"] == [ROOT]


async def test_numbers_with_gaps_are_no_reason_to_ask_again() -> None:
    host = ScriptedHost()
    async with followed(host) as (client, side, session):
        side.action(SESSION, 5_000, titled("Far"))
        side.action(SESSION, 9_000_000_000, titled("Farther"))
        await session.until(lambda state: state["title"] == "Farther")
        await assert_quiet(client, side)


async def test_snapshots_start_every_channel_over() -> None:
    host = ScriptedHost()
    async with followed(host) as (client, side, session):
        sent = client.dispatch(SESSION, titled("Sent"))
        await side.next("dispatchAction")
        await side.close()
        side = await host.accept()
        request = await side.next("reconnect")
        unsent = client.dispatch(SESSION, titled("Unsent"))
        fresh = [snapshot(ROOT, 90), snapshot(SESSION, 90, title="Fresh")]
        side.answer(request, {"type": "snapshot", "snapshots": fresh})
        with pytest.raises(Uncertain):
            await sent
        dispatched = await side.next("dispatchAction")
        assert dispatched["params"]["clientSeq"] == unsent.client_seq
        assert (session.confirmed["title"], session.state["title"]) == ("Fresh", "Unsent")
        side.echo(dispatched, 91, "me")
        await unsent
        assert (await connected(client)).resumed == "snapshot"


async def test_a_channel_without_a_snapshot_among_snapshots_is_gone() -> None:
    host = ScriptedHost()
    async with followed(host) as (_, side, session):
        await side.close()
        await resumed(host, {"type": "snapshot", "snapshots": [snapshot(ROOT, 90)]})
        with pytest.raises(ChannelGone):
            await session.until(lambda state: False)


async def test_a_host_that_counts_from_a_lower_number_is_believed() -> None:
    """A new epoch: the snapshots' numbers are below what was seen, and later actions count."""
    host = ScriptedHost()
    async with followed(host) as (_, side, session):
        side.action(SESSION, 1_000, titled("Before"))
        await side.close()
        fresh = [snapshot(ROOT, 3), snapshot(SESSION, 3, title="After")]
        side = await host.accept()
        request = await side.next("reconnect")
        assert request["params"]["lastSeenServerSeq"] == 1_000
        side.answer(request, {"type": "snapshot", "snapshots": fresh})
        side.action(SESSION, 4, titled("Later"))
        await session.until(lambda state: state["title"] == "Later")
        await side.close()
        side = await host.accept()
        assert (await side.next("reconnect"))["params"]["lastSeenServerSeq"] == 4


async def test_an_action_that_does_not_fit_the_state_makes_the_client_read_it_anew() -> None:
    host = ScriptedHost()
    async with followed(host) as (_, side, session):
        side.action(SESSION, 11, {"type": "session/titleChanged"})
        await side.subscribed(snapshot(SESSION, 11, title="Repaired"))
        await session.until(lambda state: state["title"] == "Repaired")


@pytest.mark.parametrize("code", [-32008, -32601, -32600, -32000])
async def test_a_refused_reconnect_falls_back_to_initialize_on_the_same_link(code: int) -> None:
    host = ScriptedHost()
    async with followed(host) as (client, side, session):
        sent = client.dispatch(SESSION, titled("Sent"))
        await side.next("dispatchAction")
        await side.close()
        side = await host.accept()
        side.refuse(await side.next("reconnect"), code)
        params = await side.initialize(snapshot(ROOT, 2), snapshot(SESSION, 2, title="New"), seq=2)
        assert set(params["initialSubscriptions"]) == {ROOT, SESSION}
        with pytest.raises(Uncertain):
            await sent
        side.action(SESSION, 3, {"type": "session/activityChanged", "activity": "on"})
        state = await session.until(lambda state: "activity" in state)
        assert state["title"] == "New"
        assert (await connected(client)).resumed == "fresh"
        assert host.dials == 2


async def test_a_channel_that_initialize_left_out_is_subscribed_to_or_gone() -> None:
    host = ScriptedHost()
    async with followed(host) as (client, side, session):
        subscribing = asyncio.create_task(client.subscribe(CHAT))
        await side.subscribed(snapshot(CHAT, 10))
        chat = await subscribing
        await side.close()
        side = await host.accept()
        side.refuse(await side.next("reconnect"), -32008)
        await side.initialize(snapshot(ROOT, 2), seq=2)
        await side.subscribed(snapshot(SESSION, 2, title="Found"))
        side.refuse(await side.next("subscribe"), -32008, "no such chat")
        assert (await session.until(lambda s: s["title"] == "Found"))["title"] == "Found"
        with pytest.raises(ChannelGone, match="no such chat"):
            await chat.until(lambda state: False)


async def test_an_action_on_a_channel_that_is_subscribed_to_anew_waits_for_it() -> None:
    host = ScriptedHost()
    async with followed(host) as (client, side, _):
        await side.close()
        side = await host.accept()
        request = await side.next("reconnect")
        dispatch = client.dispatch(SESSION, titled("Unsent"))
        side.refuse(request, -32008)
        await side.initialize(snapshot(ROOT, 2), seq=2)
        await side.subscribed(snapshot(SESSION, 2))
        side.echo(await side.next("dispatchAction"), 3, "me")
        await dispatch


async def test_a_malformed_answer_to_reconnect_is_followed_by_a_fresh_start() -> None:
    host = ScriptedHost()
    async with followed(host) as (_, side, session):
        await side.close()
        await resumed(host, {"type": "riddle"})
        side = await host.accept()
        await side.initialize(snapshot(ROOT, 2), snapshot(SESSION, 2, title="New"), seq=2)
        await session.until(lambda state: state["title"] == "New")


async def test_tokens_for_resources_are_handed_over_again_after_a_reconnect() -> None:
    host = ScriptedHost()
    async with followed(host) as (client, side, _):
        handing = asyncio.create_task(client.authenticate("https://api", "secret"))
        side.answer(await side.next("authenticate"), {})
        await handing
        await side.close()
        side = await resumed(host, {"type": "replay", "actions": [], "missing": []})
        params = (await side.next("authenticate"))["params"]
        assert (params["resource"], params["token"]) == ("https://api", "secret")
