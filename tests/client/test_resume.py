"""Coming back to a scripted host: every answer it may give, and what becomes of every action."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agenthost.client import (
    CannotConnect,
    Channel,
    ChannelGone,
    Client,
    Closed,
    Connected,
    Connecting,
    ConnectionLost,
    GivenUp,
    NoCommonVersion,
    NotAdmitted,
    NotSent,
    Reconnecting,
    Rejected,
    Superseded,
    Uncertain,
    Unsupported,
)
from agenthost.errors import InternalError, LocalProtocolError, NotFound
from agenthost.protocol import NEWEST, SUPPORTED_VERSIONS
from tests.client.scripted import (
    CHAT,
    PATIENCE,
    ROOT,
    SESSION,
    ScriptedHost,
    Side,
    enveloped,
    snapshot,
)

Json = dict[str, Any]


def titled(title: str) -> Json:
    return {"type": "session/titleChanged", "title": title}


@asynccontextmanager
async def followed(
    host: ScriptedHost, **options: Any
) -> AsyncIterator[tuple[Client, Side, Channel[Any]]]:
    """A client that follows the root and one session, at number 10."""
    client = host.client(**options)
    # Whoever waits for what never comes fails, rather than holding up the others.
    async with asyncio.timeout(2 * PATIENCE):
        side = await host.welcome(client)
        try:
            subscribing = asyncio.create_task(client.subscribe(SESSION))
            await side.subscribed(snapshot(SESSION, 10))
            yield client, side, await subscribing
        finally:
            await client.aclose()


async def resumed(host: ScriptedHost, result: Json) -> Side:
    """Accept the next link, answer its reconnect, and return it."""
    side = await host.accept()
    side.answer(await side.next("reconnect"), result)
    return side


async def connected(client: Client) -> Connected:
    async for state in client.connection:
        if isinstance(state, Connected):
            return state
    raise AssertionError("the client was closed")


async def closed(client: Client) -> Exception | None:
    async with asyncio.timeout(10):
        async for state in client.connection:
            if isinstance(state, Closed):
                return state.error
    raise AssertionError("the iteration ends with Closed")


# Replayed


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


# Snapshots


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


async def test_a_host_that_counts_anew_without_a_word_is_asked_for_a_snapshot() -> None:
    host = ScriptedHost()
    async with followed(host) as (_, side, session):
        side.action(SESSION, 1_000, titled("Before"))
        await side.close()
        side = await resumed(host, {"type": "replay", "actions": [], "missing": []})
        side.action(SESSION, 4, titled("Counted anew"))
        side.action(SESSION, 5, titled("Counted on"))
        await side.subscribed(snapshot(SESSION, 5, title="Counted on"))
        side.action(SESSION, 6, titled("Seen"))
        await session.until(lambda state: state["title"] == "Seen")


async def test_an_action_that_does_not_fit_the_state_makes_the_client_read_it_anew() -> None:
    host = ScriptedHost()
    async with followed(host) as (_, side, session):
        side.action(SESSION, 11, {"type": "session/titleChanged"})
        await side.subscribed(snapshot(SESSION, 11, title="Repaired"))
        await session.until(lambda state: state["title"] == "Repaired")


# Refused


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


# For good


async def test_a_refused_token_is_not_tried_again() -> None:
    host = ScriptedHost()
    host.failures.append(NotAdmitted("401: not valid here", status=401))
    with pytest.raises(NotAdmitted, match="not valid"):
        async with host.client(wait=True):
            raise AssertionError("nobody gets in")
    assert host.dials == 1
    assert host.clock.asked == []


async def test_a_token_that_is_refused_at_a_reconnect_ends_everything_at_once() -> None:
    host = ScriptedHost()
    async with followed(host) as (client, side, session):
        sent = client.dispatch(SESSION, titled("Sent"))
        await side.next("dispatchAction")
        host.failures.append(NotAdmitted("403: go away", status=403))
        await side.close()
        assert isinstance(await closed(client), NotAdmitted)
        assert host.dials == 2
        with pytest.raises(Uncertain):
            await sent
        with pytest.raises(ChannelGone):
            await session.until(lambda state: False)
        with pytest.raises(NotAdmitted):
            client.dispatch(SESSION, titled("Later"))
        with pytest.raises(NotAdmitted):
            await client.request("ping")
        with pytest.raises(NotAdmitted):
            await client.subscribe(SESSION)


async def test_a_host_without_a_common_version_is_not_tried_again() -> None:
    host = ScriptedHost()
    entering = asyncio.create_task(host.client(wait=True).__aenter__())
    side = await host.accept()
    request = await side.next("initialize")
    side.refuse(request, -32005, data={"supportedVersions": ["9.0.0"]})
    with pytest.raises(NoCommonVersion) as failure:
        await entering
    assert failure.value.supported == ("9.0.0",)
    assert host.dials == 1


@pytest.mark.parametrize("code", [-32009, -32602, -32007])
async def test_a_client_that_initialize_refuses_for_good_is_told_so(code: int) -> None:
    host = ScriptedHost()
    entering = asyncio.create_task(host.client(wait=True).__aenter__())
    side = await host.accept()
    side.refuse(await side.next("initialize"), code, "that id is somebody else's")
    with pytest.raises(NotAdmitted, match="somebody else's"):
        await entering
    assert host.dials == 1


async def test_a_host_that_chooses_a_version_nobody_offered_is_no_host() -> None:
    host = ScriptedHost()
    entering = asyncio.create_task(host.client(versions=["0.6.0"], wait=True).__aenter__())
    side = await host.accept()
    await side.initialize(snapshot(ROOT, 1), version="0.7.0")
    with pytest.raises(GivenUp, match="not offered"):
        await entering
    assert host.dials == 1


async def test_a_client_that_another_one_took_over_from_does_not_fight_back() -> None:
    host = ScriptedHost()
    async with followed(host) as (client, side, _):
        host.clock.advance(11)
        await side.close(1008, "superseded by a newer connection of this client")
        assert isinstance(await closed(client), Superseded)
        assert host.dials == 1


async def test_a_young_connection_that_is_superseded_may_be_so_by_our_own_last_one() -> None:
    host = ScriptedHost()
    async with followed(host) as (client, side, _):
        await side.close(1008, "superseded by a newer connection of this client")
        await resumed(host, {"type": "replay", "actions": [], "missing": []})
        await connected(client)


async def test_a_connection_that_breaks_the_hosts_rules_is_not_opened_again() -> None:
    host = ScriptedHost()
    async with followed(host) as (client, side, _):
        await side.close(1008, "the token was revoked or has expired")
        assert isinstance(await closed(client), NotAdmitted)
        assert host.dials == 1


async def test_a_host_that_is_not_there_fails_the_first_connection_unless_waited_for() -> None:
    host = ScriptedHost()
    host.failures.append(CannotConnect("refused"))
    with pytest.raises(CannotConnect):
        async with host.client():
            raise AssertionError("nobody is there")
    host.failures.extend([CannotConnect("refused"), OSError("unreachable")])
    client = host.client(wait=True)
    await host.welcome(client)
    assert host.dials == 4
    await client.aclose()


async def test_a_host_in_trouble_is_tried_again() -> None:
    host = ScriptedHost()
    entering = asyncio.create_task(host.client(wait=True).__aenter__())
    side = await host.accept()
    side.refuse(await side.next("initialize"), -32603, "storage failed")
    side = await host.accept()
    await side.initialize(snapshot(ROOT, 1), seq=1)
    await (await entering).aclose()


# The pace of it


async def test_attempts_grow_apart_and_begin_again_after_a_connection_that_lasted() -> None:
    host = ScriptedHost()
    clock = host.clock
    client = host.client(roll=lambda: 1.0, ping_interval=1e9)
    side = await host.welcome(client)
    states: list[Any] = []
    client.connection.on_change(states.append)

    def waits() -> list[float]:
        return [state.delay for state in states if isinstance(state, Reconnecting)]

    try:
        host.failures.extend(CannotConnect(f"attempt {number}") for number in range(9))
        await side.close(1006, "cut")
        expected = [0.25, 0.5, 1, 2, 4, 8, 16, 30, 30, 30]
        for number, delay in enumerate(expected, 1):
            await until(client, lambda number=number: len(waits()) == number)
            clock.advance(delay)
        side = await resumed(host, {"type": "replay", "actions": [], "missing": []})
        await connected(client)
        assert waits() == expected
        assert (states[0].reason, states[1]) == ("cut", Connecting(1))

        clock.advance(5)
        await side.close()
        await until(client, lambda: len(waits()) == 11)
        assert waits()[-1] == 30, "too short to count as a good one"
        clock.advance(30)
        side = await resumed(host, {"type": "replay", "actions": [], "missing": []})
        await connected(client)

        clock.advance(11)
        await side.close()
        await until(client, lambda: len(waits()) == 12)
        assert waits()[-1] == 0.25
    finally:
        await client.aclose()


async def test_a_host_that_asks_for_rest_gets_it() -> None:
    host = ScriptedHost()
    client = host.client(wait=True)
    host.failures.append(CannotConnect("429", retry_after=7))
    entering = asyncio.create_task(client.__aenter__())
    await until(client, lambda: isinstance(client.connection.state, Reconnecting))
    assert client.connection.state == Reconnecting("429", 7, 1)
    host.clock.advance(7)
    side = await host.accept()
    await side.initialize(snapshot(ROOT, 1))
    await (await entering).aclose()


async def until(client: Client, holds: Any) -> None:
    async with asyncio.timeout(10):
        while not holds():
            await client.connection.changed.beyond(client.connection.changed.count)


# Signs of life


async def test_a_silent_host_is_asked_and_left_when_it_does_not_answer() -> None:
    host = ScriptedHost()
    async with followed(host, ping_interval=20, ping_timeout=5) as (client, side, _):
        host.clock.advance(20)
        await side.next("ping")
        await slept(host, 2)
        host.clock.advance(5)
        side = await resumed(host, {"type": "replay", "actions": [], "missing": []})
        await connected(client)
        assert host.dials == 2


async def test_a_host_that_says_anything_at_all_is_alive() -> None:
    host = ScriptedHost()
    async with followed(host, ping_interval=20, ping_timeout=5) as (_, side, session):
        host.clock.advance(20)
        await side.next("ping")
        await slept(host, 2)
        side.action(SESSION, 11, titled("Busy"))
        await session.until(lambda state: state["title"] == "Busy")
        host.clock.advance(5)
        await slept(host, 3)
        assert host.dials == 1


async def test_a_host_is_asked_when_it_has_been_silent_for_the_interval_and_not_before() -> None:
    host = ScriptedHost()
    async with followed(host, ping_interval=20, ping_timeout=5) as (client, side, session):
        host.clock.advance(15)
        side.action(SESSION, 11, titled("Still here"))
        await session.until(lambda state: state["title"] == "Still here")
        host.clock.advance(5)
        await slept(host, 2)
        assert host.clock.asked[-1] == 15
        await assert_quiet(client, side)
        host.clock.advance(20)
        await side.next("ping")


async def slept(host: ScriptedHost, times: int) -> None:
    """Wait until the link has gone to sleep that often."""
    async with asyncio.timeout(10):
        while len(host.clock.asked) < times:
            await host.clock.fell_asleep.beyond(host.clock.fell_asleep.count)


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


# Requests


async def test_a_request_that_changes_nothing_is_asked_again_after_a_drop() -> None:
    host = ScriptedHost()
    async with followed(host) as (client, side, _):
        listing = asyncio.create_task(client.sessions.list())
        await side.next("listSessions")
        await side.close()
        side = await resumed(host, {"type": "replay", "actions": [], "missing": []})
        side.answer(await side.next("listSessions"), {"items": []})
        assert await listing == []


async def test_a_request_that_changes_something_is_not_asked_again() -> None:
    host = ScriptedHost()
    async with followed(host) as (client, side, _):
        disposing = asyncio.create_task(client.request("disposeChat", {"channel": CHAT}))
        await side.next("disposeChat")
        await side.close()
        with pytest.raises(ConnectionLost):
            await disposing


async def test_a_session_is_created_once_though_the_answer_was_lost() -> None:
    host = ScriptedHost()
    async with followed(host) as (client, side, _):
        creating = asyncio.create_task(client.sessions.create(uri="ahp-session:/new"))
        await side.next("createSession")
        await side.close()
        side = await resumed(host, {"type": "replay", "actions": [], "missing": []})
        side.refuse(await side.next("createSession"), -32003, "in use")
        request = await side.next("subscribe")
        made = {**snapshot(SESSION, 11), "resource": "ahp-session:/new"}
        side.answer(request, {"snapshot": made})
        assert (await creating).uri == "ahp-session:/new"


async def test_a_request_without_an_answer_ends_after_its_time() -> None:
    host = ScriptedHost()
    async with followed(host) as (client, side, _):
        with pytest.raises(TimeoutError):
            await client.request("listSessions", timeout=0.001)
        late = await side.next("listSessions")
        side.answer(late, {"items": []})
        await assert_quiet(client, side)


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


# Actions


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
        with pytest.raises(ChannelGone, match="removed"):
            await chat.until(lambda state: False)


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


# Windows


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


async def test_an_error_of_the_host_is_raised_as_what_it_is() -> None:
    host = ScriptedHost()
    async with followed(host) as (client, side, _):
        asking = asyncio.create_task(client.request("resourceRead", {"uri": "x"}))
        side.refuse(await side.next("resourceRead"), -32603, "oh no")
        with pytest.raises(InternalError, match="oh no"):
            await asking


async def assert_quiet(client: Client, side: Side) -> None:
    """Check that the client has sent nothing but what a ping brings forth."""
    asking = asyncio.create_task(client.request("ping"))
    side.answer(await side.next("ping"), None)
    await asking
