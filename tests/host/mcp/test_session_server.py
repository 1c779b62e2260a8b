"""One server of a session: what is published of it, whose tokens it is given, when it is tried."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from agenthost.agents.api import AgentError
from agenthost.clock import SystemClock
from agenthost.host.customizations.service import DeclaredServer
from agenthost.host.mcp.recent_failures import BACK_OFF
from agenthost.host.mcp.server_context import ServerContext, Token
from agenthost.host.mcp.session_server import SessionServer
from agenthost.mcp.types import Challenge, McpFailed, ServerDeclaration
from agenthost.tasks import Tasks
from tests.mcp.fake_worker import FakeCall, FakeWorker, Script, said

DECLARED = DeclaredServer("c-1", ServerDeclaration("it", command=("x",)), "/r", "workspace", True)
OTHER = replace(DECLARED, declaration=replace(DECLARED.declaration, command=("y",)))
WANTED = Challenge("required", {"resource": "https://it.example/"})


class StandingClock(SystemClock):
    now_is = 0.0

    def monotonic(self) -> float:
        return self.now_is


class Told:
    """A server with what it tells and what it is given."""

    def __init__(self, script: Script) -> None:
        self.worker = FakeWorker(it=script)
        self.clock = StandingClock()
        self.tasks = Tasks()
        self.tokens: list[Token] = []
        self.rejected: list[Token] = []
        self.published: list[str] = []
        self.refusal: str | None = None
        around = ServerContext(
            writer=cast("Any", None),
            clock=self.clock,
            tasks=self.tasks,
            worker=lambda: self.worker,
            publish=self._publish,
            open_log=lambda server: None,
            resolved=self._resolved,
            tokens=lambda session, resource: self.tokens,
            reject_token=lambda token, resource: self.rejected.append(token),
            tools_changed=lambda session: None,
            mask=lambda text: text.replace("hush", "[redacted]"),
            elicit=cast("Any", None),
            sample=cast("Any", None),
        )
        session = cast("Any", SimpleNamespace(uri="ahp-session:/s", settled={}))
        self.server = SessionServer(session, DECLARED, around)

    @property
    def handle(self) -> Any:
        return self.server._handle

    @property
    def kind(self) -> str:
        return self.server.fare.kind

    def _publish(self, server: SessionServer) -> None:
        self.published.append(server.fare.kind + ("!" if server.fare.blocking else ""))

    def _resolved(self, server: SessionServer) -> ServerDeclaration:
        if self.refusal is not None:
            raise McpFailed(self.refusal, "refused")
        return server.declared.declaration

    async def started(self, **how: Any) -> list[str]:
        """Start the server and return what was published until it came to rest."""
        del self.published[:]
        self.server.start(**how)
        await self.settled()
        return self.published

    async def settled(self) -> None:
        """Wait for what was begun."""
        while running := {task for task in self.tasks._tasks if not task.done()}:
            await asyncio.wait(running)


async def test_a_start_is_published_step_by_step() -> None:
    told = Told(Script())
    assert await told.started(blocking=True) == ["starting!", "ready"]
    assert [tool.name for tool in told.server.offered] == ["echo"]
    assert told.server.unblocked.is_set()
    # Anew, without a stop in between that would make clients forget it.
    assert await told.started() == ["starting", "ready"]
    await told.server.stop()
    assert told.published[-1] == "stopped"


async def test_who_waits_for_a_start_can_be_told_to_go_on() -> None:
    told = Told(Script())
    told.server.start(blocking=True)
    assert not told.server.unblocked.is_set()
    told.server.background()
    assert told.server.unblocked.is_set()
    await told.settled()
    assert told.published == ["starting!", "starting", "ready"]


async def test_what_may_not_start_fails_with_the_reason_and_reaches_no_worker() -> None:
    told = Told(Script())
    told.refusal = "nobody has trusted it"
    assert await told.started() == ["starting", "error"]
    assert told.server.fare.detail == "nobody has trusted it"
    assert told.handle is None


async def test_a_stop_before_the_start_has_begun_is_the_last_word() -> None:
    told = Told(Script())
    told.server.start()
    await told.server.stop()
    await told.settled()
    assert told.kind == "stopped"


async def test_of_a_stop_and_a_start_the_last_one_counts() -> None:
    told = Told(Script())
    await told.started()
    stopping = asyncio.create_task(told.server.stop())
    await asyncio.sleep(0)
    told.server.start()
    await stopping
    await told.settled()
    assert told.kind == "ready"
    assert told.published[-2:] == ["starting", "ready"]


async def test_what_is_switched_off_while_it_waits_for_a_token_does_not_start_with_one() -> None:
    told = Told(Script(challenge=WANTED, token="good"))
    assert (await told.started())[-1] == "authRequired"
    told.server.redeclared(replace(DECLARED, enabled=False))
    assert told.kind == "stopped"
    told.server.take_token(Token("ada", "good"))
    await told.settled()
    assert told.kind == "stopped"


async def test_another_declaration_is_another_server() -> None:
    told = Told(Script())
    await told.started()
    former = told.handle
    told.server.redeclared(OTHER)
    assert not told.server.is_ready
    await told.settled()
    assert told.kind == "stopped"
    assert await told.started() == ["starting", "ready"]
    assert told.handle is not former
    assert told.handle.declaration.command == ("y",)
    assert former.state == "stopped"


async def test_one_that_fails_is_tried_later_and_later_and_then_not_at_all() -> None:
    told = Told(Script(error="hush: no such file"))
    server, clock = told.server, told.clock

    def may_start() -> bool:
        return server.is_startable

    for wait in BACK_OFF:
        await told.started()
        assert server.fare.detail == "[redacted]: no such file"
        assert not may_start()
        clock.now_is += wait - 0.1
        assert not may_start()
        clock.now_is += 0.2
        assert may_start()
    await told.started()
    clock.now_is += 500
    assert not may_start()
    server.failures.clear()
    assert may_start()
    await told.started()
    clock.now_is += 1000
    assert may_start()


async def test_what_its_worker_did_is_not_held_against_a_server() -> None:
    told = Told(Script())
    await told.started()
    told.handle.worker_ended("the worker was killed")
    assert told.server.fare.detail == "the worker was killed"
    assert told.server.is_startable
    assert not told.server.failures


async def test_a_token_that_somebody_brought_before_is_used_without_asking() -> None:
    told = Told(Script(challenge=WANTED, token="good"))
    told.tokens = [Token("ada", "good")]
    assert await told.started(blocking=True) == ["starting!", "ready"]
    assert told.server.resource == "https://it.example/"


async def test_tokens_that_are_refused_are_not_tried_again() -> None:
    told = Told(Script(challenge=WANTED, token="good"))
    told.tokens = [Token("ada", "bad"), Token("bob", "worse")]
    assert (await told.started())[-1] == "authRequired"
    assert told.published == ["starting", "authRequired"]
    # What comes then is.
    told.server.take_token(Token("ada", "good"))
    await told.settled()
    assert told.kind == "ready"


async def test_one_that_is_connected_and_waits_for_a_token_can_be_stopped() -> None:
    told = Told(Script())
    await told.started()
    told.server.auth_required(None, WANTED)
    assert told.kind == "authRequired"
    assert told.server.is_running
    told.server.redeclared(OTHER)
    await told.settled()
    assert told.handle.state == "stopped"


def ending_slowly(handle: Any) -> tuple[asyncio.Event, asyncio.Event]:
    """Let a handle be closed in its own time; return what says that it began, and what ends it."""
    begun, over = asyncio.Event(), asyncio.Event()
    close = handle.close

    async def slowly() -> None:
        begun.set()
        await over.wait()
        await close()

    handle.close = slowly
    return begun, over


async def test_a_stop_while_its_forerunner_ends_is_the_last_word() -> None:
    told = Told(Script())
    await told.started()
    begun, over = ending_slowly(told.handle)
    told.server.declared = OTHER
    told.server.start()
    await begun.wait()
    await told.server.stop()
    over.set()
    await told.settled()
    assert told.kind == "stopped"
    assert told.handle.state == "stopped"


async def test_in_another_folder_it_is_another_server() -> None:
    told = Told(Script())
    await told.started()
    former = told.handle
    told.server.redeclared(replace(DECLARED, folder="/elsewhere"))
    assert not told.server.is_ready
    await told.settled()
    assert await told.started() == ["starting", "ready"]
    assert told.handle is not former
    assert told.handle._folder == "/elsewhere"


async def test_nothing_starts_where_a_link_leads_elsewhere(tmp_path: Path) -> None:
    trusted, evil = tmp_path / "trusted", tmp_path / "evil"
    trusted.mkdir()
    evil.mkdir()
    told = Told(Script())
    told.server.redeclared(replace(DECLARED, folder=str(trusted.resolve())))
    assert await told.started() == ["starting", "ready"]
    await told.server.stop()
    trusted.rmdir()
    trusted.symlink_to(evil)
    assert await told.started() == ["starting", "error"]
    assert "leads to another folder" in told.server.fare.detail


async def test_a_token_that_its_owner_takes_back_is_used_no_more() -> None:
    told = Told(Script(challenge=WANTED, token="good"))
    told.tokens = [Token("ada", "good")]
    await told.started()
    told.tokens = []
    told.server.lose_token("bob")
    await told.settled()
    assert told.kind == "ready"
    told.server.lose_token("ada")
    await told.settled()
    assert told.kind == "authRequired"


async def test_a_token_for_one_declaration_is_not_given_to_another() -> None:
    told = Told(Script(challenge=WANTED, token="good"))
    assert (await told.started())[-1] == "authRequired"
    told.server.redeclared(OTHER)
    assert told.kind == "stopped"
    assert told.server.resource is None
    assert told.server.is_startable
    # One that was on its way is too late as well.
    told.server.start(token=Token("ada", "good"))
    told.server.redeclared(DECLARED)
    await told.settled()
    assert told.kind == "stopped"


def turn_of(id: str) -> Any:
    chat = SimpleNamespace(uri="ahp-chat:/c")
    return SimpleNamespace(chat=chat, turn_id=id, traceparent=lambda call: None)


async def test_what_is_switched_off_ends_with_the_turns_that_have_it() -> None:
    going_on = asyncio.Event()

    async def slow(call: FakeCall) -> dict[str, Any]:
        await going_on.wait()
        return said("done")

    told = Told(Script(call=slow))
    await told.started()
    first, second = turn_of("t1"), turn_of("t2")
    told.server.join(first)
    call = asyncio.create_task(told.server.call(first, "echo", "1", {}))
    await asyncio.sleep(0)
    told.server.redeclared(replace(DECLARED, enabled=False))
    told.server.join(second)
    with pytest.raises(AgentError, match="is not running"):
        await told.server.call(second, "echo", "2", {})
    going_on.set()
    assert await call == said("done")
    # A turn that began with it has it until its end.
    assert await told.server.call(first, "echo", "3", {}) == said("done")
    assert told.kind == "ready"
    told.server.leave("ahp-chat:/c", "t1")
    await told.settled()
    assert told.kind == "stopped"


async def test_a_crash_takes_its_tools_away_and_is_told() -> None:
    told = Told(Script())
    await told.started()
    told.worker.crash(told.handle, "it was killed by SIGKILL")
    assert told.kind == "error"
    assert told.server.fare.detail == "it was killed by SIGKILL"
    # Also to a call that was decided on before.
    with pytest.raises(AgentError, match="is not running: it was killed by SIGKILL"):
        await told.server.call(turn_of("t1"), "echo", "1", {})


@pytest.mark.parametrize("ask", ["elicit", "sample"])
async def test_who_asks_outside_of_any_call_is_refused(ask: str) -> None:
    told = Told(Script())
    await told.started()
    question: Callable[..., Any] = getattr(told.server, ask)
    with pytest.raises(McpFailed, match="nobody is there"):
        await question(None, {})


class SlowWorker(FakeWorker):
    """Lets others have their turn before it does anything."""

    async def ask(self, command: Any, **how: Any) -> Any:
        await asyncio.sleep(0)
        result = await super().ask(command, **how)
        await asyncio.sleep(0)
        return result


_WISHES = st.lists(
    st.sampled_from(
        [
            *("start", "stop", "wait", "settle", "other", "same"),
            *("off", "token", "lost token", "crash"),
        ]
    ),
    max_size=12,
)


@example(["start", "crash", "off"], False)
@example(["start", "wait", "start", "other", "start"], False)
@given(_WISHES, st.booleans())
async def test_whatever_is_wished_what_is_told_is_what_runs(
    wishes: list[str], locked: bool
) -> None:
    wishes = ["start", "settle", *wishes]
    script = Script(challenge=WANTED, token="good") if locked else Script()
    told = Told(script)
    told.worker = SlowWorker(it=script)
    server = told.server
    for wish in wishes:
        match wish:
            case "start":
                server.start()
            case "stop":
                told.tasks.start(server.stop(), "stop")
            case "other":
                server.redeclared(OTHER)
            case "same":
                server.redeclared(DECLARED)
            case "off":
                server.redeclared(replace(server.declared, enabled=False))
            case "token":
                server.take_token(Token("ada", "good"))
            case "lost token":
                server.lose_token("ada")
            case "crash" if told.handle is not None and told.handle.state == "ready":
                told.worker.crash(told.handle)
            case "wait":
                await asyncio.sleep(0)
            case "settle":
                await told.settled()
    await told.settled()
    handles = list(told.worker._servers.values())
    alive = [handle for handle in handles if handle.state in ("starting", "ready")]
    if told.kind == "ready":
        assert alive == [told.handle]
        assert told.handle.declaration == server.declared.declaration
        assert server.declared.enabled or wishes[-1] != "off"
    else:
        assert alive == []
        assert told.kind != "starting"
    if wishes[-1] == "start":
        assert told.kind == ("authRequired" if locked else "ready")
    if wishes[-1] == "stop":
        assert told.kind == "stopped"
    assert server.unblocked.is_set()
    assert told.published[-1] == told.kind
