"""A far turn shown here: what to tell people here, and what they decided to tell there.

Pure. Both directions work from states, not from what happened: after a lost connection, or when
many changes come at once, the difference between what was shown and what is true is all there is to
do, and nothing is told twice. A part keeps the id that it has at the far host, behind a mark of
ours, so that a turn which goes on after a restart knows again what it has shown.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from agenthost.agents.ahp.call_steps import CallDiverged, call_steps
from agenthost.agents.ahp.forwarded_answers import (
    approval_of,
    changed_drafts,
    denial_of,
    forgotten_drafts,
    input_answer,
    result_of,
    withheld_result,
)
from agenthost.errors import AgentHostError
from agenthost.protocol.json_edits import same, without

Json = Mapping[str, Any]
Action: TypeAlias = dict[str, Any]
_Key: TypeAlias = tuple[str, str]

# Ids longer than this are told apart by their digest.
LONGEST_ID = 80
# Parts that may have to be shown once more, because the far host took back what it had said.
MOST_CORRECTIONS = 16

_TEXT = {"markdown": "chat/delta", "reasoning": "chat/reasoning"}
_MARK = re.compile(r"f(\d*)-(.*)", re.DOTALL)


class FarTurnRewritten(AgentHostError):
    """A far host takes back what it has said, again and again."""


def marked_id(far_id: str, correction: int = 0) -> str:
    """Return the id that something of a far host has here."""
    return f"f{correction or ''}-{_short(far_id)}"


def _short(far_id: str) -> str:
    if len(far_id) <= LONGEST_ID:
        return far_id
    return hashlib.sha256(far_id.encode(errors="surrogatepass")).hexdigest()[:32]


@dataclass(slots=True)
class _Shown:
    """One part of the far turn as it was last shown here."""

    correction: int = 0
    # The far part up to which everything was told; None where something is still to be told.
    part: Json | None = None
    # The text that was told, of a part that is text.
    text: str = ""
    # The status in which somebody here is asked for something, and the far host waits for them.
    asks: str | None = None
    # What was last sent of what a tool of a client here shows.
    content: Any = None
    # The answers to a question that people at the far host are about to give.
    drafts: Json = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NearAnswer:
    """What somebody here decided, as the action for the far chat."""

    key: _Key
    action: Action


@dataclass(frozen=True, slots=True)
class Asked:
    """What somebody here is asked for."""

    # The status in which a call waits for them, or "open".
    status: str
    # What a client's call has shown that the far host knows of.
    content: Any = None


def is_given(chat: Json, asked: Mapping[str, Asked]) -> bool:
    """Say whether a chat here holds anything new of what is asked for in it."""
    for part in (chat.get("activeTurn") or {}).get("responseParts", ()):
        match part:
            case {"kind": "inputRequest", "request": {"id": id}, "response": str()} if id in asked:
                return True
            case {"kind": "toolCall", "toolCall": {"toolCallId": id}} if id in asked:
                if _is_answered(asked[id], part["toolCall"]):
                    return True
    return False


def _is_answered(asked: Asked, call: Json) -> bool:
    if asked.status != "running":
        return bool(call["status"] != asked.status)
    shown = call.get("content")
    return call["status"] in ("completed", "cancelled") or (
        call["status"] == "running" and shown is not None and not same(shown, asked.content)
    )


@dataclass(slots=True)
class Relay:
    """What was shown here of one far turn, and what is under way to the far host."""

    # The turn has the same id on both hosts.
    turn_id: str
    _shown: dict[_Key, _Shown] = field(default_factory=dict)
    # Decisions that the far host has not taken note of yet.
    _under_way: set[_Key] = field(default_factory=set)
    _corrections: int = 0
    _usage: Any = None

    def take_up(self, parts: Sequence[Json]) -> None:
        """Know again what a turn that goes on has shown before it was interrupted."""
        for key, part in _keyed(parts):
            kind, id = key
            mark = _MARK.fullmatch(id)
            if mark is not None:
                shown = self._shown.setdefault((kind, mark[2]), _Shown())
                shown.correction = max(shown.correction, int(mark[1] or 0))
                shown.text = part.get("content", "") if kind in _TEXT else ""
                if kind == "inputRequest":
                    shown.drafts = part["request"].get("answers") or {}
            elif kind not in (*_TEXT, "toolCall", "inputRequest"):
                self._shown.setdefault(key, _Shown()).part = part

    def actions(self, near: Sequence[Json], far: Json, *, is_over: bool = False) -> list[Action]:
        """Return the actions that bring the turn here to where the far turn is.

        ``near`` is what the turn here holds; its text counts as what was told. ``far`` is the far
        turn with parts that were made this host's own; ``is_over`` says that it has ended.

        Raises:
            FarTurnRewritten: the far host takes back too much.
        """
        here = _by_id(near)
        told: list[Action] = []
        for key, part in _far_parts(far):
            shown = self._shown.get(key)
            if shown is None:
                shown = self._shown[key] = _Shown()
            elif shown.part is part and not is_over:
                continue
            told += self._part(key, shown, part, here, is_over)
        usage = far.get("usage")
        if usage is not None and not same(usage, self._usage):
            self._usage = usage
            told.append({"type": "chat/usage", "usage": usage})
        return [self._addressed(action) for action in told]

    def answers(self, near: Sequence[Json], far: Json) -> list[NearAnswer]:
        """Return what people here decided since the last look; each is told to be under way."""
        here, there = _by_id(near), dict(_far_parts(far))
        found: list[NearAnswer] = []
        for key, shown in self._shown.items():
            part = here.get(self._near_id(key, shown))
            far_part = there.get(key)
            if shown.asks is None or part is None or far_part is None:
                continue
            if key[0] == "inputRequest":
                action = input_answer(part, far_part["request"]["id"])
                shown.asks = None if action is not None else shown.asks
            else:
                action = self._call_answer(shown, part["toolCall"], far_part["toolCall"])
            if action is not None:
                found.append(NearAnswer(key, action))
        for answer in found:
            self._under_way.add(answer.key)
        return found

    def settle(self, key: _Key) -> None:
        """Note that a decision has arrived, or never will: the far turn is what it is."""
        self._under_way.discard(key)
        shown = self._shown.get(key)
        if shown is not None:
            shown.part = None

    @property
    def waits_for(self) -> dict[str, Asked]:
        """What people or clients here are asked for, by its id here."""
        return {
            self._near_id(key, shown): Asked(shown.asks, shown.content)
            for key, shown in self._shown.items()
            if shown.asks is not None
        }

    def _addressed(self, action: Action) -> Action:
        # Questions belong to whichever turn runs.
        is_question = action["type"].startswith("chat/input")
        return action if is_question else {**action, "turnId": self.turn_id}

    def _part(
        self, key: _Key, shown: _Shown, part: Json, here: Mapping[str, Json], is_over: bool
    ) -> list[Action]:
        kind = key[0]
        if kind in _TEXT:
            shown.part = part
            return self._text(key, shown, part, here)
        if kind == "toolCall":
            return self._call(key, shown, part, here, is_over)
        if kind == "inputRequest":
            return self._request(key, shown, part, here, is_over)
        is_new, shown.part = shown.part is None, part
        # A failure inside of a turn is of an earlier attempt at it.
        if not is_new or kind == "error":
            return []
        return [{"type": "chat/responsePart", "part": dict(part)}]

    def _text(self, key: _Key, shown: _Shown, part: Json, here: Mapping[str, Json]) -> list[Action]:
        content: str = part["content"]
        told: list[Action] = []
        if not content.startswith(shown.text):
            self._correct(shown)
            shown.text = ""
        id = self._near_id(key, shown)
        if id not in here and not shown.text:
            empty = {"kind": part["kind"], "id": id, "content": ""}
            told.append({"type": "chat/responsePart", "part": empty})
        more, shown.text = content[len(shown.text) :], content
        if more:
            told.append({"type": _TEXT[key[0]], "partId": id, "content": more})
        return told

    def _call(
        self, key: _Key, shown: _Shown, part: Json, here: Mapping[str, Json], is_over: bool
    ) -> list[Action]:
        if key in self._under_way and not is_over:
            # What was decided here is not there yet: the far call says what was true before.
            shown.part = None
            return []
        far = part["toolCall"]
        try:
            steps = call_steps(self._near_call(key, shown, here), far, is_last=is_over)
        except CallDiverged:
            self._correct(shown)
            steps = call_steps(None, far, is_last=is_over)
        shown.part = part
        waits = far["status"] in ("pending-confirmation", "pending-result-confirmation")
        runs_here = far["status"] == "running" and _is_clients(far)
        shown.asks = far["status"] if (waits or runs_here) and not is_over else None
        id = self._near_id(key, shown)
        return [{**step, "toolCallId": id} for step in steps]

    def _near_call(self, key: _Key, shown: _Shown, here: Mapping[str, Json]) -> Json | None:
        found = here.get(self._near_id(key, shown))
        return None if found is None else found["toolCall"]

    def _request(
        self, key: _Key, shown: _Shown, part: Json, here: Mapping[str, Json], is_over: bool
    ) -> list[Action]:
        shown.part = part
        near = here.get(self._near_id(key, shown))
        response = part.get("response")
        if near is not None and near.get("response") is not None:
            if response is not None or is_over or key in self._under_way:
                return []
            # Closed here and still open there: the answer was refused, or this host closed it when
            # it was stopped over it.
            self._correct(shown)
            shown.drafts, near = {}, None
        id = self._near_id(key, shown)
        request = {**without(part["request"], "answers"), "id": id}
        told: list[Action] = []
        if near is None or not same(without(near["request"], "answers"), request):
            told.append({"type": "chat/inputRequested", "request": request})
        shown.asks = "open" if response is None else None
        answers = part["request"].get("answers") or {}
        if response is None:
            told += changed_drafts(shown.drafts, answers, id)
            shown.drafts = answers
        else:
            told += forgotten_drafts(near, answers, id)
            done = {"type": "chat/inputCompleted", "requestId": id, "response": response}
            told.append({**done, "answers": answers} if answers else done)
        return told

    def _call_answer(self, shown: _Shown, near: Json, far: Json) -> Action | None:
        if near["status"] == shown.asks == "running":
            content = near.get("content")
            if content is None or same(content, shown.content):
                return None
            shown.content = content
            return self._to_far(far, "ContentChanged", content=content)
        if near["status"] == shown.asks or far["status"] != shown.asks:
            return None
        asked, shown.asks = shown.asks, None
        match asked, near["status"]:
            case "pending-confirmation", "running":
                return self._to_far(far, "Confirmed", approved=True, **approval_of(near, far))
            case "pending-confirmation", "cancelled":
                return self._to_far(far, "Confirmed", approved=False, **denial_of(near))
            case "pending-result-confirmation", ("completed" | "cancelled") as status:
                return self._to_far(far, "ResultConfirmed", approved=status == "completed")
            case "running", "completed":
                return self._to_far(far, "Complete", result=result_of(near))
            case "running", "cancelled":
                return self._to_far(far, "Complete", result=withheld_result(near))
        # A client's result that people here are to approve of first.
        shown.asks = asked
        return None

    def _to_far(self, far: Json, step: str, **fields: Any) -> Action:
        ids = {"turnId": self.turn_id, "toolCallId": far["toolCallId"]}
        return {"type": f"chat/toolCall{step}", **ids, **fields}

    def _correct(self, shown: _Shown) -> None:
        shown.correction += 1
        self._corrections += 1
        if self._corrections > MOST_CORRECTIONS:
            raise FarTurnRewritten("it takes back what it has said, again and again")

    def _near_id(self, key: _Key, shown: _Shown) -> str:
        return marked_id(key[1], shown.correction)


def _far_parts(turn: Json) -> Iterator[tuple[_Key, Json]]:
    for (kind, id), part in _keyed(turn["responseParts"]):
        yield (kind, _short(id)), part


def _keyed(parts: Sequence[Json]) -> Iterator[tuple[_Key, Json]]:
    """Yield each part with its kind and an id that no other part of that kind has."""
    seen: Counter[_Key] = Counter()
    for part in parts:
        match part:
            case {"kind": "markdown" | "reasoning" as kind, "id": str(id)}:
                name = (str(kind), id)
            case {"kind": "toolCall", "toolCall": {"toolCallId": str(id)}}:
                name = ("toolCall", id)
            case {"kind": "inputRequest", "request": {"id": str(id)}}:
                name = ("inputRequest", id)
            case _:
                name = (str(part.get("kind")), "")
        number = seen[name]
        seen[name] += 1
        yield (name if not number else (name[0], f"{name[1]}~{number}")), part


def _by_id(parts: Sequence[Json]) -> dict[str, Json]:
    """Return the parts of a turn here by the id under which actions reach them."""
    found: dict[str, Json] = {}
    for part in parts:
        match part:
            case {"kind": "toolCall", "toolCall": {"toolCallId": str(id)}}:
                found[id] = part
            case {"kind": "inputRequest", "request": {"id": str(id)}}:
                found[id] = part
            case {"id": str(id)}:
                found[id] = part
    return found


def _is_clients(call: Json) -> bool:
    return (call.get("contributor") or {}).get("kind") == "client"
