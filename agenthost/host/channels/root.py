"""The root channel: opened at the start, told what the agents are like; what its settings do."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar, cast

from agenthost.host.channels.root_kind import ROOT_KIND
from agenthost.host.channels.root_rules import kept_values, root_values
from agenthost.host.channels.root_schema import root_schema
from agenthost.host.core import HostCore
from agenthost.host.store import DropChannel, StoreDamaged
from agenthost.protocol.uris import ROOT

if TYPE_CHECKING:
    from agenthost.protocol.common import ConfigSchema, JsonMapping, JsonObject
    from agenthost.protocol.root import AgentInfo, RootState

log = logging.getLogger(__name__)

_M = TypeVar("_M", bound="JsonMapping")


async def open_root(core: HostCore) -> None:
    """Register the root channel: stored values, and today's agents as ordinary actions."""
    # The first number is for the start itself: what clients are told before anything happens must
    # not lie in the gap that a crash left, or they could not be replayed to.
    core.writer.ledger.take_seq()
    build = {"agenthost": dict(core.server_info)}
    schema, flags = root_schema(core.config.flags), core.config.flags
    try:
        stored = await core.directory.find(ROOT)
    except StoreDamaged as error:
        # It holds little that is not made anew at every start, and nobody could come in without it.
        log.error("the host's own settings are lost: %s", error)
        core.writer.ledger.write(DropChannel(ROOT))
        stored = None
    if stored is None or not _is_current(stored.state, schema, flags, build):
        # No action changes a schema or the metadata, so those who were away need a snapshot.
        config = stored.state.get("config") if stored else None
        chosen = kept_values(config["values"], config["schema"]["properties"]) if config else {}
        if stored is not None:
            core.directory.drop(stored)
        values = root_values(chosen, flags)
        state: RootState = {
            "agents": await _agents(core, values),
            "activeSessions": core.catalogue.count,
            "terminals": [],
            "config": {"schema": schema, "values": values},
            "_meta": build,
        }
        core.directory.create(ROOT, ROOT_KIND, state)
        return
    config = stored.state.get("config")
    agents = await _agents(core, config["values"] if config else {})
    for action in (
        {"type": "root/agentsChanged", "agents": agents},
        {"type": "root/activeSessionsChanged", "activeSessions": core.catalogue.count},
        {"type": "root/terminalsChanged", "terminals": []},
    ):
        core.writer.apply(stored, action)


async def announce_agents(core: HostCore) -> None:
    """Tell clients what the agents are like now."""
    config = core.root.state.get("config")
    agents = await _agents(core, config["values"] if config else {})
    core.writer.apply(core.root, {"type": "root/agentsChanged", "agents": agents})


def take_up_settings(core: HostCore) -> None:
    """Let the settings take effect as they are, and whenever one is changed."""
    config, turns = core.config, core.turns

    def wait_so_long(_: object) -> None:
        turns.prompt_timeout = config.seconds("promptTimeout")

    def tell_of_agents(_: object) -> None:
        core.tasks.start(announce_agents(core), "announce agents")

    def order_models(models: Sequence[JsonMapping]) -> Sequence[JsonMapping]:
        return _with_first(models, "id", config.text("defaultModel"))

    config.on_change("promptTimeout", wait_so_long)
    wait_so_long(None)
    # Clients take the first agent, and of its models the first, as the default.
    config.on_change("defaultAgent", tell_of_agents)
    config.on_change("defaultModel", tell_of_agents)
    turns.order_models = order_models


def _with_first(items: Sequence[_M], member: str, wanted: str) -> list[_M]:
    """Return items with the one first that is chosen as the default, if it is there."""
    return sorted(items, key=lambda item: item[member] != wanted)


async def _agents(core: HostCore, values: JsonObject) -> list[AgentInfo]:
    """Describe the agents; clients take the first of them, and of its models, as the default."""
    told = [await core.loops.read(agent, agent.info) for agent in list(core.agents.values())]
    model = str(values.get("defaultModel", ""))
    ordered = [{**each, "models": _with_first(each["models"], "id", model)} for each in told]
    chosen = str(values.get("defaultAgent", ""))
    return cast("list[AgentInfo]", _with_first(ordered, "provider", chosen))


def _is_current(
    state: RootState, schema: ConfigSchema, flags: Mapping[str, object], build: JsonObject
) -> bool:
    config = state.get("config")
    if config is None or config["schema"] != schema or state.get("_meta") != build:
        return False
    return all(config["values"].get(key) == value for key, value in flags.items())
