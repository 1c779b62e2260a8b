"""The trace of one turn: spans of the turn, its tool calls, and what people were waited for.

All of it is read off the chat's state, so that every agent's turns are traced alike, whatever it
runs on. Names and outcomes are told, never what was said.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field
from opentelemetry.trace import (
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)

from agenthost.agents.tracing import TracingProviders

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Tracer
    from opentelemetry.util.types import AttributeValue

    from agenthost.host.telemetry.instruments import TurnInstruments
    from agenthost.protocol.chat.state import ChatState
    from agenthost.protocol.common import JsonMapping

log = logging.getLogger(__name__)

# What a tool call may wait for -> the name of the span.
_WAITS = {
    "pending-confirmation": "approval",
    "auth-required": "sign in",
    "pending-result-confirmation": "result approval",
}
_OVER = frozenset({"completed", "cancelled"})
_TRACEPARENT = re.compile(r"00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}")
# Of a tool's name in the name of a span.
LONGEST_NAME = 64

Attributes = dict[str, "AttributeValue"]


def read_traceparent(text: object) -> Context | None:
    """Return the place in a trace that a client names, or None if that is none.

    What is below it is always recorded: nobody keeps a turn out of the trace by a flag.
    """
    found = _TRACEPARENT.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        return None
    flags = TraceFlags(TraceFlags.SAMPLED)
    place = SpanContext(int(found[1], 16), int(found[2], 16), is_remote=True, trace_flags=flags)
    return set_span_in_context(NonRecordingSpan(place))


def traceparent_of(span: Span) -> str:
    """Return a span's place in its trace, as the W3C header has it."""
    place = span.get_span_context()
    return f"00-{place.trace_id:032x}-{place.span_id:016x}-{place.trace_flags:02x}"


class _OpenCall(Struct):
    """A tool call that is not over."""

    span: Span
    name: str
    started: float
    # What it waits for now, by its status, since when.
    status: str = ""
    wait: Span | None = None
    waits_since: float = 0.0


