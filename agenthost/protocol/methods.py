"""Every method of the protocol: its params, its result, who sends it, whether it is answered.

A table and nothing else. Checking params against it is ``validation``'s affair, and what a method
does is the host's and the client's.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Any

from agenthost.protocol import commands, notifications, resources, telemetry
from agenthost.protocol.chat import commands as chats
from agenthost.protocol.envelopes import ActionEnvelope
from agenthost.records import dataclass

__all__ = ["EXTENSIONS", "METHODS", "ROOT_METHODS", "Direction", "Method", "methods"]


class Direction(Enum):
    """Who receives a message."""

    TO_HOST = "client to host"
    TO_CLIENT = "host to client"


@dataclass(frozen=True, slots=True)
class Method:
    """One row of the table."""

    name: str
    # The TypedDict of the params; every message has params, and a channel in them.
    params: Any
    # The type of the result; None where the result is null or, for a notification, where it ends.
    result: Any
    directions: frozenset[Direction]
    is_notification: bool


_TO_HOST = frozenset({Direction.TO_HOST})
_TO_CLIENT = frozenset({Direction.TO_CLIENT})
_EITHER_WAY = _TO_HOST | _TO_CLIENT

_REQUESTS_TO_HOST: dict[str, tuple[Any, Any]] = {
    "initialize": (commands.InitializeParams, commands.InitializeResult),
    "ping": (commands.PingParams, None),
    "reconnect": (commands.ReconnectParams, commands.ReconnectResult),
    "subscribe": (commands.SubscribeParams, commands.SubscribeResult),
    "authenticate": (commands.AuthenticateParams, commands.AuthenticateResult),
    "listSessions": (commands.ListSessionsParams, commands.ListSessionsResult),
    "resolveSessionConfig": (
        commands.ResolveSessionConfigParams,
        commands.ResolveSessionConfigResult,
    ),
    "sessionConfigCompletions": (
        commands.SessionConfigCompletionsParams,
        commands.SessionConfigCompletionsResult,
    ),
    "createSession": (commands.CreateSessionParams, None),
    "disposeSession": (commands.DisposeSessionParams, None),
    "createChat": (chats.CreateChatParams, None),
    "disposeChat": (chats.DisposeChatParams, None),
    "fetchTurns": (chats.FetchTurnsParams, chats.FetchTurnsResult),
    "completions": (chats.CompletionsParams, chats.CompletionsResult),
    "createTerminal": (commands.CreateTerminalParams, None),
    "disposeTerminal": (commands.DisposeTerminalParams, None),
    "invokeChangesetOperation": (
        commands.InvokeChangesetOperationParams,
        commands.InvokeChangesetOperationResult,
    ),
}

_REQUESTS_EITHER_WAY: dict[str, tuple[Any, Any]] = {
    "resourceRead": (resources.ResourceReadParams, resources.ResourceReadResult),
    "resourceWrite": (resources.ResourceWriteParams, resources.ResourceWriteResult),
    "resourceList": (resources.ResourceListParams, resources.ResourceListResult),
    "resourceCopy": (resources.ResourceCopyParams, resources.ResourceCopyResult),
    "resourceMove": (resources.ResourceMoveParams, resources.ResourceMoveResult),
    "resourceDelete": (resources.ResourceDeleteParams, resources.ResourceDeleteResult),
    "resourceResolve": (resources.ResourceResolveParams, resources.ResourceResolveResult),
    "resourceMkdir": (resources.ResourceMkdirParams, resources.ResourceMkdirResult),
    "resourceRequest": (resources.ResourceRequestParams, resources.ResourceRequestResult),
    "createResourceWatch": (
        resources.CreateResourceWatchParams,
        resources.CreateResourceWatchResult,
    ),
}

_NOTIFICATIONS_TO_HOST: dict[str, Any] = {
    "unsubscribe": commands.UnsubscribeParams,
    "dispatchAction": commands.DispatchActionParams,
}

_NOTIFICATIONS_TO_CLIENT: dict[str, Any] = {
    "action": ActionEnvelope,
    "root/sessionAdded": notifications.SessionAddedParams,
    "root/sessionRemoved": notifications.SessionRemovedParams,
    "root/sessionSummaryChanged": notifications.SessionSummaryChangedParams,
    "root/progress": notifications.ProgressParams,
    "auth/required": notifications.AuthRequiredParams,
    "otlp/exportLogs": telemetry.OtlpExportLogsParams,
    "otlp/exportTraces": telemetry.OtlpExportTracesParams,
    "otlp/exportMetrics": telemetry.OtlpExportMetricsParams,
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
            ("agenthost/listTrash", commands.PingParams, commands.ListTrashResult),
            ("agenthost/restoreSession", commands.BaseParams, None),
            ("agenthost/purgeSession", commands.BaseParams, None),
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
