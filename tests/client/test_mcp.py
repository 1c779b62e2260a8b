"""An MCP server as the SDK shows it: started, stopped, waited for, read and talked to."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agenthost.client import McpServerFailed, McpServerView, Rejected, Unsupported
from agenthost.errors import MethodNotFound
from tests.client.bringing import SERVER, brought
from tests.client.scripted import CHAT, SESSION, Side

Json = dict[str, Any]

TERMINAL = "ahp-terminal:/log"


async def accept(side: Side, seq: int, reason: str | None = None) -> Json:
    """Answer the next action, and return it."""
    sent = await side.next("dispatchAction")
    side.echo(sent, seq, "me", reason)
    action: Json = sent["params"]["action"]
    return action


def report(side: Side, seq: int, state: Json, **more: Any) -> None:
    action = {"type": "session/mcpServerStateChanged", "id": "c-time", "state": state, **more}
    side.action(SESSION, seq, action)


@pytest.mark.parametrize(
    ("verb", "type"),
    [
        ("start", "session/mcpServerStartRequested"),
        ("restart", "session/mcpServerStartRequested"),
        ("stop", "session/mcpServerStopRequested"),
        ("background", "session/mcpServerBackgroundRequested"),
    ],
)
async def test_a_server_is_told_what_to_do(verb: str, type: str) -> None:
    async with brought(SERVER) as (session, side):
        told = getattr(session.mcp("time"), verb)()
        assert await accept(side, 3) == {"type": type, "id": "c-time"}
        await told


async def test_a_start_is_waited_for_until_it_is_ready() -> None:
    async with brought({**SERVER, "state": {"kind": "error", "error": _error("old")}}) as pair:
        session, side = pair
        server = session.mcp("time")
        starting = server.start()
        assert server.state == {"kind": "starting"}
        await accept(side, 3)
        await starting
        waiting = asyncio.create_task(server.wait_for("ready", "authRequired"))
        report(side, 4, {"kind": "ready"})
        assert await waiting == {"kind": "ready"}


async def test_a_server_that_fails_ends_the_wait_with_its_words() -> None:
    async with brought(SERVER) as (session, side):
        server = session.mcp("time")
        waiting = asyncio.create_task(server.wait_for("ready"))
        report(side, 3, {"kind": "error", "error": _error("no such command: uvx")})
        with pytest.raises(McpServerFailed, match="time: no such command: uvx"):
            await waiting
        assert (await server.wait_for("error"))["kind"] == "error"


async def test_a_server_that_is_declared_no_more_ends_the_wait() -> None:
    async with brought(SERVER) as (session, side):
        waiting = asyncio.create_task(session.mcp("time").wait_for("ready"))
        await asyncio.sleep(0)
        side.action(SESSION, 3, {"type": "session/customizationRemoved", "id": "c-time"})
        with pytest.raises(LookupError, match="no MCP server c-time any more"):
            await waiting


async def test_a_refused_start_says_why_and_shows_the_state_as_it_is() -> None:
    async with brought(SERVER) as (session, side):
        starting = session.mcp("time").start()
        await accept(side, 3, reason="nobody has trusted /r")
        with pytest.raises(Rejected, match="nobody has trusted /r"):
            await starting
        assert session.mcp("time").state == {"kind": "stopped"}


async def test_what_it_asks_for_before_it_serves_is_told() -> None:
    needed = {"reason": "required", "resource": {"resource": "https://mcp.example/"}}
    async with brought({**SERVER, "state": {"kind": "authRequired", **needed}}) as (session, _):
        auth = session.mcp("time").auth
        assert auth is not None
        assert auth["resource"]["resource"] == "https://mcp.example/"
    async with brought(SERVER) as (session, _):
        assert session.mcp("time").auth is None


async def test_a_call_of_its_tools_that_waits_for_a_token_is_told_too() -> None:
    async with brought({**SERVER, "state": {"kind": "ready"}}) as (session, side):
        assert session.mcp("time").auth is None
        needed = {"reason": "expired", "resource": {"resource": "https://mcp.example/"}}
        call = {
            "toolCallId": "k",
            "toolName": "time__now",
            "displayName": "Now",
            "status": "auth-required",
            "invocationMessage": "Asking",
            "confirmed": "not-needed",
            "contributor": {"kind": "mcp", "customizationId": "c-time"},
            "auth": needed,
        }
        entry = {"id": "n", "chat": CHAT, "kind": "toolAuthentication", "turnId": "t"}
        action = {"type": "session/inputNeededSet", "request": {**entry, "toolCall": call}}
        side.action(SESSION, 3, action)
        await session.channel.until(lambda state: state.get("inputNeeded"))
        assert session.mcp("time").auth == needed


async def test_its_log_is_a_terminal_that_the_host_names() -> None:
    async with brought(SERVER) as (session, side):
        opening = asyncio.create_task(session.mcp("time").log())
        asked = await side.next("agenthost/mcpLog")
        assert asked["params"] == {"channel": SESSION, "id": "c-time"}
        side.answer(asked, {"terminal": TERMINAL})
        await _show(side)
        assert (await opening).text == "listening\n"


async def test_a_log_that_the_entry_names_is_not_asked_for() -> None:
    async with brought({**SERVER, "_meta": {"agenthost/log": TERMINAL}}) as (session, side):
        opening = asyncio.create_task(session.mcp("time").log())
        await _show(side)
        assert (await opening).uri == TERMINAL


async def test_a_host_without_logs_is_told_apart_from_a_failure() -> None:
    async with brought(SERVER) as (session, side):
        opening = asyncio.create_task(session.mcp("time").log())
        side.refuse(await side.next("agenthost/mcpLog"), MethodNotFound.code)
        with pytest.raises(Unsupported, match="no logs of MCP servers"):
            await opening


async def test_it_is_asked_over_its_side_channel() -> None:
    async with brought({**SERVER, "channel": "mcp://s/time"}, mcp_apps=True) as (session, side):
        asking = asyncio.create_task(session.mcp("time").request("tools/list", {"cursor": "2"}))
        asked = await side.next("tools/list")
        assert asked["params"] == {"cursor": "2", "channel": "mcp://s/time"}
        side.answer(asked, {"tools": []})
        assert await asking == {"tools": []}


async def test_without_a_side_channel_nothing_is_sent() -> None:
    async with brought(SERVER) as (session, _):
        with pytest.raises(McpServerFailed, match="no side channel; it is stopped"):
            await session.mcp("time").request("tools/list")


async def test_a_person_calls_a_tool() -> None:
    async with brought(SERVER) as (session, side):
        calling = asyncio.create_task(session.mcp("time").call("now", {"zone": "UTC"}))
        asked = await side.next("agenthost/callMcpTool")
        meant = {"id": "c-time", "tool": "now", "arguments": {"zone": "UTC"}}
        assert asked["params"] == {"channel": SESSION, **meant}
        side.answer(asked, {"result": {"content": [{"type": "text", "text": "12:00"}]}})
        assert (await calling)["content"][0]["text"] == "12:00"


async def test_trusting_names_the_server_that_is_meant() -> None:
    async with brought(SERVER) as (session, side):
        trusting = asyncio.create_task(session.mcp("time").trust())
        asked = await side.next("agenthost/trustFolder")
        assert asked["params"] == {"channel": SESSION, "ids": ["c-time"]}
        side.answer(asked, {})
        await trusting


async def test_what_is_trusted_is_what_this_client_sees() -> None:
    trust = {"folder": "/r", "state": "untrusted", "digest": "d-1"}
    async with brought({**SERVER, "_meta": {"agenthost/trust": trust}}) as (session, side):
        trusting = asyncio.create_task(session.mcp("time").trust())
        asked = await side.next("agenthost/trustFolder")
        assert asked["params"]["digests"] == ["d-1"]
        side.answer(asked, {})
        await trusting


async def test_a_view_is_found_by_name_and_knows_it() -> None:
    async with brought(SERVER) as (session, _):
        assert isinstance(session.mcp("time"), McpServerView)
        assert session.mcp("time").name == "time"


def _error(message: str) -> Json:
    return {"errorType": "mcp", "message": message}


async def _show(side: Side) -> None:
    state: Json = {
        "title": "time log",
        "isPty": False,
        "claim": {"kind": "session", "session": SESSION, "chat": "ahp-chat:/c"},
        "lifecycle": {"status": "running"},
        "content": [{"type": "unclassified", "value": "listening\n"}],
        "cols": 80,
        "rows": 24,
        "supportsCommandDetection": False,
    }
    await side.subscribed({"resource": TERMINAL, "state": state, "fromSeq": 3})
