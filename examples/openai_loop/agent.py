"""An agent loop by hand, on any server that speaks OpenAI's chat completions; no framework.

Streams the answer, calls a tool as often as the model wants, and knows the chat so far.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import httpx2 as httpx

from agenthost.agents import Agent, AgentError, Turn, content

Json = dict[str, Any]

# A model that never stops calling tools is not worth waiting for.
MOST_ROUNDS = 8
TOOLS: list[Json] = [
    {
        "type": "function",
        "function": {
            "name": "clock",
            "description": "Tell the date and the time, in UTC",
            "parameters": {"type": "object", "properties": {}},
        },
    }
]


class OpenAiLoop(Agent):
    """A chat with a model that can look at the clock."""

    provider, display_name = "loop", "Loop"
    description = "A model behind OPENAI_BASE_URL, with a clock"

    def __init__(self, base_url: str | None = None, model: str | None = None) -> None:
        default = os.environ.get("OPENAI_BASE_URL", "http://localhost:11434/v1")
        self._url = f"{(base_url or default).rstrip('/')}/chat/completions"
        self._model = model or os.environ.get("OPENAI_MODEL", "llama3.2")

    async def run(self, turn: Turn) -> None:
        """Let the model speak and call tools until it is done."""
        messages = [*_history(turn), {"role": "user", "content": turn.text}]
        # Made here and not in __init__: it belongs to the loop that the agent runs on.
        async with httpx.AsyncClient(timeout=120) as client:
            for _ in range(MOST_ROUNDS):
                calls = await self._speak(client, turn, messages)
                if not calls:
                    return
                messages.append({"role": "assistant", "tool_calls": calls})
                messages += [await _answer(turn, call) for call in calls]
        raise AgentError("the model does not come to an end", "tooManyRounds")

    async def _speak(
        self, client: httpx.AsyncClient, turn: Turn, messages: list[Json]
    ) -> list[Json]:
        """Stream one answer of the model into the turn; return the calls that it wants."""
        body = {"model": self._model, "messages": messages, "tools": TOOLS, "stream": True}
        key = os.environ.get("OPENAI_API_KEY")
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        calls: dict[int, Json] = {}
        try:
            async with client.stream("POST", self._url, json=body, headers=headers) as response:
                response.raise_for_status()
                async for delta in _deltas(response):
                    if delta.get("content"):
                        await turn.write(delta["content"])
                    for piece in delta.get("tool_calls") or ():
                        _add(calls, piece)
        except httpx.HTTPError as error:
            # Resumable: the same message may well work at the next attempt.
            raise AgentError(f"the model cannot be reached: {error}", resumable=True) from error
        return list(calls.values())


def _history(turn: Turn) -> list[Json]:
    """Return the chat so far as the model wants it: who said what."""
    messages: list[Json] = []
    for past in turn.history:
        parts = past["responseParts"]
        said = "".join(part["content"] for part in parts if part["kind"] == "markdown")
        messages.append({"role": "user", "content": past["message"]["text"]})
        messages.append({"role": "assistant", "content": said})
    return messages


async def _deltas(response: httpx.Response) -> AsyncIterator[Json]:
    """Yield what each event of a streamed answer adds."""
    async for line in response.aiter_lines():
        data = line.removeprefix("data: ")
        if data == line or data == "[DONE]":
            continue
        for choice in json.loads(data)["choices"]:
            yield choice["delta"]


def _add(calls: dict[int, Json], piece: Json) -> None:
    """Put a call together, whose arguments come in pieces."""
    empty = {"type": "function", "function": {"name": "", "arguments": ""}}
    call = calls.setdefault(piece["index"], empty)
    if piece.get("id"):
        call["id"] = piece["id"]
    function = piece.get("function") or {}
    call["function"]["name"] += function.get("name") or ""
    call["function"]["arguments"] += function.get("arguments") or ""


async def _answer(turn: Turn, call: Json) -> Json:
    """Run a tool, in sight of people, and return its result for the model."""
    name = call["function"]["name"]
    async with turn.tool(name, input=call["function"]["arguments"]) as shown:
        if name == "clock":
            result = datetime.now(UTC).strftime("%A, %d %B %Y, %H:%M UTC")
            await shown.complete("Looked at the clock", [content.text(result)])
        else:
            result = f"there is no tool {name}"
            await shown.fail(result)
    return {"role": "tool", "tool_call_id": call["id"], "content": result}
