"""Generators for the nodes of the wire model, in the newest version's form."""

from __future__ import annotations

from typing import Any

from tests.simulation.generate import Gen, few, node, one_of

# Short on purpose: what matters here is which members there are, not what they say.
TEXT = one_of("", "a", "two\nlines", "żółw 🐢")
NAMES = one_of("x", "y", "z")
META = one_of(*[{}, {"k": None}, {"k": {"deep": [1, True]}}])
WORDS = one_of(TEXT, node({"markdown": TEXT}))
FLAG = one_of(False, True)

# Content that tool inputs refer to.
REFERENCES = ("res:/a", "res:/b", "res:/binary")

CONTENT_REF = node({"uri": "res:/c"}, sizeHint=3, contentType="text/plain", nonce="n1")
FILE_VERSION = node({"uri": "file:///f", "content": CONTENT_REF})
FILE_EDIT = node({}, before=FILE_VERSION, after=FILE_VERSION, diff={"added": 1})

_RANGE = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 2}}
_ATTACHED: dict[str, Any] = {"range": _RANGE, "displayKind": "file", "_meta": META}
ATTACHMENT = one_of(
    node({"type": "simple", "label": TEXT, "modelRepresentation": TEXT}, **_ATTACHED),
    node({"type": "resource", "label": TEXT, "uri": "res:/a"}, nonce="n", **_ATTACHED),
    node({"type": "embeddedResource", "label": TEXT, "data": "", "contentType": "text/plain"}),
    node({"type": "annotations", "label": TEXT, "resource": "ahp-session:/s/annotations"}),
    node({"type": "chat", "label": TEXT, "resource": "ahp-chat:/o"}, endTurn="t", **_ATTACHED),
)
MESSAGE = node(
    {"text": TEXT, "origin": {"kind": "user"}},
    attachments=few(ATTACHMENT),
    model={"id": "m", "config": {"effort": None}},
    agent={"uri": "agent:/a"},
    _meta=META,
)

TERMINAL_RESULT = node({}, exitCode=1, preview=TEXT, truncated=FLAG)
CONTENT = one_of(
    node({"type": "text", "text": TEXT}),
    node({"type": "embeddedResource", "data": "", "contentType": "image/png"}),
    node({"type": "resource", "uri": "res:/a"}, nonce="n"),
    node({"type": "fileEdit"}, after=FILE_VERSION),
    node({"type": "terminal", "resource": "t:/1", "title": TEXT}, isPty=FLAG),
    node({"type": "terminal", "resource": "t:/2", "title": "sh", "result": TERMINAL_RESULT}),
    node({"type": "subagent", "resource": "ahp-chat:/w", "title": "w"}),
)
CONTENTS = few(CONTENT, 3)
RESULT = node(
    {"success": FLAG, "pastTenseMessage": WORDS},
    content=CONTENTS,
    structuredContent={"k": None},
    error={"message": "no", "code": "E"},
)

OPTIONS = one_of(
    *[
        [],
        [{"id": "yes", "label": "Yes", "kind": "approve"}],
        [
            {"id": "yes", "label": "Yes", "kind": "approve", "group": 0},
            {"id": "no", "label": "No", "kind": "deny", "group": 1},
        ],
    ]
)
RISK = one_of(
    {"kind": "judge", "status": "loading"},
    {"kind": "judge", "status": "complete", "reason": "fine", "safety": 1},
)
CONFIRMED = one_of("not-needed", "user-action", "setting")
CONTRIBUTOR = one_of(
    {"kind": "client", "clientId": "c1"}, {"kind": "mcp", "customizationId": "mcp"}
)
AUTH = node(
    {"reason": "expired", "resource": {"resource": "https://r"}},
    oauthClient={"clientId": "o"},
    requiredScopes=["s"],
)
CONFIRMATION: dict[str, Any] = {
    "confirmationTitle": WORDS,
    "riskAssessment": RISK,
    "edits": node({"items": few(FILE_EDIT)}),
    "editable": FLAG,
    "options": OPTIONS,
}

_CALL = {"toolCallId": "k", "toolName": "n", "displayName": "N", "invocationMessage": WORDS}
_CALL_EXTRAS: dict[str, Any] = {
    "intention": TEXT,
    "contributor": {"kind": "mcp", "customizationId": "mcp"},
    "toolInput": one_of("in", {"uri": "res:/a"}, {"uri": "res:/binary"}),
}
PENDING_CALL = node({**_CALL, "status": "pending-confirmation"}, **_CALL_EXTRAS, **CONFIRMATION)
RUNNING_CALL = node(
    {**_CALL, "status": "running", "confirmed": CONFIRMED}, content=CONTENTS, **_CALL_EXTRAS
)
PAUSED_CALL = node(
    {
        **_CALL,
        "status": "auth-required",
        "confirmed": CONFIRMED,
        "auth": AUTH,
        "contributor": {"kind": "mcp", "customizationId": "mcp"},
    },
    content=CONTENTS,
    intention=TEXT,
)
FINISHED_CALL = node(
    {**_CALL, "status": "completed", "confirmed": CONFIRMED, "success": True}
    | {"pastTenseMessage": WORDS},
    content=CONTENTS,
    **_CALL_EXTRAS,
)
REFUSED_CALL = node(
    {**_CALL, "status": "cancelled", "reason": "denied"}, userSuggestion=MESSAGE, **_CALL_EXTRAS
)

