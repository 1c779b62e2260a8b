"""Events of a chat: the difference of two states, told so that a reader can build upon it."""

from __future__ import annotations

import copy
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenthost.client.events import (
    ChatEvent,
    ConfirmationNeeded,
    PartAdded,
    Question,
    QuestionClosed,
    Reasoning,
    Redrawn,
    Text,
    ToolCallChanged,
    TurnEnded,
    TurnResumed,
    TurnStarted,
    UsageReported,
    chat_events,
)
from agenthost.protocol import reduce
from tests.strategies import NOW, History, chat_histories
from tests.thoroughness import examples

Json = dict[str, Any]

MESSAGE: Any = {"text": "hi", "origin": {"kind": "user"}}


def turn(id: str, *parts: Json, state: str | None = None, **members: Any) -> Any:
    made = {"id": id, "startedAt": NOW, "message": MESSAGE, "responseParts": list(parts)}
    return {**made, **({} if state is None else {"state": state, "duration": 1}), **members}


def chat(*turns: Json, active: Json | None = None, **members: Any) -> Json:
    state = {"resource": "c", "title": "", "status": 1, "modifiedAt": NOW, "turns": list(turns)}
    return {**state, **({} if active is None else {"activeTurn": active}), **members}


def text(id: str, content: str, kind: str = "markdown") -> Any:
    return {"kind": kind, "id": id, "content": content}


def call(id: str, status: str, **members: Any) -> Json:
    base = {"toolCallId": id, "toolName": "n", "displayName": "N", "status": status, **members}
    return {"kind": "toolCall", "toolCall": base}


def question(id: str, message: str = "Who?", **members: Any) -> Json:
    return {"kind": "inputRequest", "request": {"id": id, "message": message}, **members}


def failure(message: str = "oh", **members: Any) -> Any:
    return {"kind": "error", "error": {"errorType": "e", "message": message}, **members}


def told(before: Json, after: Json) -> list[ChatEvent]:
    return list(chat_events(before, after))


def test_nothing_happened_between_a_state_and_itself() -> None:
    state = chat(active=turn("t"))
    assert told(state, state) == []


def test_a_turn_begins_goes_on_and_ends() -> None:
    idle, begun = chat(), chat(active=turn("t"))
    assert told(idle, begun) == [TurnStarted("t", MESSAGE)]
    thinking = chat(active=turn("t", text("r", "hm", "reasoning"), text("p", "Hel")))
    assert told(begun, thinking) == [Reasoning("t", "r", "hm"), Text("t", "p", "Hel")]
    done = turn("t", text("r", "hm", "reasoning"), text("p", "Hello"), state="complete")
    ended = chat(done)
    assert told(thinking, ended) == [Text("t", "p", "lo"), TurnEnded("t", "complete", done)]


def test_a_turn_that_came_and_went_unseen_is_told_whole() -> None:
    done = turn("t", text("p", "Hello"), state="complete")
    assert told(chat(), chat(done)) == [
        TurnStarted("t", MESSAGE),
        Text("t", "p", "Hello"),
        TurnEnded("t", "complete", done),
    ]


def test_the_next_turn_comes_after_the_end_of_the_last() -> None:
    first = turn("t1", state="cancelled")
    events = told(chat(active=turn("t1")), chat(first, active=turn("t2")))
    assert events == [TurnEnded("t1", "cancelled", first), TurnStarted("t2", MESSAGE)]


def test_a_turn_that_was_cut_away_is_told_to_be_removed() -> None:
    assert told(chat(active=turn("t")), chat()) == [TurnEnded("t", "removed", None)]


def test_the_error_of_a_turn_is_at_hand() -> None:
    said = text("p", "Hello")
    failed = turn("t", said, failure(), state="error")
    (event,) = told(chat(active=turn("t", said)), chat(failed))
    assert isinstance(event, TurnEnded)
    assert (event.error, event.resumable) == (failure()["error"], False)
    assert told(chat(), chat(failed))[1:] == [Text("t", "p", "Hello"), event]


