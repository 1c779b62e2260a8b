"""When a session counts as a draft that nobody would miss."""

from __future__ import annotations

from typing import Any

import pytest

from agenthost.host.channels.session.drafts import holds_nothing
from agenthost.host.channels.titles import UNTITLED_SESSION

State = Any
CHAT: State = {"turns": []}
SESSION: State = {"title": UNTITLED_SESSION, "chats": [{"resource": "c:/1"}]}
NOTED: State = {"annotations": [{}]}


def chat(**held: Any) -> State:
    return {**CHAT, **held}


def session(**other: Any) -> State:
    return {**SESSION, **other}


def test_a_session_that_was_only_created_holds_nothing() -> None:
    assert holds_nothing(SESSION, [CHAT], {"annotations": []})
    assert holds_nothing(session(chats=[]), [], None)
    assert holds_nothing(SESSION, [chat(draft={"text": " \n"})], None)


@pytest.mark.parametrize(
    "held",
    [
        {"turns": [{}]},
        {"activeTurn": {"id": "t"}},
        {"draft": {"text": "x"}},
        {"draft": {"text": "", "attachments": [{}]}},
        {"queuedMessages": [{}]},
        {"steeringMessage": {"id": "s"}},
    ],
)
def test_what_somebody_did_in_its_chat_counts(held: State) -> None:
    assert not holds_nothing(SESSION, [chat(**held)], None)


def test_a_title_another_chat_and_an_annotation_count() -> None:
    assert not holds_nothing(session(title="Mine"), [CHAT], None)
    two = session(chats=[{"resource": "c:/1"}, {"resource": "c:/2"}])
    assert not holds_nothing(two, [CHAT, CHAT], None)
    assert not holds_nothing(SESSION, [CHAT], NOTED)
