"""Calls of a server's tools, and the few other requests that clients may send it."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import orjson
from mcp import Client
from mcp_types import METHOD_NOT_FOUND, Request, RequestParamsMeta
from pydantic import TypeAdapter

from agenthost.mcp.limits import CALL_PATIENCE, MOST_LINE, PROGRESS_INTERVAL
from agenthost.mcp.types import McpFailed
from agenthost.mcp.worker.host_pipe import HostPipe
from agenthost.mcp.worker.running_calls import RunningCall
from agenthost.mcp.worker.server_run import ServerRun
from agenthost.protocol.common import JsonObject

_PASSED_ON = {
    "completion/complete",
    "logging/setLevel",
    "ping",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "tools/call",
    "tools/list",
}
_LONGEST_PROGRESS = 500
_RESULT: TypeAdapter[dict[str, Any]] = TypeAdapter(dict[str, Any])


async def call_tool(run: ServerRun, host: HostPipe, command: JsonObject) -> JsonObject:
    """Call a tool and return its result in wire spelling.

    Raises:
        McpFailed: there is none.
    """
    client = await _ready(run)
    with run.calls.run(command["call"]) as running:
        progress = _Progress(host, command["id"], running)
        traceparent = command["traceparent"]
        try:
            async with running.patience():
                result = await client.call_tool(
                    command["tool"],
                    command["arguments"],
                    progress_callback=progress.made,
                    meta=None if traceparent is None else _meta(traceparent),
                )
        except Exception as error:
            raise await _failed(run, running, error) from error
    return bounded(result.model_dump(mode="json", by_alias=True, exclude_none=True))


async def send_request(run: ServerRun, command: JsonObject) -> JsonObject:
    """Send a request as it is, if it is one that clients may send.

    Raises:
        McpFailed: there is no result.
    """
    client, method = await _ready(run), command["method"]
    if method not in _PASSED_ON:
        raise McpFailed(f"{method} is not passed on", "refused", code=METHOD_NOT_FOUND)
    # Of these very types: otherwise pydantic takes the params for some of its own, and drops them.
    request = Request[dict[str, Any], str](method=method, params=command["params"])
    try:
        async with asyncio.timeout(CALL_PATIENCE):
            # Of no model, for it is passed on as it is.
            return bounded(await client.session.send_request(request, _RESULT))  # type: ignore[type-var]
    except Exception as error:
        raise await run.explained(error) from error


def _meta(traceparent: str) -> RequestParamsMeta:
    return cast("RequestParamsMeta", {"traceparent": traceparent})


async def _ready(run: ServerRun) -> Client:
    if run.client is not None:
        return run.client
    if not run.settled.is_set():
        raise McpFailed("it is not running", "closed")
    # Between its end and the reason for it: who called it a moment too late is told the reason too.
    raise await run.ended()


async def _failed(run: ServerRun, running: RunningCall, error: Exception) -> McpFailed:
    if running.asked_too_much:
        return McpFailed("it asked too many questions", "refused")
    if isinstance(error, TimeoutError):
        return McpFailed(f"it did not answer for {CALL_PATIENCE:g} seconds", "timeout")
    return await run.explained(error)


def bounded(result: JsonObject) -> JsonObject:
    """Return a result that can be carried on.

    Raises:
        McpFailed: it is too long, or no JSON of ours can hold it.
    """
    try:
        size = len(orjson.dumps(result))
    except TypeError as error:
        raise McpFailed("its result cannot be carried on", "refused") from error
    if size > MOST_LINE:
        raise McpFailed("its result is too long", "tooLarge")
    return result


class _Progress:
    """Tells the host how far a call is, not as often as the server does."""

    def __init__(self, host: HostPipe, command: int, running: RunningCall) -> None:
        self._host = host
        self._command = command
        self._running = running
        self._next = 0.0

    async def made(self, progress: float, total: float | None, message: str | None) -> None:
        """Take note of progress."""
        self._running.reset_patience()
        now = asyncio.get_running_loop().time()
        if now < self._next or self._running.over.is_set():
            return
        self._next = now + PROGRESS_INTERVAL
        text = message or (f"{progress:g}" if total is None else f"{progress:g} of {total:g}")
        self._host.send_soon(
            {"event": "progress", "id": self._command, "text": text[:_LONGEST_PROGRESS]}
        )
