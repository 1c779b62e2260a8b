"""Pieces of text that an agent writes quickly: together, in order, and without delay."""

from __future__ import annotations

import pytest

from agenthost.agents import Agent, Turn
from tests.flags import Flag
from tests.wire.hosting import embed
from tests.wire.talking import OLDEST, at_chat, calls_of, said

pytestmark = pytest.mark.asyncio(loop_scope="module")


class Quick(Agent):
    """Writes at once what it is told, and then goes on as it is told."""

    provider, display_name = "quick", "Quick"

    def __init__(self) -> None:
        self.may_end = Flag()

    async def run(self, turn: Turn) -> None:
        for piece in ("one ", "two ", "three "):
            await turn.write(piece)
        if turn.text == "wait":
            await self.may_end.wait()
            return
        async with turn.tool("look", input={}):
            pass
        await turn.write("four ")
        await turn.write("five")


async def test_what_an_agent_wrote_is_seen_while_it_is_busy_with_something_else() -> None:
    agent = Quick()
    async with embed(agent) as url, at_chat(url, "busy", OLDEST) as chat:
        await chat.start("t1", "wait")
        # Nothing else happens in the turn, so nothing but time brings the last piece.
        await chat.client.until(
            lambda: chat.state if said(chat.state["activeTurn"]) == "one two three " else None
        )
        agent.may_end.set()
        await chat.end("t1")


async def test_text_comes_before_what_follows_it() -> None:
    async with embed(Quick()) as url, at_chat(url, "order", OLDEST) as chat:
        turn = await chat.run("t1", "go")
        kinds = [part["kind"] for part in turn["responseParts"]]
        assert kinds == ["markdown", "toolCall", "markdown"]
        assert [part["content"] for part in turn["responseParts"][::2]] == [
            "one two three ",
            "four five",
        ]
        assert len(calls_of(turn)) == 1
        actions = [envelope["action"] for envelope in chat.client.envelopes[chat.uri]]
        words = "".join(
            action["content"] if action["type"] == "chat/delta" else "|"
            for action in actions
            if action["type"] in ("chat/delta", "chat/toolCallStart", "chat/turnComplete")
        )
        assert words == "one two three |four five|"
