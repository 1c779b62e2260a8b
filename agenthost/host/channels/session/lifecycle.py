"""Sessions: creating them, forking them, collecting drafts, and putting them away."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import TYPE_CHECKING, Literal, ParamSpec, Protocol, TypeVar, cast

from msgspec.structs import replace

from agenthost.agents.api import Agent
from agenthost.agents.common_settings import DIRECTORY
from agenthost.clock import Clock
from agenthost.errors import (
    AlreadyExists,
    AuthRequired,
    InvalidParams,
    ProviderNotFound,
    SessionAlreadyExists,
    SessionNotFound,
)
from agenthost.host.channels.annotations_kind import ANNOTATIONS
from agenthost.host.channels.chat.consequences import CancelTurn, CloseCanvases
from agenthost.host.channels.chat.extra import ChatChannel
from agenthost.host.channels.chat.fork import History, fork_history
from agenthost.host.channels.chat.kind import CHAT
from agenthost.host.channels.chat.lifecycle import ChatRegistry
from agenthost.host.channels.chat.window import show_turn
from agenthost.host.channels.session.catalogue import SessionCatalogue
from agenthost.host.channels.session.consequences import (
    CustomizationsMayDiffer,
    EndAgentSession,
    ReleaseWorkspace,
    TellRunOfSession,
)
from agenthost.host.channels.session.content_owners import ContentOwners
from agenthost.host.channels.session.drafts import Drafts, holds_nothing
from agenthost.host.channels.session.git_metadata import GitMetadata
from agenthost.host.channels.session.kind import SESSION, SessionChannel, extra_of
from agenthost.host.channels.session.participants import Participants
from agenthost.host.channels.session.places import Places
from agenthost.host.channels.session.records import (
    Permissions,
    PlaceRecords,
    ResumeStates,
    first_directory,
    inherit_decisions,
)
from agenthost.host.channels.session.trash import Trash
from agenthost.host.channels.settings import check_complete, sanitize, with_approvals
from agenthost.host.channels.titles import UNTITLED_SESSION, title_of
from agenthost.host.log.directory import Directory
from agenthost.host.log.effects import Effects
from agenthost.host.log.writer import Writer
from agenthost.host.trust.credentials import Credentials
from agenthost.host.trust.principals import Starter
from agenthost.protocol.own_members import FORK
from agenthost.protocol.status import IDLE, IS_ARCHIVED, IS_READ
from agenthost.protocol.uris import annotations_uri, default_chat_uri, is_nameable, is_root
from agenthost.tokens import Role

if TYPE_CHECKING:
    from agenthost.protocol.annotations import AnnotationsState
    from agenthost.protocol.common import JsonObject, ProtectedResourceMetadata
    from agenthost.protocol.session.state import (
        ProjectInfo,
        SessionConfigSchema,
        SessionConfigState,
        SessionOrigin,
        SessionState,
    )

_P = ParamSpec("_P")
_T = TypeVar("_T")

# What becomes of a disposed session that holds anything.
Disposal = Literal["trash", "delete"]

# The key in a creation's ``_meta`` that keeps a session although nobody uses it.
KEEP = "agenthost.keep"


class AgentCalls(Protocol):
    """The way into the agents' own code."""

    async def read(
        self, agent: Agent, function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs
    ) -> _T:
        """Call a plain function of an agent where that lives."""
        ...


