from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from agenthost.agents import AgentError, ToolCall, content, option
from agenthost.agents.tool_call import MOST_INLINE_RESULT
from agenthost.agents.tool_call_steps import MOST_LIVE_TEXT
from agenthost.agents.turn_port import Worker
from tests.agents.fakes import FakePort, make_turn

Json = dict[str, Any]
Work = Callable[[ToolCall], Awaitable[Any]]


def using(port: FakePort, work: Work, **options: Any) -> asyncio.Task[Any]:
    """Work with a tool call, in a task of its own."""

    async def run() -> Any:
        async with make_turn(port).tool("tool", **options) as call:
            return await work(call)

    return asyncio.create_task(run())


async def do_nothing(call: ToolCall) -> None:
    pass


async def confirm(call: ToolCall) -> Any:
    return await call.confirm("Sure?", editable=True)


async def test_parameters_are_shown_while_they_are_made() -> None:
    port = FakePort()

    async def work(call: ToolCall) -> None:
        for piece in ("{", "}"):
            await call.stream_input(piece)
        assert (call.status, call.state["partialInput"]) == ("streaming", "{}")
        await call.start({"a": "ä"}, invocation="Do it")
        assert call.status == "running"
        await call.complete("Did it")

    await using(port, work, display_name="Tool", intention="to see", meta={"step": 1})
    steps = [step.removeprefix("toolCall") for step in port.steps]
    assert steps == ["Start", "Delta", "Delta", "Ready", "Complete"]
    assert port.call == {
        "toolCallId": port.call["toolCallId"],
        "toolName": "tool",
        "displayName": "Tool",
        "intention": "to see",
        "_meta": {"step": 1},
        "status": "completed",
        "invocationMessage": "Do it",
        "toolInput": '{"a": "ä"}',
        "confirmed": "not-needed",
        "success": True,
        "pastTenseMessage": "Did it",
    }


@pytest.mark.parametrize(
    ("input", "shown"), [(None, None), ("ls", "ls"), ({"cmd": "ls"}, '{"cmd": "ls"}'), ([1], "[1]")]
)
async def test_input_that_is_no_text_is_shown_as_json(input: Any, shown: str | None) -> None:
    port = FakePort()
    await using(port, do_nothing, input=input)
    assert port.call.get("toolInput") == shown


async def test_approval_gives_the_input_as_it_may_run() -> None:
    port = FakePort()
    task = using(port, confirm, input="rm x")
    asked = await port.until_status("pending-confirmation")
    assert (asked["confirmationTitle"], asked["editable"]) == ("Sure?", True)
    port.answer(
        "Confirmed",
        approved=True,
        confirmed="user-action",
        editedToolInput="rm y",
        selectedOptionId="allow-once",
    )
    answer = await task
    assert bool(answer) is True
    assert (answer.input, answer.option, answer.reason) == ("rm y", "allow-once", None)
    assert port.allowed == set()


@pytest.mark.parametrize("message", ["no", {"markdown": "no"}, None])
async def test_denial_gives_the_reason_and_the_suggestion(message: Any) -> None:
    port = FakePort()
    task = using(port, confirm, input="rm x")
    await port.until_status("pending-confirmation")
    more: Json = {} if message is None else {"reasonMessage": message}
    suggestion = {"text": "mv", "origin": {"kind": "user"}}
    port.answer("Confirmed", approved=False, reason="denied", userSuggestion=suggestion, **more)
    answer = await task
    assert bool(answer) is False
    assert (answer.reason, answer.suggestion, answer.input) == ("denied", "mv", "rm x")
    assert answer.reason_message == (None if message is None else "no")
    assert port.call["status"] == "cancelled"


