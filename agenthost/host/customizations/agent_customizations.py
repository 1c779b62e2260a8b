"""Customizations that come with an agent, as sessions of it show them (pure).

An agent describes them in the protocol's own shapes. A plugin whose folder it names is read like
any other; everything else is shown as the agent describes it, under ids of the session's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, cast

from agenthost.host.customizations.enablement import (
    TELLS_SCOPES,
    SessionDecisions,
    decision_key,
    is_on,
)
from agenthost.host.customizations.tree import customization_id
from agenthost.workspace.paths import file_path

if TYPE_CHECKING:
    from agenthost.protocol.common import JsonMapping, JsonObject
    from agenthost.protocol.session.customizations import Customization


def plugin_folders(described: Iterable[JsonMapping]) -> Iterator[str]:
    """Yield the URIs of the folders that are to be read."""
    for entry in described:
        if _is_folder(entry):
            yield entry["uri"]


def agent_tree(
    provider: str, described: Iterable[JsonMapping], decisions: SessionDecisions
) -> list[Customization]:
    """Return the entries that are shown as the agent describes them."""
    tree = [_entry(provider, each, decisions) for each in described if not _is_folder(each)]
    return cast("list[Customization]", tree)


def _is_folder(entry: JsonMapping) -> bool:
    unread = entry.get("type") == "plugin" and entry.get("children") is None
    return unread and file_path(str(entry.get("uri", ""))) is not None


def _entry(owner: str, described: JsonMapping, decisions: SessionDecisions) -> JsonObject:
    entry: JsonObject = dict(described)
    # Of a type that is not known here, nothing else is known.
    type, uri, name = (str(entry.get(key, "")) for key in ("type", "uri", "name"))
    entry["id"] = customization_id("agent", owner, type, uri, name)
    decided = decisions.of(decision_key(type, uri, name, entry.get("contents")))
    if decided and type in TELLS_SCOPES:
        entry["enablement"] = decided
    elif decided:
        entry["enabled"] = is_on(decided)
    if type == "directory":
        entry.setdefault("enabled", True)
    if entry.get("children") is not None:
        entry["children"] = [_entry(entry["id"], each, decisions) for each in entry["children"]]
    return entry
