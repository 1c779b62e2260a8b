"""Servers that behave: tools, progress, notices, folders, and calls that are cancelled."""

from __future__ import annotations

import asyncio
import importlib.util
import json
from pathlib import Path

import pytest

from agenthost.mcp.link import McpWorker
from agenthost.mcp.types import McpFailed
from agenthost.protocol.common import JsonObject
from tests.mcp.conftest import Serve
from tests.mcp.servers import declared, python_server


def text(result: JsonObject) -> str:
    return str(result["content"][0]["text"])


async def test_tools_are_told_with_their_hints(serve: Serve) -> None:
    code = """
tools = [
    {"name": "a", "title": "Reads", "description": "d", "inputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": True}, "_meta": {"ui": {"resourceUri": "ui://x"}}},
    {"name": "b", "inputSchema": {"type": "object"}, "annotations": {"title": "Writes"}},
    {"name": "c", "inputSchema": {"type": "object"}, "annotations": {"destructiveHint": False}},
]
"""
    server, events = serve(python_server(code))
    await server.start()
    a, b, c = events.offered[0]
    assert (a.title, a.description, a.read_only, a.destructive) == ("Reads", "d", True, False)
    assert a.meta == {"ui": {"resourceUri": "ui://x"}}
    assert (b.title, b.read_only, b.destructive) == ("Writes", False, True)
    assert (c.title, c.destructive) == ("c", False)


async def test_tools_that_change_are_told_again(serve: Serve) -> None:
    code = """
def call(number, name, arguments, meta):
    tools.append({"name": "more", "inputSchema": {"type": "object"}})
    for _ in range(1000): send(method="notifications/tools/list_changed")
    send(id=number, result=text("changed"))
"""
    server, events = serve(python_server(code))
    await server.start()
    await server.call("echo", {}, call="1")
    await events.until(lambda: len(events.offered) == 2)
    assert [tool.name for tool in events.offered[1]] == ["echo", "more"]


async def test_progress_is_told_while_a_call_runs(serve: Serve) -> None:
    code = """
def call(number, name, arguments, meta):
    token = meta["progressToken"]
    made = {"progressToken": token, "progress": 1, "total": 4}
    send(method="notifications/progress", params=made)
    sys.stdin.readline()
    send(id=number, result=text("done"))
"""
    server, _ = serve(python_server(code))
    await server.start()
    told: asyncio.Queue[str] = asyncio.Queue()
    call = asyncio.create_task(server.call("echo", {}, call="1", progress=told.put_nowait))
    assert await told.get() == "1 of 4"
    # Anything at all lets it go on.
    other = asyncio.create_task(server.request("ping", {}))
    assert text(await call) == "done"
    other.cancel()


