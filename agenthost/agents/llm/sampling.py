"""Answers a question that an MCP server has for the user's model.

People have agreed by then. The model is told what the server says and nothing of the chat, and has
no tools.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic_ai.direct import model_request_stream
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    UserPromptPart,
)
from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings

from agenthost.agents.api import AgentError
from agenthost.agents.llm.error_messages import explain
from agenthost.agents.sanitize import valid_text

# Characters that a server may ask with, messages, and tokens of an answer.
MOST_ASKED: Final = 200_000
MOST_MESSAGES: Final = 100
MOST_TOKENS: Final = 8192
_STOPS: Final = {"length": "maxTokens", "stop": "endTurn"}


async def answer_server(params: Mapping[str, Any], model: Model) -> dict[str, Any]:
    """Return a CreateMessageResult for the params of a sampling request.

    Raises:
        AgentError: it asks for what is not to be had here, or the model does not answer.
    """
    messages = list(_messages(params))
    settings = ModelSettings(max_tokens=_tokens(params.get("maxTokens")))
    temperature = params.get("temperature")
    if isinstance(temperature, int | float) and 0 <= temperature <= 2:
        settings["temperature"] = float(temperature)
    try:
        async with model_request_stream(model, messages, model_settings=settings) as stream:
            async for _ in stream:
                pass
            response = stream.get()
    except Exception as error:
        told = explain(error)
        if told is None:
            raise
        raise told from None
    text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
    return {
        "role": "assistant",
        "content": {"type": "text", "text": text},
        "model": response.model_name or model.model_name,
        "stopReason": _STOPS.get(response.finish_reason or "stop", "endTurn"),
    }


def _tokens(given: object) -> int:
    fits = isinstance(given, int) and not isinstance(given, bool) and 0 < given <= MOST_TOKENS
    return given if fits and isinstance(given, int) else MOST_TOKENS


def _messages(params: Mapping[str, Any]) -> Iterator[ModelMessage]:
    given = params.get("messages")
    if not isinstance(given, list) or not given or len(given) > MOST_MESSAGES:
        raise AgentError("the server asks nothing, or too much at once", "badSampling")
    system = params.get("systemPrompt")
    texts = [system] if isinstance(system, str) else []
    said = [(each.get("role"), _text(each.get("content"))) for each in given if _is_object(each)]
    if sum(map(len, [*texts, *(text for _, text in said)])) > MOST_ASKED:
        raise AgentError("the server asks too much at once", "badSampling")
    for text in texts:
        yield ModelRequest(parts=[SystemPromptPart(content=valid_text(text))])
    for role, text in said:
        if role == "assistant":
            yield ModelResponse(parts=[TextPart(content=text)])
        else:
            yield ModelRequest(parts=[UserPromptPart(content=text)])


def _is_object(value: object) -> bool:
    return isinstance(value, Mapping)


def _text(content: object) -> str:
    """Return the text of a message, which may be one block or several."""
    blocks = content if isinstance(content, list) else [content]
    texts = []
    for block in blocks:
        if not isinstance(block, Mapping) or block.get("type") != "text":
            raise AgentError("the server asks with more than text", "badSampling")
        texts.append(valid_text(str(block.get("text", ""))))
    return "\n".join(texts)
