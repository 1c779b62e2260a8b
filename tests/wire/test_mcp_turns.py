"""MCP servers in sessions: listed, started for a turn, called, signed in, failing, stopped."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from agenthost.host import Host
from agenthost.mcp.limits import MOST_CLIENT_REQUESTS
from agenthost.mcp.process_marks import below
from tests.children import gone, is_alive
from tests.mcp.signing_in import locked_in
from tests.wire.serving_tools import (
    MARKER,
    allow,
    called,
    entry_of,
    program,
    state_of,
    told_to,
    working_with,
)
from tests.wire.talking import OLDEST, call_in, calls_of, completed, request_in, submitted

pytestmark = pytest.mark.asyncio(loop_scope="module")

Json = dict[str, Any]

TIME = {"command": sys.executable, "args": ["-m", "mcp_server_time"]}


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def url(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """One host, and one worker, for all of these tests."""
    folder = tmp_path_factory.mktemp("host")
    async with Host(roots=[folder], default_directory=folder) as host:
        yield await host.listen(port=0)


def pid_in(folder: Path) -> int:
    """Return the process of the server that was started last in a folder."""
    return int((folder / MARKER).read_text().split()[-1])


async def test_a_server_of_a_registry_is_started_for_a_turn_and_called_when_another_client_allows(
    url: str, tmp_path: Path
) -> None:
    async with working_with(url, tmp_path, {"time": TIME}, OLDEST) as chat:
        assert entry_of(chat.client, chat.session, "time")["state"] == {"kind": "stopped"}
        # On a machine that has much to do it may join the next turn only.
        await chat.run("t0", "/mcp")
        for client in chat.clients:
            await state_of(client, chat.session, "time", "ready")
        call = await called(chat, "t1", "time", "convert_time", source_timezone="UTC",
                            time="12:00", target_timezone="Asia/Tokyo")  # fmt: skip
        id = entry_of(chat.client, chat.session, "time")["id"]
        assert call["toolName"] == "time__convert_time"
        assert call["contributor"] == {"kind": "mcp", "customizationId": id}
        assert call["_meta"]["mcpServerName"] == "time"
        await allow(chat, "t1", call, chat.clients[1])
        turn = await chat.end("t1")
        (done,) = calls_of(turn)
        assert done["success"] is True
        assert "21:00" in done["content"][0]["text"]
        await chat.assert_at_rest()
        states = [
            envelope["action"]["state"]
            for envelope in chat.client.envelopes[chat.session]
            if envelope["action"]["type"] == "session/mcpServerStateChanged"
        ]
        assert (states[0], states[-1]) == (
            {"kind": "starting", "blocking": True},
            {"kind": "ready"},
        )


async def test_a_server_that_is_killed_in_a_call_fails_the_call_and_says_so(
    url: str, tmp_path: Path
) -> None:
    servers = {"stuck": program("def call(number, name, arguments, meta): pass")}
    async with working_with(url, tmp_path, servers) as chat:
        call = await called(chat, "t1", "stuck", "echo")
        await allow(chat, "t1", call)
        await call_in(chat.client, chat.uri, "running")
        os.kill(pid_in(tmp_path), signal.SIGKILL)
        turn = await chat.end("t1")
        (done,) = calls_of(turn)
        assert done["success"] is False
        assert "SIGKILL" in done["error"]["message"]
        failed = await state_of(chat.client, chat.session, "stuck", "error")
        assert "SIGKILL" in failed["state"]["error"]["message"]


async def test_clients_start_and_stop_a_server_and_stopping_leaves_no_process(
    url: str, tmp_path: Path
) -> None:
    children = "import subprocess; subprocess.Popen(['sleep', '600'], start_new_session=True)"
    code = f"{children}.pid; print('hello from me', file=sys.stderr, flush=True)"
    async with working_with(url, tmp_path, {"it": program(code)}, OLDEST) as chat:
        assert "rejectionReason" not in await told_to(chat, "it", "Start")
        shown = await state_of(chat.clients[1], chat.session, "it", "ready")
        pid = pid_in(tmp_path)
        assert is_alive(pid)
        # Its log can be opened and read by anybody, and typed into by nobody.
        shown = entry_of(chat.client, chat.session, "it")
        log = await chat.client.until(
            lambda: (
                {"uri": u}
                if (u := entry_of(chat.client, chat.session, "it")["_meta"].get("agenthost/log"))
                else None
            )
        )
        await chat.client.subscribe(log["uri"])
        opened = await chat.client.request("agenthost/mcpLog", channel=chat.session, id=shown["id"])
        assert opened == {"terminal": log["uri"]}
        await chat.client.until(
            lambda: (
                {} if "hello from me" in str(chat.client.states[log["uri"]]["content"]) else None
            )
        )
        typed = {"type": "terminal/input", "data": "x"}
        assert "takes no input" in await chat.client.rejected(log["uri"], typed)
        assert "a log" in (await chat.client.refusal("disposeTerminal", channel=log["uri"])).message
        # Started again, it is another process.
        await told_to(chat, "it", "Start")
        await state_of(chat.client, chat.session, "it", "ready")
        assert not is_alive(pid)
        pid = pid_in(tmp_path)
        await told_to(chat, "it", "Stop")
        await chat.client.until(
            lambda: {} if "stopped" in str(chat.client.states[log["uri"]]["content"]) else None
        )
        await state_of(chat.client, chat.session, "it", "stopped")
        assert not is_alive(pid)
        await chat.assert_agreed()


async def test_a_question_of_a_server_is_asked_in_the_turn_and_answered(
    url: str, tmp_path: Path
) -> None:
    code = """
