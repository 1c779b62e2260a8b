"""Agents of all kinds: what they may show and ask, and what becomes of those that misbehave."""

from __future__ import annotations

import asyncio
import json
import math
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agenthost.agents import Agent, AgentError, Turn, option
from tests.wire.hosting import embed
from tests.wire.talking import (
    ERROR,
    INPUT_NEEDED,
    OLDEST,
    Chat,
    at_chat,
    call_in,
    calls_of,
    confirmed,
    input_completed,
    parts_of,
    request_in,
    said,
    submitted,
)
from tests.wire.terminal_blocks import shown_by
from tests.wire.wording import failure_of

Json = dict[str, Any]
Work = Callable[[Turn], Awaitable[None]]

# What must stay in the host's log.
DETAIL = "/etc/shadow is at fault, line 7"


class Scripted(Agent):
    """Does what a test says; afterwards ``hello`` gets an answer."""

    provider, display_name = "scripted", "Scripted"

    def __init__(self, work: Work) -> None:
        self._work = work

    async def run(self, turn: Turn) -> None:
        if turn.text == "hello":
            await turn.write("hello yourself")
        else:
            await self._work(turn)


@asynccontextmanager
async def scripted(work: Work, **options: Any) -> AsyncIterator[Chat]:
    """Clients at a chat whose agent does this work, and works as before afterwards."""
    async with embed(Scripted(work), **options) as url, at_chat(url, "s1", OLDEST) as chat:
        yield chat
        after = await chat.run("afterwards", "hello")
        assert said(after) == "hello yourself"
        await chat.assert_at_rest()


def sent(chat: Chat) -> str:
    """Return everything that any client was ever sent."""
    return json.dumps([client.received for client in chat.clients])


async def raises(turn: Turn) -> None:
    await turn.write("so far so good")
    raise RuntimeError(DETAIL)


async def raises_over_a_prompt(turn: Turn) -> None:
    async with turn.tool("t") as call:
        asking = asyncio.ensure_future(call.confirm("May I?"))
        await asyncio.sleep(0)
        asking.cancel()
        raise RuntimeError(DETAIL)


async def raises_over_questions(turn: Turn) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(turn.ask("Anybody?"))
        await asyncio.sleep(0)
        raise RuntimeError(DETAIL)


async def raises_over_a_running_call(turn: Turn) -> None:
    async with turn.tool("t") as call:
        await call.start()
        await call.write("half of it")
        raise RuntimeError(DETAIL)


async def raises_over_a_streaming_call(turn: Turn) -> None:
    async with turn.tool("t") as call:
        await call.stream_input("{")
        raise RuntimeError(DETAIL)


async def leaves(turn: Turn) -> None:
    await turn.write("so far so good")
    sys.exit(DETAIL)


@pytest.mark.parametrize(
    "work",
    [
        raises,
        leaves,
        raises_over_a_prompt,
        raises_over_questions,
        raises_over_a_running_call,
        raises_over_a_streaming_call,
    ],
)
async def test_an_agent_that_raises_ends_its_turn_and_tells_nobody_its_secrets(
    work: Work, caplog: pytest.LogCaptureFixture
) -> None:
    async with scripted(work) as chat:
        turn = await chat.run("t1", "go")
        assert turn["state"] == "error"
        named: dict[Work, str] = {raises_over_questions: "ExceptionGroup", leaves: "SystemExit"}
        name = named.get(work, "RuntimeError")
        assert failure_of(turn) == {
            "errorType": name,
            "message": f"the agent failed ({name}); the host's log says more",
        }
        assert all(call["status"] in ("completed", "cancelled") for call in calls_of(turn))
        assert chat.waiting == []
        assert await chat.status() == ERROR
        assert DETAIL in caplog.text
        for secret in (DETAIL, "Traceback", "test_agents.py"):
            assert secret not in sent(chat)


async def test_an_agent_is_quoted_also_where_it_gave_up_in_a_task_group() -> None:
    async def gives_up(turn: Turn) -> None:
        async with asyncio.TaskGroup():
            raise AgentError("No luck today.", "noLuck")

    async with scripted(gives_up) as chat:
        turn = await chat.run("t1", "go")
        assert failure_of(turn) == {"errorType": "noLuck", "message": "No luck today."}


