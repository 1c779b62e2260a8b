"""A far turn shown here ends as it ended there, however few of its states were seen."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from agenthost.agents.ahp.relay import Relay, marked_id
from agenthost.client.resuming import find_turn
from agenthost.protocol import reduce
from tests.strategies import NOW, History, chat_histories

Json = dict[str, Any]


class Near:
    """The chat here, as reducers make it of what a relay tells."""

    def __init__(self, turn_id: str) -> None:
        message = {"text": "go", "origin": {"kind": "user"}}
        self.turn_id = turn_id
        self.state: Json = {"resource": "c:/1", "title": "", "status": 1, "turns": []}
        self.act("turnStarted", startedAt=NOW, message=message)
        self.relay = Relay(turn_id)
        self.followed: Json | None = None

    def act(self, action_type: str, **fields: Any) -> None:
        action = {"type": f"chat/{action_type}", "turnId": self.turn_id, **fields}
        self.state = reduce("chat", self.state, action, now=NOW)

    @property
    def parts(self) -> list[Json]:
        turn = find_turn(self.state, self.turn_id)
        assert turn is not None
        return list(turn["responseParts"])

    def follow(self, far: Json) -> None:
        """Show a state of the far turn, and end as it has."""
        self.followed = far
        ended = far.get("state")
        if self.state.get("activeTurn") is None:
            self.act("turnResume")
            self.relay = Relay(self.turn_id)
            self.relay.take_up(self.parts)
        for action in self.relay.actions(self.parts, far, is_over=ended is not None):
            self.state = reduce("chat", self.state, action, now=NOW)
        match ended:
            case "complete":
                self.act("turnComplete", duration=1)
            case "cancelled":
                self.act("turnCancelled", duration=1)
            case "error":
                self.act("error", duration=1, part=far["responseParts"][-1])


def turn_states(history: History) -> Iterator[Json]:
    """Yield every turn of a chat as it was after each action."""
    state = history.initial
    for action in history.actions:
        before, state = state, reduce("chat", state, action, now=NOW)
        active = state.get("activeTurn")
        if active is not None and active is not before.get("activeTurn"):
            yield active
        known = {id(turn) for turn in before["turns"]}
        yield from (turn for turn in state["turns"] if id(turn) not in known and "state" in turn)


def expected(parts: list[Json]) -> list[Json]:
    """Return far parts as they are to be here."""
    numbers: dict[str, int] = {}

    def marked(id: str) -> str:
        number = numbers[id] = numbers.get(id, -1) + 1
        return marked_id(id if not number else f"{id}~{number}")

    made: list[Json] = []
    for part in parts:
        match part["kind"]:
            case "markdown" | "reasoning":
                made.append({**part, "id": marked(part["id"])})
            case "toolCall":
                call = part["toolCall"]
                named = {**call, "toolCallId": marked(call["toolCallId"])}
                made.append({**part, "toolCall": named})
            case "inputRequest":
                request = {**part["request"], "id": marked(part["request"]["id"])}
                if not request.get("answers"):
                    # None and no answers are the same.
                    request.pop("answers", None)
                made.append({**part, "request": request})
            case _:
                made.append(part)
    return made


@settings(max_examples=60, deadline=None)
@given(history=chat_histories(80), seed=st.integers(0, 2**16), often=st.sampled_from([0.1, 0.5, 1]))
def test_any_walk_of_a_far_turn_ends_the_same_here(
    history: History, seed: int, often: float
) -> None:
    random = Random(seed)
    last: dict[str, Json] = {}
    nears: dict[str, Near] = {}
    own = {a["turnId"] for a in history.actions if a["type"] == "chat/turnStarted"}
    for turn in turn_states(history):
        if turn["id"] not in own:
            continue
        last[turn["id"]] = turn
        if random.random() < often or turn.get("state") == "error":
            nears.setdefault(turn["id"], Near(turn["id"])).follow(turn)
    for id, turn in last.items():
        near = nears.setdefault(id, Near(id))
        if near.followed is not turn:
            near.follow(turn)
        assert near.parts == expected(turn["responseParts"])
