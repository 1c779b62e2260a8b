"""The checker of the soak: a clean history has no fault, and each fault is caught."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from soak.cluster.growth import lost
from soak.cluster.history import DONE_ALREADY, History

CHAT, SESSION = "ahp-chat:/1", "ahp-session:/1"
NODES = ("alder", "birch")

Json = dict[str, Any]


def text(content: str, id: str = "p") -> Json:
    return {"kind": "markdown", "id": id, "content": content}


def call(id: str) -> Json:
    return {"kind": "toolCall", "toolCall": {"toolCallId": id, "status": "running"}}


def ended(id: str, *parts: Json) -> Json:
    return {"id": id, "state": "complete", "responseParts": list(parts)}


def running(id: str, *parts: Json) -> Json:
    return {"id": id, "responseParts": list(parts)}


def chat(*turns: Json, active: Json | None = None) -> Json:
    state: Json = {"resource": CHAT, "title": "", "status": 1, "turns": list(turns)}
    return state | ({"activeTurn": active} if active else {})


def start(turn: str) -> Json:
    return {"type": "chat/turnStarted", "turnId": turn}


def envelope(number: int, client: str = "", seq: int = 0, **more: Any) -> Json:
    found: Json = {"channel": CHAT, "serverSeq": number, "action": {"type": "x"}, **more}
    return found | ({"origin": {"clientId": client, "clientSeq": seq}} if client else {})


def clean() -> History:
    """Return a short history in which everything is right."""
    history = History()
    history.dispatched("ada", 1, CHAT, start("t1"))
    history.dispatched("ada", 2, CHAT, start("t2"))
    for client in ("ada", "bob"):
        history.saw(client, envelope(1028, "ada", 1))
    history.held("bob", 1028, CHAT, chat(active=running("t1", text("one"))))
    history.saw("ada", envelope(1029, "ada", 2, rejectionReason="a turn is running"))
    history.held("ada", 2052, CHAT, chat(ended("t1", text("one two"))))
    return history


END = {CHAT: chat(ended("t1", text("one two")))}


def finished(history: History, **other: Json) -> History:
    history.finish({"alder": END, "birch": {**END, **other}})
    return history


def test_a_history_in_which_all_is_right_has_no_fault() -> None:
    history = finished(clean())
    history.mirrors("bob", [(CHAT, END[CHAT], END[CHAT])])
    history.did(["t1", "t2"])
    assert (history.faults, history.seen) == ([], 3)


def test_a_sender_may_be_answered_again_under_another_number() -> None:
    history = clean()
    history.saw("ada", envelope(3000, "ada", 1))
    assert finished(history).faults == []


def test_who_is_told_late_that_something_was_done_counts_it_as_done() -> None:
    history = clean()
    history.saw("ada", envelope(3000, "ada", 1, rejectionReason=DONE_ALREADY))
    assert finished(history).faults == []
    history.dispatched("bob", 1, CHAT, start("t3"))
    history.saw("bob", envelope(4000, "bob", 1, rejectionReason=DONE_ALREADY))
    assert finished(history).counts["lost"] == 1


def went_back(history: History) -> None:
    history.saw("bob", envelope(1000))


def shown_twice(history: History) -> None:
    history.saw("bob", envelope(1028))


def logged_twice(history: History) -> None:
    history.saw("bob", envelope(2052, "ada", 1))


def done_and_refused(history: History) -> None:
    history.saw("ada", envelope(3000, "ada", 1, rejectionReason="no"))


def refused_and_done(history: History) -> None:
    history.saw("bob", envelope(2052, "ada", 2))


def never_answered(history: History) -> None:
    history.dispatched("bob", 1, CHAT, {"type": "chat/draftChanged"})


def later_snapshot_lacks_a_turn(history: History) -> None:
    history.held("bob", 3076, CHAT, chat(active=running("t9")))


def earlier_snapshot_has_more(history: History) -> None:
    history.held("bob", 2048, CHAT, chat(ended("t1", text("one two")), ended("t0")))


def came_back_to_less(history: History) -> None:
    before = chat(ended("t1", text("one two")))
    history.rejoined("bob", {CHAT: before}, {CHAT: chat(active=running("t1", text("one")))})


def turn_is_gone_at_the_end(history: History) -> None:
    history.dispatched("bob", 1, CHAT, start("t3"))
    history.saw("bob", envelope(4000, "bob", 1))


def refused_turn_is_there(history: History) -> None:
    history.dispatched("bob", 1, CHAT, start("t1"))
    history.saw("bob", envelope(4000, "bob", 1, rejectionReason="no"))


def deed_was_done_twice(history: History) -> None:
    history.did(["t1", "t2", "t1"])


def channel_is_gone(history: History) -> None:
    history.missing(CHAT, "birch")


def mirror_is_another(history: History) -> None:
    history.mirrors("bob", [(CHAT, chat(), END[CHAT])])


@pytest.mark.parametrize(
    ("happens", "kind"),
    [
        (went_back, "number"),
        (shown_twice, "number"),
        (logged_twice, "doubled"),
        (done_and_refused, "both"),
        (refused_and_done, "both"),
        (never_answered, "unanswered"),
        (later_snapshot_lacks_a_turn, "lost"),
        (earlier_snapshot_has_more, "lost"),
        (came_back_to_less, "lost"),
        (turn_is_gone_at_the_end, "lost"),
        (refused_turn_is_there, "both"),
        (deed_was_done_twice, "doubled"),
        (channel_is_gone, "lost"),
        (mirror_is_another, "differ"),
    ],
    ids=lambda value: value.__name__ if callable(value) else value,
)
def test_each_fault_is_caught(happens: Callable[[History], None], kind: str) -> None:
    history = clean()
    happens(history)
    finished(history)
    assert history.counts[kind] >= 1
    assert history.faults


def test_nodes_that_differ_at_the_end_are_told() -> None:
    history = finished(clean(), **{CHAT: chat(ended("t1", text("one")))})
    [fault] = history.faults
    assert "on alder and birch" in fault


def test_a_channel_that_one_node_lacks_is_told() -> None:
    history = clean()
    history.finish({"alder": END, "birch": {}})
    assert history.counts["differ"] == 1


def test_a_turn_that_never_ends_is_told() -> None:
    history = History()
    history.dispatched("ada", 1, CHAT, start("t1"))
    history.saw("ada", envelope(1028, "ada", 1))
    state = chat(active=running("t1"))
    history.finish({"alder": {CHAT: state}})
    assert history.counts == {"running": 2}


def test_a_turn_that_is_there_twice_is_told() -> None:
    history = History()
    history.dispatched("ada", 1, CHAT, start("t1"))
    history.saw("ada", envelope(1028, "ada", 1))
    history.finish({"alder": {CHAT: chat(ended("t1"), ended("t1"))}})
    assert history.counts == {"doubled": 1}


def test_only_so_many_faults_are_kept_in_words_and_all_are_counted() -> None:
    history = History()
    for _ in range(1000):
        history.missing(CHAT, "birch")
    assert (len(history.faults), history.counts["lost"]) == (200, 1000)


@pytest.mark.parametrize(
    ("before", "after", "what"),
    [
        (chat(ended("t1")), chat(), "turn t1 is gone"),
        (chat(ended("t1", text("a"))), chat(ended("t1", text("ab"))), "had ended"),
        (
            chat(ended("t1"), ended("t2")),
            chat(ended("t2"), ended("t1")),
            "changed places",
        ),
        (
            chat(active=running("t1", text("one two"))),
            chat(ended("t1", text("one "))),
            "text p was 7 characters",
        ),
        (chat(active=running("t1", call("c1"))), chat(ended("t1")), "toolCall c1 is gone"),
        ({"chats": [{"resource": CHAT}]}, {"chats": []}, f"chat {CHAT} is gone"),
        ({"annotations": [{"id": "a1"}]}, {"annotations": []}, "annotation a1 is gone"),
    ],
)
def test_what_a_later_state_lacks_is_named(before: Json, after: Json, what: str) -> None:
    [found] = lost(before, after)
    assert what in found


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (chat(), chat(ended("t1"))),
        (chat(active=running("t1", text("one"))), chat(ended("t1", text("one two"), call("c")))),
        (chat(active=running("t1", call("c1"))), chat(ended("t1", call("c1"), text("done")))),
        ({"chats": []}, {"chats": [{"resource": CHAT}]}),
        ({"agents": []}, {"agents": [1]}),
    ],
)
def test_a_state_that_only_grew_lacks_nothing(before: Json, after: Json) -> None:
    assert list(lost(before, after)) == []
