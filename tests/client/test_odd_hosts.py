"""Hosts that answer late, never, or with what nobody can use: the client goes on all the same."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agenthost.client import CannotConnect, Channel, Client, CreationFailed, Rejected, Session
from tests.client.scripted import CHAT, ROOT, SESSION, ScriptedHost, Side, snapshot

Json = dict[str, Any]
# Seconds that a test may take before it is broken rather than slow.
PATIENCE = 60.0

AWAY: Json = {"type": "replay", "actions": [], "missing": []}


def summary(uri: str, title: str = "A") -> Json:
    times = {"createdAt": "2026-01-01T00:00:00.000Z", "modifiedAt": "2026-01-01T00:00:00.000Z"}
    return {"resource": uri, "provider": "demo", "title": title, "status": 1, **times}


@asynccontextmanager
async def welcomed(**options: Any) -> AsyncIterator[tuple[ScriptedHost, Client, Side]]:
    host = ScriptedHost()
    client = host.client(**options)
    async with asyncio.timeout(PATIENCE):
        side = await host.welcome(client)
        try:
            yield host, client, side
        finally:
            await client.aclose()


async def subscribed(client: Client, side: Side, uri: str) -> Channel[Any]:
    subscribing = asyncio.create_task(client.subscribe(uri))
    await side.subscribed(snapshot(uri, 10))
    return await subscribing


async def dropped(host: ScriptedHost, side: Side) -> Side:
    """End a link and resume on the next one."""
    await side.close()
    side = await host.accept()
    side.answer(await side.next("reconnect"), AWAY)
    return side


# Sessions that a host could not make


async def test_a_session_that_a_host_cannot_make_is_told_and_not_followed() -> None:
    async with welcomed() as (_, client, side):
        creating = asyncio.create_task(client.sessions.create("demo", uri=SESSION))
        side.answer(await side.next("createSession"), None)
        await side.subscribed(snapshot(SESSION, 10, lifecycle="creating"))
        error = {"errorType": "broken", "message": "no licence"}
        failed = {"type": "session/creationFailed", "error": error}
        side.action(SESSION, 11, failed)
        with pytest.raises(CreationFailed, match="no licence"):
            await creating
        assert SESSION not in client._core.channels


# What nobody answers


@pytest.mark.parametrize("way", ["create", "list", "dispose", "config"])
async def test_every_typed_request_ends_after_its_time(way: str) -> None:
    async with welcomed(request_timeout=0.001) as (_, client, _side):
        sessions = client.sessions
        asked: dict[str, Callable[[], Awaitable[Any]]] = {
            "create": sessions.create,
            "list": sessions.list,
            "dispose": lambda: sessions.dispose(SESSION),
            "config": sessions.config,
        }
        with pytest.raises(TimeoutError):
            await asked[way]()


async def test_a_subscription_that_a_present_host_never_answers_ends_after_its_time() -> None:
    async with welcomed(request_timeout=0.001) as (_, client, side):
        with pytest.raises(TimeoutError):
            await client.subscribe(SESSION)
        late = await side.next("subscribe")
        side.answer(late, {"snapshot": snapshot(SESSION, 10)})
        again = asyncio.create_task(client.request("ping", timeout=10))
        side.answer(await side.next("ping"), None)
        await again


@pytest.mark.parametrize("code", [1000, 1006, 1008, 1011])
async def test_a_host_that_hangs_up_in_the_handshake_cannot_be_connected_to(code: int) -> None:
    host = ScriptedHost()
    entering = asyncio.create_task(host.client().__aenter__())
    side = await host.accept()
    await side.next("initialize")
    await side.close(code, "not today")
    with pytest.raises(CannotConnect, match="not today"):
        await entering


# What nobody can use


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("root/sessionAdded", {}),
        ("root/sessionAdded", {"summary": "s"}),
        ("root/sessionAdded", {"summary": {"title": "nameless"}}),
        ("root/sessionRemoved", {"session": None}),
        ("root/sessionSummaryChanged", {"session": SESSION}),
        ("root/sessionSummaryChanged", {"session": SESSION, "changes": "x"}),
        ("root/sessionSummaryChanged", {"session": [], "changes": {}}),
    ],
)
async def test_a_malformed_notification_costs_neither_link_nor_catalogue(
    method: str, params: Json
) -> None:
    async with welcomed() as (host, client, side):
        catalogue = client.sessions.watch()
        first = asyncio.ensure_future(anext(catalogue))
        side.answer(await side.next("listSessions"), {"items": [summary(SESSION)]})
        assert list(await first) == [SESSION]
        side.notify(method, **params)
        side.notify("root/sessionSummaryChanged", session=SESSION, changes={"title": "B"})
        async for sessions in catalogue:
            if sessions[SESSION]["title"] == "B":
                break
        assert host.dials == 1


async def test_a_rejected_removal_that_a_host_tells_everybody_removes_nothing() -> None:
    async with welcomed() as (_, client, side):
        session = await subscribed(client, side, SESSION)
        chat = await subscribed(client, side, CHAT)
        removal = {"type": "session/chatRemoved", "chat": CHAT}
        side.action(SESSION, 11, removal, origin=("other", 1), reason="not yours to remove")
        side.action(SESSION, 12, {"type": "session/titleChanged", "title": "After it"})
        await session.until(lambda state: state["title"] == "After it")
        assert chat.gone is None


async def test_a_rejection_amid_several_pending_actions_takes_back_that_one_alone() -> None:
    async with welcomed() as (_, client, side):
        channel = await subscribed(client, side, SESSION)
        session = Session(client._core, channel)
        first, second = session.rename("one"), session.mark_read()
        third = session.archive()
        sent = [await side.next("dispatchAction") for _ in range(3)]
        side.action(SESSION, 11, {"type": "session/titleChanged", "title": "theirs"})
        side.echo(sent[1], 12, "me", "nobody reads here")
        with pytest.raises(Rejected, match="nobody reads here"):
            await second
        assert session.title == "one"
        assert channel.confirmed["title"] == "theirs"
        assert session.state["status"] == 1 | 64
        side.echo(sent[2], 13, "me")
        side.echo(sent[0], 14, "me")
        await asyncio.gather(first, third)
        assert channel.confirmed == channel.state
        assert session.title == "one"


async def test_the_same_number_of_another_client_answers_no_action_of_ours() -> None:
    async with welcomed() as (_, client, side):
        channel = await subscribed(client, side, SESSION)
        ours = client.dispatch(SESSION, {"type": "session/titleChanged", "title": "ours"})
        sent = await side.next("dispatchAction")
        same = sent["params"]["clientSeq"]
        theirs = {"type": "session/titleChanged", "title": "theirs"}
        side.action(SESSION, 11, theirs, origin=("other", same), reason="not like this")
        side.action(SESSION, 12, theirs, origin=("other", same))
        await channel.until(lambda state: state["title"] == "theirs")
        assert not ours.done
        assert channel.state["title"] == "ours"
        side.echo(sent, 13, "me")
        await ours
        assert channel.confirmed["title"] == "ours"


async def test_a_channel_is_not_read_anew_while_an_action_on_it_is_without_an_answer() -> None:
    async with welcomed() as (_, client, side):
        opening = asyncio.create_task(client.subscribe(CHAT, turns=1))
        await side.subscribed(snapshot(CHAT, 10))
        await opening
        drafting = client.dispatch(CHAT, {"type": "chat/draftChanged"})
        sent = await side.next("dispatchAction")
        # A snapshot that holds the action's effect would be the last that is heard of it.
        widening = asyncio.create_task(client.subscribe(CHAT))
        for _ in range(2):
            # The first answer gives the subscription its chance, the second shows it was not sent.
            asking = asyncio.create_task(client.request("ping"))
            side.answer(await side.next("ping"), None)
            await asking
        side.echo(sent, 11, "me")
        await drafting
        await side.subscribed(snapshot(CHAT, 11))
        await widening


# Lists over a drop


async def test_a_cursor_is_not_taken_along_to_another_connection() -> None:
    async with welcomed() as (host, client, side):
        listing = asyncio.create_task(client.sessions.list())
        first = {"items": [summary("ahp-session:/a")], "nextCursor": "of the first link"}
        side.answer(await side.next("listSessions"), first)
        assert (await side.next("listSessions"))["params"]["cursor"] == "of the first link"
        side = await dropped(host, side)
        request = await side.next("listSessions")
        assert "cursor" not in request["params"]
        both = [summary("ahp-session:/a"), summary("ahp-session:/b")]
        side.answer(request, {"items": both})
        listed = [entry["resource"] for entry in await listing]
        assert listed == ["ahp-session:/a", "ahp-session:/b"]


async def test_a_list_that_is_read_slowly_begins_anew_on_another_connection() -> None:
    async with welcomed() as (host, client, side):
        listing = aiter(client.sessions)
        reading = asyncio.ensure_future(anext(listing))
        first = {"items": [summary("ahp-session:/a")], "nextCursor": "of the first link"}
        side.answer(await side.next("listSessions"), first)
        await reading
        side = await dropped(host, side)
        going_on = asyncio.ensure_future(anext(listing))
        request = await side.next("listSessions")
        assert request["params"] == {"channel": ROOT}
        side.answer(request, {"items": [summary("ahp-session:/a"), summary("ahp-session:/b")]})
        assert (await going_on)["resource"] == "ahp-session:/b"


async def test_whoever_follows_the_catalogue_does_so_over_any_number_of_drops() -> None:
    async with welcomed() as (host, client, side):
        first = asyncio.ensure_future(anext(client.sessions.watch()))
        for _ in range(12):
            await side.next("listSessions")
            side = await dropped(host, side)
        # Once for what was under way, and once because what it began with is of another link.
        for _ in range(2):
            side.answer(await side.next("listSessions"), {"items": [summary(SESSION)]})
        assert list(await first) == [SESSION]


@pytest.mark.parametrize(
    "envelope",
    [
        {},
        {"channel": SESSION, "serverSeq": 11},
        {"channel": SESSION, "serverSeq": 11, "action": None},
        {"channel": SESSION, "serverSeq": 11, "action": "session/titleChanged"},
        {"channel": SESSION, "serverSeq": 11, "action": {"title": "X"}},
        {"channel": SESSION, "serverSeq": 11, "action": {"type": 7, "title": "X"}},
        {"channel": SESSION, "serverSeq": "11", "action": {"type": "session/titleChanged"}},
        {"channel": 7, "serverSeq": 11, "action": {"type": "session/titleChanged"}},
    ],
)
async def test_a_malformed_action_costs_the_client_neither_link_nor_state(envelope: Json) -> None:
    async with welcomed() as (host, client, side):
        session = await subscribed(client, side, SESSION)
        side.notify("action", **envelope)
        action = {"type": "session/titleChanged", "title": "B"}
        side.notify("action", channel=SESSION, serverSeq=12, action=action)
        await session.until(lambda state: state["title"] == "B")
        assert host.dials == 1
