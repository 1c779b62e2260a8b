"""What a model knows of earlier turns: all of it comes from the chat."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from agenthost.agents.folders import Folders
from agenthost.agents.llm import LlmAgent
from agenthost.agents.llm.history import LEFT_OUT, MOST_HISTORY, messages_of
from agenthost.host import Host, SqliteStore
from tests.agents.llm.scripted import Call, Script
from tests.agents.llm.talking import SESSION, Talk, talk_to
from tests.wire.client import open_client

Json = dict[str, Any]
EVERYTHING = {"autoApprove": "autoApprove"}


def told(script: Script, step: int = -1) -> list[str]:
    """The conversation of a step as plain lines, without the last thing said."""
    return [_line(part) for message in script.told[step] for part in message.parts]


def _line(part: Any) -> str:
    match part:
        case UserPromptPart(content=str() as text):
            return f"user: {text}"
        case TextPart(content=text):
            return f"model: {text}"
        case ToolCallPart():
            return f"call: {part.tool_name} {part.args_as_dict()}"
        case ToolReturnPart():
            return f"{part.outcome}: {part.model_response_str(wrap_if_error=False)}"
    return type(part).__name__


async def test_a_follow_up_knows_the_turn_before_it(tmp_path: Path) -> None:
    command = {"command": "echo 42"}
    script = Script(["Hm. ", Call("run_command", command)], "It is 42.", "As I said, 42.")
    agent = LlmAgent([script.model])
    async with talk_to(agent, tmp_path, config=EVERYTHING) as talk:
        await talk.say("t1", "what is it?")
        await talk.say("t2", "really?")
    assert told(script) == [
        "user: what is it?",
        "model: Hm. ",
        f"call: run_command {command}",
        "success: 42\n",
        "model: It is 42.",
        "user: really?",
    ]


async def test_a_follow_up_after_a_restart_knows_the_turn_before_it(tmp_path: Path) -> None:
    store = tmp_path / "sessions.sqlite"
    first = Script(Call("run_command", {"command": "echo 42"}), "It is 42.")
    agent = LlmAgent([first.model])
    opened = talk_to(agent, tmp_path, store=SqliteStore(store), config=EVERYTHING)
    async with opened as talk:
        await talk.say("t1", "what is it?")
        chat = talk.chat
    second = Script("As I said, 42.")
    host = Host([LlmAgent([second.model])], store=SqliteStore(store), default_directory=tmp_path)
    async with host, open_client(await host.listen(port=0)) as client:
        await client.initialize()
        await client.subscribe(SESSION)
        await client.subscribe(chat)
        await Talk(client, chat).say("t2", "really?")
    assert told(second) == [
        "user: what is it?",
        "call: run_command {'command': 'echo 42'}",
        "success: 42\n",
        "model: It is 42.",
        "user: really?",
    ]


async def test_what_is_truncated_is_forgotten_and_a_fork_remembers(tmp_path: Path) -> None:
    script = Script("one", "two", "three", "four")
    async with talk_to(LlmAgent([script.model]), tmp_path) as talk:
        await talk.say("t1", "first")
        await talk.say("t2", "second")
        source = {"kind": "fork", "chat": talk.chat, "turnId": "t2"}
        await talk.client.request(
            "createChat", channel=SESSION, chat="ahp-chat:/fork", source=source
        )
        await talk.client.accepted(talk.chat, {"type": "chat/truncated", "turnId": "t1"})
        await talk.say("t3", "third")
        await talk.client.subscribe("ahp-chat:/fork")
        await Talk(talk.client, "ahp-chat:/fork").say("t4", "fourth")
    assert told(script, 2) == ["user: first", "model: one", "user: third"]
    assert told(script, 3) == [
        "user: first",
        "model: one",
        "user: second",
        "model: two",
        "user: fourth",
    ]


async def test_what_was_denied_and_what_was_cancelled_is_remembered(tmp_path: Path) -> None:
    script = Script(
        Call("run_command", {"command": "rm -rf /"}),
        "Sorry.",
        Call("run_command", {"command": "sleep 60"}),
        "ok",
    )
    async with talk_to(LlmAgent([script.model]), tmp_path) as talk:
        await talk.start("t1", "clean up")
        call = await talk.call("run_command", "pending-confirmation")
        await talk.answer("t1", call, False, reasonMessage="are you mad")
        await talk.end("t1")
        await talk.start("t2", "rest")
        await talk.call("run_command", "pending-confirmation")
        await talk.cancel("t2")
        await talk.say("t3", "and now?")
    assert told(script) == [
        "user: clean up",
        "call: run_command {'command': 'rm -rf /'}",
        "denied: The user did not allow this. They said: are you mad",
        "model: Sorry.",
        "user: rest",
        "call: run_command {'command': 'sleep 60'}",
        "interrupted: This did not finish; it may have run in part.",
        "user: (The user cancelled this answer before it was complete.)",
        "user: and now?",
    ]


async def test_a_command_that_was_cancelled_while_it_ran_is_not_told_as_never_run(
    tmp_path: Path,
) -> None:
    script = Script(Call("run_command", {"command": "echo begun; exec sleep 60"}), "ok")
    async with talk_to(LlmAgent([script.model]), tmp_path, config=EVERYTHING) as talk:
        await talk.start("t1", "go")
        await talk.client.action(talk.chat, "chat/toolCallContentChanged")
        await talk.cancel("t1")
        await talk.say("t2", "and now?")
    assert "interrupted: This did not finish; it may have run in part." in told(script)


@pytest.mark.parametrize(
    ("state", "fields", "result"),
    [
        ("cancelled", {}, "This did not finish; it may have run in part."),
        ("error", {}, "This did not finish; it may have run in part."),
        ("complete", {}, "This was not run: nobody answered, or it was skipped."),
        (
            "cancelled",
            {"reasonMessage": "nobody answered in time"},
            "This was not run: nobody answered, or it was skipped.",
        ),
    ],
)
def test_what_did_not_run_is_told_apart_from_what_may_have(
    state: str, fields: Json, result: str
) -> None:
    call = _call("x", status="cancelled", reason="skipped", **fields)
    results = [
        part.content
        for message in retold([call], state)
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    ]
    assert results == [result]


FAILURE: Json = {"kind": "error", "error": {"errorType": "x", "message": "secret words"}}


def test_a_turn_that_was_taken_up_again_is_told_as_one_answer_and_what_was_cut_short_as_such() -> (
    None
):
    cut_short = _call("a", status="cancelled", reason="skipped")
    skipped = _call("b", status="cancelled", reason="skipped")
    text = {"kind": "markdown", "id": "p", "content": "done"}
    messages = retold([cut_short, FAILURE, FAILURE, skipped, text])
    parts = [part for message in messages for part in message.parts]
    assert [part.content for part in parts if isinstance(part, ToolReturnPart)] == [
        "This did not finish; it may have run in part.",
        "This was not run: nobody answered, or it was skipped.",
    ]
    assert "secret" not in str(messages)


def test_that_an_answer_ended_early_is_told_once_however_often_it_failed() -> None:
    messages = retold([FAILURE, FAILURE], "error")
    assert str(messages).count("(This answer ended early because of an error.)") == 1


def test_calls_in_a_row_are_told_as_one_step_with_its_results() -> None:
    parts = [_call("a"), _call("b"), {"kind": "markdown", "id": "p", "content": "then"}, _call("c")]
    messages = retold(parts)
    shapes = [(type(m), [type(part) for part in m.parts]) for m in messages[1:]]
    assert shapes == [
        (ModelResponse, [ToolCallPart, ToolCallPart]),
        (ModelRequest, [ToolReturnPart, ToolReturnPart]),
        (ModelResponse, [TextPart, ToolCallPart]),
        (ModelRequest, [ToolReturnPart]),
    ]


def test_reasoning_and_references_are_not_retold_and_native_tools_are_told_as_text() -> None:
    parts: list[Json] = [
        {"kind": "reasoning", "id": "r", "content": "hm"},
        {"kind": "contentRef", "uri": "x:/1"},
        _call("a", toolName="web_search"),
    ]
    (_, answer) = retold(parts)
    assert isinstance(answer, ModelResponse)
    assert answer.parts == [TextPart(content="(web_search: a)")]


def test_a_long_result_is_retold_in_part_and_odd_arguments_as_they_were() -> None:
    block = {"type": "text", "text": "x" * 100_000}
    odd = _call("a", toolInput="{broken", content=[block])
    (_, answer, results) = retold([odd])
    assert isinstance(answer.parts[0], ToolCallPart)
    assert answer.parts[0].args == {"input": "{broken"}
    assert isinstance(results.parts[0], ToolReturnPart)
    assert len(results.parts[0].model_response_str()) < 40_000


def test_a_failed_call_is_told_with_its_output_and_its_error() -> None:
    failed = _call("boom", success=False, error={"message": "exit code 1"})
    (_, _, results) = retold([failed])
    assert isinstance(results.parts[0], ToolReturnPart)
    assert results.parts[0].outcome == "failed"
    assert results.parts[0].content == "boom\nexit code 1"


def retold(parts: list[Json], state: str = "complete") -> list[ModelMessage]:
    message = {"text": "go", "origin": {"kind": "user"}}
    turn: Mapping[str, Any] = {"message": message, "responseParts": parts, "state": state}
    return messages_of([turn], Folders([]))


def _call(text: str, **fields: Any) -> Json:
    call = {
        "toolCallId": f"call-{text}",
        "toolName": "shell",
        "toolInput": "{}",
        "status": "completed",
        "success": True,
        "content": [{"type": "text", "text": text}],
        **fields,
    }
    return {"kind": "toolCall", "toolCall": call}


def test_of_a_very_long_conversation_the_newest_turns_are_told() -> None:
    def turn(text: str, size: int) -> Json:
        answer = {"kind": "markdown", "id": "p", "content": "x" * size}
        message = {"text": text, "origin": {"kind": "user"}}
        return {"message": message, "responseParts": [answer], "state": "complete"}

    third = MOST_HISTORY // 3
    turns = [turn(str(number), third - 10) for number in range(9)]
    assert said(messages_of(turns, Folders([]))) == [LEFT_OUT, "6", "7", "8"]
    assert said(messages_of(turns[:3], Folders([]))) == ["0", "1", "2"]
    # The last turn is told whatever its size: nobody can go on from nothing.
    assert said(messages_of([turn("huge", MOST_HISTORY)], Folders([]))) == ["huge"]


def said(messages: list[ModelMessage]) -> list[Any]:
    parts = (part for message in messages for part in message.parts)
    return [part.content for part in parts if isinstance(part, UserPromptPart)]
