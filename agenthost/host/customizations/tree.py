"""The customizations of a session in the protocol's shapes, made of what was found (pure).

Two levels: plugins, directories and servers of files on top, everything else inside. Ids come from
where something was found, so they stay the same whenever it is read again, also by another host.

How much of it a session shows is bounded: its tree is stored, kept in memory, and sent to everybody
who opens the session, so one folder or plugin with very much in it would be paid for by all.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct, field
from msgspec.structs import replace

from agenthost.customizations.types import CustomizationSource, FoundCustomization, TextRange
from agenthost.host.channels.session.shown_customizations import PROBLEM
from agenthost.host.customizations.enablement import SessionDecisions, decision_key, is_on

if TYPE_CHECKING:
    from agenthost.protocol.common import Action, JsonMapping, JsonObject
    from agenthost.protocol.session.customizations import (
        Customization,
        CustomizationLoadState,
        McpServerCustomizationApps,
        McpServerState,
    )

# Containers of one session, however many folders and plugins it has.
MOST_CONTAINERS = 200
# In the ``_meta`` of a server's entry: where it comes from.
SERVER_SOURCE = "agentHost.mcpServerSource"
_BAD_DECLARATION = "badDeclaration"
# Characters, counted as ``size_of`` does: a few thousand customizations with their descriptions.
MOST_OF_SESSION = 2 * 1024 * 1024
MOST_OF_CLIENT = 512 * 1024
# What an entry takes besides its texts.
_OVERHEAD = 300
# With more entries that differ the whole tree is told at once: one action costs less than many.
MOST_SINGLE = 16


class BroughtSource(Struct, frozen=True):
    """A source as a session has it."""

    source: CustomizationSource
    # The client that published it, and what that has decided about it and its parts (by name).
    client_id: str | None = None
    everywhere: bool | None = None
    parts_everywhere: Mapping[str, bool] = field(default_factory=dict)
    # It is still being read: nothing is known of what is in it.
    is_loading: bool = False
    # The real path of the folder that its servers belong to and run in; None if there is none.
    folder: str | None = None
    # Whether it lies in a folder that the session works in, where an agent could write it.
    is_within_reach: bool = False

    @property
    def key(self) -> str:
        """What tells it from all other sources of the session."""
        # Two clients may publish the same; each brings its own.
        who = f"{self.client_id} " if self.client_id is not None else ""
        return f"{who}{self.source.key}"


class LiveServer(Struct, frozen=True):
    """How a server fares, as whoever runs it says."""

    state: McpServerState
    channel: str | None = None
    # What is shown of it besides, and what it offers to apps.
    meta: JsonMapping = field(default_factory=dict)
    apps: McpServerCustomizationApps | None = None


class TreeItem(Struct, frozen=True):
    """One customization of a session: under which id, from where, and whether it is on."""

    id: str
    brought: BroughtSource
    found: FoundCustomization
    # It, and what it came in.
    enabled: bool

    @property
    def uri(self) -> str:
        """The file that it stands in."""
        return self.brought.source.uri_of(self.found)

    @property
    def shown_name(self) -> str:
        """Its name as people write it: that of a plugin's has the plugin's before it."""
        source = self.brought.source
        return f"{source.name}:{self.found.name}" if source.kind == "plugin" else self.found.name

    @property
    def is_usable(self) -> bool:
        """Whether it counts in a turn."""
        return self.enabled and self.found.problem is None


def customization_id(*parts: str) -> str:
    """Return the id of what is told from everything else by some texts."""
    return "c-" + hashlib.sha256("\0".join(parts).encode(errors="replace")).hexdigest()[:16]


def container_id(brought: BroughtSource) -> str:
    """Return the id of the entry of a source."""
    return customization_id(brought.key)


def tree_items(brought: Sequence[BroughtSource], decisions: SessionDecisions) -> Iterator[TreeItem]:
    """Yield everything that was found, each with whether it is on."""
    for one in brought:
        is_container = one.source.kind != "file"
        outer = not is_container or is_on(_decisions_of_source(one, decisions))
        for found in one.source.found:
            inner = is_on(_decisions_of_found(one, found, decisions))
            yield TreeItem(_found_id(one, found), one, found, outer and inner)


def wire_tree(
    brought: Sequence[BroughtSource],
    decisions: SessionDecisions,
    live: Mapping[str, LiveServer],
) -> list[Customization]:
    """Return the tree that a session publishes."""
    tree: list[JsonObject] = []
    for one in brought:
        if one.source.kind == "file":
            tree += (_child(one, found, decisions, live) for found in one.source.found)
        else:
            tree.append(_container(one, decisions, live))
    return cast("list[Customization]", tree[:MOST_CONTAINERS])


def _found_id(brought: BroughtSource, found: FoundCustomization) -> str:
    return customization_id(brought.key, found.kind, found.path, found.name)


def _decisions_of_source(brought: BroughtSource, decisions: SessionDecisions) -> list[Any]:
    source = brought.source
    key = decision_key(source.kind, source.uri, source.name, source.contents)
    return decisions.of(key, brought.everywhere)


def _decisions_of_found(
    brought: BroughtSource, found: FoundCustomization, decisions: SessionDecisions
) -> list[Any]:
    key = decision_key(found.kind, brought.source.uri_of(found), found.name)
    return decisions.of(key, brought.parts_everywhere.get(found.name))


def _container(
    brought: BroughtSource, decisions: SessionDecisions, live: Mapping[str, LiveServer]
) -> JsonObject:
    source = brought.source
    decided = _decisions_of_source(brought, decisions)
    entry: JsonObject = {
        "type": source.kind,
        "id": container_id(brought),
        "uri": source.uri,
        "name": source.name,
    }
    if source.kind == "directory":
        entry |= {"contents": source.contents, "writable": source.writable}
        entry["enabled"] = is_on(decided)
    else:
        if source.version is not None:
            entry["version"] = source.version
        if decided:
            entry["enablement"] = decided
    if brought.client_id is not None:
        entry["clientId"] = brought.client_id
    entry["load"] = _load(brought)
    if not brought.is_loading:
        entry["children"] = [_child(brought, each, decisions, live) for each in source.found]
    return entry


def _load(brought: BroughtSource) -> CustomizationLoadState:
    source = brought.source
    if brought.is_loading:
        return {"kind": "loading"}
    if source.load == "degraded":
        return {"kind": "degraded", "message": source.message}
    if source.load == "error":
        return {"kind": "error", "message": source.message}
    return {"kind": "loaded"}


def _child(
    brought: BroughtSource,
    found: FoundCustomization,
    decisions: SessionDecisions,
    live: Mapping[str, LiveServer],
) -> JsonObject:
    decided = _decisions_of_found(brought, found, decisions)
    entry: JsonObject = {
        "type": found.kind,
        "id": _found_id(brought, found),
        "uri": brought.source.uri_of(found),
        "name": found.name,
    }
    if found.range is not None:
        entry["range"] = _wire_range(found.range)
    meta: JsonObject = {PROBLEM: found.problem} if found.problem is not None else {}
    if found.kind == "mcpServer":
        if decided:
            entry["enablement"] = decided
        meta[SERVER_SOURCE] = _server_source(brought)
        server = live.get(entry["id"])
        entry |= _server_state(found, server)
        meta |= server.meta if server is not None else {}
    else:
        if not is_on(decided):
            entry["enabled"] = False
        entry |= _particulars(found)
    return {**entry, "_meta": meta} if meta else entry


def _particulars(found: FoundCustomization) -> JsonObject:
    """Return the fields that a kind has besides those of all."""
    fields: JsonObject = {}
    if found.description and found.kind != "hook":
        fields["description"] = found.description
    if found.kind == "agent":
        if found.model:
            fields["model"] = found.model
        if found.tools:
            fields["tools"] = list(found.tools)
    if found.kind in ("agent", "skill"):
        if not found.model_may_invoke:
            fields["disableModelInvocation"] = True
        if not found.user_may_invoke:
            fields["disableUserInvocation"] = True
    if found.kind == "rule":
        if found.always:
            fields["alwaysApply"] = True
        if found.globs:
            fields["globs"] = list(found.globs)
    return fields


def _server_state(found: FoundCustomization, server: LiveServer | None) -> JsonObject:
    if found.problem is not None:
        error = {"errorType": _BAD_DECLARATION, "message": found.problem}
        return {"state": {"kind": "error", "error": error}}
    if server is None:
        # Nobody has started it, and nothing spins.
        return {"state": {"kind": "stopped"}}
    told: JsonObject = {"state": server.state}
    if server.channel is not None:
        told["channel"] = server.channel
    if server.apps is not None:
        told["mcpApp"] = server.apps
    return told


def _server_source(brought: BroughtSource) -> str:
    if brought.client_id is not None or brought.source.kind == "plugin":
        return "plugin"
    return brought.source.origin


def _wire_range(range: TextRange) -> JsonObject:
    first_line, first, last_line, last = range
    return {
        "start": {"line": first_line, "character": first},
        "end": {"line": last_line, "character": last},
    }


def bounded(
    brought: Iterable[BroughtSource], most: int = MOST_OF_SESSION
) -> Iterator[BroughtSource]:
    """Yield sources as far as a session shows them; each says if that is not all."""
    for one in brought:
        source = cut(one.source, most)
        most -= size_of(source)
        yield one if source is one.source else replace(one, source=source)


def cut(source: CustomizationSource, room: int) -> CustomizationSource:
    """Return a source with no more in it than there is room for; it says so if that is not all."""
    kept = 0
    for found in source.found:
        room -= _size(found)
        if room < 0:
            break
        kept += 1
    if kept == len(source.found):
        return source
    notes = [source.message] if source.message else []
    notes.append(f"only the first {kept} are shown, for there is too much in this session")
    return replace(source, found=source.found[:kept], load="degraded", message="; ".join(notes))


def size_of(source: CustomizationSource) -> int:
    """Return how much room a source takes."""
    return sum(map(_size, source.found))


def _size(found: FoundCustomization) -> int:
    texts = (found.name, found.path, found.description, found.problem or "", found.model or "")
    return _OVERHEAD + sum(map(len, (*texts, *found.tools, *found.globs)))


def tree_actions(
    shown: Sequence[Customization] | None, wanted: Sequence[Customization]
) -> list[Action]:
    """Return what to apply to a session so that it shows a tree; nothing of what it shows already.

    Entries that are new come behind the others, so the order may differ from that of ``wanted``.
    """
    if shown is None:
        return [_whole(wanted)]
    before = {entry["id"]: entry for entry in shown}
    after = {entry["id"]: entry for entry in wanted}
    actions: list[Action] = [
        {"type": "session/customizationRemoved", "id": id} for id in before if id not in after
    ]
    actions += (
        {"type": "session/customizationUpdated", "customization": entry}
        for id, entry in after.items()
        if before.get(id) != entry
    )
    return actions if len(actions) <= MOST_SINGLE else [_whole(wanted)]


def _whole(wanted: Sequence[Customization]) -> Action:
    return {"type": "session/customizationsChanged", "customizations": list(wanted)}
