"""Steps of a tool call that wait for people: to sign in, or to allow what the session does not."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agenthost.agents import AgentError, Confirmation, ToolCall
from tests.agents.fakes import TURN, FakePort, make_turn

Json = dict[str, Any]

SIGN_IN: Json = {"reason": "required", "resource": {"resource": "https://mcp.example/mcp"}}


def call_of_server(port: FakePort) -> ToolCall:
    contributor = {"kind": "mcp", "customizationId": "c-1"}
    return ToolCall(port, TURN, "db__ask", contributor=contributor)


async def test_a_call_waits_for_people_to_sign_in_and_goes_on() -> None:
    port = FakePort()
    async with call_of_server(port) as call:
        await call.start({"q": 1})
        await call.auth_required(SIGN_IN)
        assert (call.status, call.state["auth"]) == ("auth-required", SIGN_IN)
        await call.auth_resolved()
        assert call.status == "running"
        await call.complete("Asked")
    assert (port.call["status"], port.call["success"]) == ("completed", True)


async def test_a_call_for_which_nobody_signs_in_has_failed() -> None:
    port = FakePort()
    async with call_of_server(port) as call:
        await call.start({"q": 1})
        await call.auth_required(SIGN_IN)
    assert (port.call["status"], port.call["success"]) == ("completed", False)
    assert port.call["error"] == {"message": "nobody waits for an answer any more"}


async def test_only_calls_of_mcp_servers_wait_for_people_to_sign_in() -> None:
    port = FakePort()
    async with make_turn(port).tool("shell") as call:
        await call.start()
        with pytest.raises(AgentError, match="only calls of MCP servers"):
            await call.auth_required(SIGN_IN)


@pytest.mark.parametrize(
    ("approvals", "mode", "asked"),
    [
        ("default", "edits", True),
        ("edits", "edits", False),
        ("edits", "everything", True),
        ("autoApprove", "edits", False),
        ("autoApprove", "everything", False),
        ("autoApprove", None, True),
    ],
)
async def test_a_call_asks_unless_the_session_allows_what_it_needs(
    approvals: str, mode: Any, asked: bool
) -> None:
    port = FakePort()
    port.session_state["config"] = {"values": {"autoApprove": approvals}}

    async def work() -> Confirmation:
        async with make_turn(port).tool("tool", meta={"toolKind": "terminal"}) as call:
            return await call.confirm("Sure?", input={"a": 1}, mode=mode)

    task = asyncio.create_task(work())
    if asked:
        call = await port.until_status("pending-confirmation")
        # By this the host knows when it may answer for people.
        needed = {} if mode is None else {"agenthost/neededMode": mode}
        assert call["_meta"] == {"toolKind": "terminal", **needed}
        port.answer("Confirmed", approved=True, confirmed="user-action")
    assert (await task).approved
    assert port.call["confirmed"] == ("user-action" if asked else "setting")
