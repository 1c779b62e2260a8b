"""Model requests in the trace of a turn: pydantic-ai's own spans, without what was said.

Only the model is instrumented. The host traces turns and tool calls itself, for every agent.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, cast

from pydantic_ai import RunContext
from pydantic_ai.agent import AbstractAgent
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse, infer_model
from pydantic_ai.models.instrumented import InstrumentationSettings, InstrumentedModel
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings

from agenthost.agents.tracing import TracingProviders

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider


class TracedModel(WrapperModel):
    """A model whose requests are traced, and nothing else.

    An agent that is given an ``InstrumentedModel`` would trace its run and its tools as well.
    """

    def __init__(self, wrapped: Model, settings: InstrumentationSettings) -> None:
        super().__init__(wrapped)
        self._instrumented = InstrumentedModel(wrapped, settings)

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Make a request that is answered as a whole."""
        return await self._instrumented.request(messages, model_settings, model_request_parameters)

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """Make a request whose answer is streamed."""
        async with self._instrumented.request_stream(
            messages, model_settings, model_request_parameters, run_context
        ) as answer:
            yield answer


@contextmanager
def traced(
    model: Model | str | None, agent: AbstractAgent[Any, Any], tracing: TracingProviders | None
) -> Iterator[Model | str | None]:
    """Give the model to run an agent with, whose requests are below the turn in its trace.

    While nobody traces, that is the one that was given.
    """
    chosen = model if model is not None else agent.model
    if tracing is None or chosen is None:
        yield model
        return
    from opentelemetry import context
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    settings = InstrumentationSettings(
        tracer_provider=cast("TracerProvider", tracing.tracer_provider),
        meter_provider=cast("MeterProvider", tracing.meter_provider),
        include_content=False,
        include_binary_content=False,
        include_model_request_parameters=False,
    )
    place = TraceContextTextMapPropagator().extract({"traceparent": tracing.traceparent})
    token = context.attach(place)
    try:
        yield TracedModel(infer_model(chosen), settings)
    finally:
        context.detach(token)
