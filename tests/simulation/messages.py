"""Generators for commands, their results and notifications, in the newest version's form."""

from __future__ import annotations

from tests.simulation import nodes
from tests.simulation.generate import every, few, node, one_of

ROOT = {"channel": "ahp-root://"}
SESSION = "ahp-session:/s"
ORIGIN = {"kind": "automation", "automation": "ahp-automation:/1", "run": "ahp-automation-run:/1"}

_COMPACT_CHAT = node(
    {"resource": "ahp-chat:/1", "title": nodes.TEXT},
    origin=nodes.ORIGIN,
    interactivity="full",
    status=nodes.STATUS,
    changes=nodes.COUNTS,
)
_SUMMARY_FIELDS = {
    "activity": nodes.TEXT,
    "origin": ORIGIN,
    "workingDirectories": nodes.DIRECTORIES,
    "changes": nodes.COUNTS,
    "chats": few(_COMPACT_CHAT, 1),
    "defaultChat": "ahp-chat:/1",
    "_meta": nodes.META,
}
SUMMARY = node(
    {"provider": "demo", "title": nodes.TEXT, "status": nodes.STATUS, "resource": SESSION}
    | {"createdAt": "2026-01-01", "modifiedAt": "2026-01-02"},
    **_SUMMARY_FIELDS,
)
_META = {"_meta": nodes.META}

# By method: the definition of the params, and the params.
PARAMS = {
    "createSession": (
        "CreateSessionParams",
        node(
            {"channel": SESSION},
            provider="demo",
            workingDirectories=nodes.DIRECTORIES,
            activeClient=nodes.ACTIVE_CLIENT,
            _meta=one_of(nodes.META, {"agenthost/fork": {"session": "s:/1", "turnId": "t"}}),
        ),
    ),
    "createChat": (
        "CreateChatParams",
        node({"channel": SESSION, "chat": "ahp-chat:/1"}, initialMessage=nodes.MESSAGE, **_META),
    ),
    "createTerminal": (
        "CreateTerminalParams",
        node({"channel": "t:/1", "claim": nodes.CLAIM}, name="sh", **_META),
    ),
    "authenticate": (
        "AuthenticateParams",
        node({**ROOT, "resource": "https://r", "token": one_of("", "t")}, expiresIn=9, **_META),
    ),
    "listSessions": ("ListSessionsParams", node({**ROOT}, limit=3, **_META)),
    "moveChat": (
        "MoveChatParams",
        node({"channel": "ahp-chat:/1", "destination": {"kind": "newSession"}}, **_META),
    ),
    "runAutomation": (
        "RunAutomationParams",
        node(
            {"channel": "ahp-automations://", "automation": "ahp-automation:/1"}
            | {"requestId": "r"},
            **_META,
        ),
    ),
}

# By method: the definition of the result, and the result.
RESULTS = {
    "initialize": (
        "InitializeResult",
        node(
            {"protocolVersion": "1.0.0", "serverSeq": 1, "snapshots": []},
            defaultDirectory="file:///a",
            automations=node({}, create={}, schedules={}, customizations={}),
            **_META,
        ),
    ),
    "listSessions": ("ListSessionsResult", node({"items": few(SUMMARY)})),
    "resolveSessionConfig": (
        "ResolveSessionConfigResult",
        node({"schema": nodes.CONFIG_SCHEMA, "values": {}}),
    ),
    "listAutomationTriggerDefinitions": (
        "ListAutomationTriggerDefinitionsResult",
        node(
            {
                "items": every(
                    node(
                        {"type": "git", "title": "Git", "events": []},
                        configSchema=nodes.CONFIG_SCHEMA,
                    )
                )
            }
        ),
    ),
}

# By method: the definition of a notification's params, and the params.
NOTIFICATIONS = {
    "root/sessionAdded": ("SessionAddedParams", node({**ROOT, "summary": SUMMARY})),
    "root/sessionSummaryChanged": (
        "SessionSummaryChangedParams",
        node({**ROOT, "session": SESSION, "changes": node({}, title="T", **_SUMMARY_FIELDS)}),
    ),
    "auth/required": (
        "AuthRequiredParams",
        node(
            {**ROOT, "resource": node({"resource": "https://r"}, scopes_supported=["s"])},
            reason=one_of("required", "expired"),
        ),
    ),
}
