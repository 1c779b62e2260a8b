"""The interface between a turn and the host: everything that an agent's turn may ask for.

The host implements ``TurnPort``; agents never see it, they see ``Turn``. Knows no channels.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar

from agenthost.agents.api import AgentError
from agenthost.agents.mcp_tools import BridgeAddress, BridgedCall, TurnMcp
from agenthost.agents.tracing import TracingProviders
from agenthost.agents.turn_customizations import TurnCustomizations

_T = TypeVar("_T")

# How people may take part in a worker chat.
Interactivity = Literal["read-only", "hidden"]


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker chat whose turn has ended."""

    chat: str
    # The text that the worker wrote.
    text: str
    # How its turn ended: complete, cancelled or error.
    state: str
    error: str | None = None


class TerminalsUnsupported(AgentError):
    """This host has no terminals; commands can run without one."""


@dataclass(frozen=True, slots=True)
class TerminalEnd:
    """How a command in a terminal ended, or that it goes on without whoever ran it."""

    # 128 plus a signal's number for a signalled one; None if it goes on, or nobody knows.
    exit_code: int | None
    # The end of what it printed, with the sequences that terminals obey, and whether more came
    # before that.
    output: str
    truncated: bool
    # Whether somebody let it go on in the background.
    detached: bool = False


class AgentTerminal(Protocol):
    """A terminal that runs one command, which people can watch and type into."""

    @property
    def uri(self) -> str:
        """The terminal's channel."""
        ...

    @property
    def title(self) -> str:
        """What it was called when it was opened."""
        ...

    async def wait(self) -> TerminalEnd:
        """Wait until the command has ended, or somebody lets it go on in the background."""
        ...

    async def output(self) -> str:
        """Return the end of what was printed so far, also after the turn."""
        ...

    def end(self) -> None:
        """Begin to end the command and all that it started; also after the turn."""
        ...

    async def kill(self) -> None:
        """End the command and all that it started, and wait for that; also after the turn."""
        ...

    async def run_on(self, label: str) -> asyncio.Future[TerminalEnd]:
        """Let the command outlive the turn, listed in the chat; return how it will end.

        Raises AgentError when too much runs already. Who stops the work ends the command, and the
        future fails with AgentError.
        """
        ...


