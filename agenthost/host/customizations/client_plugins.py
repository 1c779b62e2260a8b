"""Plugins that active clients publish in sessions: read from their clients, gone with them.

Each client is asked beside everything else, one plugin at a time, so whoever is slow, refuses or
answers with nonsense delays its own plugins alone. A client that is away for a moment, also over a
restart of the host, is asked when it is back; if it stays away, whoever counts the active clients
takes it off the session, and its plugins go.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from agenthost.customizations import CustomizationSource, FoundCustomization, read_plugin
from agenthost.customizations.fields import LONGEST_NAME, plain
from agenthost.customizations.sources import failed, source_of
from agenthost.errors import shortened
from agenthost.host.channels.session.kind import SessionChannel
from agenthost.host.channels.session.records import first_directory
from agenthost.host.customizations.client_tree import ClientTree, PluginCache
from agenthost.host.customizations.enablement import global_decision
from agenthost.host.customizations.tree import MOST_OF_CLIENT, BroughtSource, cut, size_of
from agenthost.host.files.client_resources import ClientResources, is_clients
from agenthost.tasks import Tasks
from agenthost.workspace.paths import file_path

if TYPE_CHECKING:
    from agenthost.protocol.common import JsonMapping
    from agenthost.protocol.session.customizations import ClientPluginCustomization
    from agenthost.protocol.session.state import SessionActiveClient

# Plugins of one client that are read in one session, and that are shown at least as not read.
MOST_PLUGINS = 32
MOST_SHOWN = 100
# Parts of one plugin that its client may have decided about.
MOST_DECIDED_PARTS = 1_000
# Seconds between two looks whether a client is back.
BACK_SECONDS = 0.5


class _Plugin(Struct):
    """One plugin as its client published it, and what was read of it."""

    published: ClientPluginCustomization
    brought: BroughtSource
    is_due: bool = True


class _Publisher(Struct, eq=False):
    """One client of one session."""

    # What it last announced; another object says that it did so again.
    announced: SessionActiveClient
    plugins: dict[str, _Plugin] = field(default_factory=dict)
    task: asyncio.Task[None] | None = None


class ClientPlugins:
    """What the active clients of sessions publish."""

    def __init__(
        self,
        tasks: Tasks,
        resources: ClientResources,
        changed: Callable[[SessionChannel], None],
    ) -> None:
        """``changed`` is told that a session's plugins are others, or better known."""
        self._tasks = tasks
        self._resources = resources
        self._changed = changed
        self._cache = PluginCache()
        # Session -> client -> what it publishes.
        self._publishers: dict[str, dict[str, _Publisher]] = {}

    def look(self, session: SessionChannel) -> None:
        """Take up what the clients of a session publish now."""
        publishers = self._publishers.setdefault(session.uri, {})
        active = {client["clientId"]: client for client in session.state["activeClients"]}
        for client_id in publishers.keys() - active.keys():
            self._end(publishers.pop(client_id))
        for client_id, client in active.items():
            known = publishers.get(client_id)
            if known is None:
                publishers[client_id] = known = _Publisher({**client, "customizations": []})
            if known.announced is not client:
                self._announced(session, known, client)
        if not publishers:
            del self._publishers[session.uri]

    def brought(self, session: str) -> Iterator[BroughtSource]:
        """Yield the plugins of a session's clients, as far as they are known."""
        for publisher in self._publishers.get(session, {}).values():
            for plugin in publisher.plugins.values():
                yield plugin.brought

    def decide(
        self, session: str, client_id: str, entry: JsonMapping, enabled: bool | None
    ) -> None:
        """Take over what a client has decided for all sessions, before it publishes that.

        ``entry`` is a plugin of its, or a part of one.
        """
        publisher = self._publishers.get(session, {}).get(client_id)
        for plugin in publisher.plugins.values() if publisher is not None else ():
            brought = plugin.brought
            if entry["type"] == "plugin" and brought.source.uri == entry["uri"]:
                plugin.brought = replace(brought, everywhere=enabled)
            elif any(_is_entry_of(brought, found, entry) for found in brought.source.found):
                parts = {**brought.parts_everywhere, entry["name"]: enabled}
                decided = {name: on for name, on in parts.items() if on is not None}
                plugin.brought = replace(brought, parts_everywhere=decided)

    def forget(self, session: str) -> None:
        """Let go of a session."""
        for publisher in self._publishers.pop(session, {}).values():
            self._end(publisher)

    def _end(self, publisher: _Publisher) -> None:
        if publisher.task is not None:
            publisher.task.cancel()

    def _announced(
        self, session: SessionChannel, publisher: _Publisher, client: SessionActiveClient
    ) -> None:
        before, publisher.announced = publisher.plugins, client
        publisher.plugins = {}
        for published in (client.get("customizations") or ())[:MOST_SHOWN]:
            uri = published["uri"]
            known = before.get(uri)
            plugin = _Plugin(published, _first(session, client["clientId"], published))
            if len(publisher.plugins) >= MOST_PLUGINS:
                publisher.plugins[uri] = _left_out(plugin)
                continue
            if known is not None and _is_read(known) and _is_same(known.published, published):
                plugin.is_due = False
            if known is not None and not _has_changed(known.published, published):
                # Shown as it was while nobody knows whether it has changed.
                plugin.brought = replace(
                    plugin.brought,
                    source=known.brought.source,
                    is_loading=known.brought.is_loading,
                )
            publisher.plugins[uri] = plugin
        if publisher.task is None and any(each.is_due for each in publisher.plugins.values()):
            publisher.task = self._tasks.start(
                self._read(session, publisher), f"read plugins of {client['clientId']}"
            )

    async def _read(self, session: SessionChannel, publisher: _Publisher) -> None:
        """Read what is due of a client, one plugin after the other, until all is read."""
        client_id = publisher.announced["clientId"]
        try:
            while (plugin := _next(publisher)) is not None:
                principal = self._resources.principal(client_id)
                if principal is None:
                    # Nobody tells when it is back; one that stays away is soon no active client,
                    # which ends this.
                    await asyncio.sleep(BACK_SECONDS)
                    continue
                plugin.is_due = False
                source = await self._source(session, client_id, principal, plugin.published)
                if source.load != "loaded" and self._resources.principal(client_id) is None:
                    # It left meanwhile, so this says nothing about the plugin.
                    plugin.is_due = True
                    continue
                source = cut(source, _room(publisher, plugin))
                plugin.brought = replace(plugin.brought, source=source, is_loading=False)
                if publisher.plugins.get(plugin.published["uri"]) is plugin:
                    self._changed(session)
        finally:
            publisher.task = None

    async def _source(
        self,
        session: SessionChannel,
        client_id: str,
        principal: str,
        published: ClientPluginCustomization,
    ) -> CustomizationSource:
        uri = published["uri"]
        if not is_clients(uri):
            # Whether it means its own machine or this one, nothing of it was published.
            return failed(_empty(published), f"{shortened(uri)} is nothing that a client serves")
        ask = partial(self._resources.ask_publisher, client_id)
        tree = ClientTree(ask, uri, self._cache.of(principal, uri, published.get("nonce")))
        source = await read_plugin(tree, uri, "client", folder=_folder(session))
        return replace(source, name=plain(published["name"], LONGEST_NAME) or source.name)


