"""The agent of the old data directory: it fails to start, says everything, or hangs half-way."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agenthost.agents import Agent, AgentError, Turn, content
from agenthost.agents.api import SessionContext
from agenthost.agents.sanitize import emit

__all__ = ["Keeper"]

AUTH = {
    "reason": "required",
    "resource": {"resource": "https://mcp.example/"},
    "description": "the server wants to know who you are",
}


class Keeper(Agent):
    """Does what the first word of the message says, and answers everything else."""

    provider = "keeper"
    display_name = "Keeper"
    models = ({"id": "small", "provider": "keeper", "name": "Small"},)
    capabilities: Mapping[str, Any] = {
        "multipleChats": {"fork": True, "sideChat": True},
        "multipleWorkingDirectories": {},
    }

    async def start_session(self, session: SessionContext) -> None:
        if session.config.get("mode") == "broken":
            raise AgentError("the engine does not start", "noEngine")

    def config_schema(
        self, values: Mapping[str, Any], working_directory: str | None
    ) -> Mapping[str, Any]:
        depth = {"type": "number", "title": "Depth", "default": 3, "sessionMutable": True}
        mode = {"type": "string", "title": "Mode", "enum": ["ask", "act", "broken"]}
        return {"type": "object", "properties": {"mode": mode, "depth": depth}}

    async def run(self, turn: Turn) -> None:
        match turn.text.split():
            case ["everything"]:
                await self._everything(turn)
            case ["hang", where]:
                await self._hang(turn, where)
            case ["note", id]:
                await turn.annotate("file:///work/a.py", "look here", id=id)
            case _:
                await turn.write(" | ".join(past["message"]["text"] for past in turn.history))

    async def _everything(self, turn: Turn) -> None:
        await turn.set_title("Everything at once")
        await turn.set_meta("keeper", {"mood": "good"})
        await turn.think("Let me see. ")
        await turn.write("First words. ")
        await turn.notify("the context was shortened")
        await turn.attach(b"long content\n" * 20, "text/plain")
        edit = await content.stored_edit(turn, Path("/work/a.py"), "old\n", "new\n")
        async with turn.tool("edit", input={"path": "a.py"}, intention="change it") as call:
            await call.start()
            await call.complete("Edited a.py", [content.file_edit(edit), content.text("done")])
        async with turn.tool("look") as call:
            await call.start()
            await call.fail("there is nothing", code="notThere")
        await turn.report_usage({"inputTokens": 12, "outputTokens": 34, "model": "small"})
        await turn.write("Last words.")

    async def _hang(self, turn: Turn, where: str) -> None:
        contributor = {"kind": "mcp", "customizationId": "server"}
        start = {"turnId": turn.id, "toolCallId": "call", "toolName": "look"}
        if where == "text":
            await turn.report_usage({"inputTokens": 1})
            await turn.write("half a sente")
        else:
            shown = {"displayName": "Look", "contributor": contributor}
            emit(turn._port, {"type": "chat/toolCallStart", **start, **shown})
        target = {"turnId": turn.id, "toolCallId": "call"}
        if where == "streaming":
            emit(turn._port, {"type": "chat/toolCallDelta", **target, "content": '{"at": '})
        if where in ("running", "auth"):
            ready = {"invocationMessage": "Look", "toolInput": "{}", "confirmed": "not-needed"}
            emit(turn._port, {"type": "chat/toolCallReady", **target, **ready})
            partial = {"content": [content.text("so far")]}
            emit(turn._port, {"type": "chat/toolCallContentChanged", **target, **partial})
        if where == "auth":
            emit(turn._port, {"type": "chat/toolCallAuthRequired", **target, "auth": AUTH})
        await turn._port.flow()
        await asyncio.Event().wait()