async def test_what_is_allowed_in_the_session_is_not_asked_again() -> None:
    port = FakePort()
    task = using(port, confirm)
    await port.until_status("pending-confirmation")
    allow = {"approved": True, "confirmed": "user-action", "selectedOptionId": "allow-in-session"}
    port.answer("Confirmed", **allow)
    assert await task
    assert port.allowed == {"tool"}
    answer = await using(port, confirm, input="again")
    assert (bool(answer), answer.input) == (True, "again")
    assert port.call["confirmed"] == "setting"


async def test_what_may_not_be_remembered_is_asked_every_time_and_says_so() -> None:
    port = FakePort()
    port.allowed.add("tool")
    task = using(port, lambda call: call.confirm(rememberable=False))
    asked = await port.until_status("pending-confirmation")
    assert [item["id"] for item in asked["options"]] == ["allow-once", "deny", "deny-with-reason"]
    port.answer("Confirmed", approved=True, confirmed="user-action")
    assert await task


async def test_options_are_the_usual_ones_the_agents_own_or_none() -> None:
    port = FakePort(locale="de")
    own = [option("a", "A", approve=True, group=1), option("b", "B", approve=False)]
    for options, ids in ((None, "allow-once"), (own, "a"), ([], None)):
        task = using(port, lambda call, options=options: call.confirm(options=options))  # type: ignore[misc]
        asked = await port.until_status("pending-confirmation")
        assert next((item["id"] for item in asked.get("options", ())), None) == ids
        port.answer("Confirmed", approved=True, confirmed="user-action")
        await task


async def test_a_call_is_asked_about_again_while_it_runs() -> None:
    port = FakePort()

    async def work(call: ToolCall) -> list[Any]:
        first = await call.confirm(input="one")
        await call.write("half")
        second = await call.confirm(input="two")
        return [first.input, second.input]

    task = using(port, work)
    for text in ("one", "two"):
        await port.until_status("pending-confirmation", toolInput=text)
        port.answer("Confirmed", approved=True, confirmed="user-action")
    assert await task == ["one", "two"]
    # What was shown before the second approval is gone, as the protocol has it.
    assert "content" not in port.call


async def test_an_approval_that_nobody_gives_is_given_up() -> None:
    port = FakePort(prompt_timeout=0.01)
    answer = await using(port, confirm)
    assert (bool(answer), answer.reason) == (False, "skipped")
    assert answer.reason_message == "nobody answered in time"
    assert port.call["status"] == "cancelled"


async def test_output_is_shown_while_it_comes_and_is_the_result_without_another() -> None:
    port = FakePort()

    async def work(call: ToolCall) -> None:
        await call.start()
        await call.write("one ")
        await call.write("two")
        await call.show(content.resource({"uri": "x:/1"}))
        assert call.state["content"] == [
            content.text("one two"),
            {"type": "resource", "uri": "x:/1"},
        ]

    await using(port, work)
    assert port.call["content"] == [content.text("one two"), {"type": "resource", "uri": "x:/1"}]
    assert port.call["pastTenseMessage"] == "Used tool"


async def test_of_a_long_output_the_newest_part_is_shown() -> None:
    port = FakePort()

    async def work(call: ToolCall) -> None:
        await call.start()
        await call.write("x" * MOST_LIVE_TEXT)
        await call.write("the end")

    await using(port, work)
    (block,) = port.call["content"]
    assert len(block["text"]) == MOST_LIVE_TEXT
    assert block["text"].endswith("xthe end")


async def test_results_may_be_structured_and_failures_coded() -> None:
    port = FakePort()
    await using(port, lambda call: call.complete(structured={"n": 1}))
    assert port.call["structuredContent"] == {"n": 1}
    await using(port, lambda call: call.fail("no paper", code="paper"))
    assert port.call["error"] == {"message": "no paper", "code": "paper"}
    assert (port.call["status"], port.call["success"]) == ("completed", False)


@pytest.mark.parametrize("approved", [True, False])
async def test_a_review_waits_for_judgement(approved: bool) -> None:
    port = FakePort()
    task = using(port, lambda call: call.review("Wrote it", [content.text("it")]))
    asked = await port.until_status("pending-result-confirmation")
    assert asked["content"] == [content.text("it")]
    port.answer("ResultConfirmed", approved=approved)
    assert await task is approved
    assert port.call["status"] == ("completed" if approved else "cancelled")


