"""Every method: its params, its result, who sends it, who may call it, how it is answered.

A table and nothing else. Checking params against it is ``validation``'s affair, whether somebody
may call a method ``host.trust.policy``'s, and what it does is the host's and the client's.
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


class Access(Enum):
    """Who may call a method of the host's."""

    EVERYONE = "any role"
    OPERATE = "owners and operators"
    OWNER = "owners"
    RESOURCE = "owners; operators inside their sessions' folders"
    CONTENT = "as RESOURCE; anyone for content the host minted"
    DISPATCH = "anyone may send it; each action inside is asked about by itself"


_TO_HOST = frozenset({Direction.TO_HOST})
_TO_CLIENT = frozenset({Direction.TO_CLIENT})
_EITHER_WAY = _TO_HOST | _TO_CLIENT


@dataclass(frozen=True, slots=True)
class Method:
    """One row of the table."""

    name: str
    # The TypedDict of the params, by name; every message has params, and a channel in them.
    params_type: str
    # The type of the result; None where the result is null or, for a notification, where it ends.
    result_type: str | None = None
    directions: frozenset[Direction] = _TO_HOST
    is_notification: bool = False
    access: Access = Access.OWNER
    # Its answer may be large: it is made when the host's budget has room for it.
    large: bool = False
    # Its handler translates and validates by itself: openers negotiate before anything else can be
    # understood, and a dispatched action is answered by an envelope.
    raw: bool = False
    # It can only concern the root, so that editors leave the channel out.
    concerns_root: bool = False

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


def _request(
    name: str,
    access: Access,
    *,
    answers: bool = False,
    directions: frozenset[Direction] = _TO_HOST,
    **columns: bool,
) -> Method:
    """Make the row of a request; its types are named after it."""
    stem = name[0].upper() + name[1:]
    result = f"{stem}Result" if answers else None
    return Method(name, f"{stem}Params", result, directions, access=access, **columns)


def _event(name: str, params: str) -> Method:
    return Method(name, params, None, _TO_CLIENT, is_notification=True)


_ROWS = (
    # From clients to the host.
    _request("initialize", Access.EVERYONE, answers=True, raw=True, concerns_root=True),
    _request("ping", Access.EVERYONE, concerns_root=True),
    _request("reconnect", Access.EVERYONE, answers=True, large=True, concerns_root=True),
    _request("subscribe", Access.EVERYONE, answers=True, large=True),
    _request("authenticate", Access.OPERATE, answers=True),
    _request("listSessions", Access.EVERYONE, answers=True, large=True, concerns_root=True),
    _request("resolveSessionConfig", Access.EVERYONE, answers=True),
    _request("sessionConfigCompletions", Access.EVERYONE, answers=True),
    _request("createSession", Access.OPERATE),
    _request("disposeSession", Access.OPERATE),
    _request("createChat", Access.OPERATE),
    _request("disposeChat", Access.OPERATE),
    _request("moveChat", Access.OPERATE, answers=True),
    _request("fetchTurns", Access.EVERYONE, answers=True, large=True),
    # Completes a message being written, and a viewer writes none.
    _request("completions", Access.OPERATE, answers=True),
    _request("createTerminal", Access.OPERATE),
    _request("disposeTerminal", Access.OPERATE),
    _request("invokeChangesetOperation", Access.OPERATE, answers=True),
    _request("listAutomationTriggerDefinitions", Access.EVERYONE, answers=True, concerns_root=True),
    _request("runAutomation", Access.OPERATE, answers=True),
    _request("fetchAutomationRuns", Access.EVERYONE, answers=True),
    _request("unsubscribe", Access.EVERYONE, is_notification=True),
    _request("dispatchAction", Access.DISPATCH, is_notification=True, raw=True),
    # What this product adds to the protocol, for owners: disposed sessions, listed and taken back.
    Method("agenthost/listTrash", "PingParams", "ListTrashResult"),
    Method("agenthost/restoreSession", "BaseParams"),
    Method("agenthost/purgeSession", "BaseParams"),
    # Either way.
    _request("resourceRead", Access.CONTENT, answers=True, directions=_EITHER_WAY, large=True),
    _request("resourceWrite", Access.RESOURCE, answers=True, directions=_EITHER_WAY),
    _request("resourceList", Access.RESOURCE, answers=True, directions=_EITHER_WAY),
    _request("resourceCopy", Access.RESOURCE, answers=True, directions=_EITHER_WAY),
    _request("resourceMove", Access.RESOURCE, answers=True, directions=_EITHER_WAY),
    _request("resourceDelete", Access.RESOURCE, answers=True, directions=_EITHER_WAY),
    _request("resourceResolve", Access.RESOURCE, answers=True, directions=_EITHER_WAY),
    _request("resourceMkdir", Access.RESOURCE, answers=True, directions=_EITHER_WAY),
    _request("resourceRequest", Access.RESOURCE, answers=True, directions=_EITHER_WAY),
    _request("createResourceWatch", Access.RESOURCE, answers=True, directions=_EITHER_WAY),
    # From the host to clients.
    _event("action", "ActionEnvelope"),
    _event("root/sessionAdded", "SessionAddedParams"),
    _event("root/sessionRemoved", "SessionRemovedParams"),
    _event("root/sessionSummaryChanged", "SessionSummaryChangedParams"),
    _event("root/progress", "ProgressParams"),
    _event("auth/required", "AuthRequiredParams"),
    _event("otlp/exportLogs", "OtlpExportLogsParams"),
    _event("otlp/exportTraces", "OtlpExportTracesParams"),
    _event("otlp/exportMetrics", "OtlpExportMetricsParams"),
)

METHODS: Mapping[str, Method] = MappingProxyType({row.name: row for row in _ROWS})
"""All methods by name, with what each takes and gives, and who may call it."""


def methods(direction: Direction, *, is_notification: bool) -> frozenset[str]:
    """Return the names of all requests, or of all notifications, that go in a direction."""
    return frozenset(
        method.name
        for method in METHODS.values()
        if direction in method.directions and method.is_notification == is_notification
    )