async def test_a_mistake_of_whoever_is_told_of_progress_ends_nothing(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    code = """
def call(number, name, arguments, meta):
    made = {"progressToken": meta["progressToken"], "progress": 1}
    send(method="notifications/progress", params=made)
    send(id=number, result=text("done"))
"""
    server, events = serve(python_server(code))
    await server.start()

    def mistaken(text: str) -> None:
        raise ValueError(text)

    assert text(await server.call("echo", {}, call="1", progress=mistaken)) == "done"
    assert text(await server.call("echo", {}, call="2")) == "done"
    assert events.kinds == ["starting", "ready"]
    assert "progress of a call could not be told" in caplog.text


async def test_a_call_that_is_cancelled_is_cancelled_at_the_server(serve: Serve) -> None:
    code = """
def call(number, name, arguments, meta):
    if name == "last": return send(id=number, result=text(json.dumps(heard)))
    print("called", file=sys.stderr, flush=True)
    message = json.loads(sys.stdin.readline())
    heard.append([message["method"], message["params"]["requestId"] == number])
heard = []
"""
    server, events = serve(python_server(code))
    await server.start()
    call = asyncio.create_task(server.call("echo", {}, call="1"))
    await events.until(lambda: b"called" in events.log)
    call.cancel()
    await asyncio.wait({call})
    assert call.cancelled()
    heard = json.loads(text(await server.call("last", {}, call="2")))
    assert heard == [["notifications/cancelled", True]]


async def test_the_log_has_what_is_printed_beside_messages(serve: Serve) -> None:
    code = """
print("Listening for things", flush=True)
print("a warning", file=sys.stderr, flush=True)
def ready():
    notice = {"level": "info", "logger": "db", "data": {"rows": 3}}
    send(method="notifications/message", params=notice)
"""
    server, events = serve(python_server(code))
    assert await server.start() == "ready"
    wanted = (b"Listening for things\n", b"a warning\n", b"[info] db: {'rows': 3}\n")
    await events.until(lambda: all(line in events.log for line in wanted))


async def test_a_server_is_told_the_folders(serve: Serve, tmp_path: Path) -> None:
    code = """
def call(number, name, arguments, meta):
    global waiting
    waiting = number
    send(id="roots", method="roots/list")
def answered(number, result, error):
    send(id=waiting, result=text(json.dumps([result, os.getcwd()])))
"""
    server, _ = serve(python_server(code))
    await server.start()
    roots, folder = json.loads(text(await server.call("echo", {}, call="1")))
    assert roots == {"roots": [{"uri": tmp_path.as_uri()}]}
    assert folder == str(tmp_path)


async def test_a_server_of_a_later_version_that_knows_no_initialize(serve: Serve) -> None:
    code = """
for line in sys.stdin:
    message = json.loads(line)
    number, method = message.get("id"), message["method"]
    whole = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    if method == "server/discover":
        send(id=number, result={**whole, "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}}})
    elif method == "tools/list": send(id=number, result={**whole, "tools": tools})
    elif method == "tools/call": send(id=number, result={**text("later"), "resultType": "complete"})
    elif number is not None: send(id=number, error={"code": -32601, "message": "no such method"})
"""
    server, events = serve(python_server(code))
    assert await server.start() == "ready"
    assert text(await server.call("echo", {}, call="1")) == "later"
    assert events.kinds == ["starting", "ready"]


async def test_an_error_of_the_servers_keeps_its_code(serve: Serve) -> None:
    code = """
def call(number, *_): send(id=number, error={"code": -32000, "message": "no luck", "data": [1]})
"""
    server, _ = serve(python_server(code))
    await server.start()
    with pytest.raises(McpFailed, match="no luck") as caught:
        await server.call("echo", {}, call="1")
    assert (caught.value.kind, caught.value.code, caught.value.data) == ("refused", -32000, [1])


async def test_what_cannot_be_sent_is_refused_here(serve: Serve) -> None:
    server, _ = serve(python_server(""))
    await server.start()
    with pytest.raises(McpFailed, match="cannot be written"):
        await server.call("echo", {"number": 10**30}, call="1")
    with pytest.raises(McpFailed, match="too long"):
        await server.call("echo", {"text": "x" * (17 << 20)}, call="2")
    assert server.state == "ready"


async def test_a_large_result_arrives(serve: Serve) -> None:
    code = "def call(number, *_): send(id=number, result=text('x' * (3 << 20)))"
    server, _ = serve(python_server(code))
    await server.start()
    assert len(text(await server.call("echo", {}, call="1"))) == 3 << 20


async def test_a_server_that_was_never_started_can_be_called_and_stopped(
    worker: McpWorker, serve: Serve
) -> None:
    server, events = serve(python_server(""))
    with pytest.raises(McpFailed, match="not running"):
        await server.call("echo", {}, call="1")
    server.give_token("http://x", "t")
    await server.stop()
    assert events.states == []
    assert worker.pid is None


async def test_without_the_package_a_server_says_what_to_install(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    server, events = serve(python_server(""))
    assert await server.start() == "error"
    assert "pip install 'agenthost[mcp]'" in events.detail


async def test_a_clients_own_request_arrives_as_it_was_sent(serve: Serve) -> None:
    server, _ = serve(python_server(""))
    await server.start()
    params = {"name": "echo", "arguments": {"a": [1, "b"]}}
    assert await server.request("tools/call", params) == {
        "content": [{"type": "text", "text": '{"a": [1, "b"]}'}]
    }


async def test_what_is_no_mcp_server_is_said_to_be_none(serve: Serve) -> None:
    server, events = serve(declared("cat"))
    assert await server.start() == "error"
    assert events.states[-1][1].startswith("it does not speak MCP: ")


async def test_a_tool_that_is_described_wrongly_does_not_hide_the_others(serve: Serve) -> None:
    code = """tools = [{"name": "bare", "inputSchema": {}}, {"name": "none"}, 7,
        {"name": "list", "inputSchema": []}, {"name": "good", "inputSchema": {"type": "object"}}]"""
    server, events = serve(python_server(code))
    assert await server.start() == "ready"
    assert [tool.name for tool in events.offered[-1]] == ["bare", "good"]
    assert events.offered[-1][0].input_schema == {"type": "object"}
    await events.until(lambda: b"3 tools are described wrongly" in events.log)


async def test_a_worker_that_cannot_be_started_is_told(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refused(*_: object, **__: object) -> None:
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(asyncio.get_running_loop(), "subprocess_exec", refused)
    server, events = serve(python_server(""))
    assert await server.start() == "error"
    assert events.states[-1][1].endswith("cannot be started: Resource temporarily unavailable")


async def test_what_a_tool_says_of_itself_is_cut_to_what_people_read(serve: Serve) -> None:
    code = """schema = {"type": "object"}
tools = [{"name": "a", "title": "t" * 1000000, "description": "d" * 1000000, "inputSchema": schema,
          "_meta": {"ui": "u" * 100000}},
         {"name": "b", "inputSchema": {**schema, "description": "s" * 500000}}]"""
    server, events = serve(python_server(code))
    assert await server.start() == "ready"
    (tool,) = events.offered[-1]
    assert (len(tool.title), len(tool.description), tool.meta) == (200, 16 * 1024, None)
    await events.until(lambda: b"1 tools cannot be offered" in events.log)
