"""The prompts: what is asked now, what was answered here, what others settled."""

from __future__ import annotations

from typing import Any

from agenthost.cli.interactive.prompts.approvals import Approval
from agenthost.cli.interactive.prompts.dialogue import Act
from agenthost.cli.interactive.prompts.pending import Pending, pending_prompts
from agenthost.cli.interactive.prompts.prompt_queue import PromptQueue
from agenthost.cli.interactive.prompts.questions import Questions
from tests.cli.interactive.samples import (
    CHAT,
    SESSION,
    active,
    call,
    chat,
    pending_call,
    request,
    tool,
    turn,
)

Json = dict[str, Any]


def look(prompts: PromptQueue, state: Json, session: Json | None = None) -> list[str]:
    return prompts.update(all_waiting(state, session or SESSION), state)


def all_waiting(state: Json, session: Json) -> list[Pending]:
    return pending_prompts(CHAT, state, session["chats"], session.get("inputNeeded", ()))


def test_what_waits_is_asked_in_order() -> None:
    prompts = PromptQueue()
    look(prompts, chat(running=active(tool(pending_call()), request())))
    first = prompts.ask_next()
    assert isinstance(first, Approval)
    prompts.respond("1")
    assert isinstance(prompts.ask_next(), Questions)


def test_nothing_is_asked_while_a_message_is_being_typed() -> None:
    prompts = PromptQueue()
    look(prompts, chat(running=active(tool(pending_call()))))
    assert prompts.dialogue is None
    assert isinstance(prompts.current, Approval)


def test_what_was_answered_here_is_not_asked_again_before_the_host_has_taken_it() -> None:
    prompts = PromptQueue()
    state = chat(running=active(tool(pending_call())))
    look(prompts, state)
    prompts.ask_next()
    assert isinstance(prompts.respond("1"), Act)
    assert look(prompts, state) == []
    assert prompts.ask_next() is None
    assert look(prompts, chat(running=active(tool(call("running"))))) == []


def test_the_same_call_may_ask_once_more() -> None:
    prompts = PromptQueue()
    look(prompts, chat(running=active(tool(pending_call()))))
    prompts.ask_next()
    prompts.respond("1")
    look(prompts, chat(running=active(tool(pending_call(confirmationTitle="Really?")))))
    assert isinstance(prompts.ask_next(), Approval)


def test_what_somebody_else_approved_is_told_and_not_asked_any_more() -> None:
    prompts = PromptQueue()
    look(prompts, chat(running=active(tool(pending_call()))))
    prompts.ask_next()
    option = {"id": "allow-once", "label": "Allow once", "kind": "approve"}
    told = look(prompts, chat(running=active(tool(call("running", selectedOption=option)))))
    assert told == ["Shell: approved (Allow once) by somebody else"]
    assert prompts.dialogue is None


def test_what_somebody_else_denied_or_answered_is_told() -> None:
    prompts = PromptQueue()
    look(prompts, chat(running=active(tool(pending_call()), request())))
    denied = tool(call("cancelled", reasonMessage="no"))
    assert look(prompts, chat(running=active(denied, request("accept")))) == [
        "Shell: denied: no by somebody else",
        "the questions: answered by somebody else",
    ]


def test_what_ended_with_its_turn_needs_no_telling() -> None:
    prompts = PromptQueue()
    look(prompts, chat(running=active(tool(pending_call()), request())))
    ended = turn(tool(call("cancelled", reason="skipped")), request(), state="cancelled")
    assert look(prompts, chat(ended)) == []


def test_a_call_that_changes_while_it_waits_is_shown_as_it_is_now() -> None:
    prompts = PromptQueue()
    look(prompts, chat(running=active(tool(pending_call()))))
    prompts.ask_next()
    prompts.respond("e")
    look(prompts, chat(running=active(tool(pending_call(toolInput="pwd")))))
    assert isinstance(prompts.dialogue, Approval)
    assert (prompts.dialogue.step, prompts.dialogue.prefill) == ("edit", "pwd")


def test_refused_answers_are_asked_for_again() -> None:
    prompts = PromptQueue()
    state = chat(running=active(request()))
    look(prompts, state)
    prompts.ask_next()
    for text in ("Ada", "20", "", "", "", ""):
        prompts.respond(text)
    assert prompts.ask_next() is None
    prompts.refused((CHAT, "questions", "q"), "question age: no such age")
    look(prompts, state)
    again = prompts.ask_next()
    assert isinstance(again, Questions)
    assert (again.index, again.problem) == (1, "no such age")


def test_a_refused_approval_is_asked_for_again() -> None:
    prompts = PromptQueue()
    state = chat(running=active(tool(pending_call())))
    look(prompts, state)
    prompts.ask_next()
    prompts.respond("1")
    prompts.refused((CHAT, "call", "t"), "no")
    look(prompts, state)
    assert isinstance(prompts.ask_next(), Approval)


def test_workers_in_other_chats_are_heard_too() -> None:
    other = "ahp-chat:/w"
    session = {
        "chats": [*SESSION["chats"], {"resource": other, "title": "Worker", "status": 24}],
        "inputNeeded": [
            {
                "id": "1",
                "chat": other,
                "kind": "toolConfirmation",
                "turnId": "9",
                "toolCall": pending_call(),
            },
            {"id": "2", "chat": other, "kind": "chatInput", "request": request()["request"]},
            {"id": "3", "chat": CHAT, "kind": "chatInput", "request": request()["request"]},
        ],
    }
    found = all_waiting(chat(), session)
    assert [(item.chat, item.kind, item.place) for item in found] == [
        (other, "call", "Worker"),
        (other, "questions", "Worker"),
    ]
    assert found[0].turn_id == "9"
    prompts = PromptQueue()
    prompts.update(found, chat())
    assert look(prompts, chat()) == [
        "Shell: answered in Worker by somebody else",
        "the questions: answered in Worker by somebody else",
    ]


def test_escape_goes_back_one_step_and_no_further() -> None:
    prompts = PromptQueue()
    look(prompts, chat(running=active(tool(pending_call()))))
    prompts.ask_next()
    prompts.respond("e")
    assert prompts.back()
    assert not prompts.back()
