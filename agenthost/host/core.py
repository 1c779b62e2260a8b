"""The parts of a running host, wired together and named once.

Handlers receive this and nothing else, so what they may touch is listed here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from agenthost.agents.api import Agent
from agenthost.clock import Clock
from agenthost.host.channels.automation.catalogue import AutomationCatalogue
from agenthost.host.channels.canvas.canvases import Canvases
from agenthost.host.channels.changeset.changesets import Changesets
from agenthost.host.channels.chat.completions import FileSearches
from agenthost.host.channels.chat.lifecycle import ChatRegistry
from agenthost.host.channels.resource_watch.watches import ResourceWatches
from agenthost.host.channels.session.active_clients import ActiveClients
from agenthost.host.channels.session.catalogue import SessionCatalogue
from agenthost.host.channels.session.content_owners import ContentOwners
from agenthost.host.channels.session.drafts import Drafts
from agenthost.host.channels.session.lifecycle import SessionRegistry
from agenthost.host.channels.session.participants import Participants
from agenthost.host.channels.session.places import Places
from agenthost.host.channels.session.repository_watches import RepositoryWatches
from agenthost.host.channels.session.trash import Trash
from agenthost.host.channels.session.workspace_release import WorkspaceReleases
from agenthost.host.channels.session.worktrees import SessionWorktrees
from agenthost.host.channels.terminal.terminals import HostTerminals
from agenthost.host.clients.client_records import Clients
from agenthost.host.clients.fair_queue import FairQueue
from agenthost.host.clients.wire_log import WireLog
from agenthost.host.customizations.service import SessionCustomizations
from agenthost.host.delivery.budget import Budget
from agenthost.host.files.client_resources import ClientResources
from agenthost.host.files.commands import ResourceFiles
from agenthost.host.folder_trust import FolderTrust
from agenthost.host.http.metrics import Metrics
from agenthost.host.log.directory import Directory
from agenthost.host.log.effects import Effects
from agenthost.host.log.kind import Handler
from agenthost.host.log.writer import Writer
from agenthost.host.mcp.servers import McpServers
from agenthost.host.push.book import PushBook
from agenthost.host.push.watch import PushWatch
from agenthost.host.root_config import RootConfig
from agenthost.host.store import Store
from agenthost.host.telemetry import Telemetry
from agenthost.host.token_commands import NamedTokens
from agenthost.host.trust import Limits, Policy, PolicyContext, ShellPolicy
from agenthost.host.trust.credentials import Credentials
from agenthost.host.turns.agent_loops import AgentLoops
from agenthost.host.turns.runner import TurnRunner
from agenthost.tasks import Tasks

if TYPE_CHECKING:
    from agenthost.host.clients.connection import Connection
    from agenthost.host.log.channel import LiveChannel
    from agenthost.host.other_machines import Machines
    from agenthost.host.remote_owner import RemoteOwner
    from agenthost.protocol.commands import Implementation
    from agenthost.protocol.root import RootState


class ListNewsSource(Protocol):
    """Tells clients that were away what has changed in the list of sessions."""

    def knows(self, last_seen: int) -> bool:
        """Say whether all is known that has changed since a number."""
        ...

    async def send_missed(self, connection: Connection, last_seen: int) -> None:
        """Tell a client what has changed since what it saw last."""
        ...


class HostCore(Struct):
    """One host's parts."""

    store: Store
    writer: Writer
    directory: Directory
    # Who carries out what follows from what happens in a channel.
    effects: Effects
    # Who decides, where this host shows what others own; None where it owns it itself.
    remote_owner: RemoteOwner | None
    catalogue: SessionCatalogue
    chats: ChatRegistry
    sessions: SessionRegistry
    turns: TurnRunner
    automations: AutomationCatalogue
    canvases: Canvases
    changesets: Changesets
    drafts: Drafts
    trash: Trash
    content_owners: ContentOwners
    clients: Clients
    active_clients: ActiveClients
    # Who may use the files and terminals of which session.
    participants: Participants
    # The host's own settings.
    config: RootConfig
    # What people bring to sessions; and which servers of it may be started.
    customizations: SessionCustomizations
    mcp: McpServers
    folder_trust: FolderTrust
    telemetry: Telemetry
    credentials: Credentials
    # The named tokens that owners manage.
    access: NamedTokens
    # What browsers are pushed that want it.
    push_book: PushBook
    push_watch: PushWatch
    tasks: Tasks
    clock: Clock
    agents: Mapping[str, Agent]
    # The one way to call into the agents' code.
    loops: AgentLoops
    limits: Limits
    # What waits for all clients together.
    budget: Budget
    # Whose message is handled next.
    fair_queue: FairQueue
    # Held while a large frame is looked over.
    large_frames: asyncio.Lock
    policy: Policy
    # What the policy may need to know of this host.
    policy_context: PolicyContext
    # The methods that single kinds of channels bring.
    kind_methods: Mapping[str, Handler]
    metrics: Metrics
    wire_log: WireLog | None
    # What ``initialize`` tells of this host.
    server_info: Implementation
    default_directory: str
    # Which build of the page is served; None where there is none.
    page_build: str | None
    # Real paths of the folders that the host was told to work in.
    roots: tuple[str, ...]
    # Where the host keeps what it needs to know of files it works on; nobody else's.
    workspace_dir: Path
    shells: ShellPolicy
    # The files that clients ask for.
    files: ResourceFiles
    # The resources that clients serve.
    client_resources: ClientResources
    # The files that are offered for attaching.
    file_searches: FileSearches
    # The files that clients want to know the changes of.
    watches: ResourceWatches
    # Where sessions work, and may work.
    places: Places
    worktrees: SessionWorktrees
    # What happens in the repositories of sessions besides their turns.
    repository_watches: RepositoryWatches
    # Who is told when a session goes.
    releases: WorkspaceReleases
    terminals: HostTerminals
    # The machines that this host is one of; None where it is alone.
    machines: Machines | None = None
    # Who tells of the list of sessions; without one the catalogue does, which knows its own.
    news: ListNewsSource | None = None

    @property
    def root(self) -> LiveChannel[RootState]:
        """The root channel, which is always in memory."""
        return self.directory.root