def _is_entry_of(brought: BroughtSource, found: FoundCustomization, entry: JsonMapping) -> bool:
    uri = brought.source.uri_of(found)
    return (found.kind, found.name, uri) == (entry["type"], entry["name"], entry["uri"])


def _next(publisher: _Publisher) -> _Plugin | None:
    return next((each for each in publisher.plugins.values() if each.is_due), None)


def _room(publisher: _Publisher, plugin: _Plugin) -> int:
    others = [each for each in publisher.plugins.values() if each is not plugin]
    return MOST_OF_CLIENT - sum(size_of(each.brought.source) for each in others)


def _first(
    session: SessionChannel, client_id: str, published: ClientPluginCustomization
) -> BroughtSource:
    """Return a plugin of which nothing is known but what its client says."""
    parts = list((published.get("childEnablement") or {}).items())[:MOST_DECIDED_PARTS]
    decided = {name: global_decision(decisions) for name, decisions in parts}
    return BroughtSource(
        _empty(published),
        client_id=client_id,
        everywhere=global_decision(published.get("enablement")),
        parts_everywhere={name: on for name, on in decided.items() if on is not None},
        is_loading=True,
    )


def _left_out(plugin: _Plugin) -> _Plugin:
    why = f"no more than {MOST_PLUGINS} plugins of one client are read"
    brought = replace(plugin.brought, source=failed(plugin.brought.source, why), is_loading=False)
    return replace(plugin, brought=brought, is_due=False)


def _empty(published: ClientPluginCustomization) -> CustomizationSource:
    name = plain(published["name"], LONGEST_NAME) or "plugin"
    return source_of(published["uri"], "", "plugin", name, None, "client")


def _is_read(plugin: _Plugin) -> bool:
    return not plugin.is_due and plugin.brought.source.load != "error"


def _is_same(before: ClientPluginCustomization, now: ClientPluginCustomization) -> bool:
    return before.get("nonce") is not None and before.get("nonce") == now.get("nonce")


def _has_changed(before: ClientPluginCustomization, now: ClientPluginCustomization) -> bool:
    return before.get("nonce") != now.get("nonce")


def _folder(session: SessionChannel) -> str | None:
    directory = first_directory(session.state)
    path = file_path(directory) if directory is not None else None
    return str(path) if path is not None else None
