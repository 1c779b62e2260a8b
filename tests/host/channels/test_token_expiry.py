"""A token that expires: who is told, where, and what does not start without another one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agenthost.protocol import NEWEST, SUPPORTED_VERSIONS
from agenthost.protocol.uris import ROOT
from tests.agents.failures import failure
from tests.client.scripted import ManualClock
from tests.wire.client import WireClient, open_client, user_message
from tests.wire.guarded import REQUIRED, RESOURCE, Guarded
from tests.wire.hosting import embed
from tests.wire.talking import call_in, confirmed, said

Json = dict[str, Any]

AUTH_REQUIRED = -32007
SESSION = "ahp-session:/guarded"
NEEDS = "the agent needs you to sign in first"


@asynccontextmanager
async def guarded() -> AsyncIterator[tuple[ManualClock, WireClient, WireClient]]:
    """A host of a protected agent whose time stands still, and clients that follow nothing yet."""
    clock = ManualClock()
    async with (
        embed(Guarded(), clock=clock) as url,
        open_client(url, "one", NEWEST) as one,
        open_client(url, "two", NEWEST) as two,
    ):
        yield clock, one, two


async def waiting(clock: ManualClock, seconds: float) -> None:
    """Return once the host waits for so long."""
    async with asyncio.timeout(60):
        while seconds not in clock.asked:
            await clock.fell_asleep.wait_past(clock.fell_asleep.count)


async def sign_in(client: WireClient, token: str = "secret", **params: Any) -> Json:
    answer: Json = await client.request("authenticate", resource=RESOURCE, token=token, **params)
    return answer


async def told(client: WireClient) -> Json:
    return await client.notification("auth/required", lambda params: True)


def told_nothing(client: WireClient) -> bool:
    return not any(message.get("method") == "auth/required" for message in client.received)


async def test_who_brought_a_token_is_told_the_moment_it_expires_and_nobody_else() -> None:
    async with guarded() as (clock, one, two):
        await one.initialize(ROOT)
        await two.initialize(ROOT)
        await sign_in(one, expiresIn=60)
        chat = await one.ready_session(SESSION)
        await one.subscribe(chat)
        await one.run_turn(chat, "t1", "hello")
        await waiting(clock, 60)
        clock.advance(59)
        await one.ping()
        assert told_nothing(one)
        clock.advance(1)
        assert await told(one) == {"channel": ROOT, "resource": REQUIRED, "reason": "expired"}
        assert await one.rejected(chat, one.turn_started("t2", "hello")) == NEEDS
        refusal = await one.refusal("createSession", channel="ahp-session:/more")
        assert (refusal.code, refusal.data) == (AUTH_REQUIRED, {"resources": [REQUIRED]})
        await two.ping()
        assert told_nothing(two)
        await sign_in(one, "another", expiresIn=60)
        await one.run_turn(chat, "t3", "hello")
        assert said(one.states[chat]["turns"][-1]) == "7 characters, extra: False"


async def test_who_does_not_follow_the_root_is_told_where_the_agent_is_followed() -> None:
    async with guarded() as (clock, one, _):
        await one.initialize()
        await sign_in(one, expiresIn=5)
        chat = await one.ready_session(SESSION)
        await one.subscribe(chat)
        await waiting(clock, 5)
        clock.advance(5)
        params = await told(one)
        assert params["channel"] in (SESSION, chat)
        assert (params["resource"], params["reason"]) == (REQUIRED, "expired")


@pytest.mark.parametrize("version", SUPPORTED_VERSIONS)
async def test_every_version_is_told_in_its_own_words(version: str) -> None:
    clock = ManualClock()
    async with (
        embed(Guarded(), clock=clock) as url,
        open_client(url, "one", NEWEST) as one,
        open_client(url, "old", version) as old,
    ):
        await one.initialize(ROOT)
        await old.initialize(ROOT)
        await sign_in(one, expiresIn=5)
        await sign_in(old)
        await waiting(clock, 5)
        clock.advance(5)
        assert (await told(one))["resource"] == REQUIRED
        whole = SUPPORTED_VERSIONS.index(version) <= SUPPORTED_VERSIONS.index("0.8.0")
        assert (await told(old))["resource"] == (REQUIRED if whole else RESOURCE)


async def test_a_token_that_came_anew_in_time_does_not_expire_with_the_old_one() -> None:
    async with guarded() as (clock, one, two):
        await one.initialize(ROOT)
        await two.initialize(ROOT)
        await sign_in(one, "first", expiresIn=10)
        await sign_in(two, "second", expiresIn=20)
        await waiting(clock, 20)
        clock.advance(10)
        await one.ping()
        assert told_nothing(one)
        clock.advance(10)
        assert (await told(two))["reason"] == "expired"
        await one.ping()
        assert told_nothing(one)


async def test_what_waited_in_the_queue_beyond_the_end_of_the_token_goes_on_with_another() -> None:
    async with guarded() as (clock, one, _):
        await one.initialize(ROOT)
        await sign_in(one, expiresIn=60)
        chat = await one.ready_session(SESSION)
        await one.subscribe(chat)
        await one.start_turn(chat, "t1", "ask")
        call = await call_in(one, chat, "pending-confirmation")
        queued = {"type": "chat/pendingMessageSet", "kind": "queued", "id": "q1"}
        await one.accepted(chat, {**queued, "message": user_message("and then?")})
        await waiting(clock, 60)
        clock.advance(60)
        await told(one)
        await one.accepted(chat, confirmed("t1", call, True))
        await one.action(chat, "chat/error")
        done, failed = one.states[chat]["turns"]
        assert done["state"] == "complete"
        assert failure(failed) == {"errorType": "authRequired", "message": NEEDS}
        params = await one.notification("auth/required", lambda p: p["reason"] == "required")
        assert params == {"channel": chat, "resource": REQUIRED, "reason": "required"}
        resumed = {"type": "chat/turnResume", "turnId": failed["id"]}
        assert await one.rejected(chat, resumed) == NEEDS
        await sign_in(one, "another")
        await one.accepted(chat, resumed)
        await one.until(lambda: _completed(one, chat, failed["id"]))
        assert said(one.states[chat]["turns"][-1]) == "7 characters, extra: False"


def _completed(client: WireClient, chat: str, turn: str) -> Json | None:
    last: Json = client.states[chat]["turns"][-1]
    return last if (last["id"], last["state"]) == (turn, "complete") else None


async def test_an_empty_token_takes_the_last_one_back_also_where_there_is_none() -> None:
    async with guarded() as (_, one, two):
        await one.initialize(ROOT)
        assert await sign_in(one, "") == {}
        await sign_in(one)
        chat = await one.ready_session(SESSION)
        await one.subscribe(chat)
        assert await sign_in(one, "") == {}
        assert await one.rejected(chat, one.turn_started("t1", "hello")) == NEEDS
        # Whoever took it back knows.
        await one.ping()
        reasons = [m["params"] for m in one.received if m.get("method") == "auth/required"]
        assert [params["reason"] for params in reasons] == ["required"]
        await two.initialize(ROOT)
        refusal = await two.refusal("authenticate", resource="https://else.org", token="")
        assert refusal.code == -32602


@pytest.mark.parametrize("expires_in", [0, -1, 1.5, "60", True])
async def test_a_life_that_is_none_is_refused(expires_in: Any) -> None:
    async with guarded() as (_, one, _):
        await one.initialize(ROOT)
        refusal = await one.refusal(
            "authenticate", resource=RESOURCE, token="secret", expiresIn=expires_in
        )
        assert refusal.code == -32602
        refusal = await one.refusal("createSession", channel=SESSION)
        assert refusal.code == AUTH_REQUIRED