async def test_an_agent_s_own_error_is_shown_in_its_own_words() -> None:
    async def work(turn: Turn) -> None:
        async with turn.tool("t", display_name="Tool") as call:
            await call.start()
            raise AgentError("the printer is out of paper", "paper")

    async with scripted(work) as chat:
        turn = await chat.run("t1", "go")
        error = {"errorType": "paper", "message": "the printer is out of paper"}
        assert failure_of(turn) == error
        (call,) = calls_of(turn)
        assert call["error"] == {"message": "the printer is out of paper"}
        assert (call["success"], call["pastTenseMessage"]) == (False, "Tool failed")


async def writes_half_characters(turn: Turn) -> None:
    await turn.write("half \ud800")
    async with turn.tool("t\udc00", input={"a": "\ud800", "b": math.nan}) as call:
        await call.stream_input("\udfff")
        await call.start()
        await call.write("x\ud800")
        await call.complete("did \ud800", structured={"n": math.inf})
    raise AgentError("half \ud800")


async def writes_a_number(turn: Turn) -> None:
    await turn.write(42)  # type: ignore[arg-type]


async def reports_what_is_no_data(turn: Turn) -> None:
    await turn.report_usage({"_meta": {"models": {"a", "b"}}})


async def offers_what_are_no_options(turn: Turn) -> None:
    async with turn.tool("t") as call:
        await call.confirm("Sure?", options=["yes", "no"])  # type: ignore[list-item]


async def asks_what_is_no_question(turn: Turn) -> None:
    await turn.ask_all([{"id": "kindless"}])


async def asks_what_has_no_kind_of_ours(turn: Turn) -> None:
    await turn.ask_all([{"id": "q", "kind": "nope", "message": "?"}])


async def asks_nothing(turn: Turn) -> None:
    await turn.ask_all([])


async def shows_a_hologram(turn: Turn) -> None:
    async with turn.tool("t") as call:
        await call.complete("Shone", [{"type": "hologram"}])


async def has_an_odd_worker(turn: Turn) -> None:
    async with turn.tool("t") as call:
        await call.delegate("x", title="X", interactivity="nonsense")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "work",
    [
        asks_what_has_no_kind_of_ours,
        asks_nothing,
        shows_a_hologram,
        has_an_odd_worker,
        writes_half_characters,
        writes_a_number,
        reports_what_is_no_data,
        offers_what_are_no_options,
        asks_what_is_no_question,
    ],
)
async def test_what_the_wire_cannot_carry_ends_the_turn_and_leaves_the_chat_whole(
    work: Work,
) -> None:
    async with scripted(work) as chat:
        turn = await chat.run("t1", "go")
        assert turn["state"] == "error"
        expected = "half ?" if work is writes_half_characters else "the agent made a mistake: "
        assert failure_of(turn)["message"].startswith(expected)
        assert all(call["status"] == "completed" for call in calls_of(turn))
        await chat.assert_agreed()


async def test_a_long_answer_comes_in_frames_that_every_connection_carries() -> None:
    long = "😀 long " * 400_000

    async def work(turn: Turn) -> None:
        await turn.write(long)

    async with scripted(work) as chat:
        assert said(await chat.run("t1", "go")) == long
        deltas = [
            message
            for message in chat.client.received
            if message.get("params", {}).get("action", {}).get("type") == "chat/delta"
        ]
        frames = [len(json.dumps(message, ensure_ascii=False).encode()) for message in deltas]
        assert max(frames) < 900_000


async def test_the_sketch_of_the_design_works() -> None:
    async def work(turn: Turn) -> None:
        await turn.write("Hello, ")
        name = await turn.ask("Who are you?")
        async with turn.tool("shell", input={"cmd": "id"}) as call:
            yes = option("yes", "Yes", approve=True)
            if await call.confirm("Run `id`?", options=[yes]):
                await call.run_in_terminal("id -u")
        await turn.write(str(name))

    async with scripted(work) as chat:
        await chat.start("t1", "go")
        request = await request_in(chat.client, chat.uri)
        answers = {"answer": submitted("text", "Ann")}
        await chat.answer(input_completed(request, answers), chat.clients[1])
        call = await call_in(chat.client, chat.uri, "pending-confirmation")
        await chat.answer(confirmed("t1", call, True, selectedOptionId="yes"))
        turn = await chat.end("t1")
        assert said(turn) == "Hello, Ann"
        (call,) = calls_of(turn)
        assert shown_by(call) == f"{os.getuid()}\n"


