"""What people use to test their agents: a chat in memory, with replies."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agenthost.agents.demo import Demo
from agenthost.testing import DECLINE, Allow, SeenCall, Unanswered, run_turn, talk
from tests.testing.agents import Caller, Failing, Form, Greeter, Lead, Patient, Worker


def test_a_turn_is_run_in_a_plain_function() -> None:
    turn = run_turn(Greeter(), "hi", answers=["Ada"])
    assert (turn.text, turn.questions, turn.state) == ("Hello, Ada!", ("Who are you?",), "complete")


async def test_questions_are_answered_in_order_by_name_or_by_a_function() -> None:
    def answer(question: Mapping[str, Any]) -> str:
        return str(question["id"]) if question["id"] == "name" else "red"

    async with talk(Form()) as chat:
        told = "accept: {'name': 'Ada', 'colour': 'blue'}"
        assert (await chat.say("a", answers=["Ada", "blue"])).text == told
        assert (await chat.say("b", answers={"name": "Ada", "Which colour?": "blue"})).text == told
        assert (await chat.say("c", answers=answer)).text.endswith("'name', 'colour': 'red'}")
        assert (await chat.say("d", answers=["Ada", DECLINE])).text == "decline: {}"
        assert (await chat.say("e", answers=["Ada", None])).questions == (
            "Your name?",
            "Which colour?",
        )


async def test_what_nobody_foresaw_is_named_at_once_and_the_chat_goes_on() -> None:
    async with talk(Form()) as chat:
        with pytest.raises(Unanswered, match=r"'Which colour\?' \(colour\)"):
            await chat.say("a", answers=["Ada"])
        with pytest.raises(Unanswered, match="does not take the test's reply"):
            await chat.say("b", answers=["A", None])
        with pytest.raises(ValueError, match="'green' is no option of question colour"):
            await chat.say("c", answers=["Ada", "green"])
        assert (await chat.say("d", answers=["Ada", "red"])).state == "complete"
        assert [turn["state"] for turn in chat.chat.state["turns"]] == [
            *("cancelled", "cancelled", "cancelled"),
            "complete",
        ]


def test_one_answer_is_a_list_too() -> None:
    with pytest.raises(TypeError, match=r"answers=\[…\]"):
        run_turn(Greeter(), "hi", answers="Ada")


async def test_calls_are_approved_all_none_by_name_or_by_a_function() -> None:
    def short(call: SeenCall) -> bool:
        return len(call.input["word"]) < 5

    async with talk(Worker()) as chat:
        turn = await chat.say("build test", approve=True)
        assert [(call.name, call.output) for call in turn.calls] == [
            ("build", "build is done"),
            ("test", "test is done"),
        ]
        assert (turn.reasoning, turn.notices) == ("Let me see. ", ("That was all.",))
        assert (turn.usage["inputTokens"], turn.usage["outputTokens"]) == (3, 4)
        denied = await chat.say("build", approve=False)
        assert (denied.text, denied.calls["build"].status) == ("not build ", "cancelled")
        assert not denied.calls["build"].succeeded
        session = Allow(option="allow-in-session")
        assert (await chat.say("dig dig", approve=lambda call: session)).calls[1].succeeded
        assert "dig" in (await chat.say("dig")).calls[0].output
        chosen = await chat.say("build test", approve=short)
        assert [call.succeeded for call in chosen.calls] == [False, True]
        with pytest.raises(Unanswered, match=r"test with {'word': 'test'} .* only build"):
            await chat.say("build test", approve="build")
        with pytest.raises(Unanswered, match="approve=True"):
            await chat.say("build")


async def test_calls_are_found_by_number_and_by_name() -> None:
    async with talk(Worker()) as chat:
        calls = (await chat.say("a b a", approve=True)).calls
    assert calls["b"] is calls[1]
    assert [call.name for call in calls[1:]] == ["b", "a"]
    assert len(calls.named("a")) == 2
    with pytest.raises(LookupError, match="2 calls of a; the calls are: a, b, a"):
        calls["a"]
    with pytest.raises(LookupError, match="0 calls of c"):
        calls["c"]


async def test_a_failure_is_seen_as_people_see_it() -> None:
    async with talk(Failing()) as chat:
        turn = await chat.say("hi")
        assert (turn.state, turn.text) == ("error", "so far ")
        assert (turn.error, turn.error_type) == ("no luck today", "noLuck")
        assert "ZeroDivisionError" in ((await chat.say("badly")).error or "")


async def test_a_turn_is_steered_and_cancelled_while_it_runs() -> None:
    async with talk(Patient()) as chat:
        turn = chat.start("go")
        await turn.until("wait")
        await turn.steer("now")
        assert (await turn.end()).text == "waiting now"
        assert turn.deltas == ["waiting ", "now"]
        with pytest.raises(LookupError, match="ended without 'never'"):
            await turn.until("never")
        turn = chat.start("go")
        await turn.until("waiting")
        assert (await turn.cancel()).state == "cancelled"


async def test_a_turn_that_takes_too_long_says_where_it_stands() -> None:
    async with talk(Patient(), timeout=0.01) as chat:
        with pytest.raises(TimeoutError, match=r"0\.01 seconds: it (said|has said)"):
            await chat.say("go")


async def test_leaving_ends_what_still_runs() -> None:
    agent = Patient()
    async with talk(agent) as chat:
        await chat.start("go").until("waiting")
    assert agent.stopped


async def test_the_client_offers_tools() -> None:
    async def look(arguments: Mapping[str, Any]) -> str:
        return f"I see {arguments['at']}"

    async with talk(Caller(), tools={"look": look}) as chat:
        assert (await chat.say("the sea")).text == "I see the sea"


async def test_edits_are_seen_as_diffs_before_and_after(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old\n")
    seen: list[str] = []

    def look(call: SeenCall) -> bool:
        seen.append(call.diff)
        return True

    async with talk(Demo(), folder=tmp_path) as chat:
        turn = await chat.say("/edit a.txt new", approve=look)
        made = await chat.say("/edit b.txt more", approve="edit")
    assert turn.calls["edit"].input == {"path": "a.txt", "text": "new"}
    assert turn.calls["edit"].diff == "--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-old\n+new\n"
    assert seen == [turn.calls["edit"].diff]
    assert made.calls["edit"].diff.startswith("--- /dev/null\n+++ b.txt\n")
    assert (tmp_path / "a.txt").read_text() == "new\n"


def test_without_a_folder_nothing_here_is_touched(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    turn = run_turn(Demo(), "/edit a.txt new", approve=True)
    assert turn.calls["edit"].succeeded
    assert list(tmp_path.iterdir()) == []


async def test_a_setting_that_the_agent_does_not_have_is_named() -> None:
    with pytest.raises(LookupError, match="no setting 'speed'; there are directory, isolation"):
        async with talk(Demo(), config={"speed": 3}):
            pass


async def test_workers_get_the_same_replies() -> None:
    async with talk(Lead()) as chat:
        turn = await chat.say("go", answers=["Ada"], approve=True)
        assert (turn.text, turn.questions) == ("built for Ada", ("For whom?",))
        assert (await chat.say("go", answers=["Ada"], approve=False)).text == "not built for Ada"
        with pytest.raises(Unanswered, match="call of build"):
            await chat.say("go", answers=["Ada"])
        with pytest.raises(Unanswered, match="'For whom\\?'"):
            await chat.say("go")
