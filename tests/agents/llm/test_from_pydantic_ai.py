"""Any pydantic-ai agent as a provider."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, ModelRetry, RunContext
from pydantic_ai.exceptions import ApprovalRequired
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.tools import DeferredToolRequests

from agenthost.agents import AgentError, Turn, from_pydantic_ai
from tests.agents.failures import failure
from tests.agents.llm.scripted import Call, Script, Think
from tests.agents.llm.talking import Talk, calls_of, talk_to, text_of
from tests.flags import Flag


async def test_one_line_makes_an_agent_a_provider(tmp_path: Path) -> None:
    agent = from_pydantic_ai(Agent(TestModel(custom_output_text="hello"), name="My Agent"))
    assert agent.info() == {
        "provider": "my-agent",
        "displayName": "My Agent",
        "description": "A pydantic-ai agent",
        "models": [],
        "capabilities": {"multipleChats": {"fork": True, "sideChat": True}},
    }
    async with talk_to(agent, tmp_path) as talk:
        turn = await talk.say("t1", "hi")
    assert text_of(turn) == "hello"
    assert turn["usage"]["model"] == "test"
    assert turn["usage"]["outputTokens"] > 0


def test_a_name_that_makes_no_provider_id_is_refused() -> None:
    with pytest.raises(AgentError, match="provider="):
        from_pydantic_ai(Agent(TestModel()), display_name="…")


async def test_thoughts_text_and_tools_are_shown_in_their_order(tmp_path: Path) -> None:
    script = Script([Think("Let me "), "I add. ", Call("add", {"a": 2, "b": 3})], "It is 5.")
    agent = Agent(script.model)

    @agent.tool_plain
    def add(a: int, b: int) -> int:
        return a + b

    async with talk_to(from_pydantic_ai(agent, provider="adder"), tmp_path) as talk:
        turn = await talk.say("t1", "2 + 3?")
        actions = [e["action"] for e in talk.client.envelopes[talk.chat]]
    assert [part["kind"] for part in turn["responseParts"]] == [
        "reasoning",
        "markdown",
        "toolCall",
        "markdown",
    ]
    (call,) = calls_of(turn)
    assert call["toolInput"] == '{"a":2,"b":3}'
    assert call["content"] == [{"type": "text", "text": "5"}]
    streamed = [a["content"] for a in actions if a["type"] == "chat/toolCallDelta"]
    assert "".join(streamed) == '{"a":2,"b":3}'
    assert len(streamed) > 1


class Approver:
    """An agent with a tool that needs approval, and what the tool was run with."""

    def __init__(self, *, dynamic: bool = False, declared: bool = False) -> None:
        self.script = Script(Call("pay", {"amount": 10}), "done")
        self.paid: list[int] = []
        output: Any = [str, DeferredToolRequests] if declared else str
        agent: Agent[None, Any] = Agent(self.script.model, output_type=output)

        @agent.tool(requires_approval=not dynamic)
        def pay(ctx: RunContext[None], amount: int) -> str:
            if dynamic and not ctx.tool_call_approved:
                raise ApprovalRequired
            self.paid.append(amount)
            return f"paid {amount}"

        self.agent = from_pydantic_ai(agent, provider="payer")

    async def ask(self, talk: Talk) -> dict[str, Any]:
        await talk.start("t1", "pay")
        call = await talk.call("pay", "pending-confirmation")
        assert self.paid == []
        return call


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("declared", [False, True])
async def test_a_tool_that_needs_approval_runs_when_people_approve(
    tmp_path: Path, dynamic: bool, declared: bool
) -> None:
    payer = Approver(dynamic=dynamic, declared=declared)
    async with talk_to(payer.agent, tmp_path) as talk:
        call = await payer.ask(talk)
        assert call["toolInput"] == '{"amount":10}'
        await talk.answer("t1", call, True)
        turn = await talk.end("t1")
    assert payer.paid == [10]
    assert payer.script.results() == ["paid 10"]
    (ended,) = calls_of(turn)
    assert ended["content"] == [{"type": "text", "text": "paid 10"}]


async def test_a_tool_that_needs_approval_runs_with_what_people_made_of_its_input(
    tmp_path: Path,
) -> None:
    payer = Approver()
    async with talk_to(payer.agent, tmp_path) as talk:
        call = await payer.ask(talk)
        await talk.answer("t1", call, True, editedToolInput='{"amount": 1}')
        await talk.end("t1")
    assert payer.paid == [1]


async def test_input_that_people_edited_into_nonsense_runs_nothing(tmp_path: Path) -> None:
    payer = Approver()
    async with talk_to(payer.agent, tmp_path) as talk:
        call = await payer.ask(talk)
        await talk.answer("t1", call, True, editedToolInput="one euro")
        turn = await talk.end("t1")
    (ended,) = calls_of(turn)
    assert payer.paid == []
    assert ended["success"] is False
    assert "JSON" in payer.script.results()[0]


async def test_a_tool_that_people_deny_does_not_run_and_the_model_learns_why(
    tmp_path: Path,
) -> None:
    payer = Approver()
    async with talk_to(payer.agent, tmp_path) as talk:
        call = await payer.ask(talk)
        await talk.answer("t1", call, False, reasonMessage="too much")
        turn = await talk.end("t1")
    assert payer.paid == []
    assert turn["state"] == "complete"
    (ended,) = calls_of(turn)
    assert ended["status"] == "cancelled"
    assert payer.script.results() == ["The user did not allow this. They said: too much"]


async def test_cancelling_while_an_approval_is_open_leaves_nothing_behind(tmp_path: Path) -> None:
    payer = Approver()
    async with talk_to(payer.agent, tmp_path) as talk:
        await payer.ask(talk)
        await talk.cancel("t1")
        assert talk.last["state"] == "cancelled"
        assert text_of(await talk.say("t2", "go on")) == "done"
    assert payer.paid == []


async def test_a_tool_that_asks_for_another_try_fails_and_is_tried_again(tmp_path: Path) -> None:
    script = Script(Call("guess", {"n": 1}), Call("guess", {"n": 2}), "found")
    agent = Agent(script.model)

    @agent.tool_plain
    def guess(n: int) -> str:
        if n == 1:
            raise ModelRetry("too low")
        return "right"

    async with talk_to(from_pydantic_ai(agent, provider="guesser"), tmp_path) as talk:
        low, right = calls_of(await talk.say("t1", "guess"))
    assert low["error"] == {"message": "too low"}
    assert right["success"] is True


async def test_a_tool_that_breaks_fails_its_call_and_ends_the_turn(tmp_path: Path) -> None:
    agent = Agent(Script(Call("broken", {}), "never").model)

    @agent.tool_plain
    def broken() -> str:
        raise KeyError("a secret")

    async with talk_to(from_pydantic_ai(agent, provider="broken"), tmp_path) as talk:
        turn = await talk.say("t1", "go")
        assert "a secret" not in str(talk.client.received)
    assert failure(turn)["errorType"] == "KeyError"
    assert calls_of(turn)[0]["error"] == {"message": "it failed (KeyError)"}


async def test_a_structured_answer_is_written_as_json(tmp_path: Path) -> None:
    class City(BaseModel):
        name: str
        people: int

    script = Script(Call("final_result", {"name": "Bonn", "people": 330000}))
    agent = Agent(script.model, output_type=City)
    async with talk_to(from_pydantic_ai(agent, provider="cities"), tmp_path) as talk:
        turn = await talk.say("t1", "which?")
    assert calls_of(turn) == []
    assert text_of(turn) == '```json\n{\n  "name": "Bonn",\n  "people": 330000\n}\n```\n'


async def test_the_system_prompt_is_there_in_every_turn(tmp_path: Path) -> None:
    script = Script("one", "two")
    agent = from_pydantic_ai(Agent(script.model, system_prompt="Be kind."), provider="kind")
    async with talk_to(agent, tmp_path) as talk:
        await talk.say("t1", "first")
        await talk.say("t2", "second")
    assert script.system(0) == script.system(1) == ["Be kind."]
    assert script.said(1) == ["first", "second"]


async def test_dependencies_are_made_for_each_turn(tmp_path: Path) -> None:
    script = Script(Call("whoami", {}), "one", Call("whoami", {}), "two")
    agent = Agent(script.model, deps_type=str)

    @agent.tool
    def whoami(ctx: RunContext[str]) -> str:
        return ctx.deps

    def deps(turn: Turn) -> str:
        return f"turn {turn.id}"

    async with talk_to(from_pydantic_ai(agent, provider="who", deps=deps), tmp_path) as talk:
        await talk.say("t1", "first")
        await talk.say("t2", "second")
    assert script.results(1) == ["turn t1"]
    assert script.results(3) == ["turn t1", "turn t2"]


async def test_people_choose_among_the_models_that_are_offered(tmp_path: Path) -> None:
    agent = from_pydantic_ai(Agent(Script("mine").model), provider="choosy", models=["test"])
    async with talk_to(agent, tmp_path) as talk:
        turn = await talk.say("t1", "hi", model={"id": "test"})
    assert text_of(turn) == "success (no tool calls)"


async def test_steering_between_steps_reaches_the_next_one(tmp_path: Path) -> None:
    script = Script(Call("work", {}), "as you wish")
    agent = Agent(script.model)
    working, go_on = Flag(), Flag()

    @agent.tool_plain
    async def work() -> str:
        working.set()
        await go_on.wait()
        return "worked"

    async with talk_to(from_pydantic_ai(agent, provider="worker"), tmp_path) as talk:
        await talk.start("t1", "work")
        await working.wait()
        await talk.steer("in French please")
        go_on.set()
        turn = await talk.end("t1")
        assert "steeringMessage" not in talk.state
        script.steps.append(["bien"])
        await talk.say("t2", "more")
    assert script.said(1) == ["work", "in French please"]
    assert [part["kind"] for part in turn["responseParts"]] == [
        "toolCall",
        "systemNotification",
        "markdown",
    ]
    assert script.said(2) == ["work", "in French please", "more"]


async def test_what_is_attached_to_a_steering_message_reaches_the_model(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("be kind")
    script = Script(Call("work", {}), "as you wish")
    agent = Agent(script.model)
    working, go_on = Flag(), Flag()

    @agent.tool_plain
    async def work() -> str:
        working.set()
        await go_on.wait()
        return "worked"

    file = {"type": "resource", "label": "notes", "uri": (tmp_path / "notes.txt").as_uri()}
    note = {"type": "simple", "label": "hint", "modelRepresentation": "look left"}
    async with talk_to(from_pydantic_ai(agent, provider="worker"), tmp_path) as talk:
        await talk.start("t1", "work")
        await working.wait()
        await talk.steer("mind these", attachments=[file, note])
        go_on.set()
        turn = await talk.end("t1")
    attached = ["mind these", "Attached: notes\n\nbe kind", "Attached: hint\n\nlook left"]
    assert script.said(1) == ["work", attached]
    (notice,) = [part for part in turn["responseParts"] if part["kind"] == "systemNotification"]
    assert notice["content"] == "mind these\n(attached: notes)\n(attached: hint)"


async def test_steering_during_the_last_step_is_answered_in_the_same_turn(tmp_path: Path) -> None:
    speaking, go_on = Flag(), Flag()
    heard: list[int] = []

    async def speak(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        heard.append(len(messages))
        yield "Well. "
        if len(heard) == 1:
            speaking.set()
            await go_on.wait()
        yield f"That is answer {len(heard)}."

    agent = from_pydantic_ai(Agent(FunctionModel(stream_function=speak)), provider="speaker")
    async with talk_to(agent, tmp_path) as talk:
        await talk.start("t1", "speak")
        await speaking.wait()
        await talk.steer("shorter")
        go_on.set()
        turn = await talk.end("t1")
    assert text_of(turn) == "Well. That is answer 1.Well. That is answer 2."
    assert heard == [1, 3]
    assert turn["state"] == "complete"
