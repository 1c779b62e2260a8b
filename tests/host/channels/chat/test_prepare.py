"""What the host makes of a client's action in a chat before it is applied."""

from __future__ import annotations

from typing import Any

import pytest

from agenthost.host.channels.chat.extra import ChatChannel, extra_of
from agenthost.host.channels.chat.kind import CHAT
from agenthost.host.log.channel import LiveChannel
from agenthost.host.log.kind import PreparedAction

State = Any
NOW = "2026-01-01T12:00:00.000Z"


def chat(elapsed: int = 0) -> ChatChannel:
    state: State = {"resource": "ahp-chat:/1", "title": "T", "status": 1, "turns": []}
    channel = LiveChannel("ahp-chat:/1", CHAT, state)
    extra_of(channel).elapsed = lambda: elapsed
    return channel


def prepared(action: State, elapsed: int = 0) -> PreparedAction:
    return CHAT.prepare(chat(elapsed), None, action, action, NOW)


def started(at: str) -> State:
    message = {"text": "hi", "origin": {"kind": "user"}}
    return {"type": "chat/turnStarted", "turnId": "t", "startedAt": at, "message": message}


@pytest.mark.parametrize(
    "at", [NOW, "2026-01-01T12:04:59Z", "2026-01-01T14:00:00.123+02:00", "2026-01-01T11:55:01Z"]
)
def test_a_turn_starts_when_its_client_says(at: str) -> None:
    action = started(at)
    assert prepared(action).action is action
    assert not prepared(action).rewritten


@pytest.mark.parametrize("at", ["9999-12-31T23:59:59Z", "1970-01-01T00:00:00Z", "soon", ""])
def test_a_turn_whose_client_has_no_idea_of_the_time_starts_now(at: str) -> None:
    result = prepared(started(at))
    assert result.action == started(NOW)
    # Its sender is told, for it believes otherwise.
    assert result.rewritten


@pytest.mark.parametrize(("said", "kept"), [(0, 0), (5999, 5999), (6001, 5000), (10**12, 5000)])
def test_a_cancelled_turn_took_no_longer_than_the_host_measured(said: int, kept: int) -> None:
    action = {"type": "chat/turnCancelled", "turnId": "t", "duration": said}
    result = prepared(action, elapsed=5000)
    assert result.action == {**action, "duration": kept}
    assert result.rewritten == (said != kept)
