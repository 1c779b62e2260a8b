"""Takes out of telemetry what nobody is to read in it: secrets, and what was said.

Names stay: of tools, models, agents. What libraries would add of prompts, answers, arguments and
error texts goes, whichever library it is. Runs in the exporters' threads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.trace import Status
from opentelemetry.util.types import AttributeValue

from agenthost.host.trust.redaction import REDACTED, redact

# Attributes that hold what people, models or tools said, or what they were told.
_CONTENT = frozenset(
    {
        "all_messages_events",
        "exception.message",
        "exception.stacktrace",
        "final_result",
        "gen_ai.input.messages",
        "gen_ai.output.messages",
        "gen_ai.system_instructions",
        "gen_ai.tool.call.arguments",
        "gen_ai.tool.call.result",
        "gen_ai.tool.definitions",
        "logfire.json_schema",
        "model_request_parameters",
        "pydantic_ai.all_messages",
        "tool_arguments",
        "tool_response",
    }
)
# A name is never longer.
LONGEST_VALUE = 1024
_TRIES = 3


class Masker:
    """Makes texts, attributes and spans fit to leave the host."""

    def __init__(self, mask: Callable[[str], str]) -> None:
        """``mask`` takes out the tokens that people brought."""
        self._mask = mask

    def text(self, text: str) -> str:
        """Return a text without secrets."""
        for _ in range(_TRIES):
            try:
                return redact(self._mask(text))
            except RuntimeError:
                # Somebody brought a token meanwhile, and this is another thread.
                continue
        return REDACTED

    def attributes(
        self, attributes: Mapping[str, AttributeValue] | None
    ) -> dict[str, AttributeValue]:
        """Return attributes without secrets and without what was said."""
        return {
            name: self._value(value)
            for name, value in (attributes or {}).items()
            if name not in _CONTENT
        }

    def span(self, span: ReadableSpan) -> ReadableSpan:
        """Return a span that is fit to leave."""
        return ReadableSpan(
            name=self.text(span.name[:LONGEST_VALUE]),
            context=span.get_span_context(),
            parent=span.parent,
            resource=span.resource,
            attributes=self.attributes(span.attributes),
            events=[self._event(event) for event in span.events],
            links=span.links,
            kind=span.kind,
            # What describes a failure quotes what failed.
            status=Status(span.status.status_code),
            start_time=span.start_time,
            end_time=span.end_time,
            instrumentation_scope=span.instrumentation_scope,
        )

    def _event(self, event: Event) -> Event:
        return Event(event.name, self.attributes(event.attributes), event.timestamp)

    def _value(self, value: AttributeValue) -> AttributeValue:
        if isinstance(value, str):
            return self.text(value[:LONGEST_VALUE])
        if isinstance(value, Sequence) and not isinstance(value, bytes):
            texts = [item for item in value if isinstance(item, str)]
            if texts:
                return [self.text(item[:LONGEST_VALUE]) for item in texts]
        return value