class TurnTrace(Struct):
    """The spans of one turn; used on the host's loop alone."""

    tracer: Tracer
    span: Span
    turn_id: str
    # What every span of it says.
    shared: Attributes
    instruments: TurnInstruments
    providers: TracingProviders
    # The agent's name, for the numbers.
    agent: str
    on_end: Callable[[], None]
    started: float = field(default_factory=time.monotonic)
    _calls: dict[str, _OpenCall] = field(default_factory=dict)
    _questions: dict[str, Span] = field(default_factory=dict)
    # How many parts were looked at, and those of them that may still change.
    _parts: int = 0
    _open_parts: list[int] = field(default_factory=list)
    _ended: bool = False

    @property
    def traceparent(self) -> str:
        """The turn's place in its trace."""
        return self.providers.traceparent

    def call_traceparent(self, call: str) -> str:
        """Return a tool call's place in the trace; the turn's, if there is no such call."""
        found = self._calls.get(call)
        return traceparent_of(found.span) if found is not None else self.traceparent

    def call_context(self, call: str) -> Context | None:
        """Return what belongs below a tool call that is under way, to be given to its children."""
        found = self._calls.get(call)
        return set_span_in_context(found.span) if found is not None else None

    def look(self, chat: ChatState) -> None:
        """See what has changed in the turn's chat."""
        try:
            self._look(chat)
        except Exception:
            # A turn does not fail because somebody looks on.
            log.exception("a turn cannot be traced any further")
            self.end("untraceable")

    def _look(self, chat: ChatState) -> None:
        active = chat.get("activeTurn")
        if self._ended or active is None or active["id"] != self.turn_id:
            return
        parts: list[Any] = active["responseParts"]
        # A call may stay open while thousands of parts come after it.
        looked_at = [*self._open_parts, *range(self._parts, len(parts))]
        self._open_parts = [index for index in looked_at if not self._see(parts[index])]
        self._parts = len(parts)

    def end(self, error: str | None = None) -> None:
        """End the turn and all that is open in it; ``error`` is a word for why it failed."""
        if self._ended:
            return
        self._ended = True
        for call in list(self._calls):
            self._end_call(call, {"status": "cancelled", "reason": error or "turn ended"})
        for question in self._questions.values():
            question.end()
        self._questions.clear()
        state = "complete" if error is None else "cancelled" if error == "cancelled" else "error"
        self.span.set_attribute("ahp.turn.state", state)
        if state == "error":
            _fail(self.span, error)
        self.span.end()
        self.instruments.turn(time.monotonic() - self.started, self.agent, state)
        self.on_end()

    def _see(self, part: JsonMapping) -> bool:
        """Take note of a part as it is now; return whether it will stay like that."""
        if part["kind"] == "toolCall":
            return self._see_call(part["toolCall"])
        if part["kind"] == "inputRequest":
            return self._see_question(part)
        return True

    def _see_call(self, call: JsonMapping) -> bool:
        id, status = call["toolCallId"], call["status"]
        if status in _OVER:
            self._end_call(id, call)
            return True
        opened = self._calls.get(id)
        if opened is None:
            opened = self._calls[id] = self._start_call(call)
        if status != opened.status:
            self._end_wait(opened, call)
            opened.status = status
            if status in _WAITS:
                opened.wait = self._child(_WAITS[status], opened.span, {"ahp.tool_call.id": id})
                opened.waits_since = time.monotonic()
        return False

    def _start_call(self, call: JsonMapping) -> _OpenCall:
        name = call["toolName"]
        attributes: Attributes = {
            "ahp.tool_call.id": call["toolCallId"],
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
        }
        contributor = call.get("contributor")
        attributes["ahp.tool.contributor"] = contributor["kind"] if contributor else "agent"
        server = (call.get("_meta") or {}).get("mcpServerName")
        if isinstance(server, str):
            attributes["ahp.mcp.server"] = server
        span = self._child(f"tool call {name[:LONGEST_NAME]}", self.span, attributes)
        return _OpenCall(span, name, time.monotonic())

    def _end_wait(self, opened: _OpenCall, call: JsonMapping) -> None:
        wait, opened.wait = opened.wait, None
        if wait is None:
            return
        outcome = _outcome(opened.status, call)
        wait.set_attribute("ahp.outcome", outcome)
        wait.end()
        waited = time.monotonic() - opened.waits_since
        self.instruments.wait(waited, _WAITS[opened.status], outcome)

    def _end_call(self, id: str, call: JsonMapping) -> None:
        opened = self._calls.pop(id, None)
        if opened is None:
            return
        self._end_wait(opened, call)
        outcome = _end_of(call)
        opened.span.set_attribute("ahp.outcome", outcome)
        if "confirmed" in call:
            opened.span.set_attribute("ahp.tool_call.confirmed", call["confirmed"])
        if outcome == "failed":
            _fail(opened.span, (call.get("error") or {}).get("code"))
        opened.span.end()
        self.instruments.tool_call(time.monotonic() - opened.started, opened.name, outcome)

    def _see_question(self, part: JsonMapping) -> bool:
        id = part["request"]["id"]
        if part.get("response") is None:
            if id not in self._questions:
                self._questions[id] = self._child("question", self.span, {"ahp.request.id": id})
            return False
        question = self._questions.pop(id, None)
        if question is not None:
            question.set_attribute("ahp.outcome", str(part["response"]))
            question.end()
        return True

    def _child(self, name: str, parent: Span, attributes: Attributes) -> Span:
        return self.tracer.start_span(
            name,
            context=set_span_in_context(parent),
            kind=SpanKind.INTERNAL,
            attributes={**self.shared, **attributes},
        )


def _outcome(status: str, call: JsonMapping) -> str:
    """Say what became of what a call waited for; ``call`` is how it is now."""
    if call["status"] == "cancelled":
        return str(call.get("reason") or "cancelled")
    if status == "pending-confirmation":
        return "approved"
    return "done"


def _end_of(call: JsonMapping) -> str:
    if call["status"] == "cancelled":
        return str(call.get("reason") or "cancelled")
    return "succeeded" if call.get("success") else "failed"


def _fail(span: Span, error: object) -> None:
    span.set_status(Status(StatusCode.ERROR))
    span.set_attribute("error.type", error if isinstance(error, str) else "_OTHER")
