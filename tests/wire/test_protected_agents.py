"""Agents that need a token: who is asked for one, whom it serves, and where it must never be."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agenthost.agents import Agent, Turn
from agenthost.protocol import SUPPORTED_VERSIONS
from agenthost.tokens import BOOK_FILE, Role, TokenBook
from tests.wire.client import WireClient, open_client, user_message
from tests.wire.guarded import EXTRA, OPTIONAL, REQUIRED, RESOURCE, Guarded
from tests.wire.hosting import ServedHost, embed, serve
from tests.wire.on_cluster import STORE, server_files
from tests.wire.talking import OLDEST, call_in, cancelled, confirmed, said
from tests.wire.wording import failure_of

pytestmark = pytest.mark.asyncio(loop_scope="module")

Json = dict[str, Any]

AUTH_REQUIRED, INVALID, INTERNAL = -32007, -32602, -32603
SECRET = "tok-5d2f1c7e-never-to-be-seen"
SESSION = "ahp-session:/guarded"
REPOSITORY = Path(__file__).parent.parent.parent


@asynccontextmanager
async def at_guarded(version: str = SUPPORTED_VERSIONS[0]) -> AsyncIterator[tuple[WireClient, str]]:
    """A client of a host whose only agent is protected, and the host's address."""
    async with embed(Guarded()) as url, open_client(url, "visitor", version) as client:
        await client.initialize("ahp-root://")
        yield client, url


async def signed_in(client: WireClient, token: str = SECRET) -> str:
    """Bring a token, make a session, and return its chat."""
    await client.request("authenticate", resource=RESOURCE, token=token)
    chat = await client.ready_session(SESSION)
    await client.subscribe(chat)
    return chat


@pytest.mark.parametrize("version", SUPPORTED_VERSIONS)
async def test_without_a_token_there_is_no_session_and_the_refusal_says_where_to_get_one(
    version: str,
) -> None:
    async with at_guarded(version) as (client, _):
        (info,) = client.states["ahp-root://"]["agents"]
        assert info["protectedResources"] == [REQUIRED, OPTIONAL]
        refusal = await client.refusal("createSession", channel=SESSION, provider="guarded")
        assert refusal.code == AUTH_REQUIRED
        assert refusal.data == {"resources": [REQUIRED]}
        assert (await client.request("listSessions"))["items"] == []
        assert await client.request("authenticate", resource=RESOURCE, token=SECRET) == {}
        chat = await client.ready_session(SESSION)
        await client.subscribe(chat)
        await client.run_turn(chat, "t1", "hello")
        (turn,) = client.states[chat]["turns"]
        assert said(turn) == f"{len(SECRET)} characters, extra: False"


async def test_a_token_that_is_not_good_enough_is_refused_and_not_kept() -> None:
    async with at_guarded() as (client, _):
        refusal = await client.refusal("authenticate", resource=RESOURCE, token="bad one")
        assert refusal.code == AUTH_REQUIRED
        assert refusal.message == "the token is not good enough"
        assert refusal.data == {"resources": [REQUIRED]}
        refusal = await client.refusal("createSession", channel=SESSION)
        assert refusal.code == AUTH_REQUIRED


async def test_a_check_that_fails_for_another_reason_tells_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with at_guarded() as (client, _):
        refusal = await client.refusal("authenticate", resource=RESOURCE, token="crash me")
        assert (refusal.code, refusal.data) == (INTERNAL, None)
        assert "crash" not in refusal.message
        assert "guarded cannot check a token: RuntimeError" in caplog.text
        assert "crash" not in caplog.text
        assert (await client.refusal("createSession", channel=SESSION)).code == AUTH_REQUIRED


async def test_a_resource_that_nobody_protects_takes_no_token() -> None:
    async with at_guarded() as (client, _):
        refusal = await client.refusal("authenticate", resource="https://else.org", token=SECRET)
        assert refusal.code == INVALID
        for params in ({"resource": RESOURCE}, {"token": SECRET}, {"resource": 1, "token": SECRET}):
            assert (await client.refusal("authenticate", **params)).code == INVALID
        assert (await client.refusal("createSession", channel=SESSION)).code == AUTH_REQUIRED


async def test_what_is_not_required_is_not_asked_for_but_taken() -> None:
    async with at_guarded() as (client, _):
        await client.request("authenticate", resource=EXTRA, token="x")
        chat = await signed_in(client)
        await client.run_turn(chat, "t1", "hello")
        assert said(client.states[chat]["turns"][0]).endswith("extra: True")


async def test_a_newer_token_takes_the_place_of_an_older_one() -> None:
    async with at_guarded() as (client, _):
        chat = await signed_in(client, "x")
        await client.request("authenticate", resource=RESOURCE, token="y" * 7)
        await client.run_turn(chat, "t1", "hello")
        assert said(client.states[chat]["turns"][0]).startswith("7 characters")


async def test_a_token_that_has_expired_is_asked_for_again() -> None:
    async with at_guarded() as (client, _):
        chat = await signed_in(client, "old token")
        await client.run_turn(chat, "t1", "hello")
        assert failure_of(client.states[chat]["turns"][0])["message"] == "the token has expired"
        params = await client.notification("auth/required", lambda p: p["channel"] == chat)
        assert params == {"channel": chat, "resource": REQUIRED, "reason": "expired"}
        # The next turn is not even begun before there is a new one.
        started = client.turn_started("t2", "hello")
        assert await client.rejected(chat, started) == "the agent needs you to sign in first"
        await client.request("authenticate", resource=RESOURCE, token=SECRET)
        await client.run_turn(chat, "t3", "hello")
        assert client.states[chat]["turns"][1]["state"] == "complete"