async def test_a_review_that_nobody_makes_is_a_no() -> None:
    port = FakePort(prompt_timeout=0.01)
    assert await using(port, lambda call: call.review()) is False
    assert (port.call["status"], port.call["reason"]) == ("cancelled", "result-denied")


async def test_a_command_runs_and_its_output_is_the_result() -> None:
    port = FakePort()
    result = await using(port, lambda call: call.run("echo out; echo err >&2"))
    assert (result.exit_code, result.output) == (0, "out\nerr\n")
    assert port.call["content"] == [content.text("out\nerr\n")]
    assert port.call["structuredContent"] == {"exitCode": 0, "truncated": False}
    assert port.steps[:2] == ["toolCallStart", "toolCallReady"]
    assert "toolCallContentChanged" in port.steps


async def test_a_command_that_fails_fails_the_call() -> None:
    port = FakePort()
    result = await using(port, lambda call: call.run(["sh", "-c", "kill -9 $$"]))
    assert result.exit_code == 128 + signal.SIGKILL
    assert (port.call["success"], port.call["error"]) == (False, {"message": "exit code 137"})


async def test_a_long_output_is_stored_and_referred_to() -> None:
    port = FakePort()
    count = MOST_INLINE_RESULT + 1
    await using(port, lambda call: call.run(f"head -c {count} /dev/zero | tr '\\0' x"))
    text, reference = port.call["content"]
    assert text == content.text("x" * MOST_LIVE_TEXT)
    assert reference["type"] == "resource"
    assert port.stored[reference["uri"]] == (b"x" * count, "text/plain")


async def test_a_command_that_takes_too_long_fails_the_call() -> None:
    port = FakePort()
    with pytest.raises(TimeoutError):
        await using(port, lambda call: call.run("sleep 1000", timeout=0.05))
    assert port.call["error"] == {
        "message": "the command took longer than 0.05 seconds",
        "code": "timeout",
    }


@pytest.mark.parametrize("where", [{"command": ["/no/such"]}, {"command": "true", "cwd": "/no/x"}])
async def test_a_command_that_cannot_be_run_says_why(where: Json) -> None:
    port = FakePort()
    with pytest.raises(AgentError, match="cannot be run: No such file or directory"):
        await using(port, lambda call: call.run(**where))
    assert port.call["error"]["code"] == "notRun"


async def test_what_is_not_approved_runs_neither_commands_nor_workers() -> None:
    port = FakePort()

    async def work(call: ToolCall) -> None:
        await call.confirm()
        for attempt in (call.run("true"), call.delegate("x", title="X")):
            with pytest.raises(AgentError, match="tool was not approved"):
                await attempt

    task = using(port, work)
    await port.until_status("pending-confirmation")
    port.answer("Confirmed", approved=False, reason="denied")
    await task
    assert port.steps == ["toolCallStart", "toolCallReady"]


@pytest.mark.parametrize(
    ("worker", "success"),
    [
        (Worker("c:/worker", "done", "complete"), True),
        (Worker("c:/worker", "half", "error", "it broke"), False),
        (Worker("c:/worker", "", "cancelled"), False),
    ],
)
async def test_a_worker_is_pointed_to_while_it_works_and_afterwards(
    worker: Worker, success: bool
) -> None:
    port = FakePort()
    port.workers["x"] = worker
    assert await using(port, lambda call: call.delegate("x", title="X")) == worker
    shown = port.actions[2]
    block = content.subagent("c:/worker", "X")
    assert (shown["type"], shown["content"]) == ("chat/toolCallContentChanged", [block])
    known = {"subagentDescription": "X", "subagentChatUri": "c:/worker"}
    assert port.call["_meta"] == {"toolKind": "subagent", **known}
    assert port.call["success"] is success
    assert block in port.call["content"]
    if not success:
        told = worker.error or "the worker was cancelled"
        assert port.call["error"] == {"message": told}