QUESTION = one_of(
    *[
        {"kind": "text", "id": "q1", "message": "Name?", "required": True},
        {"kind": "integer", "id": "q2", "message": "How many?", "min": 0},
        {
            "kind": "single-select",
            "id": "q3",
            "message": "Which?",
            "options": [{"id": "o", "label": "O"}],
        },
    ]
)
ANSWER = one_of(
    {"state": "draft", "value": {"kind": "text", "value": ""}},
    {"state": "submitted", "value": {"kind": "number", "value": 2}},
    {"state": "skipped"},
)
ANSWERS = node({}, q1=ANSWER, q2=ANSWER)
RESPONSE = one_of("accept", "decline", "cancel")

OLD_PART = one_of(
    node({"kind": "markdown", "id": "p", "content": TEXT}),
    node({"kind": "contentRef", "uri": "res:/a"}, nonce="n"),
    node({"kind": "systemNotification", "content": WORDS}, _meta=META),
    node({"kind": "inputRequest", "request": {"id": "old"}}, response=RESPONSE),
    node({"kind": "toolCall", "toolCall": one_of(FINISHED_CALL, REFUSED_CALL)}),
)
OLD_TURN = node(
    {"message": MESSAGE, "responseParts": few(OLD_PART, 3), "state": "complete"},
    startedAt="2026-01-01T00:00:00.000Z",
    duration=5,
    usage={"inputTokens": 1},
)

_ENTRY = {"uri": "file:///c", "name": TEXT}
_CHILD_EXTRAS: dict[str, Any] = {"enabled": FLAG, "_meta": META, "description": TEXT}
MCP_STATE = one_of(
    {"kind": "starting"},
    {"kind": "ready"},
    {"kind": "stopped"},
    {
        "kind": "authRequired",
        "reason": "required",
        "resource": {"resource": "https://r"},
        "oauthClient": {"clientId": "o"},
    },
)


def mcp_server(entry_id: str) -> Gen:
    """Build an MCP server customization of that id."""
    server = {"type": "mcpServer", "id": entry_id, "enabled": FLAG, "state": MCP_STATE, **_ENTRY}
    return node(server, channel="mcp:/1", _meta=META)


def children(container: str) -> Gen:
    """Build the children of a container, with ids of its own."""
    disabled: dict[str, Any] = {"disableModelInvocation": FLAG, "disableUserInvocation": FLAG}
    agent = {"type": "agent", "id": f"{container}/agent", **_ENTRY}
    skill = {"type": "skill", "id": f"{container}/skill", **_ENTRY}
    rule = {"type": "rule", "id": f"{container}/rule", **_ENTRY}
    kinds = [
        node(agent, model="m", tools=["t"], **disabled, **_CHILD_EXTRAS),
        node(skill, **disabled, **_CHILD_EXTRAS),
        node(rule, globs=["*"], **_CHILD_EXTRAS),
        mcp_server(f"{container}/mcp"),
    ]
    return few(one_of(*kinds), 4, unique_by="id")


def plugin(entry_id: str, **extras: Any) -> Gen:
    """Build a plugin customization of that id."""
    return node(
        {"type": "plugin", "id": entry_id, "enabled": FLAG, **_ENTRY},
        children=children(entry_id),
        version="1.2",
        load={"kind": "loaded"},
        _meta=META,
        **extras,
    )


def directory(entry_id: str) -> Gen:
    """Build a directory customization of that id."""
    fixed = {"type": "directory", "contents": "skill", "writable": FLAG}
    entry = {**fixed, "id": entry_id, "enabled": FLAG, **_ENTRY}
    return node(entry, children=children(entry_id))


CUSTOMIZATION = one_of(plugin("plugin"), directory("folder"), mcp_server("mcp"))
CUSTOMIZATIONS = few(CUSTOMIZATION, 3, unique_by="id")

TOOL = node(
    {"name": NAMES}, description=TEXT, inputSchema={"type": "object", "properties": {"a": {}}}
)
ACTIVE_CLIENT = node(
    {"clientId": one_of("c1", "c2"), "tools": few(TOOL)},
    displayName=TEXT,
    customizations=few(plugin("client", nonce="n"), 1),
)

STATUS = one_of(1, 2, 8, 24, 33, 8 + 64)
DIRECTORIES = one_of(*[[], ["file:///a"], ["file:///a", "file:///b"]])
ORIGIN = one_of(
    {"kind": "user"},
    {"kind": "fork", "chat": "ahp-chat:/o", "turnId": "t"},
    {"kind": "sideChat", "chat": "ahp-chat:/o", "turnId": "t", "selection": {"text": "s"}},
    {"kind": "tool", "chat": "ahp-chat:/o", "toolCallId": "k"},
)
CHAT_FIELDS: dict[str, Any] = {
    "activity": TEXT,
    "origin": ORIGIN,
    "interactivity": one_of("full", "read-only", "hidden"),
    "workingDirectories": DIRECTORIES,
}
CHAT_CHANGES = node({}, title=TEXT, status=STATUS, modifiedAt="2026-01-02", **CHAT_FIELDS)

CHANGESET = node(
    {"label": TEXT, "uriTemplate": "cs:/{turnId}", "changeKind": "turn"},
    capabilities=one_of({}, {"review": {}}),
)
CHANGED_FILE = node({"id": NAMES, "edit": FILE_EDIT}, reviewed=FLAG, _meta=META)

AGENT = node(
    {"provider": "demo", "displayName": TEXT, "description": TEXT, "models": []},
    customizations=CUSTOMIZATIONS,
    capabilities=node(
        {},
        multipleChats=node({}, fork=FLAG, sideChat=FLAG),
        multipleWorkingDirectories={"immutablePrimary": True},
    ),
)


def chat_summary(resource: str) -> Gen:
    """Build the catalogue entry of a chat."""
    fixed = {"resource": resource, "title": TEXT, "status": STATUS, "modifiedAt": "2026-01-01"}
    return node(fixed, **CHAT_FIELDS)
