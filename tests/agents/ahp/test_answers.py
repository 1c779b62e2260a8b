"""What people here decide goes to the far host once, whoever is faster."""

from __future__ import annotations

from typing import Any

import pytest

from agenthost.agents.ahp.relay import MOST_CORRECTIONS, FarTurnRewritten, Relay, is_given
from agenthost.protocol import reduce

Json = dict[str, Any]
NOW = "1970-01-01T00:00:09.999Z"
TURN = "t1"
OPTIONS = [
    {"id": "yes", "label": "Yes", "kind": "approve"},
    {"id": "no", "label": "No", "kind": "deny"},
]


class TurnHere:
    """A turn of a chat, made by the protocol's own reducers."""

    def __init__(self) -> None:
        message = {"text": "go", "origin": {"kind": "user"}}
        self.chat: Json = {"resource": "c:/1", "title": "", "status": 1, "turns": []}
        self.act("turnStarted", startedAt=NOW, message=message)

    def act(self, action_type: str, **fields: Any) -> None:
        self.apply({"type": f"chat/{action_type}", "turnId": TURN, **fields})

    def apply(self, action: Json) -> None:
        self.chat = reduce("chat", self.chat, action, now=NOW)

    @property
    def turn(self) -> Json:
        active: Json = self.chat["activeTurn"]
        return active

    @property
    def parts(self) -> list[Json]:
        parts: list[Json] = self.turn["responseParts"]
        return parts

    def call(self, index: int = -1) -> Json:
        call: Json = [p["toolCall"] for p in self.parts if p["kind"] == "toolCall"][index]
        return call


class Both:
    """A far turn and the one here that shows it."""

    def __init__(self) -> None:
        self.far, self.near, self.relay = TurnHere(), TurnHere(), Relay(TURN)

    def look(self) -> list[Json]:
        """Do what is to be done; return what is for the far host."""
        answers = self.relay.answers(self.near.parts, self.far.turn)
        for action in self.relay.actions(self.near.parts, self.far.turn):
            self.near.apply(action)
        self.keys = [answer.key for answer in answers]
        return [answer.action for answer in answers]

    def arrive(self, *actions: Json) -> None:
        """Let what was sent take effect there."""
        for action in actions:
            self.far.apply(action)
        for key in self.keys:
            self.relay.settle(key)

    def ask(self, **fields: Any) -> None:
        self.far.act("toolCallStart", toolCallId="c", toolName="shell", displayName="Shell")
        ready = {"invocationMessage": "Run", "toolInput": "ls", "options": OPTIONS, **fields}
        self.far.act("toolCallReady", toolCallId="c", **ready)


def test_an_approval_here_is_one_there() -> None:
    both = Both()
    both.ask()
    assert both.look() == []
    assert both.near.call()["status"] == "pending-confirmation"
    asked = both.relay.waits_for
    assert not is_given(both.near.chat, asked)
    yes = {"approved": True, "confirmed": "user-action", "selectedOptionId": "yes"}
    both.near.act("toolCallConfirmed", toolCallId="f-c", editedToolInput="ls -l", **yes)
    assert is_given(both.near.chat, asked)
    sent = both.look()
    assert sent == [
        {
            "type": "chat/toolCallConfirmed",
            "turnId": TURN,
            "toolCallId": "c",
            "editedToolInput": "ls -l",
            **yes,
        }
    ]
    # While it is under way, nobody is asked again.
    both.far.act("usage", usage={"inputTokens": 1})
    assert both.look() == []
    assert both.near.call()["status"] == "running"
    both.keys = [("toolCall", "c")]
    both.arrive(*sent)
    assert both.look() == []
    assert both.far.call()["toolInput"] == both.near.call()["toolInput"] == "ls -l"
    assert len(both.near.parts) == 1


def test_who_is_asked_again_at_the_far_host_is_asked_again_here() -> None:
    both = Both()
    both.ask()
    both.look()
    yes = {"approved": True, "confirmed": "user-action"}
    both.near.act("toolCallConfirmed", toolCallId="f-c", **yes)
    both.arrive(*both.look())
    both.far.act("toolCallReady", toolCallId="c", invocationMessage="Run it as root?")
    assert both.look() == []
    assert both.near.call()["status"] == "pending-confirmation"
    assert both.near.call()["invocationMessage"] == "Run it as root?"
    both.near.act("toolCallConfirmed", toolCallId="f-c", approved=False, reason="denied")
    (sent,) = both.look()
    assert sent["approved"] is False


