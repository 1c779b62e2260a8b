"""Sessions that begin where another one stood: what they hold, and what they know."""

from __future__ import annotations

import pytest

from agenthost.agents import Agent, Turn
from tests.wire.client import open_client
from tests.wire.hosting import ServedHost, embed
from tests.wire.wording import forked_from

pytestmark = pytest.mark.asyncio(loop_scope="module")

INVALID, NO_SESSION, NOT_FOUND = -32602, -32001, -32008


async def test_a_fork_holds_the_source_through_its_turn_and_lives_on_its_own(
    shared_host: ServedHost,
) -> None:
    async with open_client(shared_host.url, "forker") as client:
        await client.initialize()
        source = "ahp-session:/source"
        chat = await client.ready_session(source, workingDirectories=["file:///work"])
        await client.subscribe(chat)
        for turn in ("t1", "t2", "t3"):
            await client.run_turn(chat, turn, f"say {turn}")
        fork = forked_from(client.version, source, "t2")
        forked = await client.ready_session(
            "ahp-session:/fork", **fork, workingDirectories=["file:///elsewhere"]
        )
        state = await client.subscribe(forked)
        assert state["turns"] == client.states[chat]["turns"][:2]
        session = client.states["ahp-session:/fork"]
        # A fork inherits where it works.
        assert session["workingDirectories"] == ["file:///work"]
        assert session["title"] == client.states[source]["title"] == "say t1"
        await client.run_turn(forked, "t3", "differently")
        await client.ping()
        assert [turn["id"] for turn in client.states[forked]["turns"]] == ["t1", "t2", "t3"]
        texts = [turn["message"]["text"] for turn in client.states[chat]["turns"]]
        assert texts == ["say t1", "say t2", "say t3"]


async def test_a_fork_names_a_completed_turn_in_any_chat_of_a_known_session(
    shared_host: ServedHost,
) -> None:
    async with open_client(shared_host.url, "fork refused") as client:
        await client.initialize()
        source = "ahp-session:/fork-source"
        chat = await client.ready_session(source)
        await client.subscribe(chat)
        await client.start_turn(chat, "running", "/slow 60")
        for turn in ("never", "running"):
            failure = await client.refusal(
                "createSession", channel="f:/1", **forked_from(client.version, source, turn)
            )
            assert failure.code == INVALID
        for session in ("ahp-session:/nowhere", chat):
            failure = await client.refusal(
                "createSession",
                channel="f:/1",
                **forked_from(client.version, session, "running"),
            )
            assert failure.code == NO_SESSION
        other = "ahp-chat:/fork-other"
        await client.request("createChat", channel=source, chat=other)
        await client.subscribe(other)
        await client.run_turn(other, "elsewhere", "in another chat")
        fork = forked_from(client.version, source, "elsewhere")
        forked = await client.subscribe(await client.ready_session("f:/1", **fork))
        assert [turn["id"] for turn in forked["turns"]] == ["elsewhere"]


class Keeper(Agent):
    """Keeps what it is told outside of the chat, and knows what it was told before."""

    provider, display_name = "keeper", "Keeper"

    async def run(self, turn: Turn) -> None:
        await turn.attach(turn.text.encode(), "text/plain")
        await turn.write(" | ".join(past["message"]["text"] for past in turn.history))


async def test_a_fork_outlives_its_source_with_all_that_its_turns_refer_to() -> None:
    async with embed(Keeper(), disposal="delete") as url, open_client(url) as client:
        await client.initialize()
        chat = await client.ready_session("s:/1")
        await client.subscribe(chat)
        await client.run_turn(chat, "t1", "to be kept")
        fork = forked_from(client.version, "s:/1", "t1")
        forked = await client.subscribe(await client.ready_session("s:/2", **fork))
        (old,), (new,) = client.states[chat]["turns"], forked["turns"]
        assert {**new["responseParts"][0], "uri": ""} == {**old["responseParts"][0], "uri": ""}
        await client.request("disposeSession", channel="s:/1")
        gone, kept = old["responseParts"][0]["uri"], new["responseParts"][0]["uri"]
        assert (await client.refusal("resourceRead", uri=gone)).code == NOT_FOUND
        read = await client.request("resourceRead", uri=kept)
        assert read == {"data": "to be kept", "encoding": "utf-8", "contentType": "text/plain"}


async def test_a_fork_of_a_side_chat_knows_what_that_knew() -> None:
    async with embed(Keeper()) as url, open_client(url) as client:
        await client.initialize()
        chat = await client.ready_session("s:/1")
        await client.subscribe(chat)
        await client.run_turn(chat, "t1", "before")
        source = {"kind": "sideChat", "chat": chat, "turnId": "t1"}
        await client.request("createChat", channel="s:/1", chat="c:/side", source=source)
        await client.subscribe("c:/side")
        await client.run_turn("c:/side", "t2", "beside")
        fork = forked_from(client.version, "s:/1", "t2")
        forked = await client.ready_session("s:/2", **fork)
        await client.subscribe(forked)
        await client.run_turn(forked, "t3", "after")
        shown = client.states[forked]["turns"]
        assert [turn["id"] for turn in shown] == ["t2", "t3"]
        assert shown[-1]["responseParts"][1]["content"] == "before | beside"
