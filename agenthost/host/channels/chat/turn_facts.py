"""Facts about a turn that is about to begin, for the services that prepare it.

Those who run turns make these; those who are asked (customizations, MCP servers) need not know how
turns are run.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol, TypeVar

from msgspec import Struct

from agenthost.host.channels.chat.extra import ChatChannel
from agenthost.host.channels.session.kind import SessionChannel
from agenthost.host.trust.principals import Starter

if TYPE_CHECKING:
    from agenthost.protocol.chat.state import ChatState
    from agenthost.protocol.common import JsonMapping

_T = TypeVar("_T")


class WaitInChat(Protocol):
    """Waits until looking at the turn's chat finds something; cancelled when the turn ends."""

    async def __call__(self, look: Callable[[ChatState], _T | None]) -> _T:
        """Return what was found."""
        ...


class TurnFacts(Struct, frozen=True):
    """One turn: where it is, who started it, and what whoever prepares it may do in it."""

    chat: ChatChannel
    session: SessionChannel
    turn_id: str
    starter: Starter
    # The URI of the custom agent that the message chose.
    agent_uri: str | None
    # Whether its agent makes use of MCP servers.
    uses_mcp: bool
    # Seconds after which a question that nobody answers is given up; None waits for ever.
    prompt_timeout: float | None
    # Shows what is waited for, and with None that it is no longer.
    tell: Callable[[str | None], None]
    wait_for: WaitInChat
    # Lets the turn's agent answer a sampling request; AgentError if it cannot.
    sample: Callable[[JsonMapping], Awaitable[JsonMapping]]
    # The place of a tool call, by its id, in a trace; None while nobody traces.
    traceparent: Callable[[str], str | None]
