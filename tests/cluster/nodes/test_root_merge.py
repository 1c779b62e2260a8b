"""The root channel of a realm, made of what nodes say."""

from __future__ import annotations

from agenthost.cluster.nodes.node_info import NodeInfo
from agenthost.cluster.nodes.root_merge import changes, merged_agents
from agenthost.protocol.root import AgentInfo, RootState


def agent(provider: str, *models: str) -> AgentInfo:
    return {
        "provider": provider,
        "displayName": provider,
        "description": "",
        "models": [{"id": each, "provider": provider, "name": each} for each in models],
    }


A = NodeInfo("a", agents=[agent("demo", "x")])
B = NodeInfo("b", agents=[agent("llm", "m", "n"), agent("demo", "x", "y")])


def models(told: AgentInfo) -> list[str]:
    return [model["id"] for model in told["models"]]


def test_every_agent_is_there_once_with_all_its_models() -> None:
    demo, llm = merged_agents([B, A], {})
    assert (demo["provider"], models(demo)) == ("demo", ["x", "y"])
    assert (llm["provider"], models(llm)) == ("llm", ["m", "n"])


def test_the_defaults_come_first() -> None:
    first, _ = merged_agents([A, B], {"defaultAgent": "llm", "defaultModel": "n"})
    assert (first["provider"], models(first)) == ("llm", ["n", "m"])


def test_what_nodes_say_is_not_changed() -> None:
    merged_agents([A, B], {"defaultModel": "y"})
    assert models(A.agents[0]) == ["x"]
    assert models(B.agents[1]) == ["x", "y"]


def test_only_what_differs_is_written() -> None:
    state: RootState = {"agents": merged_agents([A], {}), "activeSessions": 2, "terminals": []}
    assert changes(state, [A], 2) == []
    assert [action["type"] for action in changes(state, [A, B], 3)] == [
        "root/agentsChanged",
        "root/activeSessionsChanged",
    ]
