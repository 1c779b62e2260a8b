"""Which node gets what."""

from __future__ import annotations

from dataclasses import replace

from agenthost.cluster.nodes.node_info import NodeInfo
from agenthost.cluster.nodes.placement import best_place, heir
from agenthost.protocol.root import AgentInfo


def agent(provider: str) -> AgentInfo:
    return {"provider": provider, "displayName": provider, "description": "", "models": []}


def node(name: str, *providers: str, roots: tuple[str, ...] = ("/src",)) -> NodeInfo:
    return NodeInfo(name, agents=[agent(each) for each in providers], roots=list(roots))


A, B, C = node("a", "demo"), node("b", "demo", "llm"), node("c", "demo", roots=("/srv",))


def test_a_session_goes_to_the_node_with_its_agent() -> None:
    assert best_place([A, B, C], "llm", []) == "b"


def test_no_node_is_found_for_an_agent_that_none_has() -> None:
    assert best_place([A, B, C], "acp", []) is None


def test_a_session_goes_where_its_directories_are() -> None:
    assert best_place([A, B, C], "demo", ["file:///srv/app"]) == "c"


def test_directories_that_no_node_has_are_for_the_owner_to_refuse() -> None:
    assert best_place([A, B, C], "demo", ["file:///elsewhere"]) is not None


def test_a_directory_beside_a_root_is_not_inside_it() -> None:
    assert best_place([C, A], "demo", ["file:///srv2"], prefer=None) is not None
    assert best_place([A, C], "demo", ["file:///srv"]) == "c"


def test_the_preferred_node_wins_if_it_fits() -> None:
    assert best_place([A, B], "demo", [], prefer="b") == "b"
    assert best_place([A, B], "llm", [], prefer="a") == "b"


def test_the_node_that_does_least_wins() -> None:
    busy = replace(A, turns=3)
    assert best_place([busy, B], "demo", []) == "b"


def test_a_node_that_leaves_gets_nothing() -> None:
    leaving = replace(B, draining=True)
    assert best_place([A, leaving], "demo", [], prefer="b") == "a"
    assert best_place([leaving], "demo", []) is None
    assert heir("ahp-session:/x", [leaving], "demo") is None


def test_all_nodes_agree_on_an_heir_in_whatever_order_they_know_each_other() -> None:
    units = [f"ahp-session:/{number}" for number in range(300)]
    assert [heir(unit, [A, B, C], "demo") for unit in units] == [
        heir(unit, [C, A, B], "demo") for unit in units
    ]


def test_what_a_dead_node_leaves_is_spread_and_nothing_else_moves() -> None:
    units = [f"ahp-session:/{number}" for number in range(300)]
    before = {unit: heir(unit, [A, B, C], "demo") for unit in units}
    after = {unit: heir(unit, [A, B], "demo") for unit in units}
    assert {after[unit] for unit in units if before[unit] == "c"} == {"a", "b"}
    assert all(after[unit] == before[unit] for unit in units if before[unit] != "c")


def test_where_none_has_the_agent_one_keeps_the_session_readable() -> None:
    assert heir("ahp-session:/x", [A, C], "llm") in ("a", "c")