def test_a_turn_that_failed_without_a_reason_is_told_to_have_failed() -> None:
    (event,) = told(chat(active=turn("t")), chat(turn("t", state="error")))
    assert isinstance(event, TurnEnded)
    assert (event.state, event.error, event.resumable) == ("error", None, False)


RESUMABLE = turn("t", text("p", "One"), failure(resumable=True), state="error")


def test_a_turn_that_is_resumed_goes_on_without_being_told_again() -> None:
    (ended,) = told(chat(active=turn("t", text("p", "One"))), chat(RESUMABLE))
    assert isinstance(ended, TurnEnded)
    assert ended.resumable
    on = turn("t", *RESUMABLE["responseParts"])
    assert told(chat(RESUMABLE), chat(active=on)) == [TurnResumed("t", MESSAGE)]
    more = turn("t", *on["responseParts"], text("q", "Two"))
    assert told(chat(active=on), chat(active=more)) == [Text("t", "q", "Two")]
    done = turn("t", *more["responseParts"], state="complete")
    assert told(chat(active=more), chat(done)) == [TurnEnded("t", "complete", done)]


def test_a_resumed_turn_that_was_not_looked_at_is_told_from_where_it_failed() -> None:
    before = turn("s", state="complete")
    done = turn("t", *RESUMABLE["responseParts"], text("q", "Two"), state="complete")
    next_one = turn("u", state="cancelled")
    assert told(chat(before, RESUMABLE), chat(before, done, next_one)) == [
        TurnResumed("t", MESSAGE),
        Text("t", "q", "Two"),
        TurnEnded("t", "complete", done),
        TurnStarted("u", MESSAGE),
        TurnEnded("u", "cancelled", next_one),
    ]
    again = turn("t", *RESUMABLE["responseParts"], failure("again"), state="error")
    assert told(chat(before, RESUMABLE), chat(before, again)) == [
        TurnResumed("t", MESSAGE),
        TurnEnded("t", "error", again),
    ]


def test_an_error_that_a_turn_got_over_is_told_to_who_did_not_see_it() -> None:
    active = turn("t", *RESUMABLE["responseParts"], text("q", "Two"))
    assert told(chat(active=turn("t", text("p", "One"))), chat(active=active)) == [
        PartAdded("t", failure(resumable=True)),
        Text("t", "q", "Two"),
    ]


def test_a_snapshot_that_shows_a_failed_turn_once_more_is_no_news() -> None:
    assert told(chat(RESUMABLE), chat(copy.deepcopy(RESUMABLE))) == []


def test_a_question_that_is_open_in_a_resumed_turn_is_asked_again() -> None:
    failed = turn("t", question("k"), failure(resumable=True), state="error")
    ended = told(chat(active=turn("t", question("k"))), chat(failed))
    assert ended[0] == QuestionClosed("t", question("k")["request"], None)
    on = turn("t", *failed["responseParts"])
    asked = Question("t", question("k")["request"])
    assert told(chat(failed), chat(active=on)) == [TurnResumed("t", MESSAGE), asked]
    closed = turn("t", question("k", response="cancel"), failure(resumable=True))
    close = QuestionClosed("t", question("k")["request"], "cancel")
    assert told(chat(active=on), chat(active=closed)) == [close]
    assert told(chat(failed), chat(active=closed)) == [TurnResumed("t", MESSAGE), asked, close]


def test_older_turns_that_are_loaded_are_not_news() -> None:
    known = turn("t3", state="complete")
    loaded = chat(turn("t1", state="complete"), turn("t2", state="complete"), known)
    assert told(chat(known, turnsNextCursor="x"), loaded) == []
    assert told(chat(turnsNextCursor="x"), loaded) == []


def test_a_window_that_moved_on_tells_what_is_surely_new() -> None:
    ended = turn("t5", state="complete")
    later = turn("t6", state="complete")
    before = chat(turn("t4", state="complete"), active=turn("t5"))
    assert told(before, chat(ended, later)) == [
        TurnEnded("t5", "complete", ended),
        TurnStarted("t6", MESSAGE),
        TurnEnded("t6", "complete", later),
    ]