def test_a_yes_here_that_came_too_late_shows_the_no_there() -> None:
    both = Both()
    both.ask()
    both.look()
    both.near.act("toolCallConfirmed", toolCallId="f-c", approved=True, confirmed="user-action")
    both.look()
    no = {"approved": False, "reason": "denied", "reasonMessage": "never"}
    both.far.act("toolCallConfirmed", toolCallId="c", **no)
    both.keys = [("toolCall", "c")]
    both.arrive()
    assert both.look() == []
    assert both.near.call()["status"] == "cancelled"
    assert both.near.call()["reasonMessage"] == "never"


def test_a_no_here_that_came_too_late_shows_what_runs_there_all_the_same() -> None:
    both = Both()
    both.ask()
    both.look()
    both.near.act("toolCallConfirmed", toolCallId="f-c", approved=False, reason="denied")
    both.look()
    both.far.act("toolCallConfirmed", toolCallId="c", approved=True, confirmed="user-action")
    both.keys = [("toolCall", "c")]
    both.arrive()
    both.look()
    assert both.near.call(0)["status"] == "cancelled"
    assert both.near.call(1)["status"] == "running"
    result = {"success": True, "pastTenseMessage": "Ran"}
    both.far.act("toolCallComplete", toolCallId="c", result=result)
    both.look()
    assert both.near.call(1)["status"] == "completed"


def test_the_result_of_a_client_here_is_the_far_calls() -> None:
    both = Both()
    owner = {"kind": "client", "clientId": "here"}
    start = {"toolName": "add", "displayName": "Add", "contributor": owner}
    both.far.act("toolCallStart", toolCallId="c", **start)
    ready = {"invocationMessage": "Add", "confirmed": "not-needed"}
    both.far.act("toolCallReady", toolCallId="c", **ready)
    assert both.look() == []
    shown = [{"type": "text", "text": "half"}]
    both.near.act("toolCallContentChanged", toolCallId="f-c", content=shown)
    assert is_given(both.near.chat, both.relay.waits_for)
    (sent,) = both.look()
    assert sent["content"] == shown
    both.arrive(sent)
    assert both.look() == []
    assert not is_given(both.near.chat, both.relay.waits_for)
    result = {"success": False, "pastTenseMessage": "No", "error": {"message": "no"}}
    both.near.act("toolCallComplete", toolCallId="f-c", result=result)
    (sent,) = both.look()
    assert sent["result"] == result


def test_a_question_is_answered_once() -> None:
    both = Both()
    question = {"kind": "text", "id": "q", "message": "Who?"}
    both.far.apply({"type": "chat/inputRequested", "request": {"id": "r", "questions": [question]}})
    both.look()
    answers = {"q": {"state": "submitted", "value": {"kind": "text", "value": "Ada"}}}
    done = {"type": "chat/inputCompleted", "response": "accept", "answers": answers}
    both.near.apply({**done, "requestId": "f-r"})
    assert both.look() == [{**done, "requestId": "r"}]
    assert both.look() == []


def test_a_question_whose_answer_is_refused_is_asked_again() -> None:
    both = Both()
    both.far.apply({"type": "chat/inputRequested", "request": {"id": "r", "message": "Go?"}})
    both.look()
    both.near.apply({"type": "chat/inputCompleted", "requestId": "f-r", "response": "accept"})
    both.look()
    both.keys = [("inputRequest", "r")]
    both.arrive()
    both.look()
    assert [part["request"]["id"] for part in both.near.parts] == ["f-r", "f1-r"]
    assert "response" not in both.near.parts[1]


def test_a_host_that_takes_back_its_words_says_them_anew_and_not_for_ever() -> None:
    both = Both()

    def say(text: str) -> None:
        far = {"responseParts": [{"kind": "markdown", "id": "p", "content": text}]}
        for action in both.relay.actions(both.near.parts, far):
            both.near.apply(action)

    for number in range(MOST_CORRECTIONS + 1):
        say(f"{number}.")
    assert [part["content"] for part in both.near.parts][:3] == ["0.", "1.", "2."]
    with pytest.raises(FarTurnRewritten):
        say("and again")
