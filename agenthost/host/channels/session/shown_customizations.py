"""Looks into the customizations that a session shows: which there are, and which are of use (pure).

What they are made of is in ``host/customizations``; whoever judges a client's words or completes
them needs no more than what the client sees itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from agenthost.protocol.json_edits import without

if TYPE_CHECKING:
    from agenthost.protocol.common import JsonMapping, JsonObject
    from agenthost.protocol.session.customizations import ChildCustomization, Customization
    from agenthost.protocol.session.state import SessionState

# In the ``_meta`` of an entry: why it cannot be used, and the terminal with a server's log.
PROBLEM: Final = "agenthost/problem"
LOG: Final = "agenthost/log"
# What an entry says of a server only while that runs.
_OF_A_RUN = ("channel", "mcpApp")


class ShownCustomization(NamedTuple):
    """Something that can be used, and the plugin that it is a part of, if it is."""

    entry: ChildCustomization
    plugin: str | None

    @property
    def name(self) -> str:
        """Its name as people write it."""
        return f"{self.plugin}:{self.entry['name']}" if self.plugin else self.entry["name"]


def find_customization(state: SessionState, id: str) -> tuple[JsonMapping, str | None] | None:
    """Return the customization of an id, and the client that published it or what it is in.

    As reducers do: the one on top, else the first inside of another.
    """
    tree = cast("list[JsonObject]", state.get("customizations") or [])
    for entry in tree:
        if entry["id"] == id:
            return entry, entry.get("clientId")
    for entry in tree:
        # A server on top is a leaf, whatever it may carry under that name.
        for child in entry.get("children") or () if entry["type"] != "mcpServer" else ():
            if child["id"] == id:
                return child, entry.get("clientId")
    return None


def usable_customizations(
    session: SessionState | None, *types: str
) -> Iterator[ShownCustomization]:
    """Yield what is inside of plugins and directories, is on, and has no problem."""
    for container in (session.get("customizations") if session is not None else None) or ():
        if container["type"] != "plugin" and container["type"] != "directory":
            continue
        if not _is_on(container):
            continue
        plugin = container["name"] if container["type"] == "plugin" else None
        for child in container.get("children") or ():
            usable = _is_on(child) and PROBLEM not in (child.get("_meta") or {})
            if usable and child["type"] in types:
                yield ShownCustomization(child, plugin)


def offered_customizations(
    session: SessionState | None, *types: str
) -> Iterator[ShownCustomization]:
    """Yield the same as far as people may ask for them by name."""
    for each in usable_customizations(session, *types):
        if not each.entry.get("disableUserInvocation"):
            yield each


def entries_of_former_servers(state: SessionState) -> Iterator[Customization]:
    """Yield the entries of a session that was stored, where they show servers as if these ran.

    Nothing of what ran for a session outlives the time that it is in memory.
    """
    for entry in cast("list[JsonObject]", state.get("customizations") or []):
        at_rest = _at_rest(entry)
        if at_rest["type"] != "mcpServer" and at_rest.get("children"):
            at_rest = {**at_rest, "children": [_at_rest(each) for each in at_rest["children"]]}
        if at_rest != entry:
            yield cast("Customization", at_rest)


def _at_rest(entry: JsonObject) -> JsonObject:
    if entry["type"] != "mcpServer":
        return entry
    meta = without(entry.get("_meta") or {}, LOG)
    told = without(entry, *_OF_A_RUN, "_meta") | ({"_meta": meta} if meta else {})
    # What is wrong with its declaration is so whether it runs or not.
    return told if PROBLEM in meta else told | {"state": {"kind": "stopped"}}


def _is_on(entry: JsonMapping) -> bool:
    decisions = entry.get("enablement")
    if decisions:
        return decisions[0]["enabled"] is not False
    return entry.get("enabled") is not False
