"""Chats under the names that editors make for them, on the wire."""

from __future__ import annotations

import pytest

from agenthost.host import Host
from agenthost.protocol.uris import default_chat_uri, worker_chat_uri
from tests.wire.agents import Puppet
from tests.wire.client import open_client
from tests.wire.hosting import ServedHost
from tests.wire.wording import forked_from

pytestmark = pytest.mark.asyncio(loop_scope="module")

ROOT = "ahp-root://"
INVALID, NOT_FOUND = -32602, -32008


@pytest.mark.parametrize("session", ["ahp-session:/0b5e-names", "copilot:/0b5e-names"])
async def test_a_default_chat_can_be_followed_without_asking_for_its_name(
    shared_host: ServedHost, session: str
) -> None:
    async with open_client(shared_host.url, f"names {session}") as client:
        await client.initialize(ROOT)
        await client.request("createSession", channel=session)
        await client.subscribe(default_chat_uri(session))
        chat = await client.ready_session(f"{session}-other")
        assert chat == default_chat_uri(f"{session}-other")
        await client.run_turn(default_chat_uri(session), "t1", "hello")


async def test_names_of_chats_that_the_host_makes_are_not_given_to_others(
    shared_host: ServedHost,
) -> None:
    async with open_client(shared_host.url, "kept names") as client:
        await client.initialize()
        session = "ahp-session:/kept-names"
        await client.ready_session(session)
        for chat in (
            default_chat_uri("ahp-session:/not-there-yet"),
            str(worker_chat_uri(session, "call-1")),
        ):
            failure = await client.refusal("createChat", channel=session, chat=chat)
            assert (failure.code, failure.data) == (INVALID, {"path": "chat"})


async def test_a_worker_is_found_by_its_tool_call_also_from_a_fork(
    shared_host: ServedHost,
) -> None:
    async with open_client(shared_host.url, "worker names") as client:
        await client.initialize()
        session, fork = "ahp-session:/worker-names", "ahp-session:/worker-names-fork"
        chat = await client.ready_session(session)
        await client.subscribe(chat)
        await client.run_turn(chat, "t1", "/subagent hello")
        (part,) = (p for p in client.states[chat]["turns"][0]["responseParts"] if "toolCall" in p)
        call = part["toolCall"]["toolCallId"]
        own = worker_chat_uri(session, call)
        assert own in {entry["resource"] for entry in client.states[session]["chats"]}
        await client.ready_session(fork, **forked_from(client.version, session, "t1"))
        copied = worker_chat_uri(fork, call)
        assert copied is not None
        # Under the name that was asked for, whatever the chat calls itself.
        state = await client.subscribe(copied)
        assert state["resource"] == own
        assert state["turns"][0]["message"]["text"] == "hello"
        unknown = worker_chat_uri(fork, "never")
        failure = await client.refusal("subscribe", channel=unknown)
        assert failure.code == NOT_FOUND


async def test_a_chat_that_was_stored_under_another_name_answers_to_the_new_one_as_well() -> None:
    async with Host([Puppet()]) as host:
        url = await host.listen(port=0)
        async with open_client(url) as client:
            await client.initialize(ROOT)
            await client.request("createSession", channel="s:/old", config={"mode": "ask"})
            core = host.core
            session = core.directory.get("s:/old")
            assert session is not None
            await client.request("createChat", channel="s:/old", chat="ahp-chat:/old")
            await client.request("disposeChat", channel=default_chat_uri("s:/old"))
            action = {"type": "session/defaultChatChanged", "defaultChat": "ahp-chat:/old"}
            core.writer.apply(session, action)
            named = default_chat_uri("s:/old")
            assert (await client.subscribe(named))["resource"] == "ahp-chat:/old"
            await client.start_turn(named, "t1", "hello")
            await client.turn_end(named, "t1")
            client.abort()
        async with open_client(url) as again:
            result = await again.resume(client)
            assert result == {"type": "replay", "actions": [], "missing": []}
            await again.run_turn(named, "t2", "hello again")
            await again.send({"method": "unsubscribe", "params": {"channel": named}})
            await again.ping()
            chat = core.directory.get("ahp-chat:/old")
            assert chat is not None
            assert not chat.subscriptions
