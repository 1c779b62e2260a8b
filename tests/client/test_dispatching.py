"""Actions on a scripted host: each ends in one known way, whatever becomes of its channel."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agenthost.client import (
    ChannelGone,
    NotSent,
    Rejected,
    Uncertain,
)
from tests.client.follower import assert_quiet, closed, followed, titled
from tests.client.scripted import (
    CHAT,
    SESSION,
    ScriptedHost,
    snapshot,
)

Json = dict[str, Any]


async def test_a_rejected_action_is_raised_with_its_reason_and_taken_back() -> None:
    host = ScriptedHost()
    async with followed(host) as (client, side, session):
        dispatch = client.dispatch(SESSION, titled("Mine"))
        assert session.state["title"] == "Mine"
        side.echo(await side.next("dispatchAction"), 11, "me", reason="not today")
        with pytest.raises(Rejected, match="not today"):
            await dispatch
        assert session.state["title"] == "First"


async def test_an_action_on_a_channel_nobody_follows_is_followed_until_its_answer() -> None:
    host = ScriptedHost()
    async with followed(host) as (client, side, _):
        dispatch = client.dispatch(CHAT, {"type": "chat/truncated"})
        (params,) = await side.subscribed(snapshot(CHAT, 11))
        assert params["view"] == {"turns": 1}, "no more than is needed"
        side.echo(await side.next("dispatchAction"), 12, "me")
        await dispatch
        await side.next("unsubscribe")


async def test_an_action_on_a_channel_that_does_not_exist_was_not_sent() -> None:
    host = ScriptedHost()
    async with followed(host) as (client, side, _):
        dispatch = client.dispatch(CHAT, {"type": "chat/truncated"})
        side.refuse(await side.next("subscribe"), -32008, "no such chat")
        with pytest.raises(NotSent, match="no such chat"):
            await dispatch


async def test_a_channel_is_left_only_after_the_answer_to_its_last_action() -> None:
    host = ScriptedHost()
    async with followed(host) as (client, side, session):
        dispatch = client.dispatch(SESSION, titled("Last words"))
        client.unsubscribe(session)
        side.echo(await side.next("dispatchAction"), 11, "me")
        await dispatch
        await side.next("unsubscribe")


async def test_an_action_waits_while_its_channel_is_read_anew_so_that_its_echo_is_not_lost() -> (
    None
):
    """A snapshot may hold the effect of an action, and then its echo never comes."""
    host = ScriptedHost()
    client = host.client()
    side = await host.welcome(client)
    try:
        subscribing = asyncio.create_task(client.subscribe(CHAT, turns=1))
        await side.subscribed(snapshot(CHAT, 10))
        chat = await subscribing
        under_way = client.dispatch(CHAT, {"type": "chat/truncated"})
        sent = await side.next("dispatchAction")
        widening = asyncio.create_task(client.subscribe(CHAT))
        await assert_quiet(client, side)
        waiting = client.dispatch(CHAT, {"type": "chat/draftChanged"})
        side.echo(sent, 11, "me")
        await under_way
        await side.subscribed(snapshot(CHAT, 11))
        assert await widening is chat
        side.echo(await side.next("dispatchAction"), 12, "me")
        await waiting
    finally:
        await client.aclose()


async def test_an_action_that_the_host_passes_over_in_silence_is_uncertain_after_a_while() -> None:
    host = ScriptedHost()
    async with followed(host, ping_interval=31) as (client, side, session):
        dispatch = client.dispatch(SESSION, titled("Into the void"))
        await side.next("dispatchAction")
        host.clock.advance(31)
        side.answer(await side.next("ping"), None)
        with pytest.raises(Uncertain, match="did not answer"):
            await dispatch
        assert session.state["title"] == "First"


async def test_closing_a_client_ends_everything_that_waits() -> None:
    host = ScriptedHost()
    async with followed(host) as (client, side, session):
        sent = client.dispatch(SESSION, titled("Sent"))
        await side.next("dispatchAction")
        unsent = client.dispatch(CHAT, {"type": "chat/truncated"})
        envelopes = session.envelopes()
        notifications = client.notifications()
        await client.aclose()
        with pytest.raises(Uncertain):
            await sent
        with pytest.raises(NotSent):
            await unsent
        with pytest.raises(ChannelGone):
            await anext(envelopes)
        with pytest.raises(StopAsyncIteration):
            await anext(notifications)
        assert await closed(client) is None
