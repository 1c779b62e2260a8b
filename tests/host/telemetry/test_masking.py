"""What telemetry leaves out: secrets, and what people, models and tools said."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Status, StatusCode

from agenthost.host.telemetry.encode import spans_json
from agenthost.host.telemetry.masking import LONGEST_VALUE, Masker
from agenthost.host.trust.credentials import Credentials

MEMORY = InMemorySpanExporter()
PROVIDER = TracerProvider(shutdown_on_exit=False)
PROVIDER.add_span_processor(SimpleSpanProcessor(MEMORY))
TRACER = PROVIDER.get_tracer("pydantic-ai")


async def test_a_token_that_somebody_brought_is_nowhere_in_a_span() -> None:
    credentials = Credentials()
    credentials.put("ann", "https://api", "tok-1234567")
    span = TRACER.start_span("call tok-1234567", attributes={"tool": "x tok-1234567", "n": 3})
    span.set_attribute("names", ["tok-1234567", "other"])
    span.add_event("said", {"who": "tok-1234567"})
    span.end()
    clean = Masker(credentials.mask).span(MEMORY.get_finished_spans()[-1])
    assert "tok-1234567" not in str(spans_json([clean]))
    assert clean.attributes is not None
    assert clean.attributes["n"] == 3
    assert clean.attributes["names"] == ["[redacted]", "other"]
    assert clean.get_span_context() == span.get_span_context()


def test_what_was_said_is_left_out_and_that_it_failed_is_not() -> None:
    span = TRACER.start_span("chat tiny")
    span.set_attribute("gen_ai.input.messages", "the plan")
    span.set_attribute("gen_ai.request.model", "tiny")
    span.record_exception(ValueError("quotes the plan"))
    span.set_status(Status(StatusCode.ERROR, "quotes the plan"))
    span.end()
    clean = Masker(lambda text: text).span(MEMORY.get_finished_spans()[-1])
    told = str(spans_json([clean]))
    assert "the plan" not in told
    assert "ValueError" in told
    assert clean.status.status_code is StatusCode.ERROR
    assert clean.attributes == {"gen_ai.request.model": "tiny"}


@given(st.dictionaries(st.text(min_size=1), st.text() | st.integers() | st.lists(st.text())))
def test_no_attribute_is_too_much_for_it(attributes: dict[str, str | int | list[str]]) -> None:
    clean = Masker(lambda text: text).attributes(attributes)
    assert all(len(text) <= LONGEST_VALUE for text in clean.values() if isinstance(text, str))


def test_a_mask_that_another_thread_disturbs_lets_nothing_through() -> None:
    def disturbed(text: str) -> str:
        raise RuntimeError("dictionary changed size during iteration")

    assert Masker(disturbed).text("anything") == "[redacted]"