async def test_a_call_that_an_agent_leaves_open_ends_with_the_turn() -> None:
    async def work(turn: Turn) -> None:
        for begin in (False, True):
            call = turn.tool("t")
            await call.__aenter__()
            if begin:
                await call.start()

    async with scripted(work) as chat:
        turn = await chat.run("t1", "go")
        assert turn["state"] == "complete"
        for call in calls_of(turn):
            assert (call["status"], call["reason"]) == ("cancelled", "skipped")


async def test_a_call_that_an_agent_forgets_to_end_ends_with_its_block() -> None:
    async def work(turn: Turn) -> None:
        async with turn.tool("t", display_name="Tool") as call:
            await call.start()
            await call.write("done")
        async with turn.tool("t", display_name="Tool"):
            pass

    async with scripted(work) as chat:
        calls = calls_of(await chat.run("t1", "go"))
        assert [call["status"] for call in calls] == ["completed"] * 2
        assert calls[0]["content"] == [{"type": "text", "text": "done"}]
        assert calls[0]["pastTenseMessage"] == "Used Tool"


@pytest.mark.parametrize("outside", [True, False])
async def test_an_approval_that_its_agent_no_longer_waits_for_is_taken_back(outside: bool) -> None:
    async def work(turn: Turn) -> None:
        if outside:
            async with asyncio.timeout(0.1), turn.tool("t") as call:
                await call.confirm("May I?")
            return
        async with turn.tool("t") as call:
            try:
                async with asyncio.timeout(0.1):
                    await call.confirm("May I?")
            except TimeoutError:
                await turn.write("never mind")

    async with scripted(work) as chat:
        await chat.start("t1", "go")
        shown = await chat.client.action(chat.session, "session/inputNeededSet")
        turn = await chat.end("t1")
        (call,) = calls_of(turn)
        assert (call["status"], call["reason"]) == ("cancelled", "skipped")
        await chat.client.action(
            chat.session, "session/inputNeededRemoved", id=shown["request"]["id"]
        )
        assert turn["state"] == ("error" if outside else "complete")


async def test_what_was_denied_does_not_run_even_if_its_agent_tries(tmp_path: Any) -> None:
    async def work(turn: Turn) -> None:
        async with turn.tool("shell", display_name="Shell") as call:
            await call.confirm("May I?")
            await call.run(f"touch {tmp_path}/forbidden")

    async with scripted(work) as chat:
        await chat.start("t1", "go")
        call = await call_in(chat.client, chat.uri, "pending-confirmation")
        await chat.answer(confirmed("t1", call, False))
        turn = await chat.end("t1")
        assert failure_of(turn) == {"errorType": "notApproved", "message": "Shell was not approved"}
        assert list(tmp_path.iterdir()) == []


async def test_an_agent_that_cancels_itself_does_not_leave_its_turn_open() -> None:
    async def work(turn: Turn) -> None:
        raise asyncio.CancelledError

    async with scripted(work) as chat:
        turn = await chat.run("t1", "go")
        assert failure_of(turn) == {"errorType": "cancelled", "message": "the agent stopped"}


async def test_asking_again_while_a_call_runs_goes_on_where_it_is_approved() -> None:
    async def work(turn: Turn) -> None:
        async with turn.tool("t", input="one") as call:
            await call.confirm("Begin?")
            await call.write("half")
            again = await call.confirm("And now the rest?", input="two", editable=True)
            await call.complete("Did it", [{"type": "text", "text": str(again.input)}])

    async with scripted(work) as chat:
        await chat.start("t1", "go")
        call = await call_in(chat.client, chat.uri, "pending-confirmation")
        await chat.answer(confirmed("t1", call, True))
        call = await call_in(
            chat.client, chat.uri, "pending-confirmation", confirmationTitle="And now the rest?"
        )
        assert call["toolInput"] == "two"
        assert "content" not in call
        await chat.client.ping()
        assert len(chat.waiting) == 1
        await chat.answer(confirmed("t1", call, True, editedToolInput="three"), chat.clients[1])
        (call,) = calls_of(await chat.end("t1"))
        assert call["content"] == [{"type": "text", "text": "three"}]


