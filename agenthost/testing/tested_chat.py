"""A chat with an agent in memory: a real host and a real client, without sockets or files.

The host keeps everything in memory, and the client speaks the newest version with it; so what a
test sees is what people would see, replies and all.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Unpack

from agenthost.agents import Agent
from agenthost.client import Chat, Client, Session, TurnStream, connect
from agenthost.client.chat import MessageOptions
from agenthost.host import Host
from agenthost.testing.replies import Answers, Approve, ScriptedReplies
from agenthost.testing.running_turn import TestedTurn
from agenthost.testing.seen_turn import SeenTurn
from agenthost.transport import Transport, memory_pair

PATIENCE = 30.0
"""Seconds that a turn may take; one that takes longer waits for something that never comes."""

Tools = Mapping[str, Callable[..., Awaitable[Any]]]
"""Functions that the client offers to the agent, by the names of the tools."""


class TestedChat:
    """A chat with the agent under test; ``client`` and ``session`` are there for all the rest."""

    # Not a test, whatever pytest makes of the name.
    __test__ = False

    def __init__(self, client: Client, session: Session, chat: Chat, patience: float) -> None:
        self.client = client
        self.session = session
        self.chat = chat
        self._patience = patience
        self._turns: list[TestedTurn] = []

    async def say(
        self,
        text: str,
        *,
        answers: Answers = (),
        approve: Approve = None,
        **options: Unpack[MessageOptions],
    ) -> SeenTurn:
        """Send a message, reply to what the agent asks, and return the turn once it is over.

        Args:
            text: the message.
            answers: what its questions are answered with: a list in the order of the questions, a
                mapping by a question's id or words, or a function of the question. None skips a
                question, ``DECLINE`` declines.
            approve: whether its tool calls are approved: all, none, those of one tool, or
                whichever a function of the call chooses; ``Allow`` and ``Deny`` say more.
            options: ``attachments``, ``model`` or ``agent`` of the message.

        Raises:
            Unanswered: the agent asked for what there is no reply to.
            TimeoutError: the turn takes too long.
        """
        return await self.start(text, answers=answers, approve=approve, **options).end()

    def start(
        self,
        text: str,
        *,
        answers: Answers = (),
        approve: Approve = None,
        **options: Unpack[MessageOptions],
    ) -> TestedTurn:
        """Send a message as ``say`` does, and return the turn while it runs."""
        return self._follow(self.chat.send(text, **options), ScriptedReplies(answers, approve))

    async def resume(self, *, answers: Answers = (), approve: Approve = None) -> SeenTurn:
        """Go on with the last turn, which failed in a way that it can; see ``say``.

        Raises:
            LookupError: there is none.
        """
        return await self._follow(self.chat.resume(), ScriptedReplies(answers, approve)).end()

    def _follow(self, stream: TurnStream, replies: ScriptedReplies) -> TestedTurn:
        turn = TestedTurn(self.client, self.session, self.chat, stream, replies, self._patience)
        self._turns.append(turn)
        return turn

    async def aclose(self) -> None:
        """Give up on the turns that are still under way."""
        for turn in self._turns:
            await turn.aclose()


@asynccontextmanager
async def talk(
    agent: Agent,
    *,
    folder: str | Path | None = None,
    config: Mapping[str, Any] | None = None,
    tools: Tools | None = None,
    timeout: float = PATIENCE,
) -> AsyncIterator[TestedChat]:
    """Run a host with an agent, and open a chat with it.

    Args:
        agent: the agent under test.
        folder: where the session works; without one, in an empty folder that goes afterwards.
        config: settings of the session.
        tools: async functions that the client offers to the agent, by name.
        timeout: seconds that a turn may take.

    Raises:
        LookupError: the agent has no such setting.
    """
    async with AsyncExitStack() as stack:
        place = _path(folder or stack.enter_context(TemporaryDirectory(prefix="agenthost-")))
        host = await stack.enter_async_context(Host([agent], default_directory=place, dev=True))
        client = await stack.enter_async_context(_client_of(host))
        session = await client.sessions.create(
            agent.provider, directories=[place.as_uri()], config=config
        )
        _check_settings(session, config or {})
        for name, function in (tools or {}).items():
            await client.tool(session, name, function, description=function.__doc__ or "")
        chat = TestedChat(client, session, await session.chat(), timeout)
        stack.push_async_callback(chat.aclose)
        yield chat


def run_turn(
    agent: Agent,
    text: str,
    *,
    answers: Answers = (),
    approve: Approve = None,
    folder: str | Path | None = None,
    config: Mapping[str, Any] | None = None,
    tools: Tools | None = None,
    timeout: float = PATIENCE,
) -> SeenTurn:
    """Let an agent answer one message, and return what clients would see; see ``TestedChat.say``.

    For tests that are plain functions; inside of a coroutine use ``talk``.
    """

    async def run() -> SeenTurn:
        async with talk(agent, folder=folder, config=config, tools=tools, timeout=timeout) as chat:
            return await chat.say(text, answers=answers, approve=approve)

    with suppress(RuntimeError):
        asyncio.get_running_loop()
        raise TypeError("run_turn is for plain functions; in a coroutine use talk")
    return asyncio.run(run())


def _check_settings(session: Session, config: Mapping[str, Any]) -> None:
    """Refuse settings that the agent does not have, and that a host therefore leaves out."""
    settings: Mapping[str, Any] = session.state.get("config") or {}
    known = sorted((settings.get("schema") or {}).get("properties") or {})
    for name in sorted(set(config) - set(known)):
        raise LookupError(f"the agent has no setting {name!r}; there are {', '.join(known)}")


def _path(folder: str | Path) -> Path:
    return Path(folder).absolute()


@asynccontextmanager
async def _client_of(host: Host) -> AsyncIterator[Client]:
    """Connect a client to a host of the same process, without a socket."""
    ours, theirs = memory_pair()
    serving = asyncio.create_task(host.serve(theirs), name="memory connection")

    async def dial() -> Transport:
        return ours

    try:
        async with connect(dial) as client:
            yield client
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
