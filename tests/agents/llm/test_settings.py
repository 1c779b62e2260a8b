"""What the settings of a session mean to the coding agent, through a real host."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    NativeToolCallPart,
    NativeToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from agenthost.agents.llm import LlmAgent
from tests.agents.llm.scripted import Call, Script
from tests.agents.llm.talking import SESSION, calls_of, talk_to
from tests.flags import Flag

READING = {"list_files", "read_file", "search_files"}


def run(command: str) -> Call:
    return Call("run_command", {"command": command})


def told(script: Script) -> str:
    """The instructions of the last step."""
    last = script.told[-1][-1]
    assert isinstance(last, ModelRequest)
    return last.instructions or ""


def configured(**values: str) -> dict[str, Any]:
    return {"type": "session/configChanged", "config": values}


async def test_clients_find_values_that_they_have_controls_for(tmp_path: Path) -> None:
    async with talk_to(LlmAgent(["test"]), tmp_path) as talk:
        answer = await talk.client.request("resolveSessionConfig", provider="llm")
    properties = answer["schema"]["properties"]
    assert properties["autoApprove"]["enum"] == ["default", "edits", "autoApprove"]
    assert properties["mode"]["enum"] == ["interactive", "plan", "autopilot"]
    place = {"isolation": "folder", "directory": ""}
    assert answer["values"] == {"autoApprove": "default", "mode": "interactive", **place}


async def test_without_git_a_worktree_is_neither_offered_nor_pretended(
    tmp_path: Path,
) -> None:
    async with talk_to(LlmAgent(["test"]), tmp_path) as talk:
        wanted = {"isolation": "worktree", "branch": "main"}
        answer = await talk.client.request("resolveSessionConfig", provider="llm", config=wanted)
        why = await talk.client.rejected(SESSION, configured(isolation="worktree"))
    # Clients hide the control of a setting that can only be read.
    assert answer["schema"]["properties"]["isolation"]["readOnly"] is True
    assert answer["values"]["isolation"] == "folder"
    assert "branch" not in answer["values"]
    assert why == "isolation cannot be changed"


async def test_what_a_setting_allows_is_recorded_as_allowed_by_it(tmp_path: Path) -> None:
    script = Script(run("echo hi"), "done")
    config = {"autoApprove": "autoApprove"}
    async with talk_to(LlmAgent([script.model]), tmp_path, config=config) as talk:
        (call,) = calls_of(await talk.say("t1", "go"))
    assert call["confirmed"] == "setting"
    assert call["_meta"] == {"toolKind": "terminal", "autoApproveBySetting": True}


async def test_a_plan_is_made_with_tools_that_change_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old")
    steps = [Call("edit_file", {"path": "a.txt", "new_text": "new"}), run("rm a.txt")]
    script = Script(Call("read_file", {"path": "a.txt"}), steps, "the plan")
    # Even where everything is allowed.
    config = {"mode": "plan", "autoApprove": "autoApprove"}
    tool = {"name": "clients_own", "inputSchema": {"type": "object", "properties": {}}}
    async with talk_to(LlmAgent([script.model]), tmp_path, config=config) as talk:
        me = {"clientId": talk.client.client_id, "tools": [tool]}
        await talk.client.accepted(SESSION, {"type": "session/activeClientSet", "activeClient": me})
        turn = await talk.say("t1", "go")
    assert turn["state"] == "complete"
    assert script.offered == [READING] * 3
    assert "answer with the plan" in told(script)
    assert (tmp_path / "a.txt").read_text() == "old"


async def test_whoever_leaves_the_plan_mode_gets_the_work_done(tmp_path: Path) -> None:
    script = Script("the plan", run("echo hi"), "done")
    async with talk_to(LlmAgent([script.model]), tmp_path, config={"mode": "plan"}) as talk:
        await talk.say("t1", "plan it")
        await talk.client.accepted(SESSION, configured(mode="interactive"))
        await talk.start("t2", "do it")
        call = await talk.call("run_command", "pending-confirmation")
        await talk.answer("t2", call, True)
        (ended,) = calls_of(await talk.end("t2"))
    assert ended["success"] is True
    assert script.offered[1] > READING
    assert "answer with the plan" not in told(script)


async def test_what_the_model_wants_once_a_plan_is_wanted_is_refused(tmp_path: Path) -> None:
    thinking, settled = Flag(), Flag()
    script = Script(run("touch made"), "done")

    async def speak(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        thinking.set()
        await settled.wait()
        async for piece in script.speak(messages, info):
            yield piece

    model = FunctionModel(stream_function=speak, model_name="slow")
    config = {"autoApprove": "autoApprove"}
    async with talk_to(LlmAgent([model]), tmp_path, config=config) as talk:
        await talk.start("t1", "go")
        await asyncio.wait_for(thinking.wait(), 60)
        await talk.client.accepted(SESSION, configured(mode="plan"))
        settled.set()
        await talk.end("t1")
    assert not (tmp_path / "made").exists()
    assert script.results() == ["refused: the user asked for a plan; nothing may be changed now"]


async def test_on_autopilot_nothing_is_asked(tmp_path: Path) -> None:
    script = Script(run("touch made"), "done")
    config = {"mode": "autopilot"}
    async with talk_to(LlmAgent([script.model]), tmp_path, config=config) as talk:
        (call,) = calls_of(await talk.say("t1", "go"))
    assert (tmp_path / "made").exists()
    assert call["confirmed"] == "setting"
    assert "ask nothing" in told(script)


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (Call("list_files", {}), "read"),
        (Call("read_file", {"path": "a.txt"}), "read"),
        (Call("search_files", {"pattern": "x"}), "search"),
        (run("echo `echo hi`"), "terminal"),
    ],
    ids=lambda value: getattr(value, "tool", None),
)
async def test_a_call_says_what_kind_it_is_and_marks_no_code(
    tmp_path: Path, call: Call, kind: str
) -> None:
    (tmp_path / "a.txt").write_text("x")
    script = Script(call, "done")
    config = {"autoApprove": "autoApprove"}
    async with talk_to(LlmAgent([script.model]), tmp_path, config=config) as talk:
        (ended,) = calls_of(await talk.say("t1", "go"))
    assert ended["_meta"]["toolKind"] == kind
    assert "`" not in ended["pastTenseMessage"]
    # What people typed stays as it is.
    assert ended["invocationMessage"].count("`") == call.args.get("command", "").count("`")


async def test_a_call_that_the_provider_makes_of_an_mcp_server_names_it(tmp_path: Path) -> None:
    name = "mcp_server:weather"

    async def speak(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        yield {0: NativeToolCallPart(name, {"tool_name": "today"}, "m1", provider_name="function")}
        yield {1: NativeToolReturnPart(name, "sunny", "m1", provider_name="function")}
        yield "It is sunny."

    model = FunctionModel(stream_function=speak, model_name="native")
    async with talk_to(LlmAgent([model]), tmp_path) as talk:
        (call,) = calls_of(await talk.say("t1", "go"))
    assert call["_meta"] == {"mcpServerName": "weather"}
