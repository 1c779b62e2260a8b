"""Where each kind of node occurs in states, actions, params, results and notifications.

Owns the occurrence lists, in the shapes of every rung at once: a member that a version does not
have is simply not found. Knows no version and no difference; a step's ``Rewriter`` does. Snapshots
and envelopes inside results are left alone, because only the caller knows a channel's kind: it
translates them as the states and actions that they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from agenthost.protocol.json_edits import without
from agenthost.protocol.versions.node_edits import Json, each, each_value
from agenthost.protocol.versions.rewriter import (
    CALLS,
    CLIENT_PLUGINS,
    DEFINITIONS,
    MESSAGES,
    PARTS,
    PLUGINS,
    REFS,
    RESULTS,
    SCHEMAS,
    TURNS,
    Rewriter,
)

_Edit = Callable[[Rewriter, Json], Json | None]


def walk_state(rewriter: Rewriter, kind: str, state: Any) -> Any:
    """Rewrite a channel's state."""
    walk = _STATES.get(kind)
    return walk(rewriter, state) if walk is not None and isinstance(state, dict) else state


def walk_turn(rewriter: Rewriter, turn: Json) -> Json:
    """Rewrite a completed turn."""
    return rewriter.turn(_turn_members(rewriter, turn))


def walk_active_turn(rewriter: Rewriter, turn: Json) -> Json:
    """Rewrite an active turn."""
    return rewriter.active_turn(_turn_members(rewriter, turn))


def walk_call(rewriter: Rewriter, call: Json) -> Json:
    """Rewrite a tool call."""
    return _tool_call(rewriter, call) if rewriter.changes_calls else call


def walk_action(rewriter: Rewriter, action: Json) -> Json | None:
    """Rewrite an action; None when what it carried was left out, so that nothing is left to say."""
    walk = _ACTIONS.get(action.get("type", ""))
    return action if walk is None else walk(rewriter, action)


def nodes_in(action_type: str) -> tuple[str, ...]:
    """Return the nodes that an action of this type may carry, by their methods of a rewriter."""
    return _NODES.get(action_type, ())


def walk_params(rewriter: Rewriter, method: str, params: Any) -> Any:
    """Rewrite a command's params."""
    return _walked(_PARAMS, rewriter, method, params)


def walk_result(rewriter: Rewriter, method: str, result: Any) -> Any:
    """Rewrite a command's result."""
    return _walked(_RESULTS, rewriter, method, result)


def walk_notification(rewriter: Rewriter, method: str, params: Any) -> Any:
    """Rewrite a notification's params; None when nothing is left to say."""
    return _walked(_NOTIFICATIONS, rewriter, method, params)


def _walked(walks: Mapping[str, _Edit], rewriter: Rewriter, name: str, node: Any) -> Any:
    walk = walks.get(name)
    return walk(rewriter, node) if walk is not None and isinstance(node, dict) else node


def _at(rewriter: Rewriter, node: Json, key: str, edit: _Edit) -> Json:
    """Edit a member that should be an object; one that becomes None is left out."""
    value = node.get(key)
    if not isinstance(value, dict):
        return node
    edited = edit(rewriter, value)
    if edited is value:
        return node
    return without(node, key) if edited is None else {**node, key: edited}


def _in(rewriter: Rewriter, node: Json, key: str, edit: _Edit) -> Json:
    """Edit the objects of a member that should be a list."""
    items = node.get(key)
    if not isinstance(items, list):
        return node
    edited = each(items, partial(edit, rewriter))
    return node if edited is items else {**node, key: edited}


# Messages and content


def _message(rewriter: Rewriter, message: Json) -> Json:
    if rewriter.changes_attachments:
        message = _in(rewriter, message, "attachments", _attachment)
    return rewriter.message(message)


def _attachment(rewriter: Rewriter, attachment: Json) -> Json:
    if attachment.get("type") == "resource":
        attachment = rewriter.content_ref(attachment)
    return rewriter.attachment(attachment)


def _pending(rewriter: Rewriter, pending: Json) -> Json:
    return _at(rewriter, pending, "message", _message)


def _content_ref(rewriter: Rewriter, node: Json) -> Json:
    return rewriter.content_ref(node)


def _file(rewriter: Rewriter, file: Json) -> Json:
    return _at(rewriter, file, "content", _content_ref)


def _file_edit(rewriter: Rewriter, edit: Json) -> Json:
    for side in ("before", "after"):
        edit = _at(rewriter, edit, side, _file)
    return edit


