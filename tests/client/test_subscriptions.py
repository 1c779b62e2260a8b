"""Following channels of a scripted host: how much of them, since when, and until when."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agenthost.client import (
    ChannelGone,
    Session,
    Uncertain,
)
from agenthost.errors import LocalProtocolError, NotFound
from tests.client.follower import assert_quiet, followed, resumed, titled
from tests.client.scripted import (
    CHAT,
    ROOT,
    SESSION,
    ScriptedHost,
    snapshot,
)

Json = dict[str, Any]


async def test_a_subscription_that_was_under_way_is_made_after_the_drop() -> None:
    host = ScriptedHost()
    async with followed(host) as (client, side, _):
        subscribing = asyncio.create_task(client.subscribe(CHAT))
        await side.next("subscribe")
        await side.close()
        side = await host.accept()
        request = await side.next("reconnect")
        assert CHAT not in request["params"]["subscriptions"]
        side.answer(request, {"type": "replay", "actions": [], "missing": []})
        await side.subscribed(snapshot(CHAT, 11))
        assert (await subscribing).state["title"] == "Chat"


async def test_a_channel_that_does_not_exist_cannot_be_subscribed_to() -> None:
    host = ScriptedHost()
    async with followed(host) as (client, side, _):
        subscribing = asyncio.create_task(client.subscribe(CHAT))
        side.refuse(await side.next("subscribe"), -32008, "no such channel")
        with pytest.raises(NotFound, match="no such channel"):
            await subscribing
        subscribing = asyncio.create_task(client.subscribe(CHAT))
        await side.subscribed(snapshot(CHAT, 11))
        await subscribing


async def test_envelopes_that_overtake_their_snapshot_are_kept_for_it() -> None:
    host = ScriptedHost()
    async with followed(host) as (client, side, _):
        subscribing = asyncio.create_task(client.subscribe(CHAT))
        request = await side.next("subscribe")
        for seq, word in ((11, "old"), (12, "new")):
            side.action(CHAT, seq, {"type": "chat/activityChanged", "activity": word})
        side.answer(request, {"snapshot": snapshot(CHAT, 11)})
        assert (await subscribing).state["activity"] == "new"


async def test_a_subscription_given_up_before_its_answer_does_not_spoil_the_next_one() -> None:
    host = ScriptedHost()
    async with followed(host) as (client, side, _):
        given_up = asyncio.create_task(client.subscribe(CHAT))
        first = await side.next("subscribe")
        given_up.cancel()
        with pytest.raises(asyncio.CancelledError):
            await given_up
        wanted = asyncio.create_task(client.subscribe(CHAT))
        assert (await side.next("unsubscribe"))["params"]["channel"] == CHAT
        second = await side.next("subscribe")
        side.answer(first, {"snapshot": snapshot(CHAT, 11, title="Old")})
        side.answer(second, {"snapshot": snapshot(CHAT, 12, title="New")})
        chat = await wanted
        assert chat.state["title"] == "New"
        await assert_quiet(client, side)


async def test_a_channel_without_state_is_followed_again_after_a_reconnect() -> None:
    logs = "ahp-otlp://logs"
    host = ScriptedHost()
    async with followed(host) as (client, side, _):
        subscribing = asyncio.create_task(client.subscribe(logs))
        side.answer(await side.next("subscribe"), {})
        channel = await subscribing
        assert not channel.has_state
        notifications = client.notifications()
        side.send({"method": "otlp/exportLogs", "params": {"channel": logs, "payload": {}}})
        assert await anext(notifications) == ("otlp/exportLogs", {"channel": logs, "payload": {}})
        with pytest.raises(LocalProtocolError, match="no state"):
            client.dispatch(logs, titled("x"))
        await side.close()
        side = await host.accept()
        request = await side.next("reconnect")
        assert logs not in request["params"]["subscriptions"]
        side.answer(request, {"type": "replay", "actions": [], "missing": []})
        assert (await side.next("subscribe"))["params"]["channel"] == logs


async def test_a_subscription_ends_with_its_last_user_and_can_be_made_anew() -> None:
    host = ScriptedHost()
    async with followed(host) as (client, side, session):
        again = await client.subscribe(SESSION)
        assert again is session
        client.unsubscribe(session)
        await assert_quiet(client, side)
        client.unsubscribe(session)
        assert (await side.next("unsubscribe"))["params"] == {"channel": SESSION}
        side.action(SESSION, 11, titled("In flight"))
        subscribing = asyncio.create_task(client.subscribe(SESSION))
        await side.subscribed(snapshot(SESSION, 11, title="Anew"))
        assert (await subscribing).state["title"] == "Anew"


async def test_a_removed_session_takes_its_channels_along() -> None:
    host = ScriptedHost()
    async with followed(host) as (client, side, session):
        subscribing = asyncio.create_task(client.subscribe(CHAT))
        await side.subscribed(snapshot(CHAT, 10))
        chat = await subscribing
        summary = {"resource": CHAT, "title": "", "status": 1, "modifiedAt": ""}
        side.action(SESSION, 11, {"type": "session/chatAdded", "summary": summary})
        dispatch = client.dispatch(CHAT, {"type": "chat/truncated"})
        await side.next("dispatchAction")
        side.notify("root/sessionRemoved", session=SESSION)
        with pytest.raises(Uncertain):
            await dispatch
        for channel in (session, chat):
            with pytest.raises(ChannelGone, match="removed"):
                await channel.until(lambda state: False)


async def test_a_removed_chat_is_gone() -> None:
    host = ScriptedHost()
    async with followed(host) as (client, side, _):
        subscribing = asyncio.create_task(client.subscribe(CHAT))
        await side.subscribed(snapshot(CHAT, 10))
        chat = await subscribing
        side.action(SESSION, 11, {"type": "session/chatRemoved", "chat": CHAT})
        side.refuse(await side.next("subscribe"), -32008)
        with pytest.raises(ChannelGone, match="removed"):
            await chat.until(lambda state: False)


async def test_a_chat_that_moved_to_another_session_is_followed_on() -> None:
    host = ScriptedHost()
    async with followed(host) as (client, side, _):
        session = Session(client._core, await client.subscribe(SESSION))
        opening = asyncio.create_task(session.chat(CHAT))
        await side.subscribed(snapshot(CHAT, 10))
        chat = await opening
        side.action(SESSION, 11, {"type": "session/chatRemoved", "chat": CHAT})
        request = await side.next("subscribe")
        sending = chat.queue("for later")
        side.answer(request, {"snapshot": snapshot(CHAT, 12)})
        sent = await side.next("dispatchAction")
        side.echo(sent, 13, "me")
        await sending
        side.action(CHAT, 14, {"type": "chat/activityChanged", "activity": "thinking"})
        await chat.channel.until(lambda state: state.get("activity") == "thinking")
        # It goes on, too, when the session goes that it was in.
        side.notify("root/sessionRemoved", session=SESSION)
        with pytest.raises(ChannelGone):
            await session.channel.until(lambda state: False)
        side.action(CHAT, 15, {"type": "chat/activityChanged", "activity": "writing"})
        await chat.channel.until(lambda state: state.get("activity") == "writing")


async def test_a_chat_that_moved_goes_with_the_session_that_it_moved_to() -> None:
    host = ScriptedHost()
    other = "ahp-session:/other"
    async with followed(host) as (client, side, _):
        subscribing = asyncio.create_task(client.subscribe(other))
        await side.subscribed({**snapshot(SESSION, 10), "resource": other})
        await subscribing
        subscribing = asyncio.create_task(client.subscribe(CHAT))
        await side.subscribed(snapshot(CHAT, 10))
        chat = await subscribing
        summary = {"resource": CHAT, "title": "Chat", "status": 1, "modifiedAt": ""}
        side.action(SESSION, 11, {"type": "session/chatRemoved", "chat": CHAT})
        side.action(other, 12, {"type": "session/chatAdded", "summary": summary})
        await side.subscribed(snapshot(CHAT, 12))
        side.notify("root/sessionRemoved", session=other)
        with pytest.raises(ChannelGone, match="session was removed"):
            await chat.until(lambda state: False)


async def test_a_chat_of_which_only_the_end_is_wanted_is_asked_for_anew_after_a_reconnect() -> None:
    host = ScriptedHost()
    client = host.client()
    side = await host.welcome(client)
    try:
        subscribing = asyncio.create_task(client.subscribe(CHAT, turns=5))
        (params,) = await side.subscribed(snapshot(CHAT, 10, turnsNextCursor="x"))
        assert params["view"] == {"turns": 5}
        chat = await subscribing
        await side.close()
        side = await resumed(host, {"type": "replay", "actions": [], "missing": []})
        (params,) = await side.subscribed(snapshot(CHAT, 11, turnsNextCursor="y"))
        assert params["view"] == {"turns": 5}
        await chat.until(lambda state: state["turnsNextCursor"] == "y")
    finally:
        await client.aclose()


async def test_somebody_who_wants_all_of_a_chat_widens_it_for_everybody() -> None:
    host = ScriptedHost()
    client = host.client()
    side = await host.welcome(client)
    try:
        subscribing = asyncio.create_task(client.subscribe(CHAT, turns=5))
        await side.subscribed(snapshot(CHAT, 10, turnsNextCursor="x"))
        narrow = await subscribing
        subscribing = asyncio.create_task(client.subscribe(CHAT))
        (params,) = await side.subscribed(snapshot(CHAT, 10))
        assert "view" not in params
        assert await subscribing is narrow
        assert "turnsNextCursor" not in narrow.state
    finally:
        await client.aclose()


async def test_a_window_is_not_part_of_initialize() -> None:
    host = ScriptedHost()
    client = host.client()
    side = await host.welcome(client)
    try:
        subscribing = asyncio.create_task(client.subscribe(CHAT, turns=5))
        await side.subscribed(snapshot(CHAT, 10))
        await subscribing
        await side.close()
        side = await host.accept()
        side.refuse(await side.next("reconnect"), -32008)
        params = await side.initialize(snapshot(ROOT, 2), seq=2)
        assert params["initialSubscriptions"] == [ROOT]
        (params,) = await side.subscribed(snapshot(CHAT, 2))
        assert params["view"] == {"turns": 5}
    finally:
        await client.aclose()