async def test_a_worker_that_may_not_be_started_fails_the_call() -> None:
    port = FakePort()
    port.workers["x"] = AgentError("too deep")
    with pytest.raises(AgentError):
        await using(port, lambda call: call.delegate("x", title="X"))
    assert port.call["error"] == {"message": "too deep"}


async def wait(call: ToolCall) -> None:
    await asyncio.Event().wait()


async def start_and_wait(call: ToolCall) -> None:
    await call.start()
    await asyncio.Event().wait()


async def review(call: ToolCall) -> None:
    await call.review()


@pytest.mark.parametrize(
    ("work", "status", "after", "reason"),
    [
        (wait, "streaming", "completed", None),
        (start_and_wait, "running", "completed", None),
        (confirm, "pending-confirmation", "cancelled", "skipped"),
        (review, "pending-result-confirmation", "cancelled", "result-denied"),
    ],
)
async def test_cancelling_only_the_work_ends_the_call_while_the_turn_goes_on(
    work: Work, status: str, after: str, reason: str | None
) -> None:
    port = FakePort()
    task = using(port, work)
    await port.until_status(status)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (port.call["status"], port.call.get("reason")) == (after, reason)
    if after == "completed":
        assert port.call["error"] == {"message": "it was cancelled", "code": "cancelled"}


async def test_when_the_turn_is_over_the_call_has_ended_with_it() -> None:
    port = FakePort()
    task = using(port, confirm)
    await port.until_status("pending-confirmation")
    port.end_turn()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert port.steps == ["toolCallStart", "toolCallReady"]
    (call,) = (part["toolCall"] for part in port.state["turns"][0]["responseParts"])
    assert (call["status"], call["reason"]) == ("cancelled", "skipped")


async def test_the_state_of_a_call_ends_with_its_turn() -> None:
    port = FakePort()
    call = make_turn(port).tool("tool")
    await call.__aenter__()
    port.end_turn()
    assert call.status == "cancelled"
    with pytest.raises(asyncio.CancelledError):
        call.state  # noqa: B018


@pytest.mark.parametrize(
    ("error", "told"),
    [(AgentError("no paper"), "no paper"), (ValueError("secret"), "it failed (ValueError)")],
)
async def test_an_error_fails_the_call_and_goes_on(error: Exception, told: str) -> None:
    port = FakePort()

    async def work(call: ToolCall) -> None:
        await call.start()
        raise error

    with pytest.raises(type(error)):
        await using(port, work)
    assert port.call["error"] == {"message": told}


async def test_ending_a_call_twice_changes_nothing() -> None:
    port = FakePort()

    async def work(call: ToolCall) -> None:
        await call.complete("first")
        await call.fail("second")
        await call.write("third")

    await using(port, work)
    assert (port.call["success"], port.call["pastTenseMessage"]) == (True, "first")
    assert "content" not in port.call


async def test_content_is_replaced_while_the_call_runs() -> None:
    port = FakePort()

    async def work(call: ToolCall) -> None:
        await call.start()
        await call.write("10 %")
        await call.replace(content.text("20 %"), content.text("of it"))
        assert call.state["content"] == [content.text("20 %"), content.text("of it")]
        await call.replace(content.text("done"))

    await using(port, work)
    assert port.call["content"] == [content.text("done")]


