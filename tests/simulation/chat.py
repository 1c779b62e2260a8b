"""A chat as a host drives it: every action it draws is one that the state at hand allows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from agenthost.protocol.reduction import reduce_canonical
from tests.simulation import nodes
from tests.simulation.generate import Gen, Json, Random, few, node, one_of

# What a move draws: an action, or None where it found nothing to do.
Move = Callable[[], Json]

NOW = "2026-01-01T00:00:02.000Z"
STARTED = "2026-01-01T00:00:01.000Z"


class ChatSimulation:
    """Draws the next action from what the chat's state allows, and follows the state."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._count = 0
        # Turns that are stored but not loaded, oldest first.
        self._older = [self._old_turn() for _ in range(random.randint(0, 3))]
        self.state = self._initial()

    def run(self, length: int) -> Iterator[Json]:
        """Draw actions, each legal in the state that the ones before it led to."""
        for _ in range(length):
            action = self._random.choice(list(self._moves()))()
            self.state = reduce_canonical("chat", self.state, action, NOW)
            yield action

    def _initial(self) -> Json:
        fixed = {"resource": "ahp-chat:/1", "title": "T", "modifiedAt": "2026", "turns": []}
        fields = {**nodes.CHAT_FIELDS, **nodes.CHAT_STATE_FIELDS}
        state = self._draw(node({**fixed, "status": one_of(1, 33)}, _meta={}, **fields))
        loaded = [self._old_turn() for _ in range(self._random.randint(0, 2))]
        cursor = {"turnsNextCursor": "more"} if self._older else {}
        return {**state, "turns": loaded, **cursor}

    def _old_turn(self) -> Json:
        turn = {"id": self._fresh("turn"), **self._draw(nodes.OLD_TURN)}
        return {**turn, "responseParts": [*map(self._old_part, turn["responseParts"])]}

    def _old_part(self, part: Json) -> Json:
        # No host asks twice under one name, and a turn that is resumed may still be asking.
        if part["kind"] != "inputRequest":
            return part
        return {**part, "request": {**part["request"], "id": self._fresh("old")}}

    def _fresh(self, what: str) -> str:
        self._count += 1
        return f"{what}-{self._count}"

    def _draw(self, generator: Gen) -> Json:
        drawn: Json = generator(self._random)
        return drawn

    def _action(self, action_type: str, required: dict[str, Any], **optional: Any) -> Json:
        return self._draw(node({"type": action_type, **required}, **optional))

    def _moves(self) -> Iterator[Move]:
        yield from (self._draft, self._pending, self._directory, self._activity)
        yield from (self._flagged, self._work, self._listed)
        if self.state.get("queuedMessages") or self.state.get("steeringMessage"):
            yield self._pending_removed
            yield self._reordered
        if self._older:
            yield self._turns_loaded
        if self.state["turns"]:
            yield self._truncated
        if "activeTurn" not in self.state:
            yield from (self._turn_started,) * 8
            yield self._stray
            if self.state["turns"]:
                yield from (self._resumed,) * (20 if _is_resumable(self.state["turns"][-1]) else 1)
            return
        yield from (self._part, self._text, self._asked) * 2
        yield from (self._call_started,) * 4
        yield from (self._usage, self._ended, self._failed, self._failed)
        for part in self.state["activeTurn"]["responseParts"]:
            yield from self._moves_of(part)

    def _moves_of(self, part: Json) -> Iterator[Move]:
        if part["kind"] == "inputRequest" and "response" not in part:
            yield partial(self._answered, part)
            yield partial(self._completed_input, part)
            yield partial(self._asked_again, part)
        if part["kind"] == "toolCall":
            for move in self._call_moves(part["toolCall"]):
                yield from (partial(move, part["toolCall"]),) * 3

    def _call_moves(self, call: Json) -> Sequence[Callable[[Json], Json]]:
        paused = [self._auth_resolved, self._complete, self._content_changed, self._ready]
        return {
            "streaming": [self._call_delta, self._ready, self._ready],
            "pending-confirmation": [self._approve, self._deny, self._ready, self._complete],
            "running": [self._content_changed, self._ready, self._complete, self._auth_required],
            "auth-required": paused,
            "pending-result-confirmation": [self._result_confirmed],
        }.get(call["status"], [])

    # Turns

    def _turn_started(self) -> Json:
        queued = [pending["id"] for pending in self.state.get("queuedMessages", [])]
        when = one_of(STARTED, STARTED, "2026-01-01T01:59:59.999+02:00", "some day")
        started = {"turnId": self._fresh("turn"), "startedAt": when, "message": nodes.OPENING}
        return self._action("chat/turnStarted", started, queuedMessageId=one_of("", *queued))

    def _ended(self) -> Json:
        ending = self._random.choice(["turnComplete", "turnCancelled"])
        ended = {"turnId": self._turn_id, "duration": one_of(-1, 0, 12)}
        return self._action(f"chat/{ending}", ended)

    def _failed(self) -> Json:
        ended = {"turnId": self._turn_id, "duration": one_of(0, 12), "part": nodes.ERROR_PART}
        return self._action("chat/error", ended, _meta=nodes.META)

    def _resumed(self) -> Json:
        return self._action("chat/turnResume", {"turnId": self.state["turns"][-1]["id"]})

    def _part(self) -> Json:
        part = one_of(
            node({"kind": "markdown", "id": self._fresh("part"), "content": nodes.TEXT}),
            node({"kind": "reasoning", "id": self._fresh("part"), "content": nodes.TEXT}),
            node({"kind": "contentRef", "uri": "res:/a"}, nonce="n"),
            node({"kind": "systemNotification", "content": nodes.WORDS}, _meta=nodes.META),
        )
        return self._action("chat/responsePart", {"turnId": self._turn_id, "part": part})

    def _text(self) -> Json:
        parts = self.state["activeTurn"]["responseParts"]
        texts = [part for part in parts if part["kind"] in ("markdown", "reasoning")]
        target = self._random.choice([*texts * 3, {"id": "none", "kind": "markdown"}])
        kind = "chat/delta" if target["kind"] == "markdown" else "chat/reasoning"
        addressed = {"turnId": self._turn_id, "partId": target["id"]}
        return self._action(kind, {**addressed, "content": nodes.TEXT})

    def _usage(self) -> Json:
        usage = {"turnId": self._turn_id, "usage": {"inputTokens": 3}}
        return self._action("chat/usage", usage)

    def _stray(self) -> Json:
        stray = {"turnId": "gone", "toolCallId": "gone", "result": nodes.RESULT}
        return self._action("chat/toolCallComplete", stray)

    def _truncated(self) -> Json:
        ids = [turn["id"] for turn in self.state["turns"]]
        # Turns that are not loaded would have to be, first; the host sees to that.
        return self._action("chat/truncated", {}, turnId=one_of(*ids, "unknown"))

    def _turns_loaded(self) -> Json:
        page = self._random.randint(1, len(self._older))
        self._older, loaded = self._older[:-page], self._older[-page:]
        cursor = {"turnsNextCursor": "more"} if self._older else {}
        return {"type": "chat/turnsLoaded", "turns": loaded, **cursor}

    @property
    def _turn_id(self) -> str:
        return str(self.state["activeTurn"]["id"])

    # Tool calls

    def _call_started(self) -> Json:
        call = {"turnId": self._turn_id, "toolCallId": self._fresh("call")}
        named = {**call, "toolName": "tool", "displayName": "Tool"}
        extras = {"intention": nodes.TEXT, "contributor": nodes.CONTRIBUTOR, "_meta": nodes.META}
        return self._action("chat/toolCallStart", named, **extras)

    def _on(self, call: Json, action: str, required: dict[str, Any], **optional: Any) -> Json:
        named = {"turnId": self._turn_id, "toolCallId": call["toolCallId"]}
        return self._action(
            f"chat/toolCall{action}", {**named, **required}, _meta=nodes.META, **optional
        )

    def _call_delta(self, call: Json) -> Json:
        more = {"content": nodes.TEXT, "invocationMessage": nodes.WORDS}
        return self._on(call, "Delta", {}, **more)

    def _ready(self, call: Json) -> Json:
        references = [{"uri": uri} for uri in nodes.REFERENCES]
        extras = {
            "toolInput": one_of("", "input", *references),
            "intention": nodes.TEXT,
            "contributor": nodes.CONTRIBUTOR,
            "confirmed": nodes.CONFIRMED,
        }
        message = {"invocationMessage": nodes.WORDS}
        return self._on(call, "Ready", message, **extras, **nodes.CONFIRMATION)

    def _approve(self, call: Json) -> Json:
        approved = {"approved": True, "confirmed": nodes.CONFIRMED}
        return self._on(
            call, "Confirmed", approved, editedToolInput=nodes.TEXT, **self._choice(call)
        )

    def _deny(self, call: Json) -> Json:
        denied = {"approved": False, "reason": one_of("denied", "skipped")}
        extras = {"userSuggestion": nodes.MESSAGE, "reasonMessage": nodes.WORDS}
        return self._on(call, "Confirmed", denied, **extras, **self._choice(call))

    def _choice(self, call: Json) -> dict[str, Any]:
        ids = [option["id"] for option in call.get("options", [])]
        return {"selectedOptionId": one_of("", "unknown", *ids)}

    def _complete(self, call: Json) -> Json:
        return self._on(
            call, "Complete", {"result": nodes.RESULT}, requiresResultConfirmation=nodes.FLAG
        )

    def _result_confirmed(self, call: Json) -> Json:
        return self._on(call, "ResultConfirmed", {"approved": nodes.FLAG})

    def _content_changed(self, call: Json) -> Json:
        return self._on(call, "ContentChanged", {"content": nodes.CONTENTS})

    def _auth_required(self, call: Json) -> Json:
        return self._on(call, "AuthRequired", {"auth": nodes.AUTH})

    def _auth_resolved(self, call: Json) -> Json:
        return self._on(call, "AuthResolved", {})

    # Input requests

    def _asked(self) -> Json:
        return self._ask(self._random.choice([self._fresh("ask"), "again"]))

    def _asked_again(self, part: Json) -> Json:
        return self._ask(part["request"]["id"])

    def _ask(self, request_id: str) -> Json:
        questions = few(nodes.QUESTION, 2, unique_by="id")
        request = node(
            {"id": request_id}, message=nodes.TEXT, questions=questions, answers=nodes.ANSWERS
        )
        return self._action("chat/inputRequested", {"request": request})

    def _answered(self, part: Json) -> Json:
        question = {"requestId": part["request"]["id"], "questionId": one_of("q1", "q2")}
        return self._action("chat/inputAnswerChanged", question, answer=nodes.ANSWER)

    def _completed_input(self, part: Json) -> Json:
        completed = {"requestId": part["request"]["id"], "response": nodes.RESPONSE}
        return self._action("chat/inputCompleted", completed, answers=nodes.ANSWERS)

    # The rest

    def _draft(self) -> Json:
        return self._action("chat/draftChanged", {}, draft=nodes.MESSAGE)

    def _pending(self) -> Json:
        pending = {"kind": one_of("steering", "queued"), "id": nodes.NAMES}
        return self._action("chat/pendingMessageSet", {**pending, "message": nodes.MESSAGE})

    def _pending_removed(self) -> Json:
        pending = {"kind": one_of("steering", "queued"), "id": nodes.NAMES}
        return self._action("chat/pendingMessageRemoved", pending)

    def _reordered(self) -> Json:
        order = [pending["id"] for pending in self.state.get("queuedMessages", [])]
        self._random.shuffle(order)
        return self._action("chat/queuedMessagesReordered", {"order": [*order[:2], "unknown"]})

    def _directory(self) -> Json:
        action = self._random.choice(["Set", "Removed"])
        directory = one_of("file:///a", "file:///b")
        return self._action(f"chat/workingDirectory{action}", {"directory": directory})

    def _activity(self) -> Json:
        return self._action("chat/activityChanged", {}, activity=nodes.TEXT)

    def _flagged(self) -> Json:
        return self._draw(
            one_of(
                node({"type": "chat/isReadChanged", "isRead": nodes.FLAG}),
                node({"type": "chat/isArchivedChanged", "isArchived": nodes.FLAG}),
                node({"type": "chat/movableChanged", "movable": nodes.FLAG}),
            )
        )

    def _work(self) -> Json:
        return self._draw(
            one_of(
                node({"type": "chat/backgroundWorkSet", "work": nodes.WORK}),
                node({"type": "chat/backgroundWorkRemoved", "id": nodes.NAMES}),
            )
        )

    def _listed(self) -> Json:
        return self._draw(
            one_of(
                node({"type": "chat/changesetsChanged"}, changesets=few(nodes.CHANGESET)),
                node({"type": "chat/canvasesChanged"}, canvases=nodes.CANVASES),
            )
        )


def _is_resumable(turn: Json) -> bool:
    parts = turn["responseParts"]
    return bool(turn["state"] == "error" and parts and parts[-1].get("resumable"))
