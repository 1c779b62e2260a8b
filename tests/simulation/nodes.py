"""Generators for the nodes of the wire model, in the newest version's form."""

from __future__ import annotations

from typing import Any

from tests.simulation.generate import Gen, ending, few, node, one_of

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
_MESSAGE_EXTRAS: dict[str, Any] = {
    "attachments": few(ATTACHMENT),
    "model": {"id": "m", "config": {"effort": None}},
    "agent": {"uri": "agent:/a"},
    "_meta": META,
}
MESSAGE = node({"text": TEXT, "origin": {"kind": "user"}}, **_MESSAGE_EXTRAS)
# What a host may start a turn with: automations have a say, too.
AUTOMATED = node({"text": TEXT, "origin": {"kind": "automation"}}, **_MESSAGE_EXTRAS)
OPENING = one_of(MESSAGE, MESSAGE, AUTOMATED)

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

ERROR = node({"errorType": "e", "message": TEXT}, stack="at 1", _meta=META)
ERROR_PART = node({"kind": "error", "error": ERROR}, resumable=one_of(True, True, True, False))

OLD_PART = one_of(
    node({"kind": "markdown", "id": "p", "content": TEXT}),
    node({"kind": "contentRef", "uri": "res:/a"}, nonce="n"),
    node({"kind": "systemNotification", "content": WORDS}, _meta=META),
    node({"kind": "inputRequest", "request": {"id": "old"}}, response=RESPONSE),
    node({"kind": "toolCall", "toolCall": one_of(FINISHED_CALL, REFUSED_CALL)}),
    # Left over from a failure after which the turn went on.
    ERROR_PART,
)
_OLD_TURN_EXTRAS: dict[str, Any] = {
    "startedAt": "2026-01-01T00:00:00.000Z",
    "duration": 5,
    "usage": {"inputTokens": 1},
}
OLD_TURN = one_of(
    node(
        {"message": OPENING, "responseParts": few(OLD_PART, 3), "state": "complete"},
        **_OLD_TURN_EXTRAS,
    ),
    node(
        {"message": OPENING, "responseParts": ending(few(OLD_PART, 3), ERROR_PART)}
        | {"state": "error"},
        **_OLD_TURN_EXTRAS,
    ),
    # As it comes from an older host that told no error.
    node({"message": MESSAGE, "responseParts": [], "state": "error"}, **_OLD_TURN_EXTRAS),
)