async def test_what_waits_may_be_taken_back_without_a_token() -> None:
    async with at_guarded() as (client, _):
        chat = await signed_in(client)
        await client.start_turn(chat, "t1", "ask")
        await call_in(client, chat, "pending-confirmation")
        waiting = {"kind": "queued", "id": "q1"}
        message = user_message("hello again")
        queued = {"type": "chat/pendingMessageSet", **waiting, "message": message}
        await client.accepted(chat, queued)
        await client.accepted(chat, cancelled(client, "t1"))
        # The agent gives this one back.
        await client.request("authenticate", resource=RESOURCE, token="old token")
        await client.run_turn(chat, "t2", "hello")
        await client.rejected(chat, queued)
        await client.accepted(chat, {"type": "chat/pendingMessageRemoved", **waiting})


async def test_a_restart_forgets_every_token_and_asks_again(tmp_path: Path) -> None:
    async with serve_guarded(tmp_path) as host:
        async with open_client(host.url, "visitor") as client:
            await client.initialize()
            chat = await signed_in(client)
            await client.run_turn(chat, "t1", "hello")
        await host.kill()
        await host.start()
        async with open_client(host.url, "visitor") as client:
            await client.initialize(SESSION, chat)
            queued = {
                "type": "chat/pendingMessageSet",
                "kind": "queued",
                "id": "q1",
                "message": user_message("hello"),
            }
            for action in (client.turn_started("t2", "hello"), queued):
                reason = await client.rejected(chat, action)
                assert reason == "the agent needs you to sign in first"
            params = await client.notification("auth/required", lambda p: p["channel"] == chat)
            assert params == {"channel": chat, "resource": REQUIRED, "reason": "required"}
            refusal = await client.refusal(
                "createChat",
                channel=SESSION,
                chat="ahp-chat:/new",
                initialMessage=user_message("hello"),
            )
            assert refusal.code == AUTH_REQUIRED
            assert refusal.data == {"resources": [REQUIRED]}
            assert len(client.states[SESSION]["chats"]) == 1
            await client.request("authenticate", resource=RESOURCE, token=SECRET)
            await client.accepted(chat, queued)
            await client.action(chat, "chat/turnComplete")
            assert said(client.states[chat]["turns"][1]).startswith(f"{len(SECRET)} characters")


class Open(Agent):
    provider, display_name = "open", "Open"

    async def run(self, turn: Turn) -> None:
        await turn.write("for everybody")


async def test_an_agent_that_protects_nothing_needs_no_token_beside_one_that_does() -> None:
    async with embed(Guarded(), Open()) as url, open_client(url, "visitor", OLDEST) as client:
        await client.initialize()
        chat = await client.ready_session(SESSION, provider="open")
        await client.subscribe(chat)
        await client.run_turn(chat, "t1", "hello")
        assert said(client.states[chat]["turns"][0]) == "for everybody"


@asynccontextmanager
async def serve_guarded(tmp_path: Path) -> AsyncIterator[ServedHost]:
    options = ("--agent", "tests.wire.guarded:Guarded", "-v", "--wire-log", f"{tmp_path}/wire.log")
    async with serve(tmp_path / "data", *options, cwd=REPOSITORY) as host:
        yield host


async def test_one_persons_token_serves_nobody_else(tmp_path: Path) -> None:
    async with serve_guarded(tmp_path) as host:
        book = TokenBook(host.data_dir / BOOK_FILE)
        made = book.create("somebody", Role.OPERATOR, expires=None, now=time.time())
        async with open_client(host.url, "owner") as owner:
            await owner.initialize()
            chat = await signed_in(owner)
        async with open_client(f"ws://{host.address}/?tkn={made.secret}", "another") as other:
            await other.initialize(chat)
            refusal = await other.refusal("createSession", channel="ahp-session:/other")
            assert refusal.code == AUTH_REQUIRED
            reason = await other.rejected(chat, other.turn_started("t1", "hello"))
            assert reason == "the agent needs you to sign in first"


async def test_a_token_is_in_no_log_and_not_in_the_store(tmp_path: Path) -> None:
    async with serve_guarded(tmp_path) as host:
        async with open_client(host.url, "visitor") as client:
            await client.initialize()
            await client.refusal("authenticate", resource=RESOURCE, token=f"bad {SECRET}")
            await client.refusal("authenticate", resource=RESOURCE, token=f"crash {SECRET}")
            await client.refusal("authenticate", resource="https://else.org", token=SECRET)
            await client.refusal("authenticate", resource=RESOURCE, token=[SECRET])
            chat = await signed_in(client)
            await client.start_turn(chat, "t1", "ask")
            call = await call_in(client, chat, "pending-confirmation")
            await client.accepted(chat, confirmed("t1", call, True))
            await client.turn_end(chat, "t1")
            await client.run_turn(chat, "t2", "hello")
            for number, text in enumerate(("quote", "quote to people", "quote forgotten")):
                await client.run_turn(chat, f"q{number}", text)
            for message in client.received:
                assert SECRET not in str(message)
        assert_unwritten(tmp_path)
        assert await host.stop() == 0
        assert "working for somebody with a token: True" in host.output
        assert SECRET not in host.output
        assert host.output.count("RuntimeError: the service refused '[redacted]'") == 2
    assert_unwritten(tmp_path)


def assert_unwritten(directory: Path) -> None:
    """See that no file holds the token, neither the store nor its journal nor the wire log."""
    kept = [path for path in (*directory.rglob("*"), *server_files()) if path.is_file()]
    assert {"wire.log", STORE.name} <= {path.name for path in kept}
    assert b"authenticate" in (directory / "wire.log").read_bytes()
    for path in kept:
        assert SECRET.encode() not in path.read_bytes(), path