async def test_a_question_that_waits_is_changed_in_place_and_then_answered() -> None:
    port = FakePort()
    loading = {"kind": "judge", "status": "loading"}
    judged = {"kind": "judge", "status": "complete", "reason": "harmless", "safety": 1}

    async def work(call: ToolCall) -> Any:
        assert await call.update_confirmation(risk=judged) is False
        asking = asyncio.create_task(call.confirm("Sure?", input="ls", risk=loading, editable=True))
        await port.until_status("pending-confirmation")
        assert await call.update_confirmation("Really?", risk=judged) is True
        answer = await asking
        assert await call.update_confirmation("Too late?") is False
        return answer

    task = using(port, work)
    waiting = await port.until_status("pending-confirmation", confirmationTitle="Really?")
    assert (waiting["riskAssessment"], waiting["toolInput"]) == (judged, "ls")
    assert waiting["editable"] is True
    assert waiting["options"][0]["id"] == "allow-once"
    port.answer("Confirmed", approved=True, confirmed="user-action", editedToolInput="ls -l")
    assert (await task).input == "ls -l"
    assert port.call["status"] == "completed"


async def test_what_runs_in_a_terminal_is_run() -> None:
    port = FakePort()
    result = await using(port, lambda call: call.run_in_terminal("echo out", timeout=60))
    assert (result.exit_code, result.output) == (0, "out\n")


async def test_a_call_that_has_ended_cannot_be_approved() -> None:
    port = FakePort()

    async def work(call: ToolCall) -> None:
        await call.complete()
        port.allowed.add("tool")
        for rememberable in (True, False):
            with pytest.raises(AgentError, match="has ended and cannot be approved"):
                await call.confirm("Sure?", rememberable=rememberable)

    await using(port, work)


async def test_a_call_that_was_denied_stays_so_when_its_tool_is_allowed_later() -> None:
    port = FakePort()

    async def work(call: ToolCall) -> None:
        assert not await call.confirm("Sure?")
        port.allowed.add("tool")
        assert not await call.confirm("And now?")

    task = using(port, work)
    await port.until_status("pending-confirmation")
    port.answer("Confirmed", approved=False, reason="denied")
    await task


async def test_a_call_that_nobody_was_shown_is_the_agents_mistake() -> None:
    port = FakePort()
    call = make_turn(port).tool("tool")
    with pytest.raises(AgentError, match="used with async with"):
        await call.start()
    assert port.actions == []


@pytest.mark.parametrize(
    "work",
    [
        lambda call: call.confirm("Sure?", options=["yes", "no"]),
        lambda call: call.complete(5),
        lambda call: call.complete("Did it", [{"type": "text"}]),
        lambda call: call.show({"text": "typeless"}),
        lambda call: call.write(b"bytes"),
        lambda call: call.stream_input(None),
        lambda call: call.confirm("Sure?", options=["yes", "no"], rememberable=False),
        lambda call: call.confirm(
            "Sure?",
            options=[option("a", "A", approve=True), option("a", "B", approve=False)],
        ),
        lambda call: call.confirm("Sure?", risk={"kind": "judge", "status": "what"}),
        lambda call: call.complete("Did it", [{"type": "hologram"}]),
        lambda call: call.show({"type": "hologram"}),
        lambda call: call.delegate("dig", title="Digger", interactivity="nonsense"),
    ],
)
async def test_what_the_protocol_does_not_know_fails_the_call(work: Work) -> None:
    port = FakePort()
    with pytest.raises(AgentError, match="the agent made a mistake"):
        await using(port, work)
    assert (port.call["status"], port.call["success"]) == ("completed", False)


@pytest.mark.parametrize(
    ("errors", "told"),
    [
        ([AgentError("no paper"), AgentError("no ink")], "no paper"),
        ([AgentError("no paper"), ValueError("secret")], "it failed (ExceptionGroup)"),
        ([ExceptionGroup("inner", [AgentError("no ink")])], "no ink"),
    ],
)
async def test_what_tasks_of_an_agent_raise_is_told_like_its_own(
    errors: list[Exception], told: str
) -> None:
    port = FakePort()

    async def work(call: ToolCall) -> None:
        raise ExceptionGroup("several", errors)

    with pytest.raises(ExceptionGroup):
        await using(port, work)
    assert port.call["error"] == {"message": told}
