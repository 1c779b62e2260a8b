"""Sessions: creating them step by step, forking them, and putting them away."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Literal

from agenthost.agents.api import Agent
from agenthost.errors import (
    AuthRequired,
    InvalidParams,
    ProviderNotFound,
    SessionAlreadyExists,
    SessionNotFound,
)
from agenthost.host.catalogue import Catalogue
from agenthost.host.channel import Channel
from agenthost.host.chats import UNTITLED, Chats
from agenthost.host.clock import Clock
from agenthost.host.directory import Directory
from agenthost.host.loading import reveal
from agenthost.host.origins import History, fork_history
from agenthost.host.rules.config import check_complete, sanitize
from agenthost.host.store import DropBlobs
from agenthost.host.turns import TurnRunner, describe_failure, session_context
from agenthost.host.writer import Writer
from agenthost.protocol.status import IDLE, IS_READ
from agenthost.protocol.uris import annotations_uri, is_nameable, is_root
from agenthost.tasks import Tasks

__all__ = ["Disposal", "Progress", "Sessions"]

# What becomes of a disposed session that holds turns.
Disposal = Literal["archive", "delete"]
Progress = Callable[[int, int, str], None]

# Seconds that an agent may take to start: some fetch themselves from the network first.
START_PATIENCE = 300.0
# The steps of a creation, for those who asked to be told.
CREATION_STEPS = 3


class Sessions:
    """Creates and disposes sessions."""

    def __init__(
        self,
        *,
        writer: Writer,
        directory: Directory,
        catalogue: Catalogue,
        chats: Chats,
        turns: TurnRunner,
        tasks: Tasks,
        clock: Clock,
        agents: Mapping[str, Agent],
        default_directory: str,
        disposal: Disposal,
    ) -> None:
        self._writer = writer
        self._directory = directory
        self._catalogue = catalogue
        self._chats = chats
        self._turns = turns
        self._tasks = tasks
        self._clock = clock
        self._agents = agents
        self._default_directory = default_directory
        self._disposal = disposal

    def agent(self, provider: str | None) -> Agent:
        """Return the agent of that provider id, or the default one."""
        if provider is None and self._agents:
            return next(iter(self._agents.values()))
        agent = self._agents.get(provider or "")
        if agent is None:
            raise ProviderNotFound(f"there is no agent {provider!r} on this host")
        return agent

    def capabilities(self, session: Channel | None) -> Mapping[str, Any]:
        """Return what the agent of a session can do."""
        agent = self._agents.get(session.state["provider"]) if session is not None else None
        return agent.capabilities if agent is not None else {}

    async def find(self, uri: str) -> Channel:
        """Return a session, or raise SessionNotFound."""
        session = await self._directory.find(uri)
        if session is None or session.kind != "session":
            raise SessionNotFound(f"there is no session {uri}")
        return session

    def missing_tokens(self, session: Channel, principal: str) -> list[Mapping[str, Any]]:
        """Return what a session's agent protects and the principal brought no token for."""
        agent = self._agents.get(session.state["provider"])
        resources = agent.protected_resources if agent is not None else ()
        return self._turns.credentials.missing(principal, resources)

    async def create(
        self, params: Mapping[str, Any], progress: Progress | None, principal: str = ""
    ) -> None:
        """Carry out ``createSession``: the session exists when this returns, and gets ready."""
        uri = params["channel"]
        if not is_nameable(uri):
            raise InvalidParams("no session can have this URI", path="channel")
        source, history = await self._fork_source(params.get("fork"))
        provider = source.state["provider"] if source is not None else params.get("provider")
        agent = self.agent(provider)
        missing = self._turns.credentials.missing(principal, agent.protected_resources)
        if missing:
            raise AuthRequired(missing, f"{agent.display_name} needs you to sign in")
        state = self._first_state(agent, params, source)
        taken = is_root(uri) or await self._directory.find(uri) is not None
        annotations = annotations_uri(uri)
        taken = taken or await self._directory.find(annotations) is not None
        if taken or self._directory.get(uri) is not None:
            raise SessionAlreadyExists(f"{uri} is in use")
        session = self._directory.create(uri, "session", state)
        self._directory.create(annotations, "annotations", {"annotations": []}, uri)
        self._catalogue.add(session, self._clock.now())
        work = self._get_ready(session, agent, history, progress)
        self._tasks.start(work, name=f"create {uri}")

    async def restore(self, channel: Channel) -> None:
        """End the creation of a session that is being loaded, because its host died over it."""
        if channel.kind == "session" and channel.state["lifecycle"] == "creating":
            message = "the host stopped while this session was being created"
            error = {"errorType": "hostRestarted", "message": message}
            self._writer.apply(channel, {"type": "session/creationFailed", "error": error})

    async def dispose(self, uri: str) -> None:
        """Carry out ``disposeSession``; one that holds turns is archived unless told otherwise."""
        session = await self.find(uri)
        chats = await self._load_chats(session)
        if self._directory.get(session.uri) is not session:
            raise SessionNotFound(f"there is no session {uri}")
        holds_turns = any(chat.state["turns"] or chat.state.get("activeTurn") for chat in chats)
        if holds_turns and self._disposal == "archive":
            self._archive(session, chats)
        else:
            self._delete(session, chats)
        agent = self._agents.get(session.state["provider"])
        if agent is not None:
            self._end(agent, session.uri)

    def _end(self, agent: Agent, uri: str) -> None:
        self._tasks.start(agent.end_session(uri), name=f"end {uri}")

    async def _load_chats(self, session: Channel) -> list[Channel]:
        """Return all chats of a session, those too that are added while others are loaded."""
        found: dict[str, Channel | None] = {}
        while missing := [
            chat["resource"] for chat in session.state["chats"] if chat["resource"] not in found
        ]:
            for uri in missing:
                found[uri] = await self._directory.find(uri)
        return [chat for chat in found.values() if chat and self._directory.get(chat.uri) is chat]

    def _archive(self, session: Channel, chats: list[Channel]) -> None:
        for chat in chats:
            self._turns.cancel(chat)
        for client in session.state["activeClients"]:
            # Whoever does not follow a session is not active there.
            action = {"type": "session/activeClientRemoved", "clientId": client["clientId"]}
            self._writer.apply(session, action)
        self._writer.apply(session, {"type": "session/isArchivedChanged", "isArchived": True})
        for channel in (*chats, self._directory.get(annotations_uri(session.uri)), session):
            if channel is not None:
                self._directory.end_subscriptions(channel)
        # Those who watched lose it, and find it again among the archived ones.
        self._catalogue.remove(session.uri, forget=False)
        self._catalogue.announce(session)

    def _delete(self, session: Channel, chats: list[Channel]) -> None:
        for chat in chats:
            self._chats.remove(chat)
        annotations = self._directory.get(annotations_uri(session.uri))
        if annotations is not None:
            self._directory.drop(annotations)
        self._directory.drop(session)
        self._writer.ledger.write(DropBlobs(session.uri))
        self._turns.permissions.forget(session.uri)
        self._catalogue.remove(session.uri)

    def _first_state(
        self, agent: Agent, params: Mapping[str, Any], source: Channel | None
    ) -> dict[str, Any]:
        state: dict[str, Any] = {
            "provider": agent.provider,
            "title": UNTITLED,
            "status": IDLE | IS_READ,
            "lifecycle": "creating",
            "activeClients": [],
            "chats": [],
        }
        if source is not None:
            state["title"] = source.state["title"]
            directories = source.state.get("workingDirectories")
        else:
            directories = params.get("workingDirectories") or [self._default_directory]
            if agent.capabilities.get("multipleWorkingDirectories") is None:
                directories = directories[:1]
        if directories is not None:
            state["workingDirectories"] = list(directories)
        if "activeClient" in params:
            state["activeClients"] = [params["activeClient"]]
        config = self._config(agent, params, source, directories)
        return {**state, "config": config} if config["schema"]["properties"] else state

    def _config(
        self,
        agent: Agent,
        params: Mapping[str, Any],
        source: Channel | None,
        directories: Any,
    ) -> dict[str, Any]:
        inherited = (source.state.get("config") or {}).get("values", {}) if source else {}
        values = {**inherited, **params.get("config", {})}
        schema = agent.config_schema(values, directories[0] if directories else None)
        complete = {**sanitize(schema, {}), **values}
        refusal = check_complete(schema, complete)
        if refusal is not None:
            raise InvalidParams(refusal, path="config")
        return {"schema": dict(schema), "values": complete}

    async def _fork_source(self, fork: Mapping[str, Any] | None) -> tuple[Channel | None, History]:
        if fork is None:
            return None, History()
        source = await self.find(fork["session"])
        default = source.state.get("defaultChat")
        chats = sorted(source.state["chats"], key=lambda chat: chat["resource"] != default)
        for entry in chats:
            chat = await self._directory.find(entry["resource"])
            history = fork_history(chat, fork["turnId"], source) if chat is not None else None
            if chat is not None and history is not None:
                reveal(chat, fork["turnId"])
                return source, history
        raise InvalidParams("the session has no such completed turn", path="fork.turnId")

    async def _get_ready(
        self, session: Channel, agent: Agent, history: History, progress: Progress | None
    ) -> None:
        def step(number: int, message: str) -> None:
            if progress is not None:
                progress(number, CREATION_STEPS, message)

        step(1, f"starting {agent.display_name}")
        # Nobody may be watching, and yet it must not leave memory half made.
        session.holds += 1
        error = await _start(agent, session, self._turns.credentials.mask)
        history = await self._chats.own(history, session)
        session.holds -= 1
        present = self._directory.get(session.uri)
        if present is None and error is None:
            # It was disposed while its agent was starting, which has something to let go of now.
            self._end(agent, session.uri)
        if present is session:
            if error is not None:
                self._writer.apply(session, {"type": "session/creationFailed", "error": error})
            else:
                step(2, "opening a chat")
                self._chats.add_default(session, history)
                if agent.tools:
                    tools = [dict(tool) for tool in agent.tools]
                    self._writer.apply(
                        session, {"type": "session/serverToolsChanged", "tools": tools}
                    )
                self._writer.apply(session, {"type": "session/ready"})
        step(CREATION_STEPS, "done")


async def _start(
    agent: Agent, session: Channel, mask: Callable[[str], str]
) -> dict[str, Any] | None:
    """Let an agent prepare for a session; return what to tell people when it cannot."""
    try:
        async with asyncio.timeout(START_PATIENCE) as patience:
            await agent.start_session(session_context(session.uri, session.state, {}))
    except Exception as error:
        if isinstance(error, TimeoutError) and patience.expired():
            return {"errorType": "timeout", "message": "the agent did not start in time"}
        error_type, message = describe_failure(error, session.uri, mask)
        return {"errorType": error_type, "message": message}
    return None
