"""Twenty thousand broken messages: whatever arrives, only protocol errors come out."""

from __future__ import annotations

import random
from typing import Any

import orjson
import pytest

from agenthost.errors import WireError
from agenthost.protocol import SUPPORTED_VERSIONS
from agenthost.protocol.inbound import accept_action, accept_params
from agenthost.protocol.jsonrpc import Notification, Request
from agenthost.protocol.peer import Event, Peer, Violation
from agenthost.protocol.reducer_registry import KINDS, kind_of

MESSAGES = 20_000
CHUNKS = 20

ROOT = "ahp-root://"
MESSAGE = {
    "text": "hi",
    "origin": {"kind": "user"},
    "model": {"id": "m", "config": {"a": None}},
    "attachments": [
        {"type": "simple", "label": "x", "modelRepresentation": "y"},
        {"type": "chat", "label": "c", "resource": "ahp-chat:/2", "endTurn": "t"},
        {"type": "resource", "label": "r", "uri": "file:///x", "selection": {"range": {}}},
    ],
}
TARGET = {"turnId": "t1", "toolCallId": "k1"}
# One well-formed message of many kinds; mutation does the rest.
COMMANDS: list[tuple[str, dict[str, Any]]] = [
    ("initialize", {"protocolVersions": ["1.0.0"], "clientId": "c", "clientInfo": {"name": "x"}}),
    ("reconnect", {"clientId": "c", "lastSeenServerSeq": 3, "subscriptions": [ROOT]}),
    ("subscribe", {"view": {"turns": 3}, "delivery": {"maxLatencyMs": 20}}),
    ("createSession", {
        "channel": "ahp-session:/1", "provider": "demo", "workingDirectories": ["file:///x"],
        "workingDirectory": "file:///x", "config": {"a": 1},
        "activeClient": {"clientId": "c", "tools": [{"name": "t", "inputSchema": {}}]},
        "fork": {"session": "ahp-session:/0", "turnId": "t"}, "progressToken": "p",
    }),
    ("createChat", {
        "channel": "ahp-session:/1", "chat": "ahp-chat:/1", "initialMessage": MESSAGE,
        "source": {"kind": "sideChat", "chat": "ahp-chat:/0", "turnId": "t",
                   "selection": {"text": "x"}},
    }),
    ("createChat", {"chat": "ahp-chat:/1", "source": {"chat": "ahp-chat:/0", "turnId": "t"}}),
    ("fetchTurns", {"cursor": "x", "before": "t", "limit": 3}),
    ("completions", {"kind": "userMessage", "text": "@a", "offset": 2}),
    ("listSessions", {"limit": 3, "cursor": "x"}),
    ("authenticate", {"resource": "https://x", "token": "t", "scopes": ["a"]}),
    ("resourceWrite", {"uri": "file:///x", "data": "", "encoding": "utf-8", "position": 1}),
    ("createTerminal", {"claim": {"kind": "client", "clientId": "c"}, "cols": 80, "rows": 24}),
    ("invokeChangesetOperation", {
        "operationId": "o", "target": {"kind": "range", "resource": "file:///x", "range": {
            "start": {"line": 0, "character": 0}, "end": {"line": 1, "character": 0}}},
    }),
]  # fmt: skip
ACTIONS: list[dict[str, Any]] = [
    {"type": "chat/turnStarted", "turnId": "t1", "startedAt": "2026-01-01T00:00:00.000Z",
     "message": MESSAGE},
    {"type": "chat/turnStarted", "turnId": "t1", "message": MESSAGE},
    {"type": "chat/turnCancelled", "turnId": "t1"},
    {"type": "chat/toolCallConfirmed", **TARGET, "approved": True, "confirmed": "user-action"},
    {"type": "chat/toolCallConfirmed", **TARGET, "approved": False, "reason": "denied",
     "userSuggestion": MESSAGE},
    {"type": "chat/toolCallComplete", **TARGET, "result": {
        "success": True, "pastTenseMessage": "ran", "content": [
            {"type": "text", "text": "x"}, {"type": "terminalComplete", "exitCode": 0},
            {"type": "terminal", "resource": "ahp-terminal:/1", "title": "t"}]}},
    {"type": "chat/toolCallContentChanged", **TARGET, "content": [{"type": "text", "text": "x"}]},
    {"type": "chat/inputAnswerChanged", "requestId": "r", "questionId": "q",
     "answer": {"state": "draft", "value": {"kind": "text", "value": "x"}}},
    {"type": "chat/inputCompleted", "requestId": "r", "response": "accept", "answers": {
        "q": {"state": "submitted", "value": {"kind": "selected-many", "value": ["a"]}}}},
    {"type": "chat/pendingMessageSet", "kind": "queued", "id": "p", "message": MESSAGE},
    {"type": "chat/truncated", "turnId": "t"},
    {"type": "chat/turnResume", "turnId": "t1"},
    {"type": "chat/isReadChanged", "isRead": True},
    {"type": "chat/isArchivedChanged", "isArchived": True},
    {"type": "chat/draftChanged", "draft": MESSAGE},
    {"type": "session/activeClientSet", "activeClient": {"clientId": "c", "tools": []}},
    {"type": "session/configChanged", "config": {"a": 1}, "replace": True},
    {"type": "session/customizationToggled", "id": "x", "enabled": True},
    {"type": "session/customizationToggled", "id": "x", "enablement": [
        {"kind": "session", "enabled": False}, {"kind": "global", "enabled": True}]},
    {"type": "session/workingDirectoryReplaced", "directory": "file:///x",
     "replacement": "file:///y"},
    {"type": "session/mcpServerBackgroundRequested", "id": "x"},
    {"type": "root/configChanged", "config": {"a": 1}},
    {"type": "annotations/set", "annotation": {
        "id": "a", "turnId": "t", "resource": "file:///x", "resolved": False,
        "entries": [{"id": "e", "text": {"markdown": "x"}}]}},
    {"type": "annotations/set", "annotation": {
        "id": "a", "resource": "file:///x", "resolved": False,
        "origin": {"session": "ahp-session:/1", "chat": "ahp-chat:/1", "turnId": "t"},
        "entries": [{"id": "e", "text": "x"}]}},
    {"type": "terminal/resized", "cols": 80, "rows": 24},
    {"type": "terminal/claimed", "claim": {"kind": "session", "session": "ahp-session:/1"}},
    {"type": "terminal/claimed", "claim": {
        "kind": "session", "session": "ahp-session:/1", "chat": "ahp-chat:/1"}},
    {"type": "changeset/filesReviewChanged", "files": ["a"], "reviewed": True},
    {"type": "changeset/filesReviewedChanged", "fileIds": ["a"], "reviewed": True},
]  # fmt: skip
JUNK: list[Any] = [
    None, True, False, 0, -1, 1.5, 1e300, 2**63, "", "x", "0.5.0", "\u0000", "ahp-root://",
    [], [None], [[]], {}, {"": None}, {"type": None}, {"kind": "sideChat"}, "x" * 5_000,
]  # fmt: skip
STATES: dict[str, Any] = {
    "chat": {
        "resource": "ahp-chat:/1", "title": "", "status": 8, "modifiedAt": "", "turns": [],
        "activeTurn": {
            "id": "t1", "startedAt": "2026-01-01T00:00:00.000Z", "message": MESSAGE,
            "responseParts": [{"kind": "toolCall", "toolCall": {
                "toolCallId": "k1", "toolName": "n", "displayName": "N", "status": "running",
                "invocationMessage": "", "confirmed": "not-needed"}}],
        },
    },
}  # fmt: skip


