from __future__ import annotations

import dataclasses
import json
from typing import Any, get_args

import pytest

from agenthost.cli.format.event_format import event_json, event_line
from agenthost.client import (
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
)


def call(status: str, **fields: Any) -> Any:
    base = {"toolCallId": "c1", "toolName": "shell", "displayName": "Shell", "status": status}
    return {**base, "invocationMessage": "Run `ls`", **fields}


REQUEST: Any = {
    "id": "r",
    "message": "Say",
    "questions": [{"id": "n", "kind": "text", "message": "N?"}],
}
FAILURE: Any = {"kind": "error", "error": {"errorType": "e", "message": "no"}}
FAILED: Any = {"state": "error", "responseParts": [FAILURE]}
USER: Any = {"text": "do\nit", "origin": {"kind": "user"}}
TASK: Any = {**USER, "origin": {"kind": "tool"}}
ALONE: Any = {**REQUEST, "message": "N?"}

COMPLETE: Any = {"state": "complete", "responseParts": []}

# What happened, the word for it and its line; None where nothing is to be printed.
EVENTS: list[tuple[ChatEvent, tuple[str, str] | None]] = [
    (TurnStarted("t", USER), ("prompt", "do it")),
    (TurnStarted("t", TASK), ("task", "do it")),
    (Text("t", "p", "a\nb"), ("answer", "a b")),
    (Reasoning("t", "p", "hm"), None),
    (ToolCallChanged("t", call("streaming"), None), None),
    (ToolCallChanged("t", call("running"), None), ("tool", "Shell: Run `ls` - running")),
    (ToolCallChanged("t", call("running", content=[]), call("running")), None),
    (ToolCallChanged("t", call("pending-confirmation"), None), None),
    (
        ConfirmationNeeded("t", call("pending-confirmation")),
        ("tool", "Shell: Run `ls` - waits for approval"),
    ),
    (
        ToolCallChanged("t", call("completed", success=False), call("running")),
        ("tool", "Shell: Run `ls` - failed"),
    ),
    (Question("t", REQUEST), ("question", "Say · n: N? (optional)")),
    (Question("t", ALONE), ("question", "n: N? (optional)")),
    (Question("t", {"id": "r", "url": "https://x"}), ("question", "https://x")),
    (QuestionClosed("t", REQUEST, "accept"), ("answered", "accept")),
    (QuestionClosed("t", REQUEST, None), ("answered", "the turn ended over it")),
    (
        PartAdded("t", {"kind": "systemNotification", "content": "Plan\n\n- [x] a\n- [ ] b"}),
        ("notice", "Plan\n- [x] a\n- [ ] b"),
    ),
    (
        PartAdded("t", {"kind": "systemNotification", "content": {"markdown": "mind"}}),
        ("notice", "mind"),
    ),
    (PartAdded("t", {"kind": "contentRef", "uri": "ahp-c:/1"}), ("contentRef", "ahp-c:/1")),
    (UsageReported("t", {"outputTokens": 3}), ("usage", "3 out tokens")),
    (UsageReported("t", {}), None),
    (Redrawn("t", []), ("changed", "the turn was rewritten")),
    (TurnEnded("t", "complete", COMPLETE), ("complete", "")),
    (TurnEnded("t", "error", FAILED), ("error", "no")),
    (TurnResumed("t", USER), ("resumed", "do it")),
    (PartAdded("t", FAILURE), ("error", "no")),
    (TurnEnded("t", "removed", None), ("removed", "")),
]  # fmt: skip


@pytest.mark.parametrize(("event", "line"), EVENTS)
def test_an_event_is_a_word_and_a_line(event: ChatEvent, line: tuple[str, str] | None) -> None:
    told = event_line(event)
    assert (None if told is None else (told.what, told.text)) == line


@pytest.mark.parametrize("event", [event for event, _ in EVENTS])
def test_an_event_is_an_object_that_names_its_kind_and_turn(event: ChatEvent) -> None:
    told = event_json(event)
    assert told["event"]
    assert told["turn"] == "t"
    assert json.loads(json.dumps(told)) == told
    # Whatever an event says in its own fields is told.
    assert len(told) > 2


def test_an_event_names_its_call_or_request_as_the_answer_to_it_does() -> None:
    waits = call("pending-confirmation")
    for event in (ConfirmationNeeded("t", waits), ToolCallChanged("t", waits, None)):
        told = event_json(event)
        assert told["toolCallId"] == told["toolCall"]["toolCallId"] == told["toolCall"]["id"]
    for asked in (Question("t", REQUEST), QuestionClosed("t", REQUEST, "accept")):
        assert event_json(asked)["requestId"] == "r"


def test_every_kind_of_event_is_tried_here() -> None:
    tried = {type(event) for event, _ in EVENTS}
    assert tried == set(get_args(ChatEvent))
    assert all(map(dataclasses.is_dataclass, tried))
