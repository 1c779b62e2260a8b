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

from agenthost.protocol.versions.node_edits import Json, each, each_value, inside
from agenthost.protocol.versions.rewriter import Rewriter

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


def walk_action(rewriter: Rewriter, action: Json) -> Json | None:
    """Rewrite an action; None when what it carried was left out, so that nothing is left to say."""
    walk = _ACTIONS.get(action.get("type", ""))
    return action if walk is None else walk(rewriter, action)


def carries_nodes(action_type: str) -> bool:
    """Say whether an action of this type may carry anything that a rewriter could change."""
    return action_type in _ACTIONS


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


def _only_objects(edit: Callable[[Json], Json | None], value: Any) -> Any:
    return edit(value) if isinstance(value, dict) else value


def _at(node: Json, key: str, edit: Callable[[Json], Json | None]) -> Json:
    """Edit a member that should be an object."""
    return inside(node, key, partial(_only_objects, edit))


def _in(node: Json, key: str, edit: Callable[[Json], Json | None]) -> Json:
    """Edit the objects of a member that should be a list."""
    return inside(node, key, lambda items: each(items, edit))


# Messages and content


def _message(rewriter: Rewriter, message: Json) -> Json:
    if rewriter.changes_attachments:
        message = _in(message, "attachments", partial(_attachment, rewriter))
    return rewriter.message(message)


def _attachment(rewriter: Rewriter, attachment: Json) -> Json:
    if attachment.get("type") == "resource":
        attachment = rewriter.content_ref(attachment)
    return rewriter.attachment(attachment)


def _pending(rewriter: Rewriter, pending: Json) -> Json:
    return _at(pending, "message", partial(_message, rewriter))


def _file_edit(rewriter: Rewriter, edit: Json) -> Json:
    for side in ("before", "after"):
        edit = _at(edit, side, lambda file: _at(file, "content", rewriter.content_ref))
    return edit


def _edits(rewriter: Rewriter, node: Json) -> Json:
    return _at(node, "edits", lambda edits: _in(edits, "items", partial(_file_edit, rewriter)))


def _content(rewriter: Rewriter, content: Json) -> Json:
    match content.get("type"):
        case "resource":
            return rewriter.content_ref(content)
        case "fileEdit":
            return _file_edit(rewriter, content)
    return content


def _contents(rewriter: Rewriter, node: Json, title: str | None = None) -> Json:
    def edit(contents: Any) -> Any:
        if not isinstance(contents, list):
            return contents
        return rewriter.contents(each(contents, partial(_content, rewriter)), title)

    return inside(node, "content", edit)


# Turns and chats


def _tool_call(rewriter: Rewriter, call: Json) -> Json:
    if rewriter.changes_results:
        title = call.get("displayName")
        call = _contents(rewriter, call, title if isinstance(title, str) else None)
        call = _edits(rewriter, call)
    return rewriter.tool_call(_at(call, "userSuggestion", partial(_message, rewriter)))


def _part(rewriter: Rewriter, part: Json) -> Json | None:
    match part.get("kind"):
        case "toolCall":
            part = _at(part, "toolCall", partial(_tool_call, rewriter))
        case "contentRef":
            part = rewriter.content_ref(part)
    return rewriter.part(part)


def _turn_members(rewriter: Rewriter, turn: Json) -> Json:
    if not rewriter.changes_turns:
        return turn
    turn = _at(turn, "message", partial(_message, rewriter))
    return _in(turn, "responseParts", partial(_part, rewriter))


def _chat(rewriter: Rewriter, state: Json) -> Json:
    state = _in(state, "turns", partial(walk_turn, rewriter))
    state = _at(state, "activeTurn", partial(walk_active_turn, rewriter))
    state = _at(state, "steeringMessage", partial(_pending, rewriter))
    state = _in(state, "queuedMessages", partial(_pending, rewriter))
    state = _at(state, "draft", partial(_message, rewriter))
    return rewriter.chat(rewriter.chat_summary(state))


# Sessions


def _customization(rewriter: Rewriter, customization: Json) -> Json:
    customization = _in(customization, "children", partial(_child, rewriter))
    return rewriter.customization(_mcp(rewriter, customization))


def _child(rewriter: Rewriter, child: Json) -> Json | None:
    return rewriter.child(_mcp(rewriter, child))


def _mcp(rewriter: Rewriter, entry: Json) -> Json:
    return _at(entry, "state", rewriter.mcp_state)


def _client_plugin(rewriter: Rewriter, customization: Json) -> Json:
    def edit_child(child: Json) -> Json | None:
        return rewriter.client_plugin_child(_mcp(rewriter, child))

    customization = _in(customization, "children", edit_child)
    return rewriter.client_plugin(_mcp(rewriter, customization))


def _active_client(rewriter: Rewriter, client: Json) -> Json:
    return _in(client, "customizations", partial(_client_plugin, rewriter))


def _input_needed(rewriter: Rewriter, request: Json) -> Json | None:
    return rewriter.input_needed(_at(request, "toolCall", partial(_tool_call, rewriter)))


