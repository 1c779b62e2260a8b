"""The history of a run, and what is wrong with it: a checker over what every client saw. Pure.

It knows nothing of nodes, sockets or time. Clients tell it what they send, see and hold, while it
happens; it keeps of that what it needs to judge what comes later, so that a long run fits memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from soak.audit import difference
from soak.cluster.growth import lost, turns_of
from tests.wire.client import promised

__all__ = ["DONE_ALREADY", "History", "Outcome"]

Json = Mapping[str, Any]
# Faults that are kept in words; all are counted.
MOST_TOLD = 200
# How who comes back by snapshots is answered that something was done: applied to those once more,
# the action itself would make the client's state wrong.
DONE_ALREADY = "this was done already, before the connection was lost"


@dataclass
class Outcome:
    """What became of one dispatched action, as everybody saw it."""

    channel: str
    action: Json
    accepted: bool = False
    refused: str | None = None
    # Under which numbers others saw it: what is in the log has one.
    numbers: set[int] = field(default_factory=set)


class History:
    """Everything that was seen in a run, judged as it comes."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        # How often there was a fault of a sort, also of those that are not told.
        self.counts: Counter[str] = Counter()
        self.seen = 0
        self.snapshots = 0
        # Client id and clientSeq -> what became of it.
        self.outcomes: dict[tuple[str, int], Outcome] = {}
        # Client -> the highest number that it was shown.
        self._shown: dict[str, int] = {}
        # Channel -> the latest state that anybody held, and its number.
        self._latest: dict[str, tuple[int, Json]] = {}

    def dispatched(self, client: str, seq: int, channel: str, action: Json) -> None:
        """A client sends an action, for the first time."""
        self.outcomes[client, seq] = Outcome(channel, action)

    def saw(self, client: str, envelope: Json) -> None:
        """A client was sent an envelope."""
        self.seen += 1
        number, refused = envelope["serverSeq"], envelope.get("rejectionReason")
        shown = self._shown.get(client, 0)
        # A refusal is in no log; its number need not be its own.
        if number < shown or (number == shown and refused is None):
            self._fault("number", f"{client} was shown {number} after {shown}")
        self._shown[client] = max(shown, number)
        origin = envelope.get("origin")
        outcome = self.outcomes.get((origin["clientId"], origin["clientSeq"])) if origin else None
        if origin is not None and outcome is not None:
            who = f"{origin['clientId']}'s action {origin['clientSeq']}"
            self._note(outcome, who, number, refused, own=origin["clientId"] == client)

    def _note(
        self, outcome: Outcome, who: str, number: int, refused: str | None, *, own: bool
    ) -> None:
        if refused == DONE_ALREADY:
            outcome.accepted = True
        elif refused is not None:
            outcome.refused = refused
        else:
            outcome.accepted = True
            # Its sender may be answered again, under a number of the moment.
            if not own:
                outcome.numbers.add(number)
        if outcome.accepted and outcome.refused is not None:
            self._fault("both", f"{who} was done and refused: {outcome.refused}")
        if len(outcome.numbers) > 1:
            self._fault("doubled", f"{who} is in the log as {sorted(outcome.numbers)}")

    def rejoined(self, client: str, held: Mapping[str, Json], given: Mapping[str, Json]) -> None:
        """A client that held something was given snapshots instead of what it missed."""
        for channel in held.keys() & given.keys():
            for what in lost(held[channel], given[channel]):
                self._fault("lost", f"{client} came back to {channel}, and {what}")

    def held(self, client: str, number: int, channel: str, state: Json) -> None:
        """A client holds a state in which everything up to a number is."""
        self.snapshots += 1
        at, latest = self._latest.get(channel, (number, state))
        earlier, later = (latest, state) if at <= number else (state, latest)
        for what in lost(earlier, later):
            between = f"from {min(at, number)} to {max(at, number)}"
            self._fault("lost", f"{channel} as {client} held it, {between}: {what}")
        if number >= at:
            self._latest[channel] = (number, state)

    def channels(self) -> set[str]:
        """Return the channels of which anybody held anything."""
        return set(self._latest)

    def missing(self, channel: str, who: str) -> None:
        """Nobody took a channel away, and it is not there."""
        self._fault("lost", f"{channel} is not there for {who}")

    def finish(self, ends: Mapping[str, Mapping[str, Json]], number: int = 1 << 53) -> None:
        """Judge the end: by node and channel, what is there when nothing goes on any more."""
        first, *others = ends
        for other in others:
            for channel in sorted(ends[first].keys() | ends[other].keys()):
                left, right = (promised(ends[node].get(channel)) for node in (first, other))
                if (where := difference(left, right)) is not None:
                    self._fault("differ", f"{channel} on {first} and {other}: {where}")
        for channel, state in ends[first].items():
            self.held("the end", number, channel, state)
            if "activeTurn" in state:
                self._fault("running", f"{channel} still runs turn {state['activeTurn']['id']}")
        self._judge_actions(ends[first])

    def mirrors(self, client: str, pairs: Iterable[tuple[str, Any, Any]]) -> None:
        """Compare, by channel, what a client holds at the end with what is there."""
        for channel, mirrored, fresh in pairs:
            if (where := difference(mirrored, fresh)) is not None:
                self._fault("differ", f"{client} holds something else than {channel} is: {where}")

    def did(self, deeds: Iterable[str]) -> None:
        """Tools did these, each by its name: none twice."""
        for deed, count in Counter(deeds).items():
            if count > 1:
                self._fault("doubled", f"{deed} was done {count} times")

    def _judge_actions(self, end: Mapping[str, Json]) -> None:
        for (client, seq), outcome in self.outcomes.items():
            who = f"{client}'s {outcome.action['type']} {seq}"
            if not outcome.accepted and outcome.refused is None:
                self._fault("unanswered", f"{who} on {outcome.channel} was never answered")
            state = end.get(outcome.channel)
            if outcome.action["type"] != "chat/turnStarted" or state is None:
                continue
            there = [*(turn["id"] for turn in state["turns"]), *_active(state)]
            times = there.count(outcome.action["turnId"])
            if outcome.accepted and times != 1:
                kind = "doubled" if times else "lost"
                self._fault(kind, f"{who} was done, and its turn is there {times} times")
            elif outcome.refused is not None and times:
                self._fault("both", f"{who} was refused, and its turn is there")
            elif times and "state" not in turns_of(state)[outcome.action["turnId"]]:
                self._fault("running", f"{who}: its turn has not ended")

    def _fault(self, kind: str, what: str) -> None:
        self.counts[kind] += 1
        if len(self.faults) < MOST_TOLD:
            self.faults.append(what)


def _active(state: Json) -> list[str]:
    return [state["activeTurn"]["id"]] if "activeTurn" in state else []
