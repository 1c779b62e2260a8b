"""Whether a customization is on: decisions by scope in 0.8.0, a single flag in 0.7.0.

Plugins and MCP servers have the list; every other entry has a flag in both versions. The first
decision of a list counts, and an entry without any is on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from agenthost.protocol.json_edits import index_by, replace_at, without
from agenthost.protocol.versions.node_edits import Json, put

_LISTING: Final = ("plugin", "mcpServer")
_LISTS: Final = ("enablement", "childEnablement")


def flag_of(decisions: Any) -> bool:
    """Return what a list of decisions comes to."""
    first = decisions[0] if isinstance(decisions, list) and decisions else None
    return not isinstance(first, dict) or first.get("enabled") is not False


def with_flag_only(entry: Json) -> Json:
    """Return an entry as 0.7.0 has it."""
    if entry.get("type") not in _LISTING:
        return entry
    return {**without(entry, *_LISTS), "enabled": flag_of(entry.get("enablement"))}


def decided_for_the_session(entry: Json) -> Json:
    """Return what a host published in 0.7.0, or what was stored then, as 0.8.0 has it.

    Which scope had switched it off is not known: the narrowest takes nothing away from others.
    """
    if entry.get("type") not in _LISTING:
        return entry
    off = entry.get("enabled") is False
    decisions = [{"kind": "session", "enabled": False}] if off else None
    return put(_undecided(entry), "enablement", decisions)


def decided_by_its_client(entry: Json) -> Json:
    """Return what a client published in 0.7.0 as 0.8.0 has it: its decision counts everywhere."""
    if entry.get("type") not in _LISTING or "enabled" not in entry:
        return entry
    decision = {"kind": "global", "enabled": entry["enabled"]}
    return {**_undecided(entry), "enablement": [decision]}


def _undecided(entry: Json) -> Json:
    # The lists mean nothing in 0.7.0, so they must not begin to mean something here.
    return without(entry, "enabled", *_LISTS)


def toggled_down(action: Json) -> Json:
    """Say what the decisions come to."""
    return {**without(action, "enablement"), "enabled": flag_of(action.get("enablement"))}


def toggled_up(action: Json, session: Json) -> Json:
    """Decide for this session; an old client speaks of no other scope, so those stay decided."""
    told = without(action, "enabled", "enablement")
    if "enabled" not in action:
        return told
    decided = (_named(session, action.get("id")) or {}).get("enablement") or []
    kept = [decision for decision in decided if decision.get("kind") != "session"]
    return {**told, "enablement": [{"kind": "session", "enabled": action["enabled"]}, *kept]}


def with_named(session: Json, entry_id: str, edit: Callable[[Json], Json]) -> Json:
    """Return a session with the customization of that id edited: see ``_place``."""
    place = _place(session, entry_id)
    if place is None:
        return session
    entries, (index, child) = session["customizations"], place
    entry = entries[index]
    if child is None:
        edited = edit(entry)
    else:
        children = entry["children"]
        edited = {**entry, "children": replace_at(children, child, edit(children[child]))}
    return {**session, "customizations": replace_at(entries, index, edited)}


def _named(session: Json, entry_id: Any) -> Json | None:
    place = _place(session, entry_id)
    if place is None:
        return None
    index, child = place
    entry: Json = session["customizations"][index]
    return entry if child is None else entry["children"][child]


def _place(session: Json, entry_id: Any) -> tuple[int, int | None] | None:
    """Return where the customization of an id is: on top, else the first child of that id."""
    entries = session.get("customizations") or []
    index = index_by(entries, "id", entry_id)
    if index is not None:
        return index, None
    for index, entry in enumerate(entries):
        # A server on top is a leaf, whatever it may carry under that name.
        children = None if entry.get("type") == "mcpServer" else entry.get("children")
        child = index_by(children, "id", entry_id)
        if child is not None:
            return index, child
    return None
