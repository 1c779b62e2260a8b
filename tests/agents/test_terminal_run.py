"""Commands of a tool call in a terminal: what the call shows, and what its agent is told."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from agenthost.agents import AgentError, content
from agenthost.agents.processes import MOST_OUTPUT
from agenthost.agents.terminal_run import (
    LONGEST_TITLE,
    MOST_PREVIEW,
    TerminalRun,
    plain_text,
    shown_result,
    title_of,
)
from agenthost.agents.tool_call import ToolCall
from agenthost.agents.turn_port import TerminalEnd
from tests.agents.fakes import FakePort, make_turn
from tests.children import gone
from tests.flags import eventually
from tests.time_limits import TimeLimits

_T = TypeVar("_T")
Json = dict[str, Any]


def using(port: FakePort, work: Callable[[ToolCall], Awaitable[_T]]) -> asyncio.Task[_T]:
    """Begin a tool call and do something with it."""

    async def use() -> _T:
        async with make_turn(port).tool("tool") as call:
            return await work(call)

    return asyncio.ensure_future(use())


def run(port: FakePort, command: Any, **how: Any) -> asyncio.Task[TerminalRun]:
    return using(port, lambda call: call.run_in_terminal(command, **how))


async def terminal_shown(port: FakePort) -> Json:
    """Wait until the newest call shows its terminal, and return that."""

    def look(_: Any) -> Json | None:
        blocks = port.call.get("content") or () if port.parts else ()
        return next((block for block in blocks if block["type"] == "terminal"), None)

    async with asyncio.timeout(60):
        return await port.wait_for(look)


async def test_a_call_shows_its_terminal_and_then_how_its_command_ended() -> None:
    port = FakePort()
    result = await run(port, "echo out; exit 3")
    (announced,) = [a for a in port.actions if a["type"] == "chat/toolCallContentChanged"]
    (block,) = announced["content"]
    assert (block["title"], block["isPty"], "result" in block) == ("echo out; exit 3", True, False)
    assert (result.exit_code, result.output, result.terminal) == (3, "out\n", block["resource"])
    ended = {"exitCode": 3, "preview": "out\r\n", "truncated": False}
    assert port.call["content"] == [{**block, "result": ended}, content.text("out\n")]
    assert port.call["structuredContent"] == {"exitCode": 3, "truncated": False}
    assert (port.call["success"], port.call["error"]) == (False, {"message": "exit code 3"})
    assert port.call["_meta"] == {"toolKind": "terminal"}


async def test_what_was_shown_before_stays_beside_the_terminal() -> None:
    port = FakePort()

    async def work(call: ToolCall) -> None:
        await call.start()
        await call.write("looking\n")
        await call.run_in_terminal(["echo", "two words"])

    await using(port, work)
    text, block, output = port.call["content"]
    assert (text, output) == (content.text("looking\n"), content.text("two words\n"))
    assert block["title"] == "echo 'two words'"


async def test_a_command_that_takes_too_long_is_ended_and_the_call_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits, port, begun = TimeLimits(monkeypatch), FakePort(), tmp_path / "begun"
    running = run(port, f"echo begun; touch {begun}; sleep 1000", timeout=500)
    await eventually(begun.exists)
    limits.run_out(500)
    with pytest.raises(TimeoutError):
        await running
    block, _ = port.call["content"]
    assert block["result"]["exitCode"] == 129
    assert port.call["error"] == {
        "message": "the command took longer than 500 seconds",
        "code": "timeout",
    }


async def test_a_call_that_is_cancelled_ends_its_command_and_does_not_say_that_it_goes_on() -> None:
    port = FakePort()
    task = run(port, "sleep 1000")
    block = await terminal_shown(port)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert port.call["content"] == [{**block, "result": {}}]
    assert port.call["error"] == {"message": "it was cancelled", "code": "cancelled"}
    assert port.terminals is not None
    assert (await port.terminals[0].wait()).exit_code == 129


async def test_a_command_in_the_background_ends_its_call_at_once() -> None:
    port = FakePort()
    result = await run(port, "echo $$; sleep 1000", background=True)
    assert (port.call["success"], result.exit_code) == (True, None)
    assert port.call["pastTenseMessage"] == "The command runs in the background"
    (block,) = port.call["content"]
    assert "result" not in block
    (work,) = port.state["backgroundWork"]
    assert (work["terminal"], work["command"]) == (block["resource"], "echo $$; sleep 1000")
    assert result.background is not None
    assert result.background.is_running
    assert result.background.id == work["id"]
    await result.background.stop()
    with pytest.raises(AgentError, match="stopped"):
        await result.background.wait()
    assert not port.state.get("backgroundWork")
    assert port.terminals is not None
    assert (await port.terminals[0].wait()).exit_code == 129


async def test_a_command_that_somebody_lets_go_on_ends_its_call_and_not_itself() -> None:
    port = FakePort()
    task = run(port, "read x; echo over", timeout=60)
    await terminal_shown(port)
    assert port.terminals is not None
    (terminal,) = port.terminals
    terminal.detached.set()
    result = await task
    assert result.background is not None
    assert port.call["success"] is True
    ended = await result.background.wait()
    assert (ended.exit_code, ended.output) == (0, "over\n")


async def test_a_command_for_which_there_is_no_room_in_the_background_is_ended() -> None:
    port = FakePort()
    port.most_works = 0
    with pytest.raises(AgentError, match="too many works"):
        await run(port, "sleep 1000", background=True)
    assert port.call["error"] == {"message": "too many works", "code": "tooMuchBackgroundWork"}
    assert port.call["content"][0]["result"]["exitCode"] == 129


async def test_a_terminal_that_cannot_be_had_fails_the_call() -> None:
    port = FakePort()
    port.most_terminals = 0
    with pytest.raises(AgentError, match="too many terminals"):
        await run(port, "true")
    assert port.call["error"]["code"] == "tooManyTerminals"


async def test_without_terminals_a_command_runs_all_the_same() -> None:
    port = FakePort()
    port.terminals = None
    result = await run(port, "echo $ADDED", env={"ADDED": "more"})
    assert (result.terminal, result.output) == (None, "more\n")
    assert port.call["content"] == [content.text("more\n")]


async def test_a_command_that_was_not_approved_is_not_run() -> None:
    port = FakePort()

    async def work(call: ToolCall) -> None:
        await call.confirm()
        with pytest.raises(AgentError, match="not approved"):
            await call.run_in_terminal("true")

    task = using(port, work)
    await port.until_status("pending-confirmation")
    port.answer("Confirmed", approved=False, reason="denied")
    await task
    assert port.terminals == []


async def test_an_agent_opens_a_terminal_of_its_own() -> None:
    port = FakePort()
    terminal = await make_turn(port).open_terminal(["sh", "-c", "echo $$; exec sleep 1000"])
    while not (printed := await terminal.output()):  # noqa: ASYNC110
        await asyncio.sleep(0.005)
    await terminal.kill()
    await gone(int(printed))
    assert terminal.title == "sh -c 'echo $$; exec sleep 1000'"


@pytest.mark.parametrize(
    ("printed", "plain"),
    [
        ("one\r\ntwo\r\n", "one\ntwo\n"),
        ("\x1b[31mred\x1b[0m\r\n", "red\n"),
        ("\x1b]0;title\x07text\x1b]8;;http://x\x1b\\link", "textlink"),
        ("10%\r50%\r100%\r\n", "100%\n"),
        ("abc\x08\x08d\r\n", "ad\n"),
        ("\x08\x08x", "x"),
        ("bell\x07 tab\t", "bell tab\t"),
        ("\x1b[?2004hhalf \x1b[", "half "),
        ("half a \ud83d pair", "half a \ufffd pair"),
    ],
)
def test_output_as_plain_text(printed: str, plain: str) -> None:
    assert plain_text(printed) == plain


def test_plain_text_of_a_hostile_output_takes_no_time() -> None:
    for hostile in (
        "a" * 131072 + "\x08" * 131072,
        "\x1b]" * 131072,
        "\x1b[" * 131072,
        "\r" * 9999,
    ):
        assert len(plain_text(hostile)) <= len(hostile)


def test_a_preview_is_the_end_of_the_output_from_the_beginning_of_a_line() -> None:
    output = "".join(f"\x1b[3{n % 8}mline {n} äöü\x1b[0m\r\n" for n in range(2000))
    result = shown_result(TerminalEnd(0, output, truncated=False))
    assert len(result["preview"].encode()) <= MOST_PREVIEW
    assert output.endswith(result["preview"])
    assert result["preview"].startswith("\x1b[3")
    assert result["truncated"] is True
    whole = shown_result(TerminalEnd(None, "x" * MOST_OUTPUT, truncated=False))
    assert whole == {"preview": "x" * MOST_PREVIEW, "truncated": True}


@pytest.mark.parametrize(
    ("command", "title"),
    [
        ("ls", "ls"),
        ("  make\ncheck", "make …"),
        ("x" * 500, "x" * (LONGEST_TITLE - 1) + "…"),
        ("\x1b\x07", "command"),
        ("\n", "command"),
    ],
)
def test_a_terminal_is_called_by_its_command(command: str, title: str) -> None:
    assert title_of(command) == title
