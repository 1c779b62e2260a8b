"""Events of a chat, computed as the difference between two of its states.

Pure. Because events come from states and not from actions, nothing is lost or told twice over a
reconnect, a snapshot or a reader that looks up only now and then: it sees the sum of what happened.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from agenthost.client.resuming import find_turn, is_resumable, was_resumed
from agenthost.protocol.chat.parts import error_of
from agenthost.protocol.json_edits import without

if TYPE_CHECKING:
    from agenthost.protocol.chat.input_state import ChatInputRequest, ChatInputResponseKind
    from agenthost.protocol.chat.messages import Message
    from agenthost.protocol.chat.state import CompletedTurn, ResponsePart
    from agenthost.protocol.chat.tool_state import ToolCallConfirmationState, ToolCallState
    from agenthost.protocol.common import ErrorInfo, UsageInfo

__all__ = [
    "ChatEvent",
    "ConfirmationNeeded",
    "PartAdded",
    "Question",
    "QuestionClosed",
    "Reasoning",
    "Redrawn",
    "Text",
    "ToolCallChanged",
    "TurnEnded",
    "TurnResumed",
    "TurnStarted",
    "UsageReported",
    "chat_events",
]

Json = Mapping[str, Any]
_Name: TypeAlias = tuple[str, str | None, str | None]

# Statuses in which a call waits for somebody's approval, of the call or of its result.
_WAITING = ("pending-confirmation", "pending-result-confirmation")


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """A turn began with this message, whoever sent it."""

    turn_id: str
    message: Message


@dataclass(frozen=True, slots=True)
class TurnResumed:
    """A turn that had failed goes on where it ended; what it held before is not told again."""

    turn_id: str
    message: Message


@dataclass(frozen=True, slots=True)
class Text:
    """More of the answer, in markdown."""

    turn_id: str
    part_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Reasoning:
    """More of what the agent thinks aloud."""

    turn_id: str
    part_id: str
    text: str


@dataclass(frozen=True, slots=True)
class ToolCallChanged:
    """A tool call appeared or changed; ``call["status"]`` says where it stands."""

    turn_id: str
    call: ToolCallState
    # As it was last told; None for a new one.
    before: ToolCallState | None


@dataclass(frozen=True, slots=True)
class ConfirmationNeeded:
    """A tool call, or its result, waits for approval: ``chat.approve`` or ``chat.deny`` it."""

    turn_id: str
    call: ToolCallConfirmationState


@dataclass(frozen=True, slots=True)
class Question:
    """The agent asks something, or asks it differently: ``chat.answer`` or ``chat.decline`` it."""

    turn_id: str
    request: ChatInputRequest


@dataclass(frozen=True, slots=True)
class QuestionClosed:
    """A question is settled; without a response the turn ended over it."""

    turn_id: str
    request: ChatInputRequest
    response: ChatInputResponseKind | None


@dataclass(frozen=True, slots=True)
class PartAdded:
    """Something else in the answer: a notice, a content reference, or a kind we do not know.

    A part that lacks what its kind must have is told in this way, too; it may even lack a kind.
    The error with which a turn ends is not: ``TurnEnded`` has it.
    """

    turn_id: str
    part: ResponsePart


@dataclass(frozen=True, slots=True)
class UsageReported:
    """What the turn has used so far; the last report counts."""

    turn_id: str
    usage: UsageInfo


@dataclass(frozen=True, slots=True)
class Redrawn:
    """The turn was rewritten: forget its earlier events and show ``parts`` instead."""

    turn_id: str
    parts: Sequence[ResponsePart]


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """A turn is over; ``removed`` means that the chat was cut before it."""

    turn_id: str
    state: Literal["complete", "cancelled", "error", "removed"]
    # The completed turn, unless it was removed.
    turn: CompletedTurn | None

    @property
    def error(self) -> ErrorInfo | None:
        """Why the turn failed, if it did."""
        return None if self.turn is None else error_of(self.turn)

    @property
    def resumable(self) -> bool:
        """Whether the turn failed in such a way that ``chat.resume`` may take it up again."""
        return self.turn is not None and is_resumable(self.turn)


ChatEvent: TypeAlias = (
    TurnStarted
    | TurnResumed
    | Text
    | Reasoning
    | ToolCallChanged
    | ConfirmationNeeded
    | Question
    | QuestionClosed
    | PartAdded
    | UsageReported
    | Redrawn
    | TurnEnded
)


def chat_events(before: Json, after: Json) -> Iterator[ChatEvent]:
    """Yield the events that led from one state of a chat to another, in order."""
    if before is after:
        return
    was, is_now = before.get("activeTurn"), after.get("activeTurn")
    same = before["turns"] is after["turns"]
    appeared = [] if same else _new_turns(before, after)
    failed = None if same else _resumed(before, after)
    if was is not None and (is_now is None or is_now["id"] != was["id"]):
        ended = next((turn for turn in appeared if turn["id"] == was["id"]), None)
        appeared = [turn for turn in appeared if turn is not ended]
        yield from _end(was, ended)
        was = None
    if failed is not None:
        was = yield from _resume(failed, after)
    for turn in appeared:
        yield from _begin(_without_its_error(turn))
        yield from _end(turn, turn)
    if is_now is not None and was is not is_now:
        yield from _begin(is_now) if was is None else _progress(was, is_now)


def _new_turns(before: Json, after: Json) -> list[Json]:
    """Return the completed turns at the end that were not there before, oldest first."""
    known = {turn["id"] for turn in before["turns"]}
    new: list[Json] = []
    for turn in reversed(after["turns"]):
        # Turns in front of known ones are not new: somebody loaded older ones.
        if turn["id"] in known:
            break
        new.append(turn)
    new.reverse()
    has_history = bool(known) or "turnsNextCursor" in before
    if has_history and len(new) == len(after["turns"]):
        return _from_active(before, new)
    return new


def _from_active(before: Json, turns: list[Json]) -> list[Json]:
    """Return the new turns when the old and the new history do not overlap."""
    active = before.get("activeTurn") or {}
    for index, turn in enumerate(turns):
        if turn["id"] == active.get("id"):
            return turns[index:]
    return []


def _resumed(before: Json, after: Json) -> Json | None:
    """Return the last turn as it failed, if it has been taken up again since."""
    failed = before["turns"][-1] if before["turns"] else None
    if failed is None or before.get("activeTurn") is not None:
        return None
    return failed if was_resumed(failed, after) else None


def _resume(failed: Json, after: Json) -> Generator[ChatEvent, None, Json | None]:
    """Yield what a resumed turn has come to; return it as told, if it is still under way."""
    turn = find_turn(after, failed["id"])
    assert turn is not None
    yield TurnResumed(turn["id"], turn["message"])
    # Its open questions were told as closed when it failed: those that are there are asked again.
    kept = [part for part in failed["responseParts"] if not _is_open(part)]
    was = {**failed, "responseParts": kept}
    if "state" in turn:
        yield from _end(was, turn)
        return None
    yield from _progress(was, turn)
    return turn


def _begin(turn: Json) -> Iterator[ChatEvent]:
    yield TurnStarted(turn["id"], turn["message"])
    yield from _progress({"responseParts": ()}, turn)


def _end(was: Json, ended: Any) -> Iterator[ChatEvent]:
    if ended is None:
        yield TurnEnded(was["id"], "removed", None)
        return
    if ended is not was:
        yield from _progress(was, _without_its_error(ended))
    for part in ended["responseParts"]:
        if _is_open(part):
            yield QuestionClosed(was["id"], part["request"], None)
    yield TurnEnded(was["id"], ended["state"], ended)


def _without_its_error(turn: Json) -> Json:
    """Return a turn without the error that ended it, which is told with its end."""
    parts = turn["responseParts"]
    if turn["state"] == "error" and parts and _claimed(parts[-1]) == "error":
        return {**turn, "responseParts": parts[:-1]}
    return turn


def _is_open(part: Any) -> bool:
    return _kind(part) == "inputRequest" and part.get("response") is None


def _progress(was: Json, turn: Json) -> Iterator[ChatEvent]:
    """Yield the events within one turn."""
    turn_id = turn["id"]
    if turn["responseParts"] is not was["responseParts"]:
        told = list(_parts(turn_id, was["responseParts"], turn["responseParts"]))
        if None in told:
            yield Redrawn(turn_id, turn["responseParts"])
        else:
            yield from (event for event in told if event is not None)
    usage = turn.get("usage")
    if usage is not None and usage != was.get("usage"):
        yield UsageReported(turn_id, usage)


def _parts(
    turn_id: str, before: Sequence[Json], after: Sequence[Json]
) -> Iterator[ChatEvent | None]:
    """Yield the events of the parts; None where a part was removed or rewritten."""
    former = dict(zip(_keys(before), before, strict=True))
    for key, part in zip(_keys(after), after, strict=True):
        was = former.pop(key, None)
        if was is not part:
            yield from _part(turn_id, was, part)
    if former:
        yield None


def _keys(parts: Sequence[Json]) -> Iterator[tuple[*_Name, int]]:
    """Yield a unique key for each part, though ids repeat and some parts have none."""
    seen: Counter[_Name] = Counter()
    for part in parts:
        name = (_kind(part), _claimed(part), _id(part))
        yield (*name, seen[name])
        seen[name] += 1


def _kind(part: Any) -> str:
    """Return the kind of a part that has the fields of its kind, or "" for any other."""
    match part:
        case {"kind": "markdown" | "reasoning" as kind, "id": str(), "content": str()}:
            return str(kind)
        case {"kind": "toolCall", "toolCall": {"toolCallId": str(), "status": str()}}:
            return "toolCall"
        case {"kind": "inputRequest", "request": {"id": str()}}:
            return "inputRequest"
    return ""


def _claimed(part: Any) -> str | None:
    """Return the value of a part's ``kind``, whatever it is."""
    match part:
        case {"kind": str(kind)}:
            return kind
    return None