def mutate_tree(value: Any, rng: random.Random) -> Any:
    """Replace, drop, add or swap one node somewhere in a JSON value."""
    if rng.random() < 0.25 or not isinstance(value, dict | list) or not value:
        return rng.choice(JUNK)
    if isinstance(value, list):
        copy = list(value)
        place = rng.randrange(len(copy))
        copy[place] = mutate_tree(copy[place], rng)
        return copy * rng.choice([1, 1, 1, 2])
    changed = dict(value)
    key = rng.choice(list(changed))
    match rng.randrange(5):
        case 0:
            del changed[key]
        case 1:
            changed[rng.choice(["type", "kind", "channel", "extra", key + "x"])] = rng.choice(JUNK)
        case _:
            changed[key] = mutate_tree(changed[key], rng)
    return changed


def mutate_bytes(frame: bytes, rng: random.Random) -> bytes:
    """Flip, cut, repeat or insert raw bytes."""
    place = rng.randrange(len(frame) + 1)
    match rng.randrange(4):
        case 0:
            return frame[:place] + bytes([rng.randrange(256)]) + frame[place + 1 :]
        case 1:
            return frame[:place]
        case 2:
            return frame[:place] + frame[max(0, place - 20) :]
        case _:
            return frame[:place] + rng.randbytes(3) + frame[place:]


