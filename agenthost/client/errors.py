"""The errors of the client, told apart by what a caller can do about them.

The tree::

    ClientError
    ├── CannotConnect        the host cannot be reached now; trying again may help
    ├── GivenUp              trying again will not help
    │   ├── NotAdmitted      the host refuses the token, or everybody from here
    │   ├── NoCommonVersion  the host speaks none of the offered protocol versions
    │   └── Superseded       another connection took over this client id
    ├── ClientClosed         the client was closed
    ├── ConnectionLost       a request's answer was lost; it may have been carried out
    ├── DispatchFailed       an action had no effect, or none that is known
    │   ├── Rejected         the host refused it, with a reason
    │   ├── NotSent          it never left this process
    │   └── Uncertain        it was sent, and nobody can tell what became of it
    ├── ChannelGone          the channel does not exist any more
    ├── CreationFailed       a session was created and could not get ready
    ├── TurnFailed           a turn ended otherwise than with an answer
    ├── ChangesFailed        the host could not find out what was changed
    ├── McpServerFailed      an MCP server failed, or cannot be talked to now
    ├── NotText              a file was read as text and is none
    ├── Lagged               a reader of envelopes fell too far behind
    └── Unsupported          the host's protocol version cannot say this

Errors that a host answers a request with are ``agenthost.errors.WireError`` as everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from agenthost.errors import AgentHostError
from agenthost.protocol.chat.parts import error_of

if TYPE_CHECKING:
    from agenthost.protocol.chat.state import CompletedTurn
    from agenthost.protocol.common import ErrorInfo
    from agenthost.protocol.envelopes import ActionEnvelope


class ClientError(AgentHostError):
    """Base of the errors that a client raises."""


class CannotConnect(ClientError):
    """The host cannot be reached at the moment."""

    def __init__(self, reason: str, *, retry_after: float | None = None) -> None:
        # Seconds for which the host asked not to be tried again.
        self.retry_after = retry_after
        super().__init__(reason)


class GivenUp(ClientError):
    """The host refuses this client permanently; trying again will not help."""


class NotAdmitted(GivenUp):
    """The host does not let this client in; ``status`` is HTTP's, where there was one."""

    def __init__(self, reason: str, *, status: int | None = None) -> None:
        self.status = status
        super().__init__(reason)


class NoCommonVersion(GivenUp):
    """The host speaks none of the offered protocol versions."""

    def __init__(self, offered: Sequence[str], supported: Sequence[str]) -> None:
        self.offered = tuple(offered)
        # What the host says that it speaks, if it says so.
        self.supported = tuple(supported)
        theirs = f"the host speaks {', '.join(supported)}" if supported else "the host names none"
        super().__init__(f"no common protocol version: offered {', '.join(offered)}, {theirs}")


class Superseded(GivenUp):
    """Another connection with the same client id took over."""


class ClientClosed(ClientError):
    """The client was closed."""


class ConnectionLost(ClientError):
    """The connection ended before an answer came; the request may have been carried out."""


class DispatchFailed(ClientError):
    """An action had no effect, or none that is known."""


class Rejected(DispatchFailed):
    """The host refused an action."""

    def __init__(self, reason: str, envelope: ActionEnvelope) -> None:
        self.reason = reason
        self.envelope = envelope
        super().__init__(reason)


class NotSent(DispatchFailed):
    """An action never left this process, so it had no effect."""


class Uncertain(DispatchFailed):
    """An action was sent and its answer is lost: it took effect once or not at all."""


class ChannelGone(ClientError):
    """The channel does not exist any more."""

    def __init__(self, uri: str, reason: str) -> None:
        self.uri = uri
        super().__init__(f"{uri}: {reason}")


class CreationFailed(ClientError):
    """A session could not get ready; its state says so too."""

    def __init__(self, session: str, error: ErrorInfo | None) -> None:
        self.session = session
        # What the host says of it, if it says anything.
        self.error = error
        super().__init__(_message(error) or "the session could not be created")


class TurnFailed(ClientError):
    """A turn failed, was cancelled or was removed; ``turn`` is what is left of it."""

    def __init__(
        self,
        state: Literal["complete", "cancelled", "error", "removed"],
        turn: CompletedTurn | None,
    ) -> None:
        self.state = state
        self.turn = turn
        error = None if turn is None else error_of(turn)
        super().__init__(_message(error) or f"the turn was {state}")


class ChangesFailed(ClientError):
    """The host could not compute a set of changes; ``error`` is what it says of it."""

    def __init__(self, error: ErrorInfo | None) -> None:
        self.error = error
        super().__init__(_message(error) or "the host could not find out what was changed")


class McpServerFailed(ClientError):
    """An MCP server failed, or cannot be talked to now; ``reason`` says why."""

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self.reason = reason
        super().__init__(f"the MCP server {name}: {reason}")


class NotText(ClientError):
    """A file was asked for as text and is none; it can be read as bytes."""

    def __init__(self, uri: str) -> None:
        self.uri = uri
        super().__init__(f"{uri} is not text in UTF-8")


class Lagged(ClientError):
    """A reader of envelopes fell so far behind that some were dropped; the state is still right."""


class Unsupported(ClientError):
    """The protocol version that the host speaks has no way to say this."""


def _message(error: ErrorInfo | None) -> str:
    # A broken host may leave it out.
    return "" if error is None else str(error.get("message") or "")
