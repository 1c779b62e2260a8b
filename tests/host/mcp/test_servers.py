"""All servers of a host: how many run, which of them turns start, and which rest."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec.structs import replace

from agenthost.agents.api import AgentError
from agenthost.clock import SystemClock
from agenthost.host.channels.session.consequences import CheckMcpRequest
from agenthost.host.customizations.service import DeclaredServer
from agenthost.host.log.effects import Effects
from agenthost.host.mcp.servers import IDLE, McpServers
from agenthost.host.trust.credentials import Credentials
from agenthost.host.trust.principals import Starter
from agenthost.mcp.types import ServerDeclaration
from agenthost.protocol.status import IDLE as RESTING
from agenthost.protocol.status import IS_ARCHIVED
from agenthost.tasks import Tasks
from tests.mcp.fake_worker import FakeWorker, Script


class Ticking(SystemClock):
    """Time that passes when a test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds = 0.0
        self._tick = asyncio.Event()

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self._tick.clear()
        await self._tick.wait()

    async def pass_by(self, seconds: float) -> None:
        """Let time pass, and whatever follows from that happen."""
        self.seconds += seconds
        self._tick.set()
        for _ in range(10):
            await asyncio.sleep(0)


class Declared:
    """What a session declares, and what is published of it."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.declared = [
            DeclaredServer(f"c-{name}", ServerDeclaration(name, command=("x",)), "/r", "user", True)
            for name in names
        ]
        self.states: dict[str, str] = {}

    def servers(self, session: object) -> list[DeclaredServer]:
        return self.declared

    def set_server_state(self, session: Any, id: str, state: Any, *more: Any) -> None:
        self.states[id.removeprefix("c-")] = state["kind"]


class World:
    """A host's servers without the host."""

    def __init__(self, *names: str) -> None:
        self.clock, self.tasks, self.effects = Ticking(), Tasks(), Effects()
        self.brought = Declared(names)
        self.session: Any = SimpleNamespace(
            uri="ahp-session:/s",
            state={"chats": []},
            settled={"status": RESTING},
            subscriptions={},
        )
        stub: Any = SimpleNamespace(
            on_forgotten=lambda tell: None,
            on_withdrawn=lambda tell: None,
            has=lambda channel: True,
        )
        config: Any = SimpleNamespace(is_on=lambda key: True, on_change=lambda key, tell: None)
        nothing: Any = None
        self.mcp = McpServers(
            writer=nothing,
            directory=stub,
            effects=self.effects,
            tasks=self.tasks,
            clock=self.clock,
            limits=nothing,
            customizations=cast("Any", self.brought),
            trust=stub,
            credentials=Credentials(),
            participants=nothing,
            terminals=nothing,
            config=config,
            workspace_dir=nothing,
            worker=lambda: FakeWorker(**{name: Script() for name in names}),
        )

    @property
    def states(self) -> dict[str, str]:
        return self.brought.states

    async def turn(self, *, uses_mcp: bool = True) -> list[str]:
        """Prepare a turn, and return the tools that it is given."""
        turn: Any = SimpleNamespace(
            session=self.session,
            chat=SimpleNamespace(uri="ahp-chat:/c"),
            turn_id="t1",
            uses_mcp=uses_mcp,
            starter=Starter("ada", client_id="c"),
            tell=lambda text: None,
        )
        tools = [tool.name for tool in (await self.mcp.for_turn(turn)).tools]
        self.mcp.turn_ended("ahp-chat:/c", "t1")
        return tools

    async def wait(self, seconds: float) -> None:
        """Let time pass, and what follows from that happen."""
        await self.clock.pass_by(seconds)


async def test_only_turns_that_use_servers_start_them() -> None:
    world = World("a", "b")
    assert await world.turn(uses_mcp=False) == []
    assert world.states == {}
    assert await world.turn() == ["a__echo", "b__echo"]
    assert world.states == {"a": "ready", "b": "ready"}
    await world.tasks.close()


async def test_a_server_that_nobody_uses_rests_after_a_while() -> None:
    world = World("a")
    await world.turn()
    # Who follows the session wants it, unless the session was put away.
    world.session.subscriptions["somebody"] = None
    await world.wait(2 * IDLE)
    assert world.states == {"a": "ready"}
    world.session.settled = {"status": RESTING | IS_ARCHIVED}
    await world.wait(1)
    assert world.states == {"a": "stopped"}
    # The next turn has it again, and its time begins anew.
    world.session.subscriptions.clear()
    assert await world.turn() == ["a__echo"]
    await world.wait(IDLE - 1)
    assert world.states == {"a": "ready"}
    await world.wait(2)
    assert world.states == {"a": "stopped"}
    await world.tasks.close()


async def test_no_more_servers_run_than_a_session_and_a_host_may_have(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("agenthost.host.mcp.servers.MOST_OF_SESSION", 3)
    monkeypatch.setattr("agenthost.host.mcp.servers.MOST_RUNNING", 2)
    world = World("a", "b", "c", "d")
    assert await world.turn() == ["a__echo", "b__echo"]
    with pytest.raises(AgentError, match="2 servers already"):
        await world.effects.carry_out_later(CheckMcpRequest(world.session, "c-d", "start"))
    await world.tasks.close()


async def test_what_is_not_there_is_refused_with_the_reason() -> None:
    world = World("a")
    with pytest.raises(AgentError, match="cannot be used"):
        await world.effects.carry_out_later(CheckMcpRequest(world.session, "c-z", "start"))
    world.brought.declared[0] = replace(world.brought.declared[0], enabled=False)
    with pytest.raises(AgentError, match="switched off"):
        await world.effects.carry_out_later(CheckMcpRequest(world.session, "c-a", "start"))
    await world.effects.carry_out_later(CheckMcpRequest(world.session, "c-a", "stop"))
