"""A conversation with a real host, on a terminal that nobody looks at."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from io import StringIO
from typing import Any

import pytest
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import create_pipe_input

from agenthost.agents import Agent, AgentError
from agenthost.agents.turn import Turn
from agenthost.cli.interactive import conversation as module
from agenthost.cli.interactive.conversation import Conversation
from agenthost.cli.interactive.outcome import ConversationOutcome, Leave, SwitchTo
from agenthost.cli.interactive.prompts.approvals import Approval
from agenthost.cli.interactive.screen import BufferedTerminalOutput
from agenthost.client import ChannelGone, Client, connect
from tests.wire.hosting import embed

PATIENCE = 10.0
POLL = 0.01


class FakeTerminal(StringIO):
    """A terminal that keeps what is written to it."""

    def fileno(self) -> int:
        raise OSError


class Twice(Agent):
    """Asks for the same approval twice at a time."""

    provider, display_name = "twice", "Twice"

    async def run(self, turn: Turn) -> None:
        async def ask(name: str) -> None:
            async with turn.tool("tool", display_name=name, input=name) as call:
                if await call.confirm():
                    await call.complete(f"{name} done")

        await asyncio.gather(ask("One"), ask("Two"))


class Stumbler(Agent):
    """Fails at first, and gets up when it is resumed."""

    provider, display_name = "stumbler", "Stumbler"

    async def run(self, turn: Turn) -> None:
        if not turn.is_resumed:
            await turn.write("So far so good.")
            raise AgentError("the network is down", resumable=True)
        await turn.write("Here I am again.")


class Talk:
    """A conversation under way."""

    def __init__(
        self,
        client: Client,
        at: Conversation,
        screen: FakeTerminal,
        running: asyncio.Task[ConversationOutcome],
    ) -> None:
        self.client = client
        self.at = at
        self._screen = screen
        self._running = running

    @property
    def text(self) -> str:
        return self._screen.getvalue()

    async def end(self) -> ConversationOutcome:
        """Wait until the conversation ends by itself."""
        async with asyncio.timeout(PATIENCE):
            return await self._running

    async def until(self, holds: Callable[[], Any]) -> None:
        """Wait until something holds."""
        async with asyncio.timeout(PATIENCE):
            while True:
                if holds():
                    return
                await asyncio.sleep(POLL)


@asynccontextmanager
async def talking(*agents: Agent, draft: str | None = None) -> AsyncIterator[Talk]:
    async with embed(*agents) as url, connect(url) as client:
        session = await client.sessions.create()
        chat = await session.chat()
        if draft is not None:
            await chat.draft(draft)
        screen = FakeTerminal()
        output = BufferedTerminalOutput(screen, lambda: Size(rows=24, columns=80), term="xterm")
        with create_pipe_input() as keys:
            at = Conversation(client, session, chat, output=output, input=keys, colour=False)
            running = asyncio.create_task(at.run())
            talk = Talk(client, at, screen, running)
            try:
                await talk.until(lambda: "Ctrl-D leaves" in talk.text)
                yield talk
            finally:
                at.leave(Leave())
                await running


async def test_an_answer_meant_for_another_question_does_not_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "LOOK_FIRST", 1e9)
    async with talking(Twice()) as talk:
        prompts, chat = talk.at.prompts, talk.at.chat
        talk.at.on_submit("go")
        await talk.until(lambda: len(prompts.waiting) == 2 and prompts.dialogue is not None)
        first, second = prompts.waiting
        await chat.approve(first.id)
        await talk.until(
            lambda: prompts.dialogue is not None and prompts.dialogue.pending == second
        )
        talk.at.on_submit("1")
        await talk.until(lambda: "read it, then answer" in talk.text)
        assert [pending.id for pending in prompts.waiting] == [second.id]
        monkeypatch.setattr(talk.at, "_look_first", 0.0)
        talk.at.on_submit("1")
        await talk.until(lambda: chat.active_turn is None)
        assert "Two done" in str(chat.state["turns"][-1])


async def test_approvals_are_asked_for_one_after_the_other() -> None:
    async with talking(Twice()) as talk:
        talk.at.on_submit("go")
        await talk.until(lambda: "and 1 more after this" in talk.text)
        for _ in range(2):
            await talk.until(lambda: isinstance(talk.at.prompts.dialogue, Approval))
            talk.at.on_submit("1")
        await talk.until(lambda: talk.at.chat.active_turn is None)
        assert "somebody else" not in talk.text


async def test_a_turn_that_failed_goes_on_when_it_is_resumed() -> None:
    async with talking(Stumbler()) as talk:
        talk.at.on_submit("/resume")
        await talk.until(lambda: "there is no turn to resume" in talk.text)
        talk.at.on_submit("go")
        await talk.until(lambda: "the network is down" in talk.text)
        await talk.until(lambda: "/resume goes on from here" in talk.text)
        talk.at.on_submit("/resume")
        await talk.until(lambda: "Here I am again." in talk.text)
        assert "resumed" in talk.text
        assert "removed" not in talk.text
        await talk.until(lambda: talk.at.chat.active_turn is None)
        (turn,) = talk.at.chat.state["turns"]
        assert turn["state"] == "complete"


async def test_what_runs_in_the_background_stays_in_sight() -> None:
    async with talking() as talk:
        talk.at.on_submit("/background 600")
        await talk.until(lambda: "in the background: " in talk.text)
        await talk.until(lambda: talk.at.chat.state["turns"])
        assert talk.at.chat.state["backgroundWork"]
        talk.at.on_submit("/background stop")
        await talk.until(lambda: not talk.at.chat.state.get("backgroundWork"))


async def test_another_chat_is_gone_to_by_its_number() -> None:
    async with talking() as talk:
        talk.at.on_submit("/subagent hello")
        await talk.until(lambda: "The worker is complete" in talk.text)
        talk.at.on_submit("/chat 2")
        chats = talk.at.session.chats
        assert await talk.end() == SwitchTo(talk.at.session.uri, chats[1]["resource"])


async def test_another_session_is_gone_to_by_its_title() -> None:
    async with talking() as talk:
        other = await talk.client.sessions.create()
        await other.rename("Quite another")
        talk.at.on_submit("/open nothing like it")
        await talk.until(lambda: "no session matches" in talk.text)
        talk.at.on_submit("/open quite another")
        assert await talk.end() == SwitchTo(other.uri)


async def test_a_session_that_is_disposed_of_ends_the_conversation() -> None:
    async with talking() as talk:
        await talk.at.session.dispose()
        left = await talk.end()
        assert isinstance(left, Leave)
        assert isinstance(left.error, ChannelGone)


async def test_what_the_host_refuses_is_told_with_its_reason() -> None:
    async with talking() as talk:
        talk.at.on_submit("/slow 60")
        await talk.until(lambda: talk.at.chat.channel.confirmed.get("activeTurn"))
        started = talk.at.chat.send("at the same time").started
        assert started is not None
        talk.at.actions.report_failure(started, "not sent")
        await talk.until(lambda: "not sent: a turn is already in progress" in talk.text)


async def test_bytes_that_are_no_text_do_not_end_the_conversation() -> None:
    async with talking() as talk:
        # What a terminal gives for a byte that its locale cannot read.
        talk.at.on_submit("a\udcc3\udca9b\udcff")
        await talk.until(lambda: talk.at.chat.state["turns"])
        assert talk.at.chat.state["turns"][0]["message"]["text"] == "aéb\ufffd"


async def test_a_draft_is_there_to_go_on_with_and_goes_when_it_is_sent() -> None:
    async with talking(draft="half a thought") as talk:
        await talk.until(lambda: "half a thought" in talk.text)
        assert talk.at.screen.text == "half a thought"
        talk.at.on_submit("a whole thought")
        await talk.until(lambda: "draft" not in talk.at.chat.channel.confirmed)


async def test_what_fails_unexpectedly_ends_the_conversation_with_its_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with talking() as talk:

        def fail(*_: object) -> None:
            raise ZeroDivisionError

        monkeypatch.setattr(talk.at.transcript, "update", fail)
        talk.at.note()
        left = await talk.end()
        assert isinstance(left, Leave)
        assert isinstance(left.error, ZeroDivisionError)