def call(number, name, arguments, meta):
    global waiting
    waiting = number
    send(id="q", method="elicitation/create", params={"message": "Who are you?", "requestedSchema":
        {"type": "object", "properties": {"name": {"type": "string", "title": "Name"},
         "age": {"type": "integer"}}, "required": ["name"]}})
def answered(number, result, error): send(id=waiting, result=text(json.dumps(result or error)))
"""
    async with working_with(url, tmp_path, {"asks": program(code)}) as chat:
        await allow(chat, "t1", await called(chat, "t1", "asks", "echo"))
        request = await request_in(chat.client, chat.uri)
        assert request["message"] == "asks asks: Who are you?"
        assert [(q["id"], q["kind"], q["required"]) for q in request["questions"]] == [
            ("name", "text", True),
            ("age", "integer", False),
        ]
        answers = {"name": submitted("text", "Ada"), "age": submitted("number", 36)}
        action = {"type": "chat/inputCompleted", "requestId": request["id"], "response": "accept"}
        await chat.answer({**action, "answers": answers})
        (done,) = calls_of(await chat.end("t1"))
        assert '"name": "Ada"' in done["content"][0]["text"]
        assert '"age": 36' in done["content"][0]["text"]


async def test_a_server_is_signed_in_by_a_client_and_a_call_waits_for_a_better_token(
    url: str, tmp_path: Path
) -> None:
    async with (
        locked_in(tmp_path) as locked,
        working_with(url, tmp_path / "work", {"locked": {"url": locked.url}}, OLDEST) as chat,
    ):
        # Outside of a call the server's state says what it wants.
        await chat.start("t1", "/mcp")
        await chat.end("t1")
        asked = await state_of(chat.client, chat.session, "locked", "authRequired")
        assert asked["state"]["reason"] == "required"
        assert asked["state"]["requiredScopes"] == ["tools"]
        resource = asked["state"]["resource"]
        assert resource["resource"] == locked.url
        assert resource["authorization_servers"] == ["https://as.example/"]
        failure = await chat.client.refusal("authenticate", resource="http://elsewhere/", token="x")
        assert failure.code == -32602
        await chat.client.request("authenticate", resource=locked.url, token="wrong")
        await chat.client.until(
            lambda: (
                {}
                if entry_of(chat.client, chat.session, "locked")["state"].get("reason") == "expired"
                else None
            )
        )
        await chat.client.request("authenticate", resource=locked.url, token="good")
        await state_of(chat.client, chat.session, "locked", "ready")
        await allow(chat, "t2", await called(chat, "t2", "locked", "add", a=1, b=2))
        (done,) = calls_of(await chat.end("t2"))
        assert done["content"][0]["text"] == "3"

        # In a call the call waits, the server stays ready, and nothing is sent twice.
        locked.accept("next tools")
        await allow(chat, "t3", await called(chat, "t3", "locked", "note", text="hello"))
        waiting = await call_in(chat.client, chat.uri, "auth-required")
        assert waiting["auth"]["reason"] == "expired"
        assert waiting["auth"]["resource"]["resource"] == locked.url
        assert entry_of(chat.client, chat.session, "locked")["state"] == {"kind": "ready"}
        needed = await chat.client.until(lambda: chat.waiting[0] if chat.waiting else None)
        assert needed["kind"] == "toolAuthentication"
        await chat.clients[1].request("authenticate", resource=locked.url, token="next")
        await chat.client.action(chat.uri, "chat/toolCallAuthResolved", turnId="t3")
        (done,) = calls_of(await chat.end("t3"))
        assert done["success"] is True
        assert locked.notes == ["hello"]

        # Who has no token gives up.
        locked.accept("nobody's tools")
        await allow(chat, "t4", await called(chat, "t4", "locked", "note", text="never"))
        waiting = await call_in(chat.client, chat.uri, "auth-required")
        await chat.answer(completed("t4", waiting, success=False))
        (done,) = calls_of(await chat.end("t4"))
        assert done["success"] is False
        assert locked.notes == ["hello"]
        assert "good" not in str(chat.client.received)
        await chat.assert_at_rest()


def worker_of_this_host() -> int:
    """Return the process that runs the servers of the host in this one."""
    for pid in below(os.getpid(), itself=False):
        if b"agenthost.mcp.worker" in Path(f"/proc/{pid}/cmdline").read_bytes():
            return pid
    raise AssertionError("there is no worker")


async def test_whatever_takes_a_server_its_ground_stops_it(url: str, tmp_path: Path) -> None:
    async with working_with(url, tmp_path, {"it": program()}) as chat:
        client, session = chat.client, chat.session

        async def started() -> int:
            await told_to(chat, "it", "Start")
            await state_of(client, session, "it", "ready")
            return pid_in(tmp_path)

        # Its worker goes, however that comes about; the next need starts another.
        pid = await started()
        os.kill(worker_of_this_host(), signal.SIGKILL)
        failed = await state_of(client, session, "it", "error")
        assert "the process that runs MCP servers" in failed["state"]["error"]["message"]
        await gone(pid)

        # It is switched off.
        pid = await started()
        id = entry_of(client, session, "it")["id"]
        toggled = {"type": "session/customizationToggled", "id": id}
        off = [{"kind": "session", "enabled": False}]
        await client.accepted(session, {**toggled, "enablement": off})
        await state_of(client, session, "it", "stopped")
        await gone(pid)
        assert "switched off" in (await told_to(chat, "it", "Start"))["rejectionReason"]
        await client.accepted(session, {**toggled, "enablement": []})

        # None is to run at all.
        await client.subscribe("ahp-root://")
        pid = await started()
        for is_on in (False, True):
            config = {"type": "root/configChanged", "config": {"mcp.enabled": is_on}}
            await client.accepted("ahp-root://", config)
        await state_of(client, session, "it", "stopped")
        await gone(pid)

        # Nobody trusts its folder any more.
        pid = await started()
        await client.request("agenthost/forgetTrust", folder=str(tmp_path))
        await state_of(client, session, "it", "stopped")
        await gone(pid)
        assert "nobody has trusted" in (await told_to(chat, "it", "Start"))["rejectionReason"]

        # Its session goes.
        await client.request("agenthost/trustFolder", channel=session, ids=[id])
        pid = await started()
        await client.request("disposeSession", channel=session)
        await gone(pid)


async def test_requests_that_a_server_never_answers_keep_no_others_waiting(
    url: str, tmp_path: Path
) -> None:
    servers = {"stuck": program("def call(number, name, arguments, meta): pass")}
    async with working_with(url, tmp_path, servers) as chat:
        await told_to(chat, "stuck", "Start")
        id = (await state_of(chat.client, chat.session, "stuck", "ready"))["id"]
        call: Json = {"channel": chat.session, "id": id, "tool": "echo"}
        asked = [
            asyncio.create_task(chat.client.request("agenthost/callMcpTool", **call))
            for _ in range(MOST_CLIENT_REQUESTS)
        ]
        # More than a connection may have under way, so it is read on all the same.
        await asyncio.sleep(0)
        refused = await chat.client.refusal("agenthost/callMcpTool", **call)
        assert f"it has {MOST_CLIENT_REQUESTS} requests to answer" in refused.message
        await told_to(chat, "stuck", "Stop")
        ended = await asyncio.gather(*asked, return_exceptions=True)
        assert all("stopped" in str(each) for each in ended)
