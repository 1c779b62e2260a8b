"""What a session's folders, plugins and clients bring: skills, agents, prompts, rules, servers.

Owns how the published tree is looked through. Reading files and deciding what counts is the
host's affair; what can be done with an MCP server is in ``mcp``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agenthost.client import actions

if TYPE_CHECKING:
    from agenthost.client.state.channel import Channel
    from agenthost.client.state.client_core import ClientCore
    from agenthost.client.state.dispatches import Dispatch
    from agenthost.protocol.session.customizations import (
        ChildCustomization,
        Customization,
        CustomizationEnablement,
    )
    from agenthost.protocol.session.state import SessionState

Json = Mapping[str, Any]

PROBLEM = "agenthost/problem"
"""The member of ``_meta`` in which a host says why a file cannot be used."""

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")

# Of the names that an unknown one could have meant, this many are told.
_MOST_NAMED = 20


@dataclass(frozen=True, slots=True)
class CustomizationItem:
    """One customization of a session: a container, or something in one."""

    # As the host publishes it.
    value: Customization | ChildCustomization
    # What it is in; None for what stands alone.
    container: Customization | None = None

    @property
    def id(self) -> str:
        """Its name on the wire, the same as long as the file is where it is."""
        return str(self.value["id"])

    @property
    def kind(self) -> str:
        """What it is: ``agent``, ``skill``, ``prompt``, ``rule``, ``hook``, ``mcpServer`` …"""
        return str(self.value["type"])

    @property
    def name(self) -> str:
        """What people call it."""
        return str(self.value["name"])

    @property
    def uri(self) -> str:
        """Where it lies."""
        return str(self.value["uri"])

    @property
    def description(self) -> str:
        """What it is for, in its author's words."""
        return str(self._members.get("description") or "")

    @property
    def enabled(self) -> bool:
        """Whether it counts: switched on, and what it is in as well."""
        return _is_on(self.value) and (self.container is None or _is_on(self.container))

    @property
    def problem(self) -> str | None:
        """Why it, or a part of it, cannot be used; None where nothing is wrong."""
        told = (self._members.get("_meta") or {}).get(PROBLEM)
        if isinstance(told, str):
            return told
        match self._members:
            case {"load": {"kind": "degraded" | "error", "message": str(message)}}:
                return message
            case {"type": "mcpServer", "state": {"kind": "error", "error": {"message": str(why)}}}:
                return why
        return None

    @property
    def decisions(self) -> Sequence[CustomizationEnablement]:
        """What was decided about it and for how much; the first one counts."""
        return self._members.get("enablement") or ()

    @property
    def _members(self) -> Json:
        return self.value

    @property
    def invocable(self) -> bool:
        """Whether a person may choose it: nothing hides it, switches it off or spoils it."""
        return (
            self.enabled and self.problem is None and not self._members.get("disableUserInvocation")
        )