def _file_edits(rewriter: Rewriter, edits: Json) -> Json:
    return _in(rewriter, edits, "items", _file_edit)


def _edits(rewriter: Rewriter, node: Json) -> Json:
    return _at(rewriter, node, "edits", _file_edits) if rewriter.changes_refs else node


def _content(rewriter: Rewriter, content: Json) -> Json:
    match content.get("type"):
        case "resource":
            return rewriter.content_ref(content)
        case "fileEdit":
            return _file_edit(rewriter, content)
    return content


def _contents(rewriter: Rewriter, node: Json, title: str | None = None) -> Json:
    contents = node.get("content")
    if not isinstance(contents, list):
        return node
    edited = each(contents, partial(_content, rewriter)) if rewriter.changes_refs else contents
    edited = rewriter.contents(edited, title)
    return node if edited is contents else {**node, "content": edited}


# Turns and chats


def _tool_call(rewriter: Rewriter, call: Json) -> Json:
    if rewriter.changes_results:
        title = call.get("displayName")
        call = _contents(rewriter, call, title if isinstance(title, str) else None)
        call = _edits(rewriter, call)
    if rewriter.changes_messages:
        call = _at(rewriter, call, "userSuggestion", _message)
    return rewriter.tool_call(call)


def _part(rewriter: Rewriter, part: Json) -> Json | None:
    match part.get("kind"):
        case "toolCall" if rewriter.changes_calls:
            part = _at(rewriter, part, "toolCall", _tool_call)
        case "contentRef":
            part = rewriter.content_ref(part)
    return rewriter.part(part)


def _turn_members(rewriter: Rewriter, turn: Json) -> Json:
    if rewriter.changes_messages:
        turn = _at(rewriter, turn, "message", _message)
    return _in(rewriter, turn, "responseParts", _part) if rewriter.changes_parts else turn


def _chat(rewriter: Rewriter, state: Json) -> Json:
    if rewriter.changes_turns:
        state = _in(rewriter, state, "turns", walk_turn)
    state = _at(rewriter, state, "activeTurn", walk_active_turn)
    if rewriter.changes_messages:
        state = _at(rewriter, state, "steeringMessage", _pending)
        state = _in(rewriter, state, "queuedMessages", _pending)
        state = _at(rewriter, state, "draft", _message)
    return rewriter.chat(rewriter.chat_summary(state))


# Sessions


def _customization(rewriter: Rewriter, customization: Json) -> Json:
    customization = _in(rewriter, customization, "children", _child)
    return rewriter.customization(_mcp(rewriter, customization))


def _child(rewriter: Rewriter, child: Json) -> Json | None:
    return rewriter.child(_mcp(rewriter, child))


def _mcp(rewriter: Rewriter, entry: Json) -> Json:
    return _at(rewriter, entry, "state", _mcp_state)


def _mcp_state(rewriter: Rewriter, state: Json) -> Json:
    return rewriter.mcp_state(state)


def _client_plugin(rewriter: Rewriter, customization: Json) -> Json:
    customization = _in(rewriter, customization, "children", _client_plugin_child)
    return rewriter.client_plugin(_mcp(rewriter, customization))


def _client_plugin_child(rewriter: Rewriter, child: Json) -> Json | None:
    return rewriter.client_plugin_child(_mcp(rewriter, child))


def _active_client(rewriter: Rewriter, client: Json) -> Json:
    return _in(rewriter, client, "customizations", _client_plugin)


def _input_needed(rewriter: Rewriter, request: Json) -> Json | None:
    return rewriter.input_needed(_at(rewriter, request, "toolCall", _tool_call))


def _session(rewriter: Rewriter, state: Json) -> Json:
    state = _in(rewriter, state, "chats", _chat_summary)
    state = _in(rewriter, state, "activeClients", _active_client)
    state = _in(rewriter, state, "customizations", _customization)
    state = _in(rewriter, state, "changesets", _changeset)
    state = _in(rewriter, state, "inputNeeded", _input_needed)
    state = _at(rewriter, state, "config", _config)
    return rewriter.session(rewriter.session_summary(state))


# Schemas of settings


# Schemas inside schemas, far deeper than anybody can fill in. What is deeper stays as it is.
_DEEPEST = 32


def _config(rewriter: Rewriter, config: Json) -> Json:
    return _at(rewriter, config, "schema", _config_schema)


def _config_schema(rewriter: Rewriter, schema: Json) -> Json:
    if not rewriter.changes_schemas:
        return schema
    return _properties(rewriter, schema, _DEEPEST - 1)


