"""The spans of a turn, read off whatever states its chat goes through."""

from __future__ import annotations

from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from agenthost.agents.tracing import TracingProviders
from agenthost.host.telemetry.instruments import TurnInstruments
from agenthost.host.telemetry.turn_trace import TurnTrace, read_traceparent, traceparent_of
from agenthost.protocol.chat.state import ChatState

Json = dict[str, Any]

MEMORY = InMemorySpanExporter()
TRACERS = TracerProvider(shutdown_on_exit=False)
TRACERS.add_span_processor(SimpleSpanProcessor(MEMORY))
METERS = MeterProvider(shutdown_on_exit=False)
INSTRUMENTS = TurnInstruments(METERS.get_meter("test"))


class Recorded:
    """A turn whose spans are kept."""

    def __init__(self) -> None:
        MEMORY.clear()
        tracer = TRACERS.get_tracer("test")
        self.root = tracer.start_span("turn")
        providers = TracingProviders(traceparent_of(self.root), TRACERS, METERS)
        self.ends = 0
        self.trace = TurnTrace(
            tracer, self.root, "t1", {}, INSTRUMENTS, providers, "demo", self._ended
        )

    def _ended(self) -> None:
        self.ends += 1

    def look(self, *parts: Json, turn: str = "t1") -> None:
        state = {"turns": [], "activeTurn": {"id": turn, "responseParts": list(parts)}}
        self.trace.look(cast("ChatState", state))

    @property
    def spans(self) -> list[ReadableSpan]:
        return list(MEMORY.get_finished_spans())

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.spans if span.name == name]


def call(status: str, id: str = "c1", **more: Any) -> Json:
    shown = {"toolCallId": id, "toolName": "shell", "displayName": "Shell", "status": status}
    return {"kind": "toolCall", "toolCall": {**shown, **more}}


STATUSES = (
    "streaming",
    "pending-confirmation",
    "running",
    "auth-required",
    "pending-result-confirmation",
    "completed",
    "cancelled",
)


@given(
    st.lists(
        st.lists(
            st.tuples(st.sampled_from(["toolCall", "inputRequest"]), st.sampled_from(STATUSES)),
            max_size=6,
        ),
        max_size=8,
    ),
    st.sampled_from([None, "cancelled", "agentFailed"]),
)
def test_whatever_happens_every_span_ends_below_its_turn(
    walk: list[list[tuple[str, str]]], error: str | None
) -> None:
    recorded = Recorded()
    kinds: list[str] = []
    for state in walk:
        # What is there stays what it is, and more may come.
        kinds += [kind for kind, _ in state[len(kinds) :]]
        statuses = [status for _, status in state] + ["running"] * len(kinds)
        recorded.look(
            *(
                call(statuses[index], f"c{index}")
                if kind == "toolCall"
                else {"kind": kind, "request": {"id": f"q{index}"}}
                | ({"response": "accept"} if statuses[index] == "completed" else {})
                for index, kind in enumerate(kinds)
            )
        )
    recorded.trace.end(error)
    recorded.trace.end("again")
    assert recorded.ends == 1
    assert len(recorded.named("turn")) == 1
    ids = {
        place.span_id: span
        for span in recorded.spans
        if (place := span.get_span_context()) is not None
    }
    for span in recorded.spans:
        assert span.end_time is not None
        if span.name == "turn":
            continue
        assert span.parent is not None
        parent = ids[span.parent.span_id]
        wanted = "turn" if span.name in ("tool call shell", "question") else "tool call shell"
        assert parent.name == wanted


def test_each_thing_that_a_call_waits_for_is_a_span_with_its_outcome() -> None:
    recorded = Recorded()
    for status in STATUSES[:5]:
        recorded.look(call(status))
    recorded.look(call("completed", success=False, error={"message": "said", "code": "timeout"}))
    for name, outcome in (
        ("approval", "approved"),
        ("sign in", "done"),
        ("result approval", "done"),
    ):
        (span,) = recorded.named(name)
        assert span.attributes is not None
        assert span.attributes["ahp.outcome"] == outcome
    (span,) = recorded.named("tool call shell")
    assert span.attributes is not None
    assert span.attributes["ahp.outcome"] == "failed"
    assert span.attributes["error.type"] == "timeout"
    assert "said" not in str(span.attributes)


def test_a_call_has_a_place_of_its_own_while_it_is_under_way() -> None:
    recorded = Recorded()
    assert recorded.trace.call_traceparent("c1") == recorded.trace.traceparent
    recorded.look(call("running"))
    place = recorded.trace.call_traceparent("c1")
    assert place != recorded.trace.traceparent
    assert place.split("-")[1] == recorded.trace.traceparent.split("-")[1]


def test_what_was_over_before_anybody_looked_is_not_made_up() -> None:
    recorded = Recorded()
    recorded.look(call("completed", success=True), call("running", "c2"))
    recorded.trace.end()
    assert len(recorded.named("tool call shell")) == 1


def test_another_turn_of_the_chat_is_none_of_its_business() -> None:
    recorded = Recorded()
    recorded.look(call("running"), turn="t2")
    recorded.trace.end()
    assert recorded.named("tool call shell") == []


def test_a_state_that_cannot_be_read_ends_the_trace_and_nothing_else() -> None:
    recorded = Recorded()
    recorded.look({"kind": "toolCall"})
    recorded.look(call("running"))
    assert [span.name for span in recorded.spans] == ["turn"]


@given(
    st.text()
    | st.integers()
    | st.none()
    | st.from_regex(r"00-[0-9a-f]{32}-[0-9a-f]{16}-..", fullmatch=True)
)
def test_no_traceparent_is_too_much(text: object) -> None:
    place = read_traceparent(text)
    assert place is None or isinstance(text, str)
