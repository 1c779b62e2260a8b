"""The client's mirror: actions per second with and without pending ones, and what a chat weighs."""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Callable
from functools import partial
from typing import Any

import orjson

from agenthost.client.state.mirror import Mirror
from agenthost.protocol import NEWEST, SUPPORTED_VERSIONS, reduce, translator
from benchmarks.core import NOW, chat

# Fewer where each of them costs more.
ACTIONS = {0: 20_000, 1: 20_000, 50: 10_000}
ROUNDS = 3
TURNS = 10_000
ME = "me"

Json = dict[str, Any]
Made = Callable[[int], Json]


def delta(number: int) -> Json:
    return {"type": "chat/delta", "turnId": "now", "partId": "p", "content": "word "}


def usage(number: int) -> Json:
    return {"type": "chat/usage", "turnId": "now", "usage": {"inputTokens": number}}


def draft(number: int) -> Json:
    message = {"text": f"draft {number}", "origin": {"kind": "user"}}
    return {"type": "chat/draftChanged", "draft": message}


def answer(number: int) -> Json:
    value = {"kind": "text", "value": f"answer {number}"}
    given = {"state": "draft", "value": value}
    asked = {"requestId": "r", "questionId": "q", "answer": given}
    return {"type": "chat/inputAnswerChanged", **asked}


def envelope(seq: int, action: Json) -> Json:
    return {"channel": "ahp-chat:/1", "action": action, "serverSeq": seq}


def plain(state: Any, action: Made) -> float:
    """Return actions per second through the reducers alone."""

    def run() -> None:
        held = state
        for number in range(ACTIONS[0]):
            held = reduce("chat", held, action(number), now=NOW)

    return ACTIONS[0] / best(run)


def mirrored(state: Any, action: Made, pending: int, *, every: int, own: Made = draft) -> float:
    """Return actions per second through a mirror that is looked at after every so many of them."""

    def run() -> None:
        mirror = Mirror("chat", NEWEST, state, 0, client_id=ME)
        for number in range(pending):
            mirror.dispatch(number, own(number), NOW)
        for number in range(1, ACTIONS[pending] + 1):
            mirror.receive(envelope(number, action(number)), NOW)
            if number % every == 0:
                mirror.state  # noqa: B018
        mirror.state  # noqa: B018

    return ACTIONS[pending] / best(run)


def round_trips(state: Any, pending: int) -> float:
    """Return actions of our own per second: dispatched, looked at, confirmed, looked at."""

    def run() -> None:
        mirror = Mirror("chat", NEWEST, state, 0, client_id=ME)
        for number in range(ACTIONS[pending]):
            told = mirror.dispatch(number, draft(number), NOW)
            mirror.state  # noqa: B018
            answered = number - pending + 1
            if answered >= 0:
                origin = {"clientId": ME, "clientSeq": answered}
                mirror.receive({**envelope(number + 1, told), "origin": origin}, NOW)
                mirror.state  # noqa: B018

    return ACTIONS[pending] / best(run)


def best(run: Callable[[], None]) -> float:
    times = []
    for _ in range(ROUNDS):
        gc.collect()
        # Of this process alone: other work on the machine does not count.
        started = time.process_time()
        run()
        times.append(time.process_time() - started)
    return min(times)


def weight(make: Callable[[], Any]) -> float:
    """Return the megabytes that what is made takes in memory."""
    gc.collect()
    tracemalloc.start()
    made = make()
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    del made
    return size / 1e6


def run() -> None:
    question = {"id": "q", "kind": "text", "message": "?"}
    request = {"id": "r", "message": "Who?", "questions": [question]}
    state = chat(100, {"kind": "inputRequest", "request": request})
    print("foreign actions through a mirror, per second of CPU time")
    print(f"  {'':<36}{'deltas':>12}{'usage':>12}")

    def row(name: str, measure: Callable[[Made], float]) -> tuple[float, float]:
        figures = measure(delta), measure(usage)
        print(f"  {name:<36}{figures[0]:12,.0f}{figures[1]:12,.0f}")
        return figures

    def rows(looks: str, every: int) -> None:
        none = row(f"{looks}, 0 pending", lambda made: mirrored(state, made, 0, every=every))
        row(f"{looks}, 1 pending", lambda made: mirrored(state, made, 1, every=every))
        for own in (draft, answer):
            measure = partial(mirrored, state, pending=50, every=every, own=own)
            many = row(f"{looks}, 50 pending: {own.__name__}s", measure)
            slower = " and ".join(f"{a / b:.1f}" for a, b in zip(none, many, strict=True))
            print(f"    none pending is {slower} times as fast")

    row("reducers alone", lambda made: plain(state, made))
    rows("looked at", 1)
    rows("nobody looks", ACTIONS[0])

    print("own actions, dispatched, shown and confirmed, per second")
    for pending in (1, 50):
        print(f"  {pending:>3} under way {round_trips(state, pending):12,.0f}")

    print(f"a chat of {TURNS:,} turns, megabytes")
    raw = orjson.dumps(chat(TURNS))
    print(f"  as JSON                {len(raw) / 1e6:8.1f}")
    base = weight(lambda: reduce("chat", orjson.loads(raw), delta(0), now=NOW))
    print(f"  state, reduced plainly {base:8.1f}")

    def busy(version: str, form: bytes) -> Mirror:
        mirror = Mirror("chat", version, orjson.loads(form), 0, client_id=ME)
        for number in range(50):
            mirror.dispatch(number, draft(number), NOW)
        for number in range(1, 1_001):
            mirror.receive(envelope(number, delta(number)), NOW)
        mirror.state  # noqa: B018
        return mirror

    print(f"  mirror, 50 pending     {weight(lambda: busy(NEWEST, raw)):8.1f}")
    oldest = SUPPORTED_VERSIONS[-1]
    old = orjson.dumps(translator(oldest).state_down("chat", orjson.loads(raw)))
    print(f"  mirror of the oldest   {weight(lambda: busy(oldest, old)):8.1f}")
