"""The connection to a far host: kept up for as long as its agents are offered here.

Lives on the loop of one agent. A host that refuses is asked again from time to time, and at once
when somebody wants something of it: its token may be another one by now.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agenthost.agents.ahp.bounded_connection import MOST_MESSAGE, metered
from agenthost.agents.ahp.spec import BadFarSpec, FarSpec
from agenthost.agents.api import AgentError
from agenthost.agents.common_settings import APPROVALS, ASK_FIRST, PLACE_SETTINGS
from agenthost.client import Backoff, Client, Closed, Connected, NotAdmitted, Reconnecting
from agenthost.client import connect as make_client
from agenthost.client.link.addresses import endpoint
from agenthost.client.state.signals import Signal
from agenthost.errors import AgentHostError, InvalidParams
from agenthost.protocol import SUPPORTED_VERSIONS
from agenthost.protocol.schema.validation import validate_as

log = logging.getLogger(__name__)

# Seconds for which people wait for a far host that is away, and after which one that refuses is
# asked again.
PATIENCE = 60.0
RETRY_AFTER = 60.0
# Seconds within which a request must be answered.
REQUEST_TIMEOUT = 30.0
# People wait for it, so it is looked for more often than by a client that nobody waits for.
BACKOFF = Backoff(longest=4.0)
# Agents that one far host can be believed to have.
MOST_AGENTS = 32
# Characters of what it says of one agent, and of the settings of its sessions: every client here
# is shown them.
MOST_SAID = 64 * 1024
NO_SETTINGS: Mapping[str, Any] = {"type": "object", "properties": {}}
# The entry of a model's metadata that says at which host it is; and of an agent's capabilities, for
# an agent has no metadata and may be without models. What is there because of this host or another
# is not offered once more, or two hosts that know each other would never come to an end.
FAR = "agenthost/far"


class FarHost:
    """One far host, as one agent here is connected to it."""

    def __init__(
        self,
        spec: FarSpec,
        *,
        versions: Sequence[str] = SUPPORTED_VERSIONS,
        patience: float = PATIENCE,
        backoff: Backoff = BACKOFF,
        on_change: Callable[[], None],
    ) -> None:
        self.spec = spec
        # Seconds for which people wait for it.
        self.patience = patience
        self._versions = versions
        self._backoff = backoff
        self._on_change = on_change
        # What it offers, as it was last known, if it ever was; and what people are told why it is
        # not reached.
        self.agents: Sequence[Mapping[str, Any]] = ()
        self.was_met = False
        self.problem: str | None = None
        # The settings of a session of its agent: a schema, without those that every host adds.
        self.settings: Mapping[str, Any] = NO_SETTINGS
        self._client: Client | None = None
        self._task: asyncio.Task[None] | None = None
        self._changed = Signal()
        self._wanted = asyncio.Event()

    @property
    def name(self) -> str:
        """How people here call it."""
        return self.spec.name

    @property
    def is_connected(self) -> bool:
        """Whether it is there at this moment."""
        client = self._client
        return client is not None and isinstance(client.connection.state, Connected)

    def start(self) -> None:
        """Connect, and stay connected; idempotent."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._keep(), name=f"far host {self.name}")

    async def close(self) -> None:
        """End the connection; nobody is told of that."""
        self._on_change = _nothing
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def connected(self) -> Client:
        """Return a client that is connected, waiting for it.

        Raises:
            AgentError: the far host is away for too long, or refuses this one.
        """
        refused_before = self.problem
        self.start()
        self._wanted.set()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self.patience):
                while True:
                    count = self._changed.count
                    if self._client is not None and self.is_connected:
                        return self._client
                    if self.problem is not None and self.problem is not refused_before:
                        raise AgentError(f"{self.name}: {self.problem}", "farRefused")
                    await self._changed.wait_past(count)
        raise AgentError(f"{self.name} is not there: {self.why_away}", "farGone", resumable=True)

    @property
    def why_away(self) -> str:
        """Why it is not there, in words that hold no secrets."""
        state = self._client.connection.state if self._client is not None else None
        if isinstance(state, Reconnecting):
            return state.reason
        return self.problem or "it does not answer"

    async def _keep(self) -> None:
        while True:
            self._wanted.clear()
            self.problem = None
            try:
                await self._live()
            except (AgentHostError, OSError) as error:
                self.problem = told(self._refusal() or error)
                log.warning("the far host %s: %s", self.name, self.problem)
            self._client = None
            self._tell()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(RETRY_AFTER):
                    await self._wanted.wait()

    def _refusal(self) -> Exception | None:
        """Return why the client gave up, which whoever uses it is told less well."""
        state = self._client.connection.state if self._client is not None else None
        return state.error if isinstance(state, Closed) else None

    async def _live(self) -> None:
        """Be a client of it until it refuses for good."""
        client = make_client(
            metered(endpoint(self._find, max_message=MOST_MESSAGE)),
            versions=self._versions,
            display_name="agenthost",
            wait=True,
            backoff=self._backoff,
            request_timeout=REQUEST_TIMEOUT,
        )
        self._client = client
        client.connection.on_change(lambda _: self._tell())
        async with client:
            async for state in client.root:
                agents = _checked_agents(state)
                if agents != self.agents or self.settings is NO_SETTINGS:
                    self.agents, self.was_met = agents, True
                    self.settings = await self._ask_settings(client)
                self._tell()

    @property
    def provider(self) -> str | None:
        """The name that the agent has there; None while that is not known."""
        first = self.agents[0]["provider"] if self.agents else None
        return self.spec.agent or first

    async def _ask_settings(self, client: Client) -> Mapping[str, Any]:
        try:
            resolved = await client.sessions.config(self.provider)
            schema = validate_as("SessionConfigSchema", _bounded(resolved["schema"]))
        except (
            AgentHostError,
            TimeoutError,
            LookupError,
            TypeError,
            RecursionError,
        ) as error:
            log.info("the settings at %s are not known: %s", self.name, told(error))
            return NO_SETTINGS
        properties = {
            name: each for name, each in schema["properties"].items() if name not in PLACE_SETTINGS
        }
        if ASK_FIRST not in (properties.get(APPROVALS, {}).get("enum") or ()):
            # Whether sessions here begin by asking people is not for a far host to say.
            properties.pop(APPROVALS, None)
        required = [name for name in schema.get("required") or () if name in properties]
        return {**schema, "properties": properties, **({"required": required} if required else {})}

    async def _find(self) -> tuple[str, str | None]:
        try:
            place = await asyncio.to_thread(self.spec.find)
        except BadFarSpec as error:
            raise NotAdmitted(str(error)) from error
        return place.address, place.token

    def _tell(self) -> None:
        self._changed.send()
        self._on_change()


def _nothing() -> None:
    """Tell nobody."""


def _checked_agents(root: Any) -> list[Mapping[str, Any]]:
    """Return the agents that a far host says it has, without those that it says wrongly."""
    found: list[Mapping[str, Any]] = []
    listed = root.get("agents") if isinstance(root, Mapping) else None
    for info in listed if isinstance(listed, list) else ():
        try:
            found.append(validate_as("AgentInfo", _bounded(info)))
        except (InvalidParams, RecursionError):
            continue
        if len(found) >= MOST_AGENTS:
            break
    return found


def _bounded(said: Any) -> Any:
    """Return what a far host says if it is no longer than can be believed."""
    if len(json.dumps(said)) > MOST_SAID:
        raise InvalidParams(f"this is longer than {MOST_SAID} characters")
    return said


def is_far_itself(info: Mapping[str, Any]) -> bool:
    """Say whether an agent of a far host is at another host in turn."""
    marked = [info.get("capabilities"), *(model.get("_meta") for model in info["models"])]
    return any(FAR in (each or {}) for each in marked)


def told(error: Exception) -> str:
    """Return what people are told of a failure at a far host."""
    if isinstance(error, TimeoutError):
        return "it does not answer"
    return str(error) or type(error).__name__