def make_frame(rng: random.Random) -> bytes:
    if rng.random() < 0.5:
        method, params = rng.choice(COMMANDS)
        message: Any = {"id": rng.choice([1, "a", None, 7.5]), "method": method}
    else:
        action = rng.choice(ACTIONS)
        if rng.random() < 0.7:
            action = mutate_tree(action, rng)
        method, params = "dispatchAction", {"clientSeq": 1, "action": action}
        message = {"method": method}
    message |= {"jsonrpc": "2.0", "params": {"channel": ROOT, **params}}
    for _ in range(rng.choice([0, 1, 1, 2])):
        message = mutate_tree(message, rng)
    frame = orjson.dumps(message, option=orjson.OPT_PASSTHROUGH_DATACLASS)
    return mutate_bytes(frame, rng) if rng.random() < 0.3 else frame


def take(event: Event, version: str) -> str:
    """Run an event through the edge as a host does; return how it ended."""
    try:
        if isinstance(event, Notification) and event.method == "dispatchAction":
            action = event.params.get("action")
            kind = (
                kind_of(action["type"])
                if isinstance(action, dict) and isinstance(action.get("type"), str)
                else None
            )
            state = STATES.get(kind or "", {})
            accept_action(version, kind or KINDS[0], action, state, now="2026-01-01T00:00:01.000Z")
        elif isinstance(event, Request | Notification):
            accept_params(version, event.method, event.params)
        return "accepted"
    except WireError as error:
        return "refused" if error.message and "Traceback" not in error.message else "leaked"


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_mutated_messages_give_only_protocol_errors(chunk: int) -> None:
    rng = random.Random(chunk)
    outcomes = {"accepted": 0, "refused": 0, "violation": 0, "ignored": 0}
    peer = Peer("host")
    peer.feed(b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}')
    assert peer.next_event() is not None
    peer.respond(0, {})
    for _ in range(MESSAGES // CHUNKS):
        version = rng.choice(SUPPORTED_VERSIONS)
        peer.feed(make_frame(rng))
        event = peer.next_event()
        if event is None:
            outcomes["ignored"] += 1
        elif isinstance(event, Violation):
            outcomes["violation"] += 1
        else:
            outcomes[take(event, version)] += 1
            if isinstance(event, Request):
                peer.respond(event.id, None)
        for output in peer.take_output():
            answer = orjson.loads(output if isinstance(output, bytes) else b"".join(output))
            assert "result" in answer or answer["error"]["code"] in range(-32768, -31999)
    # The mutations must reach every outcome, or the test shows nothing.
    assert all(outcomes[name] > 10 for name in ("accepted", "refused", "violation")), outcomes


@pytest.mark.parametrize("chunk", range(2))
def test_a_client_survives_mutated_messages_too(chunk: int) -> None:
    rng = random.Random(1_000 + chunk)
    peer = Peer("client")
    for _ in range(500):
        peer.call("ping", {"channel": ROOT})
        peer.take_output()
        message: Any = {"jsonrpc": "2.0", "id": rng.randrange(600), "result": {"a": [1]}}
        if rng.random() < 0.5:
            message = {"jsonrpc": "2.0", "method": "action", "params": {"channel": ROOT}}
        peer.feed(mutate_bytes(orjson.dumps(mutate_tree(message, rng)), rng))
        while peer.next_event() is not None:
            pass