def test_a_tool_call_is_told_at_every_change_and_asks_once() -> None:
    streaming, pending = call("k", "streaming"), call("k", "pending-confirmation")
    titled = call("k", "pending-confirmation", confirmationTitle="Run it?")
    states = [chat(active=turn("t", part)) for part in (streaming, pending, titled)]
    assert told(chat(active=turn("t")), states[0]) == [
        ToolCallChanged("t", streaming["toolCall"], None)
    ]
    assert told(states[0], states[1]) == [
        ToolCallChanged("t", pending["toolCall"], streaming["toolCall"]),
        ConfirmationNeeded("t", pending["toolCall"]),
    ]
    assert told(states[1], states[2]) == [
        ToolCallChanged("t", titled["toolCall"], pending["toolCall"])
    ]


def test_a_result_that_waits_for_approval_asks_too() -> None:
    running, review = call("k", "running"), call("k", "pending-result-confirmation")
    events = told(chat(active=turn("t", running)), chat(active=turn("t", review)))
    assert ConfirmationNeeded("t", review["toolCall"]) in events


def test_a_question_is_told_when_it_is_asked_edited_and_closed() -> None:
    asked, edited = question("q"), question("q", "Who really?")
    drafted = question("q", "Who really?")
    drafted["request"]["answers"] = {"a": {"state": "draft"}}
    closed = {**drafted, "response": "accept"}
    states = [chat(active=turn("t", part)) for part in (asked, edited, drafted, closed)]
    assert told(chat(active=turn("t")), states[0]) == [Question("t", asked["request"])]
    assert told(states[0], states[1]) == [Question("t", edited["request"])]
    assert told(states[1], states[2]) == [], "a draft is no news for who has to answer"
    assert told(states[2], states[3]) == [QuestionClosed("t", closed["request"], "accept")]


def test_a_question_that_the_turn_ended_over_is_closed_without_a_response() -> None:
    done = turn("t", question("q"), state="cancelled")
    assert told(chat(active=turn("t", question("q"))), chat(done)) == [
        QuestionClosed("t", done["responseParts"][0]["request"], None),
        TurnEnded("t", "cancelled", done),
    ]


def test_a_question_may_move_to_the_end_as_on_old_hosts() -> None:
    before = chat(active=turn("t", question("q")))
    after = chat(active=turn("t", text("p", "Meanwhile"), question("q")))
    assert told(before, after) == [Text("t", "p", "Meanwhile")]


def test_notices_references_and_unknown_parts_are_passed_on() -> None:
    parts: list[Any] = [
        {"kind": "systemNotification", "content": "Note"},
        {"kind": "contentRef", "uri": "ahp-content:/1"},
        {"kind": "hologram", "x": 1},
    ]
    assert told(chat(active=turn("t")), chat(active=turn("t", *parts))) == [
        PartAdded("t", part) for part in parts
    ]


BROKEN: list[Any] = [
    {},
    {"id": "p", "content": "no kind"},
    {"kind": None},
    {"kind": ["list"], "id": {"not": "one"}},
    {"kind": "markdown", "content": "no id"},
    {"kind": "markdown", "id": "p"},
    {"kind": "reasoning", "id": "p", "content": None},
    {"kind": "toolCall"},
    {"kind": "toolCall", "toolCall": {"toolCallId": "c"}},
    {"kind": "toolCall", "toolCall": "c"},
    {"kind": "inputRequest", "request": {}},
    "not even an object",
]


@pytest.mark.parametrize("part", BROKEN)
def test_a_part_that_lacks_what_it_must_have_is_passed_on_and_stops_nothing(part: Any) -> None:
    begun, more = turn("t", part), turn("t", part, text("q", "more"))
    assert told(chat(), chat(active=begun)) == [TurnStarted("t", MESSAGE), PartAdded("t", part)]
    assert told(chat(active=begun), chat(active=more)) == [Text("t", "q", "more")]
    done = turn("t", part, text("q", "more"), state="complete")
    assert told(chat(active=more), chat(done)) == [TurnEnded("t", "complete", done)]