class TurnPort(Protocol):
    """The operations that the host offers to a turn."""

    @property
    def state(self) -> Mapping[str, Any]:
        """The chat's current state."""
        ...

    @property
    def session_state(self) -> Mapping[str, Any]:
        """The current state of the session that the chat belongs to."""
        ...

    @property
    def locale(self) -> str | None:
        """The language of the client that started the turn, as a BCP 47 tag."""
        ...

    @property
    def client(self) -> str | None:
        """The id of the client that started the turn."""
        ...

    @property
    def prompt_timeout(self) -> float | None:
        """Seconds after which a question that nobody answers is given up; None waits for ever."""
        ...

    @property
    def can_show_reviews(self) -> bool:
        """Whether somebody could be shown a result and asked to approve of it."""
        ...

    @property
    def customizations(self) -> TurnCustomizations:
        """What people brought for the turn."""
        ...

    @property
    def mcp(self) -> TurnMcp:
        """What MCP servers offer to the turn."""
        ...

    async def open_bridges(self, run: BridgedCall) -> Sequence[BridgeAddress]:
        """Open bridges to the MCP servers and to the tools of clients; AgentError if it cannot."""
        ...

    @property
    def trace(self) -> str | None:
        """The turn's place in a trace, as a W3C ``traceparent``; None while nobody traces."""
        ...

    @property
    def tracing(self) -> TracingProviders | None:
        """What a library that traces by itself needs to take part; None while nobody traces."""
        ...

    def emit(self, action: dict[str, Any]) -> None:
        """Apply an action to the turn's chat, if the turn is still the active one."""
        ...

    def rename(self, title: str) -> None:
        """Give the chat another title, and the session where it is the default chat."""
        ...

    def set_meta(self, key: str, value: Any) -> None:
        """Set, or with None remove, one entry of the session's free-form data."""
        ...

    async def annotate(self, annotation: dict[str, Any]) -> None:
        """Set an annotation of the session, after all that was emitted."""
        ...

    @property
    def resume_state(self) -> Mapping[str, Any] | None:
        """What the agent last kept for the session."""
        ...

    def keep(self, state: Mapping[str, Any] | None) -> None:
        """Keep what the agent needs to go on with the session, after all that was emitted."""
        ...

    async def flow(self) -> None:
        """Wait while the host is behind with storing what was emitted."""
        ...

    async def may_act(self) -> None:
        """Wait until a tool may do what it is for; before that, another machine may take over."""
        ...

    async def wait_for(self, look: Callable[[Mapping[str, Any]], _T | None]) -> _T:
        """Wait until looking at the chat's state finds something."""
        ...

    async def next_steering(self) -> Mapping[str, Any]:
        """Wait for a steering message, take it off the chat, and return it."""
        ...

    def new_id(self, prefix: str) -> str:
        """Return an id that is unique in this chat."""
        ...

    async def store_content(
        self, data: bytes, content_type: str | None, name: str | None = None
    ) -> dict[str, Any]:
        """Keep content outside of the state and return a ContentRef to it."""
        ...

    async def read_published(self, uri: str) -> bytes:
        """Return what a client of the session serves, or has attached to a message.

        Raises:
            AgentError: nobody here knows it, or its client refuses it or does not answer.
        """
        ...

    async def run_worker(
        self,
        text: str,
        *,
        title: str,
        tool_call_id: str,
        interactivity: Interactivity,
        announce: Callable[[str], None],
    ) -> Worker:
        """Let the same agent answer ``text`` in a chat of its own; ``announce`` gets its URI."""
        ...

    async def start_work(
        self, work: dict[str, Any], run: Callable[[], Awaitable[_T]]
    ) -> asyncio.Future[_T]:
        """Run something beside the chat's turns, listed as long as it runs; return how it ends."""
        ...

    async def start_worker(
        self,
        text: str,
        work: dict[str, Any],
        *,
        title: str,
        tool_call_id: str,
        interactivity: Interactivity,
        announce: Callable[[str], None],
    ) -> asyncio.Future[Worker]:
        """Let the same agent answer ``text`` in a chat of its own, beside the turns of this one."""
        ...

    async def stop_work(self, id: str) -> bool:
        """Stop what runs beside the chat's turns, also after the turn; False if there is none."""
        ...

    async def open_terminal(
        self,
        command: str | Sequence[str],
        *,
        title: str,
        tool_call_id: str | None,
        cwd: str | None,
        env: Mapping[str, str] | None,
    ) -> AgentTerminal:
        """Run a command in a terminal until the turn ends at the latest, unless it ``run_on``s.

        Without ``cwd`` it runs in the session's folder.

        Raises:
            TerminalsUnsupported: there are no terminals here.
            AgentError: there are too many, or the command cannot be run.
        """
        ...

    async def open_canvas(self, described: Mapping[str, str]) -> str:
        """Show a canvas beside the chat and return its URI."""
        ...

    async def update_canvas(self, uri: str, changes: Mapping[str, str | None]) -> None:
        """Change a canvas, also after the turn; None takes something away."""
        ...

    async def close_canvas(self, uri: str) -> None:
        """Take a canvas away, also after the turn."""
        ...

    def is_allowed(self, tool: str) -> bool:
        """Return whether somebody allowed this tool for the whole session."""
        ...

    def allow(self, tool: str) -> None:
        """Remember that this tool is allowed in the whole session."""
        ...

    def credential(self, resource: str) -> str | None:
        """Return the token that a client brought for a protected resource."""
        ...

    def reject_credential(self, resource: str) -> None:
        """Forget a token that no longer works, and ask whoever brought it for another."""
        ...
