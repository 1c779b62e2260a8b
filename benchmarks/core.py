"""The protocol core: what one action costs to reduce, and each rung to translate it."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from statistics import mean
from typing import Any

import orjson

from agenthost.protocol import NEWEST, SUPPORTED_VERSIONS, reduce, translator
from benchmarks.timing import microseconds

NOW = "2026-01-01T00:00:00.000Z"
MESSAGE = {"text": "hello", "origin": {"kind": "user"}}
CALL = {"turnId": "now", "toolCallId": "k1"}


# A sentence as models write them: with quotes, line breaks and a little beyond ASCII.
PROSE = 'The call to "parse" fails – see `core.py`:\n\n```python\nraise ValueError("no")\n```\n'


def turn(number: int, text: int = 200) -> dict[str, Any]:
    prose = (PROSE * (text // len(PROSE) + 1))[:text]
    parts: list[dict[str, Any]] = [{"kind": "markdown", "id": f"p{number}", "content": prose}]
    parts.append(call("completed", **DONE))
    return {
        "id": f"t{number}",
        "startedAt": NOW,
        "duration": 5,
        "message": MESSAGE,
        "responseParts": parts,
        "state": "complete",
    }


def chat(turns: int, *parts: dict[str, Any]) -> dict[str, Any]:
    active = {
        "id": "now",
        "startedAt": NOW,
        "message": MESSAGE,
        "responseParts": [{"kind": "markdown", "id": "p", "content": "so far"}, *parts],
    }
    return {
        "resource": "ahp-chat:/1",
        "title": "Chat",
        "status": 8,
        "modifiedAt": NOW,
        "turns": [turn(number) for number in range(turns)],
        "activeTurn": active,
    }


def call(status: str, **fields: Any) -> dict[str, Any]:
    base = {"toolCallId": "k1", "toolName": "shell", "displayName": "Shell", "status": status}
    return {"kind": "toolCall", "toolCall": {**base, **fields}}


DONE: dict[str, Any] = {
    "invocationMessage": "Run `ls`",
    "toolInput": '{"cmd": "ls -la"}',
    "confirmed": "user-action",
    "success": True,
    "pastTenseMessage": "Ran `ls`",
    "content": [{"type": "text", "text": "total 12\ndrwxr-xr-x 2 user user 4096 Jan  1 00:00 .\n"}],
}
RUNNING = call("running", invocationMessage="Run", toolInput="ls", confirmed="not-needed")
PENDING = call("pending-confirmation", invocationMessage="Run", toolInput="ls", editable=True)
STREAMING = call("streaming", partialInput='{"cmd":')

COMMON: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("delta", chat(10), {"type": "chat/delta", "turnId": "now", "partId": "p", "content": "word "}),
    ("usage", chat(10), {"type": "chat/usage", "turnId": "now", "usage": {"inputTokens": 3}}),
    (
        "tool call started",
        chat(10),
        {"type": "chat/toolCallStart", **CALL, "toolName": "shell", "displayName": "Shell"},
    ),
    ("tool input", chat(10, STREAMING), {"type": "chat/toolCallDelta", **CALL, "content": "x"}),
    (
        "tool ready",
        chat(10, STREAMING),
        {"type": "chat/toolCallReady", **CALL, "invocationMessage": "Run", "toolInput": "ls"},
    ),
    (
        "tool approved",
        chat(10, PENDING),
        {"type": "chat/toolCallConfirmed", **CALL, "approved": True, "confirmed": "user-action"},
    ),
    (
        "tool completed",
        chat(10, RUNNING),
        {
            "type": "chat/toolCallComplete",
            **CALL,
            "result": {"success": True, "pastTenseMessage": "Ran"},
        },
    ),
    (
        "input requested",
        chat(10),
        {"type": "chat/inputRequested", "request": {"id": "r", "message": "Who?"}},
    ),
    ("turn completed", chat(10), {"type": "chat/turnComplete", "turnId": "now", "duration": 9}),
]


def run() -> None:
    print("reducing one action, microseconds")
    for name, state, action in COMMON:
        cost = microseconds(partial(reduce, "chat", state, action, now=NOW))
        print(f"  {name:<20}{cost:8.2f}")

    print("a delta against the length of its chat, microseconds")
    delta = COMMON[0][2]
    costs = {}
    for turns in (10, 100, 1_000, 10_000):
        state = chat(turns)
        costs[turns] = microseconds(partial(reduce, "chat", state, delta, now=NOW))
        print(f"  {turns:>6} turns {costs[turns]:8.2f}")
    print(f"  10,000 turns cost {costs[10_000] / costs[10]:.2f} times as much as 10")

    print("translating one action down, microseconds (against encoding it as JSON)")
    print(f"  {'':<20}{'encode':>8}" + "".join(f"{version:>9}" for version in SUPPORTED_VERSIONS))
    for name, before, action in COMMON:
        after = reduce("chat", before, action, now=NOW)
        row = [microseconds(partial(orjson.dumps, action))]
        for version in SUPPORTED_VERSIONS:
            down = translator(version).action_down
            row.append(microseconds(partial(down, "chat", before, action, after)))
        print(f"  {name:<20}" + "".join(f"{cost:9.2f}" for cost in row))

    print("translating a chat of 1,000 turns down, microseconds (against encoding it as JSON)")
    state = chat(1_000, RUNNING)
    print(f"  {'encode':<10}{microseconds(lambda: orjson.dumps(state)):10.0f}")
    for version in SUPPORTED_VERSIONS[1:]:
        cost = microseconds(partial(translator(version).state_down, "chat", state))
        print(f"  {version:<10}{cost:10.0f}")
    assert translator(NEWEST).state_down("chat", state) is state
    rungs(state)


def rungs(chat_state: Any) -> None:
    """Print what each rung adds, in both directions."""
    print("each rung alone, microseconds: an action, the mean of those above, and that chat")
    print(f"  {'':<16}{'down':>10}{'up':>10}{'chat down':>12}{'chat up':>12}")
    costs = {version: climbs(version, chat_state) for version in SUPPORTED_VERSIONS}
    for newer, older in pairwise(SUPPORTED_VERSIONS):
        added = [below - above for above, below in zip(costs[newer], costs[older], strict=True)]
        down, up, chat_down, chat_up = added
        print(f"  {newer} - {older:<8}{down:10.2f}{up:10.2f}{chat_down:12.0f}{chat_up:12.0f}")


def climbs(version: str, chat_state: Any) -> list[float]:
    """Return what all rungs from the newest version to this one cost together."""
    ladder = translator(version)
    down, up = [], []
    for _, before, action in COMMON:
        after = reduce("chat", before, action, now=NOW)
        down.append(microseconds(partial(ladder.action_down, "chat", before, action, after)))
        for sent in ladder.action_down("chat", before, action, after):
            climb = partial(ladder.action_up, "chat", sent, before, now=NOW, sender="host")
            up.append(microseconds(climb))
    old = ladder.state_down("chat", chat_state)
    whole = [
        microseconds(partial(ladder.state_down, "chat", chat_state)),
        microseconds(partial(ladder.state_up, "chat", old)),
    ]
    return [mean(down), mean(up), *whole]