def _session(rewriter: Rewriter, state: Json) -> Json:
    state = _in(state, "chats", rewriter.chat_summary)
    state = _in(state, "activeClients", partial(_active_client, rewriter))
    state = _in(state, "customizations", partial(_customization, rewriter))
    state = _in(state, "changesets", rewriter.changeset)
    state = _in(state, "inputNeeded", partial(_input_needed, rewriter))
    state = _at(state, "config", partial(_config, rewriter))
    return rewriter.session(rewriter.session_summary(state))


# Schemas of settings


# Schemas inside schemas, far deeper than anybody can fill in. What is deeper stays as it is.
_DEEPEST = 32


def _config(rewriter: Rewriter, config: Json) -> Json:
    return _at(config, "schema", partial(_config_schema, rewriter))


def _config_schema(rewriter: Rewriter, schema: Json) -> Json:
    if not rewriter.changes_schemas:
        return schema
    return _properties(rewriter, schema, _DEEPEST)


def _properties(rewriter: Rewriter, schema: Json, depth: int) -> Json:
    """Rewrite the properties that a schema has by name."""
    edit = partial(_only_objects, lambda inner: _config_property(rewriter, inner, depth - 1))
    return _at(schema, "properties", lambda properties: each_value(properties, edit))


def _config_property(rewriter: Rewriter, schema: Json, depth: int) -> Json:
    if depth > 0:
        schema = _properties(rewriter, schema, depth)
        for key in ("items", "additionalProperties"):
            schema = _at(schema, key, lambda inner: _config_property(rewriter, inner, depth - 1))
    return rewriter.config_property(schema)


# The other channels


def _root(rewriter: Rewriter, state: Json) -> Json:
    state = _terminals(rewriter, _agents(rewriter, state))
    return _at(state, "config", partial(_config, rewriter))


def _agents(rewriter: Rewriter, node: Json) -> Json:
    return _in(node, "agents", partial(_agent, rewriter))


def _agent(rewriter: Rewriter, agent: Json) -> Json:
    agent = _in(agent, "models", partial(_has_config_schema, rewriter))
    return rewriter.agent(_in(agent, "customizations", partial(_customization, rewriter)))


def _has_config_schema(rewriter: Rewriter, node: Json) -> Json:
    return _at(node, "configSchema", partial(_config_schema, rewriter))


def _terminals(rewriter: Rewriter, node: Json) -> Json:
    return _in(node, "terminals", partial(_terminal_info, rewriter))


def _terminal_info(rewriter: Rewriter, info: Json) -> Json:
    return rewriter.terminal_info(_claimed(rewriter, info))


def _terminal(rewriter: Rewriter, state: Json) -> Json:
    return rewriter.terminal(_terminal_info(rewriter, state))


def _claimed(rewriter: Rewriter, node: Json) -> Json:
    return _at(node, "claim", rewriter.claim)


def _annotation(rewriter: Rewriter, annotation: Json) -> Json:
    return rewriter.annotation(annotation)


def _changeset_state(rewriter: Rewriter, state: Json) -> Json:
    return rewriter.changeset_status(_changeset_files(rewriter, state))


def _changeset_file(rewriter: Rewriter, file: Json) -> Json:
    return rewriter.changeset_file(_at(file, "edit", partial(_file_edit, rewriter)))


def _changeset_files(rewriter: Rewriter, node: Json) -> Json:
    return _in(node, "files", partial(_changeset_file, rewriter))


# Automations


def _automation(rewriter: Rewriter, entry: Json) -> Json:
    entry = _at(entry, "definition", partial(_automation_definition, rewriter))
    entry = _in(entry, "customizations", partial(_customization, rewriter))
    return rewriter.automation(entry)


def _automation_definition(rewriter: Rewriter, definition: Json) -> Json:
    definition = _at(definition, "message", partial(_message, rewriter))
    definition = _at(definition, "session", partial(_session_template, rewriter))
    return rewriter.automation_definition(definition)


def _session_template(rewriter: Rewriter, template: Json) -> Json:
    template = _in(template, "customizations", partial(_client_plugin, rewriter))
    return rewriter.session_template(template)


# Where an edit of one member is the whole walk


def _member(key: str, edit: _Edit) -> _Edit:
    return lambda rewriter, node: _at(node, key, partial(edit, rewriter))


def _members(key: str, edit: _Edit) -> _Edit:
    return lambda rewriter, node: _in(node, key, partial(edit, rewriter))


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
    "annotations": lambda rewriter, state: _in(state, "annotations", rewriter.annotation),
    "automation": lambda rewriter, state: _in(state, "entries", partial(_automation, rewriter)),
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
    "session/changesetsChanged": _members("changesets", lambda r, node: r.changeset(node)),
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
    "changeset/statusChanged": lambda rewriter, action: rewriter.changeset_status(action),
    "changeset/fileSet": _member("file", _changeset_file),
    "changeset/contentChanged": _changeset_files,
    "annotations/set": _member("annotation", _annotation),
    "annotations/updated": _annotation,
    "automation/createRequested": _member("definition", _automation_definition),
    "automation/updateRequested": _member("changes", _automation_definition),
    "automation/set": _member("automation", _automation),
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
    "invokeChangesetOperation": _member(
        "followUp", _member("content", lambda r, node: r.content_ref(node))
    ),
}

_NOTIFICATIONS: Mapping[str, _Edit] = {
    "root/sessionAdded": _member("summary", _session_summary),
    "root/sessionSummaryChanged": _changes(_session_summary),
}
