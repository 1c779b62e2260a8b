"""The interface of a connection that messages are sent to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from agenthost.host.core import HostCore
    from agenthost.host.log.channel import AnyChannel, Subscription
    from agenthost.host.trust.principals import Principal, Starter
    from agenthost.protocol.commands import ClientCapabilities
    from agenthost.protocol.peer import Frame
    from agenthost.transport import Encoded


class MessageQueue(Protocol):
    """What waits for one client."""

    # How much of it.
    waiting_bytes: int

    def put(self, messages: Sequence[Encoded], max_latency: float | None = None) -> None:
        """Add messages at the end."""
        ...

    def flush(self) -> None:
        """Send what may be sent now."""
        ...


class Receiver(Protocol):
    """One live connection of one client."""

    # The rung that it speaks, and who it is.
    version: str
    # The one that the client itself speaks, where somebody else speaks for it.
    spoken: str
    client_id: str
    principal: Principal
    # What its program can do.
    capabilities: ClientCapabilities
    # What it follows.
    subscriptions: dict[AnyChannel, Subscription]
    core: HostCore

    @property
    def outbox(self) -> MessageQueue:
        """What waits for it."""
        ...

    @property
    def starter(self) -> Starter:
        """On whose behalf turns run that this client starts."""
        ...

    @property
    def can_show_reviews(self) -> bool:
        """Whether this client's program asks people to approve of a tool call's result."""
        ...

    def send(self, *payloads: Frame) -> None:
        """Send encoded messages to this client alone, in order with everything else."""
        ...

    def end(self, code: int, reason: str) -> object:
        """End the connection behind all that waits for the client, telling it why."""
        ...