_ENTRY = {"uri": "file:///c", "name": TEXT}
_CHILD_EXTRAS: dict[str, Any] = {"enabled": FLAG, "_meta": META, "description": TEXT}
# Whether something is switched on, by scope, the most specific first.
ENABLEMENT = one_of(
    *[
        [],
        [{"kind": "session", "enabled": False}],
        [{"kind": "global", "enabled": False}],
        [{"kind": "workspace", "uri": "file:///a", "enabled": True}],
        [{"kind": "session", "enabled": True}, {"kind": "global", "enabled": False}],
        [
            {"kind": "session", "enabled": False},
            {"kind": "workspace", "uri": "file:///a", "enabled": True},
            {"kind": "global", "enabled": True},
        ],
    ]
)
MCP_STATE = one_of(
    {"kind": "starting"},
    *[node({"kind": "starting", "blocking": FLAG})] * 3,
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
    server = {"type": "mcpServer", "id": entry_id, "state": MCP_STATE, **_ENTRY}
    return node(server, enablement=ENABLEMENT, channel="mcp:/1", _meta=META)


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
        {"type": "plugin", "id": entry_id, **_ENTRY},
        enablement=ENABLEMENT,
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

CLIENT_PLUGIN = plugin(
    "client",
    nonce="n",
    # A client says of each child that it knows by name what holds everywhere.
    childEnablement=one_of(*[{}, {"server": [{"kind": "global", "enabled": False}]}]),
)

TOOL = node(
    {"name": NAMES}, description=TEXT, inputSchema={"type": "object", "properties": {"a": {}}}
)
ACTIVE_CLIENT = node(
    {"clientId": one_of("c1", "c2"), "tools": few(TOOL)},
    displayName=TEXT,
    customizations=few(CLIENT_PLUGIN, 1),
)

STATUS = one_of(1, 2, 8, 24, 33, 8 + 64)
DIRECTORY = one_of("file:///a", "file:///b", "file:///c", "file:///d")
DIRECTORIES = one_of(
    *[[], ["file:///a"], ["file:///a", "file:///b"], ["file:///d", "file:///a", "file:///c"]]
)
CONFIG_SCHEMA = node(
    {
        "type": "object",
        "properties": node(
            {},
            list=node({"type": "array", "title": TEXT}, minItems=1, maxItems=2),
            text={"type": "string", "title": "T"},
        ),
    }
)
ORIGIN = one_of(
    {"kind": "user"},
    {"kind": "fork", "chat": "ahp-chat:/o", "turnId": "t"},
    {"kind": "sideChat", "chat": "ahp-chat:/o", "turnId": "t", "selection": {"text": "s"}},
    {"kind": "tool", "chat": "ahp-chat:/o", "toolCallId": "k"},
)
COUNTS = node({}, additions=1, deletions=0, files=2)
CHAT_FIELDS: dict[str, Any] = {
    "activity": TEXT,
    "changes": COUNTS,
    "movable": FLAG,
    "origin": ORIGIN,
    "interactivity": one_of("full", "read-only", "hidden"),
    "workingDirectories": DIRECTORIES,
}
CHAT_CHANGES = node({}, title=TEXT, status=STATUS, modifiedAt="2026-01-02", **CHAT_FIELDS)

CHANGESET = node(
    {"label": TEXT, "uriTemplate": "cs:/{turnId}", "changeKind": "turn"},
    capabilities=one_of({}, {"review": {}}),
)
# What only the chat's own state has.
WORK = one_of(
    node(
        {"id": NAMES, "label": TEXT, "startedAt": "2026-01-01", "kind": "shell", "command": "ls"},
        terminal="t:/1",
        _meta=META,
    ),
    node(
        {"id": NAMES, "label": TEXT, "startedAt": "2026-01-01", "kind": "subagent"}
        | {"chat": "ahp-chat:/w"}
    ),
)
CANVASES = few(one_of({"resource": "ahp-canvas:/1"}, {"resource": "ahp-canvas:/2"}))
CHAT_STATE_FIELDS: dict[str, Any] = {
    "changesets": few(CHANGESET),
    "backgroundWork": few(WORK, unique_by="id"),
    "canvases": CANVASES,
}
OPERATION = node(
    {"id": NAMES, "label": TEXT, "scopes": ["changeset"], "status": "idle"}, confirmation=WORDS
)
CHANGED_FILE = node({"id": NAMES, "edit": FILE_EDIT}, reviewed=FLAG, _meta=META)

AGENT = node(
    {"provider": "demo", "displayName": TEXT, "description": TEXT, "models": []},
    customizations=CUSTOMIZATIONS,
    capabilities=node(
        {},
        multipleChats=node({}, fork=FLAG, sideChat=FLAG),
        multipleWorkingDirectories=node({}, immutablePrimary=FLAG, primaryReplacement=FLAG),
    ),
)


def chat_summary(resource: str) -> Gen:
    """Build the catalogue entry of a chat."""
    fixed = {"resource": resource, "title": TEXT, "status": STATUS, "modifiedAt": "2026-01-01"}
    return node(fixed, **CHAT_FIELDS)


# Terminals

CLAIM = one_of(
    {"kind": "client", "clientId": "c1"},
    node(
        {"kind": "session", "session": "ahp-session:/s", "chat": "ahp-chat:/1"},
        turnId="t",
        toolCallId="k",
    ),
)
LIFECYCLE = one_of({"status": "running"}, node({"status": "exited"}, exitCode=one_of(0, 1)))
TERMINAL_INFO = node(
    {"resource": one_of("t:/1", "t:/2"), "title": TEXT, "claim": CLAIM, "lifecycle": LIFECYCLE}
)

# Annotations

ANNOTATION_ORIGIN = node({"session": "ahp-session:/s"}, chat="ahp-chat:/1", turnId="t")
ANNOTATION_ENTRY = node({"id": NAMES, "text": WORDS}, _meta=META)
ANNOTATION = node(
    {"id": NAMES, "origin": ANNOTATION_ORIGIN, "resource": "file:///f", "resolved": FLAG}
    | {"entries": few(ANNOTATION_ENTRY, unique_by="id")},
    range=_RANGE,
    _meta=META,
)

# Automations

TRIGGER = one_of(
    node(
        {"id": "t1", "kind": "schedule"}
        | {"schedule": {"expression": "0 9 * * *", "timeZone": "Europe/Berlin"}},
        misfirePolicy=one_of("skip", "runOnce"),
    ),
    node(
        {"id": "t2", "kind": "event", "type": "git", "title": TEXT}
        | {"events": [{"id": "push", "title": "Push"}]},
        config={"branch": None},
    ),
)
TEMPLATE = node(
    {},
    provider="demo",
    model={"id": "m"},
    workingDirectories=DIRECTORIES,
    config={"a": 1},
    customizations=few(CLIENT_PLUGIN, 1),
)
DISABLE_CONDITIONS = one_of(
    *[
        [],
        [{"kind": "afterRuns", "max": 3}],
        [{"kind": "afterDate", "date": "2026-02-01"}, {"kind": "afterRuns", "max": 1}],
    ]
)
_DEFINITION: dict[str, Any] = {
    "title": TEXT,
    "message": AUTOMATED,
    "session": TEMPLATE,
    "enabled": FLAG,
    "triggers": few(TRIGGER, unique_by="id"),
}
DEFINITION = node(_DEFINITION, disableConditions=DISABLE_CONDITIONS, _meta=META)
DEFINITION_PATCH = node({}, disableConditions=DISABLE_CONDITIONS, _meta=META, **_DEFINITION)
RUN_ORIGIN = one_of(
    {"kind": "manual"},
    node({"kind": "trigger", "triggerId": "t1"}, scheduledFor="2026-01-01T09:00:00Z", catchUp=FLAG),
)
_CREATED = {"createdAt": "2026-01-01T09:00:00Z"}
_COMPLETED = {**_CREATED, "completedAt": "2026-01-01T09:00:05Z"}
RUN_LIFECYCLE = one_of(
    {"status": "pending", **_CREATED},
    {"status": "running", **_CREATED, "startedAt": "2026-01-01T09:00:01Z"},
    node(
        {"status": "completed", **_COMPLETED, "startedAt": "2026-01-01T09:00:01Z"},
        usage={"inputTokens": 1},
    ),
    node({"status": "failed", **_COMPLETED, "error": ERROR}),
    {"status": "cancelled", **_COMPLETED},
)
RUN_SUMMARY = node(
    {
        "resource": "ahp-automation-run:/1",
        "automation": "ahp-automation:/1",
        "origin": RUN_ORIGIN,
        "lifecycle": RUN_LIFECYCLE,
        "sessionCount": 1,
    },
    primarySession="ahp-session:/s",
    _meta=META,
)
AUTOMATION = node(
    {
        "resource": one_of("ahp-automation:/1", "ahp-automation:/2"),
        "definition": DEFINITION,
        "runs": few(RUN_SUMMARY, 1),
        "operations": few(one_of("update", "remove", "run")),
        "createdAt": "2026-01-01",
        "modifiedAt": "2026-01-02",
    },
    nextRunAt="2026-01-03T09:00:00Z",
    runCount=2,
    runsNextCursor="more",
    customizations=few(plugin("captured"), 1),
    _meta=META,
)
