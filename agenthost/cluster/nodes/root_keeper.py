"""The leader's work on the realm's root channel: it follows what nodes say and writes what changed.

It keeps no state of its own: what the channel is, the copy says, after every change anew.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

import orjson

from agenthost.clock import Clock
from agenthost.cluster.nodes.root_merge import changes, merged_agents, merged_terminals
from agenthost.cluster.units import REALM
from agenthost.errors import AgentHostError
from agenthost.host.channels.root_kind import ROOT_KIND
from agenthost.host.channels.root_rules import kept_values, root_values
from agenthost.host.channels.root_schema import root_schema
from agenthost.host.channels.session.kind import SESSION
from agenthost.host.store import Append, DropChannel, DropSession, SaveSnapshot
from agenthost.protocol.jsonrpc import dumps
from agenthost.protocol.reduction import reduce_canonical
from agenthost.protocol.uris import ROOT

if TYPE_CHECKING:
    from agenthost.cluster.commits import RealmWrite
    from agenthost.cluster.copy import Applied, LocalCopy
    from agenthost.cluster.nodes.beats import Nodes
    from agenthost.host.store import Write
    from agenthost.protocol.root import RootState

log = logging.getLogger(__name__)

# Seconds between looks at the number of sessions, should one have been missed.
_LOOK_SECONDS = 1.0
# Seconds that a commit of this node's own takes at most to be read back, before it looks again.
_READ_BACK_SECONDS = 10.0


class RootKeeper:
    """Keeps the realm's root channel while this node leads."""

    def __init__(
        self,
        copy: LocalCopy,
        nodes: Nodes,
        clock: Clock,
        *,
        build: Mapping[str, Any],
        flags: Mapping[str, object],
    ) -> None:
        self._copy = copy
        self._nodes = nodes
        self._clock = clock
        # What the channel tells of the program, and the settings that the command line decides.
        self._meta = {"agenthost": dict(build)}
        self._flags = flags
        self._news = asyncio.Event()
        # Whether the channel was as this node wants it.
        self.is_kept = False
        # The message that was news last.
        self._heard = 0
        nodes.on_change(self._news.set)
        copy.on_commit(self._hear)

    def _hear(self, applied: Applied) -> None:
        if applied.unit == REALM or any(map(_changes_count, applied.writes)):
            self._heard = applied.seq
            self._news.set()

    async def keep(self, write: Callable[..., asyncio.Future[None]]) -> None:
        """Bring the channel up to date again and again, for as long as this node leads.

        ``write`` writes to the unit of the realm.
        """
        sessions = -1
        while True:
            # What is told can be read a moment later.
            await self._copy.reached(self._heard)
            count = await self._copy.store.count_sessions()
            if self._news.is_set() or count != sessions:
                self._news.clear()
                sessions = count
                await self._bring_up(write, count)
                self.is_kept = True
            # Not by `wait_for`: on Python 3.11 it loses a cancel that comes together with news.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_SECONDS):
                    await self._news.wait()

    async def _bring_up(self, write: Callable[..., asyncio.Future[None]], sessions: int) -> None:
        state = await self._state()
        nodes = list(self._nodes.living.values())
        writes: list[Write] = []
        if state is None or not self._is_current(state):
            # No action changes a schema or the metadata, so those who were away need a snapshot.
            if state is not None:
                writes.append(DropChannel(ROOT))
            values = self._values(state)
            fresh: RootState = {
                "agents": merged_agents(nodes, values),
                "activeSessions": sessions,
                "terminals": merged_terminals(nodes),
                "config": {"schema": root_schema(self._flags), "values": values},
                "_meta": self._meta,
            }
            writes.append(SaveSnapshot(ROOT, ROOT_KIND.name, 0, dumps(fresh)))
        else:
            now = self._clock.now()
            writes += [
                Append(0, ROOT, now, dumps(action)) for action in changes(state, nodes, sessions)
            ]
        if not writes:
            return
        await write(*writes)
        # What was written is news itself; until it can be read, it would be written again.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_READ_BACK_SECONDS):
                await self._copy.reached(self._copy.last_of(REALM))

    async def _state(self) -> RootState | None:
        """Return the root channel as the copy has it."""
        stored = await self._copy.store.load_channel(ROOT)
        if stored is None:
            return None
        try:
            state = cast("RootState", orjson.loads(stored.state))
            for entry in stored.tail:
                state = reduce_canonical("root", state, orjson.loads(entry.action), entry.now)
        except (orjson.JSONDecodeError, AgentHostError) as error:
            log.error("the realm's own settings are lost: %s", error)
            return None
        return state

    def _values(self, state: RootState | None) -> dict[str, Any]:
        config = state.get("config") if state is not None else None
        chosen = kept_values(config["values"], config["schema"]["properties"]) if config else {}
        return root_values(chosen, self._flags)

    def _is_current(self, state: RootState) -> bool:
        config = state.get("config")
        if config is None or config["schema"] != root_schema(self._flags):
            return False
        if state.get("_meta") != self._meta:
            return False
        return all(config["values"].get(key) == value for key, value in self._flags.items())


def _changes_count(numbered: tuple[int, RealmWrite]) -> bool:
    """Say whether a write may begin or end a session."""
    write = numbered[1]
    is_new = isinstance(write, SaveSnapshot) and write.kind == SESSION.name
    return is_new or isinstance(write, DropSession)