class CustomizationCatalogue:
    """The customizations of one session, as they are now."""

    def __init__(self, core: ClientCore, channel: Channel[SessionState]) -> None:
        self._core = core
        self._channel = channel

    @property
    def tree(self) -> list[Customization]:
        """The containers and servers as the host publishes them; empty until it has read them."""
        return self._channel.state.get("customizations") or []

    @property
    def is_read(self) -> bool:
        """Whether the host has read them all; hosts without customizations never have."""
        state: Json = self._channel.state
        loads = [entry.get("load") or {} for entry in state.get("customizations") or ()]
        known = state.get("customizations") is not None
        return known and all(load.get("kind") != "loading" for load in loads)

    async def loaded(self) -> None:
        """Wait until the host has read them all."""
        await self._channel.until(lambda _: self.is_read)

    def __iter__(self) -> Iterator[CustomizationItem]:
        """Iterate over everything: each container, then what is in it."""
        return customization_items(self._channel.state)

    def of_kind(self, *kinds: str) -> list[CustomizationItem]:
        """Return those of some kinds, in the host's order."""
        return [item for item in self if item.kind in kinds]

    def agents(self) -> list[CustomizationItem]:
        """Return the custom agents."""
        return self.of_kind("agent")

    def skills(self) -> list[CustomizationItem]:
        """Return the skills."""
        return self.of_kind("skill")

    def prompts(self) -> list[CustomizationItem]:
        """Return the prepared prompts."""
        return self.of_kind("prompt")

    def rules(self) -> list[CustomizationItem]:
        """Return the standing instructions."""
        return self.of_kind("rule")

    def servers(self) -> list[CustomizationItem]:
        """Return the MCP servers; ``session.mcp`` starts and stops one."""
        return self.of_kind("mcpServer")

    def problems(self) -> list[CustomizationItem]:
        """Return those of which something cannot be used."""
        return [item for item in self if item.problem is not None]

    def find(self, what: str, *kinds: str) -> CustomizationItem:
        """Return the one that has this id, URI or name, among some kinds or all.

        Raises:
            LookupError: there is none, or several; the message names those that there are.
        """
        items = [item for item in self if not kinds or item.kind in kinds]
        return the_customization(items, what)

    def toggle(
        self, what: str | CustomizationItem, enabled: bool, *, scope: str = "session"
    ) -> Dispatch:
        """Switch one on or off: for this session, a workspace's URI, or "global".

        It takes effect with the next turn. Decisions for other scopes stay; that for the session
        counts before that for a workspace, and both before that for everything.

        Raises:
            LookupError: there is none of that id, URI or name.
        """
        item = self.find(what) if isinstance(what, str) else what
        decisions = actions.decided(self._channel.state, item.id, enabled, scope)
        action = {"type": "session/customizationToggled", "id": item.id, "enablement": decisions}
        self._channel.check()
        return self._core.dispatch(self._channel.uri, action)


def customization_items(session: Json) -> Iterator[CustomizationItem]:
    """Iterate over the customizations in a session's state: each container, then its contents."""
    for entry in session.get("customizations") or ():
        if not _is_usable(entry):
            continue
        yield CustomizationItem(entry)
        for child in entry.get("children") or ():
            if _is_usable(child):
                yield CustomizationItem(child, entry)


def the_customization(items: Sequence[CustomizationItem], what: str) -> CustomizationItem:
    """Return the one of these that has an id, a URI or a name.

    Raises:
        LookupError: there is none, or several; the message names those that there are.
    """
    ways: tuple[Callable[[CustomizationItem], bool], ...] = (
        lambda item: item.id == what,
        lambda item: item.uri == what and item.kind not in ("mcpServer", "plugin", "directory"),
        lambda item: item.name == what,
        lambda item: item.name.casefold() == what.casefold(),
    )
    for means in ways:
        found = [item for item in items if means(item)]
        if len(found) == 1:
            return found[0]
        if found:
            named = ", ".join(f"{item.kind} {item.name[:80]} ({item.id})" for item in found)
            raise LookupError(f"{what!r} could mean several: {named}")
    known = [item.name[:80] for item in items]
    more = ", …" if len(known) > _MOST_NAMED else ""
    there = f"there are {', '.join(known[:_MOST_NAMED])}{more}" if known else "there are none"
    raise LookupError(f"there is no {what[:80]!r}; {there}")


def agent_uri(core: ClientCore, session: str | None, agent: str) -> str:
    """Return the URI of a custom agent that is named, among those of a session; a URI is one.

    Raises:
        LookupError: the session has no such agent, or is not followed.
    """
    if _URI.match(agent):
        return agent
    channel = None if session is None else core.channels.get(session)
    if channel is None or not channel.has_state:
        raise LookupError(f"the agent {agent!r} is named, but its session is not followed")
    items = customization_items(channel.state)
    return the_customization([item for item in items if item.kind == "agent"], agent).uri


def _is_on(entry: Json) -> bool:
    decisions = entry.get("enablement")
    first = decisions[0] if decisions else entry
    return bool(first.get("enabled", True))


def _is_usable(entry: Any) -> bool:
    """Return whether an entry has what all kinds have; kinds of later versions may lack it."""
    members = ("id", "type", "name", "uri")
    return isinstance(entry, Mapping) and all(isinstance(entry.get(key), str) for key in members)
