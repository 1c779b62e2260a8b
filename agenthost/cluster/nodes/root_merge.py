"""The root channel of a realm, made of what its nodes say: agents, terminals, settings (pure)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from agenthost.cluster.nodes.node_info import NodeInfo
    from agenthost.protocol.common import Action
    from agenthost.protocol.root import AgentInfo, RootState
    from agenthost.protocol.terminal import TerminalInfo


def merged_agents(nodes: Iterable[NodeInfo], values: Mapping[str, Any]) -> list[AgentInfo]:
    """Return all agents once: as the first node has them, with the models that any node has.

    The default agent, and of its models the default one, comes first.
    """
    agents: dict[str, dict[str, Any]] = {}
    for node in sorted(nodes, key=lambda node: node.id):
        for agent in node.agents:
            known = agents.setdefault(agent["provider"], {**agent, "models": []})
            ids = {model["id"] for model in known["models"]}
            known["models"] += [model for model in agent["models"] if model["id"] not in ids]
    model, provider = values.get("defaultModel"), values.get("defaultAgent")
    for each in agents.values():
        each["models"].sort(key=lambda known: known["id"] != model)
    ordered = sorted(agents.values(), key=lambda known: known["provider"] != provider)
    return cast("list[AgentInfo]", ordered)


def merged_terminals(nodes: Iterable[NodeInfo]) -> list[TerminalInfo]:
    """Return the terminals of all nodes, in an order that does not depend on theirs."""
    terminals = {each["resource"]: each for node in nodes for each in node.terminals}
    return [terminals[uri] for uri in sorted(terminals)]


def changes(state: RootState, nodes: Iterable[NodeInfo], sessions: int) -> list[Action]:
    """Return the actions that bring the root channel up to what the nodes say."""
    known, config = list(nodes), state.get("config")
    agents = merged_agents(known, config["values"] if config else {})
    terminals = merged_terminals(known)
    actions: list[Action] = []
    if state["agents"] != agents:
        actions.append({"type": "root/agentsChanged", "agents": agents})
    if state.get("activeSessions") != sessions:
        actions.append({"type": "root/activeSessionsChanged", "activeSessions": sessions})
    if state.get("terminals", []) != terminals:
        actions.append({"type": "root/terminalsChanged", "terminals": terminals})
    return actions
