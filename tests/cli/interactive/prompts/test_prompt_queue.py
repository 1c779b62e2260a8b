"""The desk: what is asked now, what was answered here, what others settled."""

from __future__ import annotations

from typing import Any

from agenthost.cli.interactive.prompts.approvals import Approval
from agenthost.cli.interactive.prompts.dialogue import Act
from agenthost.cli.interactive.prompts.pending import Pending, waiting
from agenthost.cli.interactive.prompts.prompt_queue import Desk
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


def look(desk: Desk, state: Json, session: Json | None = None) -> list[str]:
    return desk.look(all_waiting(state, session or SESSION), state)


def all_waiting(state: Json, session: Json) -> list[Pending]:
    return waiting(CHAT, state, session["chats"], session.get("inputNeeded", ()))


def test_what_waits_is_asked_in_order() -> None:
    desk = Desk()
    look(desk, chat(running=active(tool(pending_call()), request())))
    first = desk.open()
    assert isinstance(first, Approval)
    desk.respond("1")
    assert isinstance(desk.open(), Questions)


def test_nothing_is_asked_while_a_message_is_being_typed() -> None:
    desk = Desk()
    look(desk, chat(running=active(tool(pending_call()))))
    assert desk.dialogue is None
    assert isinstance(desk.current, Approval)


def test_what_was_answered_here_is_not_asked_again_before_the_host_has_taken_it() -> None:
    desk = Desk()
    state = chat(running=active(tool(pending_call())))
    look(desk, state)
    desk.open()
    assert isinstance(desk.respond("1"), Act)
    assert look(desk, state) == []
    assert desk.open() is None
    assert look(desk, chat(running=active(tool(call("running"))))) == []


def test_the_same_call_may_ask_once_more() -> None:
    desk = Desk()
    look(desk, chat(running=active(tool(pending_call()))))
    desk.open()
    desk.respond("1")
    look(desk, chat(running=active(tool(pending_call(confirmationTitle="Really?")))))
    assert isinstance(desk.open(), Approval)


def test_what_somebody_else_approved_is_told_and_not_asked_any_more() -> None:
    desk = Desk()
    look(desk, chat(running=active(tool(pending_call()))))
    desk.open()
    option = {"id": "allow-once", "label": "Allow once", "kind": "approve"}
    told = look(desk, chat(running=active(tool(call("running", selectedOption=option)))))
    assert told == ["Shell: approved (Allow once) by somebody else"]
    assert desk.dialogue is None


def test_what_somebody_else_denied_or_answered_is_told() -> None:
    desk = Desk()
    look(desk, chat(running=active(tool(pending_call()), request())))
    denied = tool(call("cancelled", reasonMessage="no"))
    assert look(desk, chat(running=active(denied, request("accept")))) == [
        "Shell: denied: no by somebody else",
        "the questions: answered by somebody else",
    ]


def test_what_ended_with_its_turn_needs_no_telling() -> None:
    desk = Desk()
    look(desk, chat(running=active(tool(pending_call()), request())))
    ended = turn(tool(call("cancelled", reason="skipped")), request(), state="cancelled")
    assert look(desk, chat(ended)) == []


def test_a_call_that_changes_while_it_waits_is_shown_as_it_is_now() -> None:
    desk = Desk()
    look(desk, chat(running=active(tool(pending_call()))))
    desk.open()
    desk.respond("e")
    look(desk, chat(running=active(tool(pending_call(toolInput="pwd")))))
    assert isinstance(desk.dialogue, Approval)
    assert (desk.dialogue.step, desk.dialogue.prefill) == ("edit", "pwd")


def test_refused_answers_are_asked_for_again() -> None:
    desk = Desk()
    state = chat(running=active(request()))
    look(desk, state)
    desk.open()
    for text in ("Ada", "20", "", "", "", ""):
        desk.respond(text)
    assert desk.open() is None
    desk.refused((CHAT, "questions", "q"), "question age: no such age")
    look(desk, state)
    again = desk.open()
    assert isinstance(again, Questions)
    assert (again.index, again.problem) == (1, "no such age")


def test_a_refused_approval_is_asked_for_again() -> None:
    desk = Desk()
    state = chat(running=active(tool(pending_call())))
    look(desk, state)
    desk.open()
    desk.respond("1")
    desk.refused((CHAT, "call", "t"), "no")
    look(desk, state)
    assert isinstance(desk.open(), Approval)


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
    desk = Desk()
    desk.look(found, chat())
    assert look(desk, chat()) == [
        "Shell: answered in Worker by somebody else",
        "the questions: answered in Worker by somebody else",
    ]


def test_escape_goes_back_one_step_and_no_further() -> None:
    desk = Desk()
    look(desk, chat(running=active(tool(pending_call()))))
    desk.open()
    desk.respond("e")
    assert desk.back()
    assert not desk.back()
