"""The customizations of sessions: told what happens to sessions, asked what holds for a turn.

A session shows what its folders, the user's, configured plugins, its agent and its clients bring.
It is looked for beside everything else: nobody who opens a session waits for it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from agenthost.agents.api import Agent
from agenthost.agents.turn_customizations import NO_CUSTOMIZATIONS, TurnCustomizations
from agenthost.clock import Clock
from agenthost.customizations.types import Origin
from agenthost.host.channels.session.consequences import (
    CustomizationsMayDiffer,
    CustomizationToggled,
)
from agenthost.host.channels.session.kind import SessionChannel, extra_of
from agenthost.host.channels.session.records import first_directory
from agenthost.host.channels.session.shown_customizations import LOG
from agenthost.host.customizations.agent_customizations import agent_tree, plugin_folders
from agenthost.host.customizations.client_plugins import ClientPlugins
from agenthost.host.customizations.enablement import (
    TELLS_SCOPES,
    EnablementRecords,
    decision_key,
    global_decision,
)
from agenthost.host.customizations.folder_readings import (
    FolderKey,
    FolderReading,
    FolderReadings,
)
from agenthost.host.customizations.publish_queue import PublishQueue
from agenthost.host.customizations.tree import (
    BroughtSource,
    LiveServer,
    TreeItem,
    bounded,
    tree_actions,
    tree_items,
    wire_tree,
)
from agenthost.host.customizations.turn_customizations import turn_customizations
from agenthost.host.files.client_resources import ClientResources
from agenthost.host.log.channel import AnyChannel
from agenthost.host.log.directory import Directory
from agenthost.host.log.effects import Effects
from agenthost.host.log.writer import Writer
from agenthost.host.store import Store
from agenthost.host.trust import Limits
from agenthost.mcp.types import ServerDeclaration
from agenthost.tasks import Tasks
from agenthost.workspace.paths import file_path

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agenthost.host.root_config import RootConfig
    from agenthost.protocol.common import JsonMapping, JsonObject
    from agenthost.protocol.session.customizations import (
        CustomizationEnablement,
        McpServerCustomizationApps,
        McpServerState,
    )
    from agenthost.workspace.watching import FileWatcher

# The settings that decide on what is looked for.
SWITCH = "customizations.enabled"
PLUGINS = "plugins"
# Seconds that a turn waits for what its folders hold.
FRESH_SECONDS = 2.5


class DeclaredServer(Struct, frozen=True):
    """An MCP server that is declared in a session, under its customization id."""

    id: str
    declaration: ServerDeclaration
    # The real path that trust is given to and that a command runs in; None where there is none.
    folder: str | None
    origin: Origin
    # Whether it is switched on, it and what it came with.
    enabled: bool
    # The client that brought it, where one did.
    client_id: str | None = None


# Told that a session declares other servers than before, or has switched some on or off.
ServersChanged: TypeAlias = Callable[[SessionChannel], None]


class _Customized(Struct, eq=False):
    """One session that is in memory."""

    session: SessionChannel
    # What its agent brought when that was last looked at: agents may add to their lists.
    of_agent: tuple[JsonMapping, ...] = ()
    readings: dict[FolderKey, FolderReading] = field(default_factory=dict)
    items: tuple[TreeItem, ...] = ()
    servers: tuple[DeclaredServer, ...] = ()
    live: dict[str, LiveServer] = field(default_factory=dict)
    # Its tree is being made.
    is_publishing: bool = False

    @property
    def is_known(self) -> bool:
        """Whether all of its folders were read."""
        return all(reading.known.is_set() for reading in self.readings.values())


class SessionCustomizations:
    """What people bring to sessions: found, published, switched, and handed to turns."""

    def __init__(
        self,
        *,
        store: Store,
        writer: Writer,
        directory: Directory,
        effects: Effects,
        tasks: Tasks,
        clock: Clock,
        limits: Limits,
        agents: Mapping[str, Agent],
        client_resources: ClientResources,
        config: RootConfig,
        watcher: Callable[[], FileWatcher],
        user_folders: Sequence[Path],
        kept_away: Sequence[Path],
        workspace_dir: Path,
        roots: Sequence[str] = (),
    ) -> None:
        """``watcher`` makes the host's own on its first call; ``user_folders`` may not exist.

        Folders that somebody else than an owner chose are read as far as they lie in ``roots``.
        """
        # Told of every change in what `servers` returns.
        self.on_servers_changed: ServersChanged = _nobody
        self._writer = writer
        self._directory = directory
        self._agents = agents
        self._config = config
        self._user_folders = tuple(user_folders)
        self._roots = tuple(roots)
        self._records = EnablementRecords(store, writer.ledger)
        self._folders = FolderReadings(
            tasks, watcher, self._folder_changed, roots=roots, denied=kept_away
        )
        self._queue = PublishQueue(tasks, self._publish)
        self._plugins = ClientPlugins(
            tasks, client_resources, lambda session: self._queue.add((session,))
        )
        self._customized: dict[str, _Customized] = {}
        effects.on(CustomizationsMayDiffer, self._may_differ)
        effects.on(CustomizationToggled, self._toggled)
        directory.on_forgotten(self._forgotten)
        config.on_change(SWITCH, lambda _: self._look_at_all())
        config.on_change(PLUGINS, lambda _: self._look_at_all())

    async def open(self) -> None:
        """Read what was switched on or off: before anybody comes in, and when others decide too."""
        if await self._records.open():
            self._queue.add([each.session for each in self._customized.values()])

    async def for_turn(self, session: SessionChannel, agent_uri: str | None) -> TurnCustomizations:
        """Return what holds for a turn that begins now; AgentError if the agent is not there."""
        customized = self._customized.get(session.uri)
        if customized is None or customized.of_agent != self._of_agent(session):
            # What an agent brings may change without a word; all else is told when it happens.
            self._look(session)
            customized = self._customized.get(session.uri)
        readings = list(customized.readings.values()) if customized is not None else []
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FRESH_SECONDS):
                await asyncio.gather(*(reading.freshen() for reading in readings))
        self._queue.hurry(session)
        items = customized.items if customized is not None else ()
        if not items and agent_uri is None:
            return NO_CUSTOMIZATIONS
        return await turn_customizations(items, agent_uri)

    def servers(self, session: SessionChannel) -> Sequence[DeclaredServer]:
        """Return the MCP servers that are declared in a session, switched on or not."""
        customized = self._customized.get(session.uri)
        return customized.servers if customized is not None else ()

    def set_server_state(
        self,
        session: SessionChannel,
        id: str,
        state: McpServerState,
        channel: str | None = None,
        log: str | None = None,
        meta: JsonMapping | None = None,
        apps: McpServerCustomizationApps | None = None,
    ) -> None:
        """Publish how a server fares, and keep that when it is published anew.

        ``channel`` is its side channel as long as it has one, ``apps`` what it offers to MCP Apps
        over that. ``log`` is the terminal with its log, and ``meta`` what else is shown in its
        ``_meta``; each of these stays until another is given.
        """
        customized = self._customized.get(session.uri)
        if customized is None:
            return
        known = customized.live.get(id)
        before = known.meta if known is not None else {}
        log = log if log is not None else before.get(LOG)
        shown = {**(before if meta is None else meta), **({LOG: log} if log is not None else {})}
        customized.live[id] = LiveServer(state, channel, shown, apps)
        if customized.is_publishing:
            # Told with the tree, which is about to be.
            return
        if shown != before or apps != (known.apps if known is not None else None):
            self._publish(session)
        told: JsonObject = {"id": id, "state": state}
        if channel is not None:
            told["channel"] = channel
        self._writer.apply(session, {"type": "session/mcpServerStateChanged", **told})

    def session_ends(self, session: str, keep: bool) -> None:
        """Let go of a session that is gone; ``keep`` what it needs should it come back."""
        self._let_go(session)
        if not keep:
            self._records.forget(session)

    async def close(self) -> None:
        """End all reading and watching."""
        self._folders.close()

    # What happens to sessions

    def _may_differ(self, effect: CustomizationsMayDiffer) -> None:
        """Look again what a session has, after what happened to it."""
        # Not before what has happened is over: a session that is loaded is not in memory yet.
        asyncio.get_running_loop().call_soon(self._look, effect.session)

    def _forgotten(self, channel: AnyChannel) -> None:
        """Let go of what has left memory, if it is a session."""
        self._let_go(channel.uri)

    def _let_go(self, session: str) -> None:
        self._plugins.forget(session)
        customized = self._customized.pop(session, None)
        if customized is not None:
            for reading in customized.readings.values():
                self._folders.leave(reading, session)

    def _look_at_all(self) -> None:
        for customized in list(self._customized.values()):
            self._look(customized.session)

    def _look(self, session: SessionChannel) -> None:
        """Find out where the customizations of a session are, and read what nobody has read."""
        if not self._directory.has(session) or session.state["lifecycle"] != "ready":
            return
        customized = self._customized.setdefault(session.uri, _Customized(session))
        customized.of_agent = self._of_agent(session)
        wanted = dict.fromkeys(self._keys(session))
        for key in customized.readings.keys() - wanted.keys():
            self._folders.leave(customized.readings.pop(key), session.uri)
        # In their order, which is that of the tree.
        customized.readings = {key: self._folders.use(key, session.uri) for key in wanted}
        if self._is_on:
            self._plugins.look(session)
        else:
            self._plugins.forget(session.uri)
        self._publish(session)

    @property
    def _is_on(self) -> bool:
        return self._config.is_on(SWITCH)

    def _keys(self, session: SessionChannel) -> Iterator[FolderKey]:
        if not self._is_on:
            return
        place = extra_of(session).place
        confined = bool(self._roots) and (place is None or not place["byOwner"])
        for uri in session.state.get("workingDirectories") or ():
            if file_path(uri) is not None:
                yield FolderKey("workspace", uri, confined)
        for folder in self._user_folders:
            yield FolderKey("user", folder.as_uri())
        for text in self._config.texts(PLUGINS):
            path = file_path(text) or Path(text).expanduser()
            if path.is_absolute():
                yield FolderKey("plugin", path.as_uri())
        for uri in plugin_folders(self._of_agent(session)):
            yield FolderKey("plugin", uri, builtin=True)

    def _of_agent(self, session: SessionChannel) -> tuple[JsonMapping, ...]:
        agent = self._agents.get(session.state["provider"])
        return tuple(agent.customizations) if agent is not None else ()

    def _folder_changed(self, reading: FolderReading) -> None:
        known = [self._customized.get(uri) for uri in reading.users]
        sessions = [each.session for each in known if each is not None]
        self._queue.add(sessions)
        if len(sessions) == 1:
            self._queue.hurry(sessions[0])

    # What a session shows

    def _publish(self, session: SessionChannel) -> None:
        """Let a session show what there is, once that is known."""
        customized = self._customized.get(session.uri)
        if customized is None or not self._directory.has(session) or not customized.is_known:
            return
        decisions = self._records.of(session)
        brought = list(bounded(self._brought(customized)))
        customized.items = tuple(tree_items(brought, decisions))
        self._tell_of_servers(customized)
        tree = wire_tree(brought, decisions, customized.live)
        if self._is_on:
            tree += agent_tree(session.state["provider"], self._of_agent(session), decisions)
        shown = session.state.get("customizations")
        if shown is not None or tree or self._is_on:
            for action in tree_actions(shown, tree):
                self._writer.apply(session, action)
        extra_of(session).customizations_read.set()

    def _tell_of_servers(self, customized: _Customized) -> None:
        """Tell whoever runs servers which there are, so that what it says of them is published."""
        servers = tuple(_declared(customized.items))
        if servers == customized.servers or customized.is_publishing:
            return
        declared = {server.id for server in servers}
        customized.live = {id: live for id, live in customized.live.items() if id in declared}
        customized.servers, customized.is_publishing = servers, True
        try:
            self.on_servers_changed(customized.session)
        finally:
            customized.is_publishing = False

    def _brought(self, customized: _Customized) -> Iterator[BroughtSource]:
        work = [each for key, each in customized.readings.items() if key.use == "workspace"]
        first = work[0].real if work else None
        for key, reading in customized.readings.items():
            folder = reading.real if key.use == "workspace" else first
            within = any(Path(reading.real).is_relative_to(each.real) for each in work)
            for source in reading.sources:
                yield BroughtSource(source, folder=folder, is_within_reach=within)
        if self._is_on:
            for plugin in self._plugins.brought(customized.session.uri):
                yield replace(plugin, folder=first)

    # What is switched on or off

    def _toggled(self, effect: CustomizationToggled) -> None:
        """Keep what a client decides; the action that says so comes right behind."""
        entry, session = effect.entry, effect.session
        type = str(entry["type"])
        key = decision_key(
            type, str(entry.get("uri", "")), str(entry.get("name", "")), entry.get("contents")
        )
        decisions, shown = list(effect.decisions), list(entry.get("enablement") or ())
        if effect.publisher is not None:
            # What holds in all sessions its client decides, who says so with the plugin; that
            # somebody else does so is refused.
            general = global_decision(decisions)
            if general != global_decision(shown):
                self._plugins.decide(session.uri, effect.publisher, entry, general)
            decisions, shown = _without_global(decisions), _without_global(shown)
        seen = shown if type in TELLS_SCOPES else None
        widest = self._records.decide(session, key, decisions, shown=seen)
        asyncio.get_running_loop().call_soon(self._publish, session)
        place = first_directory(session.state)
        for other in [each.session for each in self._customized.values()]:
            is_near = widest == "workspace" and first_directory(other.state) == place
            if other is not session and (is_near or widest == "global"):
                self._queue.add((other,))


def _declared(items: Sequence[TreeItem]) -> Iterator[DeclaredServer]:
    for item in items:
        if item.found.server is not None and item.found.problem is None:
            yield DeclaredServer(
                id=item.id,
                declaration=item.found.server,
                folder=item.brought.folder,
                # What an agent could have written is not its user's word, wherever that lies.
                origin="workspace" if item.brought.is_within_reach else item.brought.source.origin,
                enabled=item.enabled,
                client_id=item.brought.client_id,
            )


def _without_global(
    decisions: Iterable[CustomizationEnablement],
) -> list[CustomizationEnablement]:
    return [each for each in decisions if each["kind"] != "global"]


def _nobody(session: SessionChannel) -> None:
    """Tell nobody."""