class SessionRegistry:
    """Creates and disposes sessions."""

    def __init__(
        self,
        *,
        writer: Writer,
        directory: Directory,
        catalogue: SessionCatalogue,
        chats: ChatRegistry,
        effects: Effects,
        permissions: Permissions,
        participants: Participants,
        resume_states: ResumeStates,
        credentials: Credentials,
        drafts: Drafts,
        git: GitMetadata,
        places: Places,
        place_records: PlaceRecords,
        trash: Trash,
        content_owners: ContentOwners,
        clock: Clock,
        agents: Mapping[str, Agent],
        loops: AgentCalls,
        default_directory: str,
        setting: Callable[[str], str],
    ) -> None:
        """``setting`` returns one of the host's own settings that is a text."""
        self._writer = writer
        self._directory = directory
        self._catalogue = catalogue
        self._chats = chats
        self._effects = effects
        self._permissions = permissions
        self._participants = participants
        self._resume_states = resume_states
        self._credentials = credentials
        self._drafts = drafts
        self._git = git
        self._places = places
        self._place_records = place_records
        self._trash = trash
        self._content_owners = content_owners
        self._clock = clock
        self._agents = agents
        self._loops = loops
        self._default_directory = default_directory
        self._setting = setting
        # Entered while a session is made, where others make sessions too; raises WireError if its
        # name is one of theirs.
        self.claimed: Callable[[str], AbstractAsyncContextManager[None]] = lambda uri: nullcontext()

    def agent(self, provider: str | None) -> Agent:
        """Return the agent of that provider id, or the default one."""
        if provider is None and self._agents:
            chosen = self._agents.get(self._setting("defaultAgent"))
            return chosen or next(iter(self._agents.values()))
        agent = self._agents.get(provider or "")
        if agent is None:
            raise ProviderNotFound(f"there is no agent {provider!r} on this host")
        return agent

    async def find(self, uri: str) -> SessionChannel:
        """Return a session, or raise SessionNotFound."""
        session = await self._directory.find(uri, SESSION)
        if session is None:
            raise SessionNotFound(f"there is no session {uri}")
        return session

    def missing_tokens(
        self, session: SessionChannel, principal: str
    ) -> list[ProtectedResourceMetadata]:
        """Return what a session's agent protects and the principal brought no token for."""
        agent = self._agents.get(session.state["provider"])
        return self._missing(agent, principal) if agent is not None else []

    def _missing(self, agent: Agent, principal: str) -> list[ProtectedResourceMetadata]:
        resources = cast("Sequence[ProtectedResourceMetadata]", agent.protected_resources)
        return self._credentials.missing(principal, resources)

    async def create(
        self,
        params: JsonObject,
        starter: Starter,
        role: Role,
        *,
        origin: SessionOrigin | None = None,
        title: str = UNTITLED_SESSION,
    ) -> None:
        """Carry out ``createSession``: when this returns, the session and its chat take turns.

        Its agent is not started before a turn needs it, and it counts as a draft until it is used.
        ``role`` is the starter's; ``origin`` says what made it, where that was not a client.
        """
        uri = params["channel"]
        if not is_nameable(uri):
            raise InvalidParams("no session can have this URI", path="channel")
        source, history = await self._fork_source((params.get("_meta") or {}).get(FORK))
        provider = source.state["provider"] if source is not None else params.get("provider")
        agent = self.agent(provider)
        missing = self._missing(agent, starter.principal)
        if missing:
            raise AuthRequired(missing, f"{agent.display_name} needs you to sign in")
        trusted = role is Role.OWNER
        if source is not None:
            trusted = self._place_records.is_trusted(source)
        state = await self._first_state(agent, params, source, role)
        project = await self._places.project(first_directory(state), trusted=trusted)
        if origin is not None:
            state["origin"], state["title"] = origin, title
        existing = await self._directory.find(uri, SESSION)
        if existing is not None and await self._is_own_draft(existing, agent, starter):
            # An editor that lost the answer, or forgot that it asked, asks again.
            self._choose_again(existing, state)
            return
        history = await self._chats.with_own_content(history, uri)
        async with self.claimed(uri):
            for name in (uri, annotations_uri(uri), default_chat_uri(uri)):
                if is_root(name) or await self._directory.find(name) or self._directory.get(name):
                    raise SessionAlreadyExists(f"{name} is in use")
            session = self._begin(uri, state)
            self._participants.add(session, starter.principal)
            if source is not None:
                self._place_records.inherit(session, source)
                inherit_decisions(self._writer.ledger, session, source)
            else:
                self._place_records.begin(session, by_owner=trusted)
            self._chats.add_default(session, history)
            self.announce(session, project)
            if (params.get("_meta") or {}).get(KEEP) is not True and not history.turns:
                self._drafts.add(uri, starter.client_id or "")

    def begin_beside(self, source: SessionChannel, uri: str, chat: ChatChannel) -> SessionChannel:
        """Make a session like another, under a new name, for a chat that comes from there.

        Nobody hears of it before ``announce``.
        """
        agent = self.agent(source.state["provider"])
        state = _empty_state(agent, title_of(chat, source))
        state["status"] |= chat.state["status"] & IS_ARCHIVED
        for key in ("workingDirectories", "config"):
            if key in source.state:
                state[key] = source.state[key]
        session = self._begin(uri, state)
        self._participants.copy(source, session)
        self._place_records.inherit(session, source)
        inherit_decisions(self._writer.ledger, session, source)
        return session

    def _begin(self, uri: str, state: SessionState) -> SessionChannel:
        session = self._directory.create(uri, SESSION, state)
        nothing: AnnotationsState = {"annotations": []}
        self._directory.create(annotations_uri(uri), ANNOTATIONS, nothing, uri)
        return session

    def _choose_again(self, session: SessionChannel, wanted: SessionState) -> None:
        """Take over settings that are chosen anew for a session that nobody has used."""
        old, new = session.state.get("config"), wanted.get("config")
        if old is not None and new is not None and old["values"] != new["values"]:
            changed = {"type": "session/configChanged", "config": new["values"], "replace": True}
            self._writer.apply(session, changed)

    def announce(self, session: SessionChannel, project: ProjectInfo | None = None) -> None:
        """Let a new session that has its default chat be ready, and tell everybody of it."""
        agent = self.agent(session.state["provider"])
        if agent.tools:
            tools = [dict(tool) for tool in agent.tools]
            self._writer.apply(session, {"type": "session/serverToolsChanged", "tools": tools})
        self._writer.apply(session, {"type": "session/ready"})
        self._catalogue.add(session, self._clock.now(), project=project)
        self._git.refresh(session)

    async def _is_own_draft(self, session: SessionChannel, agent: Agent, starter: Starter) -> bool:
        creator = self._drafts.creator(session.uri)
        own = creator is not None and creator == starter.client_id
        same = session.state["provider"] == agent.provider
        return own and same and await self._is_draft(session)

    async def _is_draft(self, session: SessionChannel) -> bool:
        chats = await self.chats_of(session)
        annotations = await self._directory.find(annotations_uri(session.uri), ANNOTATIONS)
        noted = annotations.state if annotations is not None else None
        return holds_nothing(session.state, [chat.state for chat in chats], noted)

    async def collect_drafts(self, seconds: float) -> None:
        """Remove the drafts that nobody has followed for so long, and tell everybody."""
        for uri in self._drafts.abandoned(seconds):
            session = await self._directory.find(uri, SESSION)
            if session is None or not await self._is_draft(session):
                self._drafts.forget(uri)
            elif uri in self._drafts.abandoned(seconds):
                # Nobody came while it was looked at, and nothing is awaited from here on.
                chats = [
                    self._directory.get(chat["resource"], CHAT) for chat in session.state["chats"]
                ]
                self._delete(session, [chat for chat in chats if chat is not None])

    async def dispose(self, uri: str) -> None:
        """Carry out ``disposeSession``: out of every list, and into the trash if it holds anything.

        Whoever follows it is told: its turns are cancelled, then its chats are gone, then it is.
        """
        session = await self.find(uri)
        annotations = await self._directory.find(annotations_uri(uri), ANNOTATIONS)
        # Last, for others may come and go while anything is awaited.
        chats = await self.chats_of(session)
        if not self._directory.has(session):
            raise SessionNotFound(f"there is no session {uri}")
        noted = annotations.state if annotations is not None else None
        empty = holds_nothing(session.state, [chat.state for chat in chats], noted)
        had_turns = any(chat.state["turns"] or chat.state.get("activeTurn") for chat in chats)
        for chat in chats:
            self._effects.carry_out(CancelTurn(chat))
            self._effects.carry_out(CloseCanvases(chat))
        keeps = self._setting("dispose") == "trash" and not empty
        if keeps:
            self._trash.put(session, chats, annotations, self._catalogue.created_at(session))
        self._delete(session, chats, keep_content=keeps)
        self._effects.carry_out(EndAgentSession(session, had_turns))

    async def restore_disposed(self, uri: str) -> None:
        """Take a session back from the trash, as it was, except that nobody is active in it."""
        packed = await self._trash.find(uri)
        if packed is None:
            raise SessionNotFound(f"there is no session {uri} in the trash")
        states = [chat["state"] for chat in packed["chats"]]
        async with self.claimed(uri):
            for name in (uri, annotations_uri(uri), *(state["resource"] for state in states)):
                if await self._directory.find(name) is not None or self._directory.get(name):
                    raise AlreadyExists(f"{name} is in use")
            session = self._directory.create(uri, SESSION, packed["state"])
            self._directory.create(annotations_uri(uri), ANNOTATIONS, packed["annotations"], uri)
            extra_of(session).decided = packed.get("decided", {})
            self._participants.add(session, *packed.get("participants", ()))
            for chat in packed["chats"]:
                self._chats.restore_from_trash(
                    session, chat["state"], chat["context"], chat["attached"]
                )
            self._trash.drop(uri)
            self._catalogue.add(session, packed["createdAt"], packed["annotations"])
            self._tell_run(session, is_gone=False)
            await self._place_records.restore(session)
            self._git.refresh(session)
            self._effects.carry_out(CustomizationsMayDiffer(session, "loaded"))

    async def purge(self, uri: str) -> None:
        """Delete a session in the trash for good."""
        if await self._trash.find(uri) is None:
            raise SessionNotFound(f"there is no session {uri} in the trash")
        self._trash.drop(uri)
        if await self._directory.find(uri) is None:
            self._content_owners.drop(uri)
            self._effects.carry_out(ReleaseWorkspace(uri, keep=False))

    async def chats_of(self, session: SessionChannel) -> list[ChatChannel]:
        """Return all chats of a session, those too that are added while others are loaded."""
        found: dict[str, ChatChannel | None] = {}
        while missing := [
            chat["resource"] for chat in session.state["chats"] if chat["resource"] not in found
        ]:
            for uri in missing:
                found[uri] = await self._directory.find(uri, CHAT)
        # Some may be gone by now, or in another session.
        chats = [chat for chat in found.values() if chat and self._directory.has(chat)]
        return [chat for chat in chats if chat.session == session.uri]

    def _delete(
        self, session: SessionChannel, chats: list[ChatChannel], *, keep_content: bool = False
    ) -> None:
        for chat in chats:
            self._chats.remove(chat)
        annotations = self._directory.get(annotations_uri(session.uri))
        if annotations is not None:
            self._directory.drop(annotations)
        self._directory.drop(session)
        self._drafts.forget(session.uri)
        if not keep_content:
            self._content_owners.drop(session.uri)
        self._permissions.forget(session)
        self._participants.forget(session)
        self._resume_states.forget(session)
        self._catalogue.remove(session)
        self._effects.carry_out(ReleaseWorkspace(session.uri, keep=keep_content))
        self._tell_run(session, is_gone=True)

    def _tell_run(self, session: SessionChannel, *, is_gone: bool) -> None:
        origin = session.state.get("origin")
        if origin is not None:
            self._effects.carry_out(TellRunOfSession(session.uri, origin, is_gone))

    async def _first_state(
        self, agent: Agent, params: JsonObject, source: SessionChannel | None, role: Role
    ) -> SessionState:
        state = _empty_state(agent, UNTITLED_SESSION)
        if source is not None:
            state["title"] = source.state["title"]
            directories = source.state.get("workingDirectories")
        else:
            directories = params.get("workingDirectories") or [self._default_directory]
            # It is a set that has an order, and changes to it name each of them once.
            directories = list(dict.fromkeys(directories))
            if agent.capabilities.get("multipleWorkingDirectories") is None:
                directories = directories[:1]
        if "activeClient" in params:
            state["activeClients"] = [params["activeClient"]]
        config = await self._config(agent, params, source, directories, role)
        if config["schema"]["properties"]:
            state["config"] = config
        if directories is not None:
            state["workingDirectories"] = list(directories)
            inner = await self._places.inner_folder(directories[0], config["values"], role)
            if inner is not None and source is None:
                others = [each for each in directories[1:] if each != inner]
                state["workingDirectories"] = [inner, *others]
        return state

    async def _config(
        self,
        agent: Agent,
        params: JsonObject,
        source: SessionChannel | None,
        directories: Sequence[str] | None,
        role: Role,
    ) -> SessionConfigState:
        inherited = source.state.get("config") if source is not None else None
        values = {**(inherited["values"] if inherited else {}), **params.get("config", {})}
        if source is not None:
            # It works where its source works: inside of what that has chosen there is nothing else.
            values.pop(DIRECTORY, None)
        primary = directories[0] if directories else None
        offered = await self._loops.read(agent, agent.config_schema, values, primary)
        schema, values = await self._places.schema(
            self.with_defaults(cast("SessionConfigSchema", dict(offered))), values, primary, role
        )
        # Editors send what they remember of other hosts: what does not fit here is left out.
        kept = sanitize(schema, values)
        refusal = check_complete(schema, kept)
        if refusal is not None:
            raise InvalidParams(refusal, path="config")
        return {"schema": schema, "values": kept}

    def with_defaults(self, offered: SessionConfigSchema) -> SessionConfigSchema:
        """Return an agent's schema with the defaults that the host's settings choose."""
        return with_approvals(offered, self._setting("approvals"))

    async def _fork_source(self, fork: object) -> tuple[SessionChannel | None, History]:
        if fork is None:
            return None, History()
        match fork:
            case {"session": str(session), "turnId": str(turn_id)}:
                source = await self.find(session)
            case _:
                raise InvalidParams("a fork names a session and a turn", path=f"_meta.{FORK}")
        default = source.state.get("defaultChat")
        chats = sorted(source.state["chats"], key=lambda chat: chat["resource"] != default)
        for entry in chats:
            chat = await self._directory.find(entry["resource"], CHAT)
            history = fork_history(chat, turn_id, source) if chat is not None else None
            if chat is not None and history is not None:
                show_turn(chat, turn_id)
                origin = {"kind": "fork", "chat": chat.uri, "turnId": turn_id}
                return source, replace(history, origin=origin)
        raise InvalidParams("the session has no such completed turn", path=f"_meta.{FORK}.turnId")


def _empty_state(agent: Agent, title: str) -> SessionState:
    return {
        "provider": agent.provider,
        "title": title,
        "status": IDLE | IS_READ,
        "lifecycle": "creating",
        "activeClients": [],
        "chats": [],
    }
