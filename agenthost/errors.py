"""Every exception that agenthost raises on purpose, and the wire codes of those a peer may see.

The tree::

    AgentHostError
    ├── LocalProtocolError          we broke the protocol: a bug on this side
    ├── RemoteProtocolError         the peer broke the protocol
    └── WireError                   travels as a JSON-RPC error: code, message, data
        ├── ParseError              -32700
        ├── InvalidRequest          -32600
        ├── MethodNotFound          -32601
        ├── InvalidParams           -32602
        ├── InternalError           -32603
        ├── SessionNotFound         -32001
        ├── ProviderNotFound        -32002
        ├── SessionAlreadyExists    -32003
        ├── TurnInProgress          -32004
        ├── UnsupportedProtocolVersion  -32005   data: supportedVersions
        ├── AuthRequired            -32007   data: resources
        ├── NotFound                -32008
        │   └── ContentNotFound     -32006   of older hosts
        ├── PermissionDenied        -32009   data: request
        ├── AlreadyExists           -32010
        └── Conflict                -32011

Knows nothing of transports or of where an error is turned into a response; ``protocol.peer`` and
the host's dispatch do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

__all__ = [
    "AgentHostError",
    "AlreadyExists",
    "AuthRequired",
    "Conflict",
    "ContentNotFound",
    "InternalError",
    "InvalidParams",
    "InvalidRequest",
    "LocalProtocolError",
    "MethodNotFound",
    "NotFound",
    "ParseError",
    "PermissionDenied",
    "ProviderNotFound",
    "RemoteProtocolError",
    "SessionAlreadyExists",
    "SessionNotFound",
    "TurnInProgress",
    "UnsupportedProtocolVersion",
    "WireError",
    "shortened",
]

# What a peer made up may be of any length; what an error says about it may not.
_LONGEST_QUOTED = 60


def shortened(text: str) -> str:
    """Return a text of the peer's as an error may quote it."""
    return text if len(text) <= _LONGEST_QUOTED else text[:_LONGEST_QUOTED] + "..."


class AgentHostError(Exception):
    """Base of every exception that agenthost raises on purpose."""


class LocalProtocolError(AgentHostError):
    """This side tried something the protocol forbids; it is our bug, never the peer's."""


class RemoteProtocolError(AgentHostError):
    """The peer sent something the protocol forbids."""


class WireError(AgentHostError):
    """An error that travels to the peer as a JSON-RPC error object."""

    code: ClassVar[int] = -32603
    # What the peer reads when no better sentence is at hand.
    default_message: ClassVar[str] = "internal error"

    _by_code: ClassVar[dict[int, type[WireError]]] = {}

    def __init__(self, message: str | None = None, data: Any = None) -> None:
        self.message = message if message is not None else self.default_message
        self.data = data
        # A peer may use a code of its own, so what was received is kept per instance.
        self.wire_code = self.code
        super().__init__(self.message)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        WireError._by_code.setdefault(cls.code, cls)

    def to_wire(self) -> dict[str, Any]:
        """Return the JSON-RPC error object; ``data`` is left out when there is none."""
        error: dict[str, Any] = {"code": self.wire_code, "message": self.message}
        if self.data is not None:
            error["data"] = self.data
        return error

    def _datum(self, name: str) -> object:
        # Read from the data alone: an error that a peer sent has nothing else.
        return self.data.get(name) if isinstance(self.data, Mapping) else None

    @staticmethod
    def from_wire(error: Mapping[str, Any]) -> WireError:
        """Rebuild the exception a peer sent, as its own class where the code is known."""
        code = _whole(error.get("code"), InternalError.code)
        message = error.get("message")
        cls = WireError._by_code.get(code, WireError)
        rebuilt = cls.__new__(cls)
        WireError.__init__(rebuilt, message if isinstance(message, str) else None)
        rebuilt.data = error.get("data")
        rebuilt.wire_code = code
        return rebuilt


