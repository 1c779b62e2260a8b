"""FarAgent: an agent of another AHP host, offered here as this host's own.

Turns are worked on over there: ``far_turn`` has one of them, ``far_session`` where it happens,
``far_host`` the connection. What the far host says of its agent is what clients here are shown.
"""

from __future__ import annotations

import logging
import re
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, TypedDict

from agenthost.agents.ahp.far_host import BACKOFF, FAR, PATIENCE, FarHost, is_far_itself, told
from agenthost.agents.ahp.far_session import FarSession
from agenthost.agents.ahp.far_turn import FarTurn
from agenthost.agents.ahp.messages import check_hops
from agenthost.agents.ahp.spec import FarSpec, parse_far_spec
from agenthost.agents.api import Agent, SlashCommand
from agenthost.agents.turn import Turn
from agenthost.client import Backoff, Chat, Client
from agenthost.errors import AgentHostError
from agenthost.protocol import SUPPORTED_VERSIONS
from agenthost.tasks import Tasks

log = logging.getLogger(__name__)

# What can be believed of the commands of an agent.
MOST_COMMANDS = 200
LONGEST_DESCRIPTION = 200
_COMMAND = re.compile(r"[\w:.-]{1,64}")


def make_far_agent(spec: str) -> FarAgent:
    """Make the agent that ``ahp:NAME=ADDRESS`` or ``ahp:NAME=@FILE`` names.

    Raises:
        BadFarSpec: the spec is not of that form, or its file cannot be read.
    """
    return FarAgent(parse_far_spec(spec))


class FarManner(TypedDict):
    """How a far host is reached."""

    versions: Sequence[str]
    patience: float
    backoff: Backoff


class FarAgent(Agent):
    """One agent of a far host; the first of a host brings its others along."""

    # A turn that this host interrupted goes on over there, and is found again.
    resumable = True

    def __init__(
        self,
        spec: FarSpec,
        *,
        versions: Sequence[str] = SUPPORTED_VERSIONS,
        provider: str | None = None,
        patience: float = PATIENCE,
        backoff: Backoff = BACKOFF,
    ) -> None:
        """Describe an agent; nothing is connected before a host offers it.

        Args:
            spec: where the far host is, and which of its agents this is about.
            versions: the protocol versions to offer, most preferred first.
            provider: the name of this agent here; by default the far host's.
            patience: seconds for which a turn waits for a far host that is away.
            backoff: how long to wait between attempts to reach it.
        """
        self.provider = provider or spec.name
        self.display_name = self.provider
        self.description = f"An agent of {spec.name}, which was not reached yet"
        self.capabilities = {FAR: {}}
        self._spec = spec
        # Its others are reached as it is.
        self._manner: FarManner = {"versions": versions, "patience": patience, "backoff": backoff}
        self._host = FarHost(spec, versions=versions, patience=patience, on_change=self._look)
        # Marks messages that come through here, so that one which comes back is known again.
        self._mark = uuid.uuid4().hex
        # What the far host said of the agent, and what clients were told of it being there or away.
        self._info: Mapping[str, Any] | None = None
        self._announced: object = None
        # Those with a running turn, by the URI of the session here.
        self._sessions: dict[str, FarSession] = {}
        self._tasks = Tasks()
        # Other agents of the far host that are offered because of this one.
        self._others: set[str] = set()

    async def offered(self) -> None:
        """Connect to the far host, to know what it offers."""
        self._host.start()

    async def run(self, turn: Turn) -> None:
        """Let the far agent work on the turn."""
        hops = check_hops(turn.message, self._mark, self._host.name)
        if not self._host.is_connected:
            await turn.set_activity(f"Waiting for {self._host.name}")
        client = await self._host.connected()
        async with self._session(turn.session.session, client) as far:
            session, chat = await far.chat(turn)
            if not self.slash_commands:
                self._tasks.start(self._learn_commands(chat), name="ask for commands")
            await FarTurn(self._host, client, turn, session, chat).run(hops)

    def config_schema(
        self, values: Mapping[str, Any], working_directory: str | None
    ) -> Mapping[str, Any]:
        """Return the settings that a session of the far agent has, as it was last asked."""
        return self._host.settings

    async def close(self) -> None:
        """End the connection."""
        await self._tasks.close()
        await self._host.close()

    async def _learn_commands(self, chat: Chat) -> None:
        """Offer what messages to the far agent may begin with; only a chat there can tell."""
        try:
            items = await chat.completions("/")
        except (AgentHostError, TimeoutError) as error:
            log.info("the commands at %s are not known: %s", self._host.name, told(error))
            return
        self.slash_commands = tuple(commands_in(items))

    @asynccontextmanager
    async def _session(self, uri: str, client: Client) -> AsyncIterator[FarSession]:
        """Follow a far session as long as turns of it run; nothing is kept of those that rest."""
        far = self._sessions.get(uri)
        if far is None or far.client is not client:
            far = self._sessions[uri] = FarSession(self._host, client)
        far.users += 1
        try:
            yield far
        finally:
            far.users -= 1
            if not far.users:
                far.close()
                if self._sessions.get(uri) is far:
                    del self._sessions[uri]

    # What clients here are told.

    def _look(self) -> None:
        """See what the far host offers now, and whether it is there."""
        wanted = self._spec.agent
        found = (a for a in self._host.agents if wanted is None or a["provider"] == wanted)
        info = next(found, None)
        is_there = self._host.is_connected
        now = (info, is_there, self._host.was_met, None if is_there else self._host.why_away)
        if now == self._announced:
            return
        self._announced, self._info = now, info
        self._describe(info)
        self._offer_others()
        self.changed()

    def _describe(self, info: Mapping[str, Any] | None) -> None:
        name = self._host.name
        if info is None:
            is_there = self._host.is_connected and self._host.was_met
            why = "has no such agent" if is_there else f"is not reachable: {self._host.why_away}"
            self.models, self.description = (), f"{name} {why}"
            return
        mark = {FAR: name}
        self.models = [
            {**model, "_meta": {**(model.get("_meta") or {}), **mark}} for model in info["models"]
        ]
        self.capabilities = {**(info.get("capabilities") or {}), FAR: {}}
        self.display_name = f"{info['displayName']} ({name})"
        self.description = str(info["description"])
        if not self._host.is_connected:
            self.models = ()
            self.description = f"{name} is not reachable: {self._host.why_away}"

    def _offer_others(self) -> None:
        """Offer the far host's other agents, where this one is just its first."""
        if self._spec.agent is not None or self.on_offered is None:
            return
        for info in self._host.agents[1:]:
            provider = str(info["provider"])
            if provider in self._others or is_far_itself(info):
                continue
            self._others.add(provider)
            spec = replace(self._spec, agent=provider)
            name = f"{self._spec.name}-{provider}"
            self.on_offered(FarAgent(spec, provider=name, **self._manner))


def commands_in(items: Sequence[Any]) -> Iterator[SlashCommand]:
    """Yield the commands among what a far host offers after a slash."""
    for item in items[:MOST_COMMANDS]:
        match item:
            case {"attachment": {"_meta": {"command": str(name), **more}}}:
                if _COMMAND.fullmatch(name):
                    description, hint = more.get("description"), more.get("argumentHint")
                    yield SlashCommand(name, _line(description), _line(hint))


def _line(text: object) -> str:
    return " ".join(text.split())[:LONGEST_DESCRIPTION] if isinstance(text, str) else ""
