"""Every method: its params, its result, who sends it, who may call it, how it is answered.

A table and nothing else. Checking params against it is ``validation``'s affair, whether somebody
may call a method ``host.trust.policy``'s, and what it does is the host's and the client's.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Any

from msgspec import Struct
from msgspec.structs import replace


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


class Beside(Enum):
    """Whether a host carries a request out beside the reading of the connection it came by."""

    NO = "before the next message is looked at"
    IN_ORDER = "beside, one after the other: what is written the next one finds"
    FREE = "beside, at once"


_TO_HOST = frozenset({Direction.TO_HOST})
_TO_CLIENT = frozenset({Direction.TO_CLIENT})
_EITHER_WAY = _TO_HOST | _TO_CLIENT


class Method(Struct, frozen=True):
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
    # It may take its time.
    beside: Beside = Beside.NO

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
    beside: Beside = Beside.NO,
    **columns: bool,
) -> Method:
    """Make the row of a request; its types are named after it."""
    stem = name[0].upper() + name[1:]
    result = f"{stem}Result" if answers else None
    return Method(
        name, f"{stem}Params", result, directions, access=access, beside=beside, **columns
    )


def _resource(name: str, access: Access = Access.RESOURCE, *, large: bool = False) -> Method:
    """Make the row of a request about files, which either side may send."""
    return _request(
        name,
        access,
        answers=True,
        directions=_EITHER_WAY,
        beside=Beside.IN_ORDER,
        large=large,
    )


def _own(name: str, access: Access, *, answers: bool = False, beside: Beside = Beside.NO) -> Method:
    """Make the row of a request that is agenthost's own."""
    row = _request(name, access, answers=answers, beside=beside)
    return replace(row, name=f"agenthost/{name}")


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
    _request("resolveSessionConfig", Access.EVERYONE, answers=True, beside=Beside.FREE),
    _request("sessionConfigCompletions", Access.EVERYONE, answers=True, beside=Beside.FREE),
    _request("createSession", Access.OPERATE),
    _request("disposeSession", Access.OPERATE),
    _request("createChat", Access.OPERATE),
    _request("disposeChat", Access.OPERATE),
    _request("moveChat", Access.OPERATE, answers=True),
    _request("fetchTurns", Access.EVERYONE, answers=True, large=True),
    # Completes a message being written, and a viewer writes none.
    _request("completions", Access.OPERATE, answers=True, beside=Beside.FREE),
    _request("createTerminal", Access.OPERATE, beside=Beside.FREE),
    _request("disposeTerminal", Access.OPERATE, beside=Beside.FREE),
    _request("invokeChangesetOperation", Access.OPERATE, answers=True, beside=Beside.FREE),
    _request("listAutomationTriggerDefinitions", Access.EVERYONE, answers=True, concerns_root=True),
    _request("runAutomation", Access.OPERATE, answers=True),
    _request("fetchAutomationRuns", Access.EVERYONE, answers=True),
    _request("unsubscribe", Access.EVERYONE, is_notification=True),
    _request("dispatchAction", Access.DISPATCH, is_notification=True, raw=True),
    # What this product adds to the protocol, for owners: disposed sessions, listed and taken back.
    Method("agenthost/listTrash", "PingParams", "ListTrashResult"),
    Method("agenthost/restoreSession", "BaseParams"),
    Method("agenthost/purgeSession", "BaseParams"),
    # Who a client is here and which page is served, anew for one that was away.
    Method("agenthost/about", "PingParams", "AboutResult", access=Access.EVERYONE),
    # The named tokens of the host, for owners; who edits them elsewhere may hold them for a while.
    _own("createToken", Access.OWNER, answers=True, beside=Beside.IN_ORDER),
    Method("agenthost/listTokens", "PingParams", "ListTokensResult", beside=Beside.IN_ORDER),
    _own("revokeToken", Access.OWNER, beside=Beside.IN_ORDER),
    # What a page's browser is pushed, and whether somebody looks at the page; everybody their own.
    _own("subscribePush", Access.EVERYONE, beside=Beside.IN_ORDER),
    _own("unsubscribePush", Access.EVERYONE, beside=Beside.IN_ORDER),
    Method("agenthost/visible", "VisibleParams", is_notification=True, access=Access.EVERYONE),
    # The log of an MCP server, a person's own call of its tools, and which servers may be started.
    _own("mcpLog", Access.OPERATE, answers=True, beside=Beside.FREE),
    _own("callMcpTool", Access.OWNER, answers=True, beside=Beside.FREE),
    _own("trustFolder", Access.OWNER, beside=Beside.FREE),
    _own("forgetTrust", Access.OWNER),
    Method("agenthost/listTrust", "PingParams", "ListTrustResult"),
    # The machines of a cluster, and which of them a session runs on.
    Method("agenthost/listNodes", "PingParams", "ListNodesResult", access=Access.OPERATE),
    _own("moveSession", Access.OPERATE, answers=True, beside=Beside.FREE),
    # Either way.
    _resource("resourceRead", Access.CONTENT, large=True),
    _resource("resourceWrite"),
    _resource("resourceList"),
    _resource("resourceCopy"),
    _resource("resourceMove"),
    _resource("resourceDelete"),
    _resource("resourceResolve", Access.CONTENT),
    _resource("resourceMkdir"),
    _resource("resourceRequest"),
    _resource("createResourceWatch"),
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