def _whole(number: object, default: int) -> int:
    """Return a number that is whole, even if it is spelled as a float, or else the default."""
    if isinstance(number, float) and number.is_integer():
        return int(number)
    return number if isinstance(number, int) and not isinstance(number, bool) else default


class ParseError(WireError):
    """The frame is not JSON."""

    code = -32700
    default_message = "not valid JSON"


class InvalidRequest(WireError):
    """The JSON is not a JSON-RPC message, or it comes at the wrong time."""

    code = -32600
    default_message = "not a valid request"


class MethodNotFound(WireError):
    """The peer called a method that does not exist here."""

    code = -32601
    default_message = "unknown method"


class InvalidParams(WireError):
    """A parameter is missing, of the wrong type, or not acceptable."""

    code = -32602
    default_message = "invalid params"

    def __init__(self, message: str | None = None, *, path: str | None = None) -> None:
        super().__init__(message, {"path": path} if path else None)

    @property
    def path(self) -> str | None:
        """The first offending field, e.g. ``action.message.text``, where the error names one."""
        path = self._datum("path")
        return path if isinstance(path, str) else None


class InternalError(WireError):
    """Something failed on this side; details stay in the log."""

    code = -32603


class SessionNotFound(WireError):
    """No session lives under that URI."""

    code = -32001
    default_message = "session not found"


class ProviderNotFound(WireError):
    """No agent is registered under that provider id."""

    code = -32002
    default_message = "agent provider not found"


class SessionAlreadyExists(WireError):
    """A session already lives under that URI."""

    code = -32003
    default_message = "session already exists"


class TurnInProgress(WireError):
    """Another turn is already running in this chat."""

    code = -32004
    default_message = "a turn is already in progress"


class UnsupportedProtocolVersion(WireError):
    """None of the offered protocol versions can be spoken."""

    code = -32005
    default_message = "none of the offered protocol versions is supported"

    def __init__(self, supported: Sequence[str], message: str | None = None) -> None:
        super().__init__(message, {"supportedVersions": list(supported)})

    @property
    def supported(self) -> tuple[str, ...]:
        """The versions that would have worked, as far as the error tells."""
        told = self._datum("supportedVersions")
        versions = told if isinstance(told, list) else []
        return tuple(version for version in versions if isinstance(version, str))


class AuthRequired(WireError):
    """A protected resource needs a token first."""

    code = -32007
    default_message = "authentication required"

    def __init__(self, resources: Sequence[Mapping[str, Any]], message: str | None = None) -> None:
        super().__init__(message, {"resources": [dict(resource) for resource in resources]})

    @property
    def resources(self) -> tuple[Mapping[str, Any], ...]:
        """The metadata of the resources that need a token, as far as the error tells."""
        told = self._datum("resources")
        resources = told if isinstance(told, list) else []
        return tuple(resource for resource in resources if isinstance(resource, Mapping))


class NotFound(WireError):
    """The file, folder, channel or client does not exist."""

    code = -32008
    default_message = "not found"


class ContentNotFound(NotFound):
    """The referenced content does not exist; only hosts of older protocols say so."""

    code = -32006
    default_message = "content not found"


class PermissionDenied(WireError):
    """Access is not permitted."""

    code = -32009
    default_message = "permission denied"

    def __init__(
        self, message: str | None = None, *, request: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(message, {"request": dict(request)} if request is not None else {})

    @property
    def request(self) -> Mapping[str, Any] | None:
        """A ready-to-send resourceRequest payload with which the caller may ask for access."""
        request = self._datum("request")
        return request if isinstance(request, Mapping) else None


class AlreadyExists(WireError):
    """The target exists and may not be overwritten."""

    code = -32010
    default_message = "already exists"


class Conflict(WireError):
    """A precondition failed; read again, then decide."""

    code = -32011
    default_message = "precondition failed"
