"""How the parts of a host are made and made known to each other, once, before anything runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from agenthost.agents.api import Agent
from agenthost.clock import Clock
from agenthost.host.channels.automation.catalogue import AutomationCatalogue
from agenthost.host.channels.automation.runs import AutomationRuns
from agenthost.host.channels.automation.templates import Templates
from agenthost.host.channels.canvas.canvases import Canvases
from agenthost.host.channels.changeset.changesets import Changesets
from agenthost.host.channels.changeset.checkpoint_book import CheckpointBook
from agenthost.host.channels.changeset.turn_changes import TurnChanges
from agenthost.host.channels.chat.completions import FileSearches
from agenthost.host.channels.chat.lifecycle import ChatRegistry
from agenthost.host.channels.chat.mode_changes import ModeChanges
from agenthost.host.channels.resource_watch.watches import ResourceWatches
from agenthost.host.channels.session.active_clients import ActiveClients
from agenthost.host.channels.session.catalogue import SessionCatalogue
from agenthost.host.channels.session.content_owners import ContentOwners
from agenthost.host.channels.session.directories import Directories
from agenthost.host.channels.session.drafts import Drafts
from agenthost.host.channels.session.git_metadata import GitMetadata
from agenthost.host.channels.session.lifecycle import SessionRegistry
from agenthost.host.channels.session.participants import Participants
from agenthost.host.channels.session.places import Places, Workplaces
from agenthost.host.channels.session.records import Permissions, PlaceRecords, ResumeStates
from agenthost.host.channels.session.repository_watches import RepositoryWatches
from agenthost.host.channels.session.trash import Trash
from agenthost.host.channels.session.workspace_release import WorkspaceReleases
from agenthost.host.channels.session.worktrees import SessionWorktrees
from agenthost.host.channels.terminal.terminals import HostTerminals
from agenthost.host.clients.client_records import Clients
from agenthost.host.clients.fair_queue import FairQueue
from agenthost.host.clients.wire_log import WireLog
from agenthost.host.core import HostCore
from agenthost.host.customizations.service import SessionCustomizations
from agenthost.host.delivery.budget import Budget
from agenthost.host.delivery.fanout import Fanout
from agenthost.host.files.client_resources import ClientResources
from agenthost.host.files.commands import ResourceFiles
from agenthost.host.files.content import is_content
from agenthost.host.files.reach import Reach
from agenthost.host.folder_trust import FolderTrust
from agenthost.host.host_metrics import host_metrics
from agenthost.host.log.directory import Directory
from agenthost.host.log.effects import Effects
from agenthost.host.log.kind import AnyKind
from agenthost.host.log.ledger import Ledger
from agenthost.host.log.writer import Writer
from agenthost.host.mcp.servers import McpServers
from agenthost.host.push.book import PushBook
from agenthost.host.push.sender import Connector, PushSender
from agenthost.host.push.watch import PushWatch
from agenthost.host.root_config import RootConfig
from agenthost.host.startup import page_build, server_info
from agenthost.host.store import Store, StoreError
from agenthost.host.telemetry import Telemetry
from agenthost.host.token_commands import NamedTokens
from agenthost.host.trust import (
    Limits,
    Policy,
    PolicyContext,
    Principal,
    ShellPolicy,
)
from agenthost.host.trust.credentials import Credentials
from agenthost.host.turns.agent_loops import AgentLoops
from agenthost.host.turns.agent_starts import AgentStarts
from agenthost.host.turns.runner import TurnRunner
from agenthost.tasks import Tasks
from agenthost.tokens import TokenBook
from agenthost.workspace.git.program import GitProgram

if TYPE_CHECKING:
    from agenthost.host.log.deliveries import Delivery
    from agenthost.host.remote_owner import RemoteOwner


class MakeLedger(Protocol):
    """Makes the ledger of a host."""

    def __call__(
        self,
        store: Store,
        *,
        release: Callable[[Sequence[Delivery]], None],
        on_failure: Callable[[StoreError], None],
    ) -> Ledger:
        """Make a ledger that hands on by ``release``."""
        ...


class HostSettings(Struct, frozen=True):
    """What a host was told to be; see `Host` for what each means."""

    agents: Mapping[str, Agent]
    limits: Limits
    policy: Policy
    clock: Clock
    directory_uri: str
    roots: tuple[str, ...]
    active_grace: float
    silence_limit: float | None
    is_admitted: Callable[[str], bool]
    kinds: tuple[AnyKind, ...]
    shells: ShellPolicy
    kept_away: tuple[Path, ...]
    token_book: TokenBook | None
    push_file: Path | None
    push_connector: Connector | None
    # Where the user's own customizations lie.
    user_folders: tuple[Path, ...]
    # Settings that the command line decides, by their key.
    flags: Mapping[str, object]
    # Whether people are shown how an agent failed.
    dev: bool = False


def wire(
    settings: HostSettings,
    store: Store,
    wire_log: WireLog | None,
    workspace_dir: Path,
    *,
    connections: Callable[[], int],
    counts: Callable[[Principal], bool],
    on_failure: Callable[[StoreError], None],
    make_ledger: MakeLedger = Ledger,
    remote_owner: RemoteOwner | None = None,
    push_book: PushBook | None = None,
) -> HostCore:
    """Make the parts of a host.

    ``connections`` counts those that are open; ``counts`` says whether somebody would still be let
    in; ``on_failure`` is told when the store fails. ``make_ledger`` and ``remote_owner`` are for
    hosts that decide nothing themselves.
    """
    fanout = Fanout()
    ledger = make_ledger(store, release=fanout.release, on_failure=on_failure)
    clock, tasks = settings.clock, Tasks()
    effects = Effects()
    directory = Directory(store, ledger, clock, settings.kinds, effects)
    writer = Writer(ledger, directory, effects, clock)
    catalogue = SessionCatalogue(store, writer, directory, effects)
    permissions, credentials = Permissions(ledger), Credentials(clock)
    resume_states = ResumeStates(ledger)
    participants = Participants(ledger, directory, effects)
    git_program = GitProgram()
    places = Places(tasks, settings.roots, [workspace_dir, *settings.kept_away])
    place_records = PlaceRecords(store, ledger, effects)
    git = GitMetadata(
        writer, directory, catalogue, effects, tasks, git_program, places, place_records
    )
    trash = Trash(store, ledger, clock)
    drafts = Drafts(store, ledger, directory, clock)
    content_owners = ContentOwners(store, ledger)
    loops = AgentLoops(settings.agents, ledger)
    chats = ChatRegistry(store, writer, directory, effects, clock)
    canvases = Canvases(writer, directory, effects)
    clients = Clients(store, ledger)
    push_book = push_book or PushBook(settings.push_file)
    catalogue.observer = push_watch = PushWatch(
        push_book,
        PushSender(clock, settings.push_connector),
        tasks,
        clock,
        is_seen=lambda name: any(
            each.is_visible and each.principal.name == name for each in clients.live()
        ),
        counts=lambda each: counts(each.principal),
    )
    releases = WorkspaceReleases(effects)
    terminals = HostTerminals(
        store=store,
        writer=writer,
        directory=directory,
        effects=effects,
        tasks=tasks,
        limits=settings.limits,
        is_here=clients.is_here,
    )
    releases.on_release(terminals.end_session)
    client_resources = ClientResources(clients, participants, directory, settings.limits)
    config = RootConfig(directory, effects, settings.flags)
    telemetry = Telemetry(
        writer=writer,
        directory=directory,
        effects=effects,
        tasks=tasks,
        config=config,
        mask=credentials.mask,
        metrics=lambda: metrics,
        version=server_info().get("version"),
    )
    folder_trust = FolderTrust(store, ledger, clock)
    releases.on_release(folder_trust.session_ends)
    customizations = SessionCustomizations(
        store=store,
        writer=writer,
        directory=directory,
        effects=effects,
        tasks=tasks,
        clock=clock,
        limits=settings.limits,
        agents=settings.agents,
        client_resources=client_resources,
        config=config,
        watcher=lambda: watches.watcher,
        user_folders=settings.user_folders,
        kept_away=[workspace_dir, *settings.kept_away],
        roots=settings.roots,
        workspace_dir=workspace_dir,
    )
    mcp = McpServers(
        writer=writer,
        directory=directory,
        effects=effects,
        tasks=tasks,
        clock=clock,
        limits=settings.limits,
        customizations=customizations,
        trust=folder_trust,
        credentials=credentials,
        participants=participants,
        terminals=terminals,
        config=config,
        workspace_dir=workspace_dir,
    )
    releases.on_release(mcp.session_ends)
    releases.on_release(customizations.session_ends)
    turns = TurnRunner(
        writer,
        chats,
        effects,
        clock,
        settings.agents,
        loops,
        starts=AgentStarts(tasks, loops),
        permissions=permissions,
        resume_states=resume_states,
        credentials=credentials,
        canvases=canvases,
        read_published=client_resources.read_bytes,
        customizations=customizations,
        mcp=mcp,
        telemetry=telemetry,
        terminals=terminals,
        shells=settings.shells,
        silence_limit=settings.silence_limit,
        dev=settings.dev,
    )
    worktrees = SessionWorktrees(
        writer, directory, catalogue, effects, tasks, git_program, places, place_records
    )
    turns.hooks.add_preparation(worktrees)
    ModeChanges(writer, directory, effects)
    active = ActiveClients(clients, writer, directory, effects, settings.active_grace)
    Directories(writer, directory, effects, settings.agents, loops, credentials.mask)
    sessions = SessionRegistry(
        writer=writer,
        directory=directory,
        catalogue=catalogue,
        chats=chats,
        effects=effects,
        permissions=permissions,
        participants=participants,
        resume_states=resume_states,
        credentials=credentials,
        drafts=drafts,
        git=git,
        places=places,
        place_records=place_records,
        trash=trash,
        content_owners=content_owners,
        clock=clock,
        agents=settings.agents,
        loops=loops,
        default_directory=settings.directory_uri,
        setting=config.text,
    )
    book = CheckpointBook(store, ledger, git_program, workspace_dir / "checkpoints")
    workplaces = Workplaces(places, place_records)
    changesets = Changesets(
        writer, directory, effects, tasks, clock, book, workplaces, settings.limits
    )
    turns.hooks.add_witness(TurnChanges(writer, directory, effects, tasks, changesets))
    releases.on_release(changesets.end_session)
    reach = Reach(participants, settings.roots, [workspace_dir, *settings.kept_away])
    context = PolicyContext(
        resource_roots=reach.real_folders, host_roots=settings.roots, is_content=is_content
    )
    templates = Templates(
        directory, sessions, loops, settings.policy, context, settings.is_admitted
    )
    runs = AutomationRuns(
        writer=writer,
        directory=directory,
        effects=effects,
        clock=clock,
        tasks=tasks,
        sessions=sessions,
        turns=turns,
        templates=templates,
    )
    automations = AutomationCatalogue(
        store=store,
        writer=writer,
        directory=directory,
        effects=effects,
        clock=clock,
        templates=templates,
        runs=runs,
    )
    watches = ResourceWatches(writer, directory, effects, settings.limits, reach.reaches)
    releases.on_release(watches.session_goes)
    # Last: nothing runs or watches in there any more.
    releases.on_release(worktrees.release)
    metrics = host_metrics(connections, ledger, fanout, turns, catalogue, runs)
    return HostCore(
        store=store,
        writer=writer,
        directory=directory,
        effects=effects,
        remote_owner=remote_owner,
        catalogue=catalogue,
        chats=chats,
        sessions=sessions,
        turns=turns,
        automations=automations,
        canvases=canvases,
        changesets=changesets,
        drafts=drafts,
        trash=trash,
        content_owners=content_owners,
        clients=clients,
        active_clients=active,
        participants=participants,
        config=config,
        customizations=customizations,
        mcp=mcp,
        folder_trust=folder_trust,
        telemetry=telemetry,
        credentials=credentials,
        access=NamedTokens(settings.token_book),
        push_book=push_book,
        push_watch=push_watch,
        tasks=tasks,
        clock=clock,
        agents=settings.agents,
        loops=loops,
        limits=settings.limits,
        budget=Budget(settings.limits.max_waiting_bytes),
        fair_queue=FairQueue(),
        large_frames=asyncio.Lock(),
        policy=settings.policy,
        policy_context=context,
        kind_methods={name: h for kind in settings.kinds for name, h in kind.methods.items()},
        metrics=metrics,
        wire_log=wire_log,
        server_info=server_info(),
        default_directory=settings.directory_uri,
        page_build=page_build(),
        roots=settings.roots,
        workspace_dir=workspace_dir,
        shells=settings.shells,
        places=places,
        worktrees=worktrees,
        repository_watches=RepositoryWatches(directory, git, lambda: watches.watcher),
        releases=releases,
        terminals=terminals,
        files=ResourceFiles(reach, settings.limits),
        client_resources=client_resources,
        file_searches=FileSearches(),
        watches=watches,
    )
