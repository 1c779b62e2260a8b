"""Every method of the protocol: its params, its result, who sends it, whether it is answered.

A table and nothing else. Checking params against it is ``validation``'s affair, and what a method
does is the host's and the client's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Any


class Direction(Enum):
    """Who receives a message."""

    TO_HOST = "client to host"
    TO_CLIENT = "host to client"


@dataclass(frozen=True, slots=True)
class Method:
    """One row of the table."""

    name: str
    # The TypedDict of the params, by name; every message has params, and a channel in them.
    params_type: str
    # The type of the result; None where the result is null or, for a notification, where it ends.
    result_type: str | None
    directions: frozenset[Direction]
    is_notification: bool

    @property
    def params(self) -> Any:
        """The type of the params."""
        return _wire_type(self.params_type)

    @property
    def result(self) -> Any:
        """The type of the result, or None."""
        return None if self.result_type is None else _wire_type(self.result_type)


def _wire_type(name: str) -> Any:
    # Only who checks a message needs the types: who wants to know the methods' names does not.
    from agenthost.protocol.wire_types import WIRE_TYPES

    return WIRE_TYPES[name]


_TO_HOST = frozenset({Direction.TO_HOST})
_TO_CLIENT = frozenset({Direction.TO_CLIENT})
_EITHER_WAY = _TO_HOST | _TO_CLIENT

_REQUESTS_TO_HOST: dict[str, tuple[str, str | None]] = {
    "initialize": ("InitializeParams", "InitializeResult"),
    "ping": ("PingParams", None),
    "reconnect": ("ReconnectParams", "ReconnectResult"),
    "subscribe": ("SubscribeParams", "SubscribeResult"),
    "authenticate": ("AuthenticateParams", "AuthenticateResult"),
    "listSessions": ("ListSessionsParams", "ListSessionsResult"),
    "resolveSessionConfig": (
        "ResolveSessionConfigParams",
        "ResolveSessionConfigResult",
    ),
    "sessionConfigCompletions": (
        "SessionConfigCompletionsParams",
        "SessionConfigCompletionsResult",
    ),
    "createSession": ("CreateSessionParams", None),
    "disposeSession": ("DisposeSessionParams", None),
    "createChat": ("CreateChatParams", None),
    "disposeChat": ("DisposeChatParams", None),
    "fetchTurns": ("FetchTurnsParams", "FetchTurnsResult"),
    "completions": ("CompletionsParams", "CompletionsResult"),
    "createTerminal": ("CreateTerminalParams", None),
    "disposeTerminal": ("DisposeTerminalParams", None),
    "invokeChangesetOperation": (
        "InvokeChangesetOperationParams",
        "InvokeChangesetOperationResult",
    ),
}

_REQUESTS_EITHER_WAY: dict[str, tuple[str, str | None]] = {
    "resourceRead": ("ResourceReadParams", "ResourceReadResult"),
    "resourceWrite": ("ResourceWriteParams", "ResourceWriteResult"),
    "resourceList": ("ResourceListParams", "ResourceListResult"),
    "resourceCopy": ("ResourceCopyParams", "ResourceCopyResult"),
    "resourceMove": ("ResourceMoveParams", "ResourceMoveResult"),
    "resourceDelete": ("ResourceDeleteParams", "ResourceDeleteResult"),
    "resourceResolve": ("ResourceResolveParams", "ResourceResolveResult"),
    "resourceMkdir": ("ResourceMkdirParams", "ResourceMkdirResult"),
    "resourceRequest": ("ResourceRequestParams", "ResourceRequestResult"),
    "createResourceWatch": (
        "CreateResourceWatchParams",
        "CreateResourceWatchResult",
    ),
}

_NOTIFICATIONS_TO_HOST: dict[str, str] = {
    "unsubscribe": "UnsubscribeParams",
    "dispatchAction": "DispatchActionParams",
}

_NOTIFICATIONS_TO_CLIENT: dict[str, str] = {
    "action": "ActionEnvelope",
    "root/sessionAdded": "SessionAddedParams",
    "root/sessionRemoved": "SessionRemovedParams",
    "root/sessionSummaryChanged": "SessionSummaryChangedParams",
    "root/progress": "ProgressParams",
    "auth/required": "AuthRequiredParams",
    "otlp/exportLogs": "OtlpExportLogsParams",
    "otlp/exportTraces": "OtlpExportTracesParams",
    "otlp/exportMetrics": "OtlpExportMetricsParams",
}

METHODS: Mapping[str, Method] = MappingProxyType(
    {
        **{
            name: Method(name, params, result, directions, is_notification=False)
            for table, directions in (
                (_REQUESTS_TO_HOST, _TO_HOST),
                (_REQUESTS_EITHER_WAY, _EITHER_WAY),
            )
            for name, (params, result) in table.items()
        },
        **{
            name: Method(name, params, None, directions, is_notification=True)
            for table, directions in (
                (_NOTIFICATIONS_TO_HOST, _TO_HOST),
                (_NOTIFICATIONS_TO_CLIENT, _TO_CLIENT),
            )
            for name, params in table.items()
        },
    }
)


# What this product adds to the protocol, for owners: disposed sessions, listed and taken back.
EXTENSIONS: Mapping[str, Method] = MappingProxyType(
    {
        name: Method(name, params, result, _TO_HOST, is_notification=False)
        for name, params, result in (
            ("agenthost/listTrash", "PingParams", "ListTrashResult"),
            ("agenthost/restoreSession", "BaseParams", None),
            ("agenthost/purgeSession", "BaseParams", None),
        )
    }
)

# Methods that can only concern the root, so that editors leave its name out.
ROOT_METHODS: frozenset[str] = frozenset({"initialize", "listSessions", "ping", "reconnect"})


def methods(direction: Direction, *, is_notification: bool) -> frozenset[str]:
    """Return the names of all requests, or of all notifications, that go in a direction."""
    return frozenset(
        method.name
        for method in METHODS.values()
        if direction in method.directions and method.is_notification == is_notification
    )
