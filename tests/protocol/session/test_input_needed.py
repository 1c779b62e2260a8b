"""What waits in a chat, as sessions list it: one entry per thing that blocks, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from agenthost.protocol.session.input_needed import input_needed_in

Json = dict[str, Any]
CHAT = "ahp-chat:/1"
REQUEST = {"id": "q", "message": "Who?"}
CLIENT = {"kind": "client", "clientId": "c"}


def chat(*parts: Json) -> Json:
    return {"activeTurn": {"id": "t", "responseParts": list(parts)}}


def tool_call(status: str, **extra: Any) -> Json:
    return {"kind": "toolCall", "toolCall": {"toolCallId": "k", "status": status, **extra}}


@pytest.mark.parametrize(
    ("status", "extra", "kind", "more"),
    [
        ("pending-confirmation", {}, "toolConfirmation", {}),
        ("pending-result-confirmation", {}, "toolConfirmation", {}),
        ("auth-required", {}, "toolAuthentication", {}),
        ("running", {"contributor": CLIENT}, "toolClientExecution", {"clientId": "c"}),
    ],
)
def test_a_call_that_waits_is_listed_with_its_turn(
    status: str, extra: Json, kind: str, more: Json
) -> None:
    part = tool_call(status, **extra)
    entry = {"id": f"{CHAT}#{kind}/k", "chat": CHAT, "turnId": "t", "kind": kind, **more}
    assert list(input_needed_in(CHAT, chat(part))) == [{**entry, "toolCall": part["toolCall"]}]


def test_an_open_question_is_listed_until_it_is_answered() -> None:
    part = {"kind": "inputRequest", "request": REQUEST}
    entry = {"id": f"{CHAT}#chatInput/q", "chat": CHAT, "kind": "chatInput", "request": REQUEST}
    assert list(input_needed_in(CHAT, chat(part))) == [entry]
    assert list(input_needed_in(CHAT, chat({**part, "response": "accept"}))) == []


@pytest.mark.parametrize(
    "part",
    [
        tool_call("streaming"),
        tool_call("running"),
        tool_call("running", contributor={"kind": "mcp", "serverId": "m"}),
        tool_call("completed", contributor=CLIENT),
        tool_call("cancelled"),
        tool_call("from-the-future"),
        {"kind": "markdown", "id": "p", "content": "x"},
        {"kind": "fromTheFuture"},
    ],
)
def test_nobody_is_waited_for_otherwise(part: Json) -> None:
    assert list(input_needed_in(CHAT, chat(part))) == []


def test_a_chat_without_a_turn_waits_for_nobody() -> None:
    assert list(input_needed_in(CHAT, {})) == []