def _properties(rewriter: Rewriter, schema: Json, depth: int) -> Json:
    """Rewrite the properties that a schema has by name, each with so many levels inside it."""

    def edit(inner: Any) -> Any:
        return _config_property(rewriter, inner, depth) if isinstance(inner, dict) else inner

    return _at(rewriter, schema, "properties", lambda _, properties: each_value(properties, edit))


def _config_property(rewriter: Rewriter, schema: Json, depth: int) -> Json:
    if depth > 0:
        inner = partial(_config_property, depth=depth - 1)
        schema = _properties(rewriter, schema, depth - 1)
        for key in ("items", "additionalProperties"):
            schema = _at(rewriter, schema, key, inner)
    return rewriter.config_property(schema)


# The other channels


def _root(rewriter: Rewriter, state: Json) -> Json:
    state = _terminals(rewriter, _agents(rewriter, state))
    return _at(rewriter, state, "config", _config)


def _agents(rewriter: Rewriter, node: Json) -> Json:
    return _in(rewriter, node, "agents", _agent)


def _agent(rewriter: Rewriter, agent: Json) -> Json:
    agent = _in(rewriter, agent, "models", _has_config_schema)
    return rewriter.agent(_in(rewriter, agent, "customizations", _customization))


def _has_config_schema(rewriter: Rewriter, node: Json) -> Json:
    return _at(rewriter, node, "configSchema", _config_schema)


def _terminals(rewriter: Rewriter, node: Json) -> Json:
    return _in(rewriter, node, "terminals", _terminal_info)


def _terminal_info(rewriter: Rewriter, info: Json) -> Json:
    return rewriter.terminal_info(_claimed(rewriter, info))


def _terminal(rewriter: Rewriter, state: Json) -> Json:
    return rewriter.terminal(_terminal_info(rewriter, state))


def _claimed(rewriter: Rewriter, node: Json) -> Json:
    return _at(rewriter, node, "claim", _claim)


def _claim(rewriter: Rewriter, claim: Json) -> Json:
    return rewriter.claim(claim)


def _annotation(rewriter: Rewriter, annotation: Json) -> Json:
    return rewriter.annotation(annotation)


def _changeset(rewriter: Rewriter, changeset: Json) -> Json:
    return rewriter.changeset(changeset)


def _changeset_status(rewriter: Rewriter, node: Json) -> Json:
    return rewriter.changeset_status(node)


def _changeset_state(rewriter: Rewriter, state: Json) -> Json:
    return rewriter.changeset_status(_changeset_files(rewriter, state))


def _changeset_file(rewriter: Rewriter, file: Json) -> Json:
    return rewriter.changeset_file(_at(rewriter, file, "edit", _file_edit))


def _changeset_files(rewriter: Rewriter, node: Json) -> Json:
    return _in(rewriter, node, "files", _changeset_file)


# Automations


def _automation(rewriter: Rewriter, entry: Json) -> Json:
    entry = _at(rewriter, entry, "definition", _automation_definition)
    entry = _in(rewriter, entry, "customizations", _customization)
    return rewriter.automation(entry)


def _automation_definition(rewriter: Rewriter, definition: Json) -> Json:
    definition = _at(rewriter, definition, "message", _message)
    definition = _at(rewriter, definition, "session", _session_template)
    return rewriter.automation_definition(definition)


def _session_template(rewriter: Rewriter, template: Json) -> Json:
    template = _in(rewriter, template, "customizations", _client_plugin)
    return rewriter.session_template(template)


# Where an edit of one member is the whole walk


def _member(key: str, edit: _Edit) -> _Edit:
    return lambda rewriter, node: _at(rewriter, node, key, edit)


def _members(key: str, edit: _Edit) -> _Edit:
    return lambda rewriter, node: _in(rewriter, node, key, edit)


def _required_member(key: str, edit: _Edit) -> _Edit:
    """Rewrite a required member; None drops the whole."""
    walk = _member(key, edit)

    def walk_or_drop(rewriter: Rewriter, node: Json) -> Json | None:
        walked = walk(rewriter, node)
        return None if walked is not None and key in node and key not in walked else walked

    return walk_or_drop


def _changes(edit: _Edit) -> _Edit:
    """Rewrite a partial update; None if nothing is left."""

    def edit_or_drop(rewriter: Rewriter, changes: Json) -> Json | None:
        edited = edit(rewriter, changes)
        return edited or (None if changes else changes)

    return _required_member("changes", edit_or_drop)


def _chat_summary(rewriter: Rewriter, summary: Json) -> Json:
    return rewriter.chat_summary(summary)