async def test_everything_that_an_answer_may_hold_reaches_everybody() -> None:
    edit = {"after": {"uri": "file:///a", "content": {"uri": "ahp-content:/none"}}}

    async def work(turn: Turn) -> None:
        await turn.think("hm")
        await turn.notify("something happened")
        await turn.attach(b"\xff\x00", "application/octet-stream")
        await turn.report_usage({"inputTokens": 1, "_meta": {"cost": 0.5}})
        await turn.report_usage({"inputTokens": 3, "outputTokens": 4, "_meta": {"cost": 0.7}})
        risk = {"kind": "judge", "status": "complete", "reason": "harmless", "safety": 1}
        async with turn.tool("t", input={"x": 1}, intention="to show") as call:
            await call.confirm("Sure?", options=[], edits=[edit], risk=risk, invocation="Do it")

    async with scripted(work) as chat:
        await chat.start("t1", "go")
        call = await call_in(chat.client, chat.uri, "pending-confirmation")
        assert call["riskAssessment"]["safety"] == 1
        assert call["edits"] == {"items": [edit]}
        assert (call["intention"], call["invocationMessage"]) == ("to show", "Do it")
        assert "options" not in call
        assert await chat.status() == INPUT_NEEDED
        (reference,) = parts_of(chat.state, "contentRef")
        read = await chat.client.request("resourceRead", uri=reference["uri"])
        assert (read["data"], read["encoding"]) == ("/wA=", "base64")
        await chat.answer(confirmed("t1", call, True))
        turn = await chat.end("t1")
        kinds = [part["kind"] for part in turn["responseParts"]]
        assert kinds == ["reasoning", "systemNotification", "contentRef", "toolCall"]
        assert turn["usage"] == {"inputTokens": 3, "outputTokens": 4, "_meta": {"cost": 0.7}}


class Choosy(Agent):
    """Has models with options, settings and tools, and says what it was given."""

    provider, display_name = "choosy", "Choosy"
    models = (
        {
            "id": "small",
            "provider": "choosy",
            "name": "Small",
            "configSchema": {
                "type": "object",
                "properties": {
                    "effort": {"type": "string", "title": "Effort", "default": "low"},
                    "seed": {"type": "number", "title": "Seed"},
                },
            },
        },
        {"id": "large", "provider": "choosy", "name": "Large"},
    )
    tools = ({"name": "dig", "description": "Digs"},)

    def config_schema(self, values: Any, working_directory: str | None) -> Json:
        mode = {"type": "string", "title": "Mode", "enum": ["ask", "act"], "default": "ask"}
        return {"type": "object", "properties": {"mode": {**mode, "sessionMutable": True}}}

    async def run(self, turn: Turn) -> None:
        told = [turn.model, turn.model_config, turn.session.config, len(turn.attachments)]
        await turn.write(json.dumps(told))


async def test_models_settings_and_tools_are_shown_and_what_is_chosen_arrives() -> None:
    async with embed(Choosy()) as url, at_chat(url, "choosy", OLDEST) as chat:
        client = chat.client
        root = await client.subscribe("ahp-root://")
        assert [model["id"] for model in root["agents"][0]["models"]] == ["small", "large"]
        assert root["agents"][0]["models"][0]["configSchema"]["properties"]["effort"]
        assert client.states[chat.session]["serverTools"] == [
            {"name": "dig", "description": "Digs"}
        ]
        resolved = await client.request("resolveSessionConfig", provider="choosy", config={})
        place = {"isolation": "folder", "directory": ""}
        assert resolved["values"] == {"mode": "ask", **place}
        offers = await client.request(
            "sessionConfigCompletions", provider="choosy", property="mode", query="a"
        )
        assert [item["value"] for item in offers["items"]] == ["ask", "act"]

        async def told(turn_id: str, **message: Any) -> Any:
            action = client.turn_started(turn_id, "tell me")
            await client.accepted(chat.uri, {**action, "message": {**action["message"], **message}})
            return json.loads(said(await chat.end(turn_id)))

        assert await told("t1") == ["small", {"effort": "low"}, {"mode": "ask", **place}, 0]
        change = {"type": "session/configChanged", "config": {"mode": "act"}}
        await client.accepted(chat.session, change)
        model = {"id": "small", "config": {"effort": "high", "seed": 7}}
        note = {"type": "simple", "label": "note", "modelRepresentation": "n"}
        assert await told("t2", model=model, attachments=[note]) == [
            *("small", {"effort": "high", "seed": 7}, {"mode": "act", **place}, 1)
        ]
        assert await told("t3", model={"id": "large"}) == ["large", {}, {"mode": "act", **place}, 0]
        await chat.assert_at_rest()
