"""The root channel: opened when the host starts, and told what the agents are like."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, cast

from agenthost.host.channels.root_kind import ROOT_KIND
from agenthost.host.channels.settings import sanitize
from agenthost.host.core import HostCore
from agenthost.host.store import DropChannel, StoreDamaged
from agenthost.protocol.uris import ROOT

if TYPE_CHECKING:
    from agenthost.protocol.common import ConfigSchema, JsonObject
    from agenthost.protocol.root import AgentInfo, RootState

log = logging.getLogger(__name__)

# What a client may change of the host itself.
CONFIG_SCHEMA: ConfigSchema = {
    "type": "object",
    "properties": {
        "welcome": {
            "type": "string",
            "title": "Welcome message",
            "description": "Shown by clients when they connect to this host",
            "default": "",
        },
        "defaultShell": {
            "type": "string",
            "title": "Shell",
            "description": "The path of the shell in new terminals; without one, the user's own",
        },
    },
}


async def open_root(core: HostCore) -> None:
    """Register the root channel: stored values, and today's agents as ordinary actions."""
    # The first number is for the start itself: what clients are told before anything happens must
    # not lie in the gap that a crash left, or they could not be replayed to.
    core.writer.ledger.take_seq()
    agents = [await core.loops.read(agent, agent.info) for agent in core.agents.values()]
    build = {"agenthost": dict(core.server_info)}
    try:
        stored = await core.directory.find(ROOT)
    except StoreDamaged as error:
        # It holds little that is not made anew at every start, and nobody could come in without it.
        log.error("the host's own settings are lost: %s", error)
        core.writer.ledger.write(DropChannel(ROOT))
        stored = None
    if stored is None or not _is_current(stored.state, build):
        # No action changes a schema or the metadata, so those who were away need a snapshot.
        values = (stored.state.get("config") or {}).get("values", {}) if stored else {}
        kept = {**values, **sanitize(CONFIG_SCHEMA, values)}
        if stored is not None:
            core.directory.drop(stored)
        state: RootState = {
            "agents": cast("list[AgentInfo]", agents),
            "activeSessions": core.catalogue.count,
            "terminals": [],
            "config": {"schema": CONFIG_SCHEMA, "values": kept},
            "_meta": build,
        }
        core.directory.create(ROOT, ROOT_KIND, state)
        return
    for action in (
        {"type": "root/agentsChanged", "agents": agents},
        {"type": "root/activeSessionsChanged", "activeSessions": core.catalogue.count},
        {"type": "root/terminalsChanged", "terminals": []},
    ):
        core.writer.apply(stored, action)


async def announce_agents(core: HostCore) -> None:
    """Tell clients what the agents are like now."""
    agents = [await core.loops.read(agent, agent.info) for agent in core.agents.values()]
    core.writer.apply(core.root, {"type": "root/agentsChanged", "agents": agents})


def _is_current(state: RootState, build: JsonObject) -> bool:
    config = state.get("config")
    schema = config.get("schema") if config else None
    return schema == CONFIG_SCHEMA and state.get("_meta") == build
