"""The client's mirror: actions per second with and without pending ones, and what a chat weighs."""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import orjson

from agenthost.client.mirror import Mirror
from agenthost.protocol import NEWEST, SUPPORTED_VERSIONS, reduce, translator
from benchmarks.core import NOW, chat

# Fewer where each of them costs more.
ACTIONS = {0: 20_000, 1: 10_000, 50: 1_000}
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


def envelope(seq: int, action: Json) -> Json:
    return {"channel": "ahp-chat:/1", "action": action, "serverSeq": seq}


def plain(state: Any, action: Made) -> float:
    """Return actions per second through the reducers alone."""

    def run() -> None:
        held = state
        for number in range(ACTIONS[0]):
            held = reduce("chat", held, action(number), now=NOW)

    return ACTIONS[0] / best(run)


def mirrored(state: Any, action: Made, pending: int, *, looks: bool) -> float:
    """Return actions per second through a mirror, with somebody looking at the state or nobody."""

    def run() -> None:
        mirror = Mirror("chat", NEWEST, state, 0, client_id=ME)
        for number in range(pending):
            mirror.dispatch(number, draft(number), NOW)
        for number in range(1, ACTIONS[pending] + 1):
            mirror.receive(envelope(number, action(number)), NOW)
            if looks:
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
        started = time.perf_counter()
        run()
        times.append(time.perf_counter() - started)
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
    state = chat(100)
    print("foreign actions through a mirror, per second")
    print(f"  {'':<28}{'deltas':>12}{'usage':>12}")
    rows: list[tuple[str, Callable[[Made], float]]] = [
        ("reducers alone", lambda made: plain(state, made)),
        ("nobody looks", lambda made: mirrored(state, made, 0, looks=False)),
    ]
    for pending in (0, 1, 50):
        rows.append(
            (
                f"looked at, {pending} pending",
                lambda made, pending=pending: mirrored(  # type: ignore[misc]
                    state, made, pending, looks=True
                ),
            )
        )
    for name, measure in rows:
        print(f"  {name:<28}{measure(delta):12,.0f}{measure(usage):12,.0f}")

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