@pytest.mark.parametrize("part", BROKEN)
def test_a_part_that_breaks_or_is_mended_is_told_anew(part: Any) -> None:
    broken, sound = chat(active=turn("t", part)), chat(active=turn("t", text("p", "Hello")))
    assert told(broken, sound)[-1:] == [Redrawn("t", [text("p", "Hello")])]
    assert told(sound, broken)[-1:] == [Redrawn("t", [part])]


def test_usage_is_told_when_it_changes() -> None:
    used = chat(active=turn("t", usage={"inputTokens": 3}))
    assert told(chat(active=turn("t")), used) == [UsageReported("t", {"inputTokens": 3})]
    assert told(used, chat(active=turn("t", usage={"inputTokens": 3}))) == []


@pytest.mark.parametrize(
    "parts",
    [
        [text("p", "Something else")],
        [],
        [text("other", "Hello")],
        [text("p", "Hell")],
    ],
)
def test_what_cannot_be_built_upon_is_told_anew(parts: list[Any]) -> None:
    before = chat(active=turn("t", text("p", "Hello")))
    assert told(before, chat(active=turn("t", *parts))) == [Redrawn("t", parts)]


class Transcript:
    """What a reader of nothing but events knows of each turn's text."""

    def __init__(self) -> None:
        self.texts: dict[str, dict[str, str]] = {}
        self.running: set[str] = set()

    def look(self, before: Json, after: Json) -> None:
        """Take in what happened between two states."""
        for turn in before["turns"]:
            # Turns that were over when they came to be known are not told, but may be resumed.
            self.texts.setdefault(turn["id"], text_of(turn["responseParts"]))
        for event in chat_events(before, after):
            self.take(event)

    def take(self, event: ChatEvent) -> None:
        match event:
            case TurnStarted(turn_id, _):
                assert turn_id not in self.running, "a turn begins once"
                self.running.add(turn_id)
                self.texts[turn_id] = {}
            case TurnResumed(turn_id, _):
                assert turn_id not in self.running, "only what has ended is resumed"
                self.running.add(turn_id)
            case Text(turn_id, part_id, more) | Reasoning(turn_id, part_id, more):
                known = self.texts[turn_id]
                known[part_id] = known.get(part_id, "") + more
            case Redrawn(turn_id, parts):
                self.texts[turn_id] = text_of(parts)
            case TurnEnded(turn_id, _, turn):
                self.running.remove(turn_id)
                if turn is not None:
                    self.check(turn)
            case _:
                assert event.turn_id in self.running

    def check(self, turn: Any) -> None:
        """Check that all text of a turn is known, to the letter."""
        assert text_of(turn["responseParts"]).items() <= self.texts[turn["id"]].items()


def text_of(parts: Any) -> dict[str, str]:
    """Return the text by part; of parts that share an id events do not tell which is meant."""
    texts = [part for part in parts if part["kind"] in ("markdown", "reasoning")]
    count = Counter(part["id"] for part in texts)
    return {
        part["id"]: part["content"] for part in texts if part["content"] and count[part["id"]] == 1
    }


@examples(200)
@given(chat_histories(), st.lists(st.booleans(), min_size=40, max_size=40))
def test_a_reader_that_looks_up_now_and_then_knows_as_much_as_one_that_always_does(
    history: History, looks: list[bool]
) -> None:
    transcript, state = Transcript(), history.initial
    transcript.look({**state, "activeTurn": None}, state)
    seen = state
    for action, look in zip(history.actions, [*looks, True], strict=False):
        state = reduce("chat", state, action, now=NOW)
        if look:
            transcript.look(seen, state)
            seen = state
    transcript.look(seen, state)
    active = state.get("activeTurn")
    assert transcript.running == (set() if active is None else {active["id"]})
    if active is not None:
        transcript.check(active)
