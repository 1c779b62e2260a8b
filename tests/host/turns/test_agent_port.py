"""When text crosses from the agent's loop to the host's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest

from agenthost.host.turns import agent_port
from agenthost.host.turns.agent_loops import Crossing
from agenthost.host.turns.agent_port import MOST_PIECES, AgentPort
from agenthost.host.turns.running_turn import RunningTurn

# Longer than any test: every piece follows the one before it quickly.
ALWAYS_QUICK = 1e9


class Host:
    """The host's end, as far as it takes over what is emitted."""

    def __init__(self) -> None:
        self.crossings: list[list[str]] = []

    def post(self, function: Callable[[Any], None], argument: Any) -> None:
        function(argument)

    def emit_all(self, actions: list[dict[str, Any]]) -> None:
        self.crossings.append([action["content"] for action in actions])

    def emit(self, action: dict[str, Any]) -> None:
        self.crossings.append([action["type"]])


@pytest.fixture
def host() -> Host:
    return Host()


@pytest.fixture
def port(host: Host) -> AgentPort:
    return AgentPort(cast(RunningTurn, host), cast(Crossing, host))


def write(port: AgentPort, text: str) -> None:
    port.emit({"type": "chat/delta", "turnId": "t", "partId": "p", "content": text})


async def test_text_that_comes_alone_crosses_at_once(
    host: Host, port: AgentPort, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_port, "QUICK", -1.0)
    write(port, "a")
    write(port, "b")
    assert host.crossings == [["a"], ["b"]]


async def test_what_is_written_without_a_pause_crosses_together_when_the_tick_ends(
    host: Host, port: AgentPort, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_port, "QUICK", ALWAYS_QUICK)
    for text in "abc":
        write(port, text)
    assert host.crossings == [["a"]]
    await asyncio.sleep(0)
    assert host.crossings == [["a"], ["b", "c"]]


async def test_text_that_waits_crosses_before_whatever_follows_it(
    host: Host, port: AgentPort, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_port, "QUICK", ALWAYS_QUICK)
    for text in "abc":
        write(port, text)
    port.emit({"type": "chat/usage", "turnId": "t", "usage": {}})
    assert host.crossings == [["a"], ["b", "c"], ["chat/usage"]]
    await asyncio.sleep(0)
    assert len(host.crossings) == 3


async def test_of_much_that_is_written_in_one_tick_no_more_crosses_at_a_time_than_may(
    host: Host, port: AgentPort, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_port, "QUICK", ALWAYS_QUICK)
    for _ in range(2 + 2 * MOST_PIECES):
        write(port, "x")
    await asyncio.sleep(0)
    assert [len(pieces) for pieces in host.crossings] == [1, MOST_PIECES, MOST_PIECES, 1]
