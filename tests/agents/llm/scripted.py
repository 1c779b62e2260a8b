"""A model that says what a test has laid out, and keeps what it was told."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    SystemPromptPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import (
    AgentInfo,
    DeltaThinkingCalls,
    DeltaThinkingPart,
    DeltaToolCall,
    DeltaToolCalls,
    FunctionModel,
)

__all__ = ["Call", "Script", "Think"]


@dataclass(frozen=True)
class Call:
    """A tool call."""

    tool: str
    args: dict[str, Any]


@dataclass(frozen=True)
class Think:
    """A thought."""

    text: str


Step = Sequence[str | Call | Think]


class Script:
    """The steps of a model; each is text, thoughts and tool calls."""

    def __init__(self, *steps: str | Call | Step) -> None:
        self.steps: list[Step] = [
            [step] if isinstance(step, str | Call) else step for step in steps
        ]
        # The whole conversation as the model was told it, per step.
        self.told: list[list[ModelMessage]] = []
        self.offered: list[set[str]] = []
        self.model = FunctionModel(stream_function=self.speak, model_name="scripted")

    async def speak(
        self, messages: list[ModelMessage], info: AgentInfo
    ) -> AsyncIterator[str | DeltaToolCalls | DeltaThinkingCalls]:
        """Say the next step."""
        self.told.append(list(messages))
        self.offered.append({tool.name for tool in info.function_tools})
        for index, piece in enumerate(self.steps[len(self.told) - 1]):
            match piece:
                case str():
                    yield piece
                case Think(text):
                    yield {index: DeltaThinkingPart(content=text)}
                case Call(tool, args):
                    text = orjson.dumps(args).decode()
                    id = f"call_{len(self.told)}_{index}"
                    middle = len(text) // 2
                    yield {index: DeltaToolCall(name=tool, json_args="", tool_call_id=id)}
                    yield {index: DeltaToolCall(json_args=text[:middle])}
                    yield {index: DeltaToolCall(json_args=text[middle:])}

    def results(self, step: int = -1) -> list[str]:
        """The results of tools that the model was told in a step."""
        return [part.model_response_str(wrap_if_error=False) for part in self.answers(step)]

    def answers(self, step: int = -1) -> list[ToolReturnPart]:
        """The results of tools in a step, with how each call went."""
        return [
            part
            for message in self.told[step]
            if isinstance(message, ModelRequest)
            for part in message.parts
            if isinstance(part, ToolReturnPart)
        ]

    def said(self, step: int = -1) -> list[Any]:
        """What people said to the model, up to a step."""
        return [
            part.content
            for message in self.told[step]
            if isinstance(message, ModelRequest)
            for part in message.parts
            if isinstance(part, UserPromptPart)
        ]

    def system(self, step: int = -1) -> list[str]:
        """The system prompts of a step."""
        return [
            part.content
            for message in self.told[step]
            if isinstance(message, ModelRequest)
            for part in message.parts
            if isinstance(part, SystemPromptPart)
        ]