def _session_summary(rewriter: Rewriter, summary: Json) -> Json:
    return rewriter.listed_session(rewriter.session_summary(summary))


_STATES: Mapping[str, Callable[[Rewriter, Json], Json]] = {
    "root": _root,
    "session": _session,
    "chat": _chat,
    "terminal": _terminal,
    "changeset": _changeset_state,
    "annotations": lambda rewriter, state: _in(rewriter, state, "annotations", _annotation),
    "automation": lambda rewriter, state: _in(rewriter, state, "entries", _automation),
}

_ACTIONS: Mapping[str, _Edit] = {
    "root/agentsChanged": _agents,
    "root/terminalsChanged": _terminals,
    "session/chatAdded": _member("summary", _chat_summary),
    "session/chatUpdated": _changes(_chat_summary),
    "session/activeClientSet": _member("activeClient", _active_client),
    "session/customizationsChanged": _members("customizations", _customization),
    "session/customizationUpdated": _member("customization", _customization),
    "session/mcpServerStateChanged": _mcp,
    "session/changesetsChanged": _members("changesets", _changeset),
    "session/inputNeededSet": _required_member("request", _input_needed),
    "chat/turnStarted": _pending,
    "chat/pendingMessageSet": _pending,
    "chat/draftChanged": _member("draft", _message),
    "chat/responsePart": _required_member("part", _part),
    "chat/turnsLoaded": _members("turns", walk_turn),
    "chat/toolCallReady": _edits,
    "chat/toolCallConfirmed": _member("userSuggestion", _message),
    "chat/toolCallContentChanged": _contents,
    "chat/toolCallComplete": _member("result", _contents),
    "terminal/claimed": _claimed,
    "changeset/statusChanged": _changeset_status,
    "changeset/fileSet": _member("file", _changeset_file),
    "changeset/contentChanged": _changeset_files,
    "annotations/set": _member("annotation", _annotation),
    "annotations/updated": _annotation,
    "automation/createRequested": _member("definition", _automation_definition),
    "automation/updateRequested": _member("changes", _automation_definition),
    "automation/set": _member("automation", _automation),
}

_NODES: Mapping[str, tuple[str, ...]] = {
    "root/agentsChanged": ("agent", *PLUGINS, *SCHEMAS),
    "root/terminalsChanged": ("terminal_info", "claim"),
    "session/chatAdded": ("chat_summary",),
    "session/chatUpdated": ("chat_summary",),
    "session/activeClientSet": CLIENT_PLUGINS,
    "session/customizationsChanged": PLUGINS,
    "session/customizationUpdated": PLUGINS,
    "session/mcpServerStateChanged": ("mcp_state",),
    "session/changesetsChanged": ("changeset",),
    "session/inputNeededSet": ("input_needed", *CALLS),
    "chat/turnStarted": MESSAGES,
    "chat/pendingMessageSet": MESSAGES,
    "chat/draftChanged": MESSAGES,
    "chat/responsePart": PARTS,
    "chat/turnsLoaded": TURNS,
    "chat/toolCallReady": REFS,
    "chat/toolCallConfirmed": MESSAGES,
    "chat/toolCallContentChanged": RESULTS,
    "chat/toolCallComplete": RESULTS,
    "terminal/claimed": ("claim",),
    "changeset/statusChanged": ("changeset_status",),
    "changeset/fileSet": ("changeset_file", *REFS),
    "changeset/contentChanged": ("changeset_file", *REFS),
    "annotations/set": ("annotation",),
    "annotations/updated": ("annotation",),
    "automation/createRequested": DEFINITIONS,
    "automation/updateRequested": DEFINITIONS,
    "automation/set": ("automation", *DEFINITIONS),
}

_PARAMS: Mapping[str, _Edit] = {
    "createSession": _member("activeClient", _active_client),
    "createChat": _member("initialMessage", _message),
    "createTerminal": _claimed,
}

_RESULTS: Mapping[str, _Edit] = {
    "listSessions": _members("items", _session_summary),
    "resolveSessionConfig": _config,
    "listAutomationTriggerDefinitions": _members("items", _has_config_schema),
    "fetchTurns": _members("turns", walk_turn),
    "completions": _members("items", _member("attachment", _attachment)),
    "invokeChangesetOperation": _member("followUp", _file),
}

_NOTIFICATIONS: Mapping[str, _Edit] = {
    "root/sessionAdded": _member("summary", _session_summary),
    "root/sessionSummaryChanged": _changes(_session_summary),
}