def _id(part: Any) -> str | None:
    match part:
        case {"toolCall": {"toolCallId": str(id)}} | {"request": {"id": str(id)}}:
            return id
        case {"id": str(id)}:
            return id
    return None


def _part(turn_id: str, was: Any, part: Any) -> Iterator[ChatEvent | None]:
    match _kind(part):
        case "markdown" | "reasoning":
            yield from _text(turn_id, was, part)
        case "toolCall":
            yield from _call(turn_id, None if was is None else was["toolCall"], part["toolCall"])
        case "inputRequest":
            yield from _question(turn_id, was, part)
        case _ if was is None:
            yield PartAdded(turn_id, part)
        case _ if was != part:
            yield None


def _text(turn_id: str, was: Json | None, part: Json) -> Iterator[ChatEvent | None]:
    told: str = "" if was is None else was["content"]
    if not part["content"].startswith(told):
        yield None
    elif len(part["content"]) > len(told):
        event = Text if part["kind"] == "markdown" else Reasoning
        yield event(turn_id, part["id"], part["content"][len(told) :])


def _call(turn_id: str, was: Any, call: Any) -> Iterator[ChatEvent]:
    if was == call:
        return
    yield ToolCallChanged(turn_id, call, was)
    if call["status"] in _WAITING and (was is None or was["status"] != call["status"]):
        yield ConfirmationNeeded(turn_id, call)


def _question(turn_id: str, was: Json | None, part: Json) -> Iterator[ChatEvent]:
    request, response = part["request"], part.get("response")
    if was is None or _asked(was["request"]) != _asked(request):
        yield Question(turn_id, request)
    if response is not None and (was is None or was.get("response") is None):
        yield QuestionClosed(turn_id, request, response)


def _asked(request: Json) -> Json:
    """Return what is asked, without the answers so far."""
    return without(request, "answers")
