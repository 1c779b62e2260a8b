"""Servers that flood, hang, lie and ask for ever: they end, and nobody else notices."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agenthost.mcp.limits import MOST_QUESTIONS
from agenthost.mcp.link import McpWorker
from agenthost.mcp.types import McpFailed
from agenthost.protocol.common import JsonObject
from tests.mcp.conftest import Serve
from tests.mcp.servers import python_server

# The package itself takes 63 MB.
MOST_MEMORY = 120 << 20

ONE_LINE = """
import sys, time
for _ in range(100): sys.stdout.write("x" * 1000000)
sys.stdout.flush(); time.sleep(600)
"""
ONE_MESSAGE = """
import sys, time
sys.stdout.write('{"jsonrpc": "2.0", "method": "')
for _ in range(100): sys.stdout.write("x" * 1000000)
sys.stdout.flush(); time.sleep(600)
"""
LINES = """
import sys, time
for _ in range(100): sys.stdout.write(("y" * 99 + "\\n") * 10000)
sys.stdout.flush(); time.sleep(600)
"""
INVALID = """
import sys, time
for _ in range(1000): print('{"jsonrpc": "2.0", "result":', flush=True)
time.sleep(600)
"""
DEEP = """
import sys, time
for _ in range(1000): print('{"jsonrpc": "2.0", "id": 1, "result": ' + '[' * 100000, flush=True)
time.sleep(600)
"""
NOTICES = """
import sys, json, time
notice = {"jsonrpc": "2.0", "method": "notifications/message",
    "params": {"level": "info", "data": "z" * 9000}}
line = json.dumps(notice) + "\\n"
for _ in range(11000): sys.stdout.write(line)
sys.stdout.flush(); time.sleep(600)
"""
ERRORS = """
import sys, time
for _ in range(100): sys.stderr.write("e" * 1000000)
time.sleep(600)
"""
REQUESTS = """
import sys, json, time
for number in range(1000000):
    print(json.dumps({"jsonrpc": "2.0", "id": number, "method": "ping"}))
time.sleep(600)
"""
SAME_REQUEST = REQUESTS.replace('"id": number', '"id": 1')
SILENT = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
PAGES = """
def serve():
    for line in sys.stdin:
        message = json.loads(line)
        method, number = message.get("method"), message.get("id")
        if method == "initialize":
            send(id=number, result={"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                "serverInfo": {"name": "test", "version": "1"}})
        elif method == "tools/list":
            names = [f"t{number}-{n}" for n in range(10)] + ["", "same", "x" * 1000]
            tools = [{"name": name, "inputSchema": {"type": "object"}} for name in names]
            send(id=number, result={"tools": tools, "nextCursor": str(number)})
"""


def memory(worker: McpWorker) -> int:
    """Return the most memory that the worker ever used."""
    lines = Path(f"/proc/{worker.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM"))


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        pytest.param(ONE_LINE, "a line of more than 4 MiB", id="one line"),
        pytest.param(ONE_MESSAGE, "a line of more than 4 MiB", id="one message"),
        pytest.param(LINES, "bytes that are no messages", id="lines"),
        pytest.param(INVALID, "messages that are none", id="invalid JSON"),
        pytest.param(DEEP, "messages that are none", id="depth"),
        pytest.param(REQUESTS, "more than it takes answers for", id="requests"),
        pytest.param(SAME_REQUEST, "the id of a request twice", id="same request"),
    ],
)
async def test_a_server_that_says_too_much_that_is_wrong_is_given_up(
    worker: McpWorker, serve: Serve, code: str, reason: str
) -> None:
    server, events = serve(python_server(code, answering=False))
    assert await server.start() == "error"
    assert reason in events.detail
    assert memory(worker) < MOST_MEMORY


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(SILENT, id="silent"),
        pytest.param(NOTICES, id="notices"),
        pytest.param(ERRORS, id="standard error"),
    ],
)
async def test_a_server_that_never_answers_is_given_up_when_its_time_is_over(
    worker: McpWorker, serve: Serve, code: str
) -> None:
    server, events = serve(python_server(code, answering=False, start_timeout=1.5))
    assert await server.start() == "error"
    assert "not ready after 1.5 seconds" in events.detail
    assert memory(worker) < MOST_MEMORY


async def test_what_a_server_prints_is_in_its_log_and_what_is_too_much_is_counted(
    serve: Serve,
) -> None:
    server, events = serve(python_server(ERRORS, answering=False, start_timeout=1))
    await server.start()
    assert events.log.startswith(b"eeee")
    assert b"bytes came too fast and are left out" in events.log
    assert len(events.log) < 4 << 20


async def test_secrets_that_a_server_was_given_are_not_in_what_it_says(serve: Serve) -> None:
    code = "import os, sys; sys.exit('wrong key: ' + os.environ['API_KEY'])"
    server, events = serve(
        python_server(code, answering=False, env={"API_KEY": "very-secret", "MODE": "verbose"})
    )
    await server.start()
    assert events.detail == "it ended with exit code 1: wrong key: ***"
    assert events.log == b"wrong key: ***\n"


async def test_others_work_while_one_floods(serve: Serve) -> None:
    flooding, _ = serve(python_server(NOTICES, answering=False, start_timeout=5))
    good, _ = serve(python_server(""))
    start = asyncio.create_task(flooding.start())
    assert await good.start() == "ready"
    for number in range(20):
        result = await good.call("echo", {"number": number}, call=str(number))
        assert result["content"][0]["text"] == f'{{"number": {number}}}'
    assert not start.done()
    await flooding.stop()
    assert await start == "stopped"


async def test_a_server_that_floods_once_it_is_ready_still_answers(serve: Serve) -> None:
    code = """
def flood():
    line = json.dumps({"jsonrpc": "2.0", "method": "notifications/message",
        "params": {"level": "info", "data": "z" * 900}}) + "\\n"
    while True:
        with lock: sys.stdout.write(line * 100)
lock = threading.Lock()
def send(**message):
    with lock: print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
def ready(): threading.Thread(target=flood, daemon=True).start()
"""
    server, events = serve(python_server(code))
    assert await server.start() == "ready"
    await events.until(lambda: b"left out" in events.log)
    result = await server.call("echo", {"still": "there"}, call="1")
    assert result["content"][0]["text"] == '{"still": "there"}'
    await server.stop()


async def test_a_server_that_reads_nothing_more_can_be_left(serve: Serve) -> None:
    code = "def call(*_): print('called', file=sys.stderr, flush=True); time.sleep(600)"
    server, events = serve(python_server(code))
    await server.start()
    first = asyncio.create_task(server.call("echo", {}, call="1"))
    await events.until(lambda: b"called" in events.log)
    # More than a pipe holds, so that not even a good-bye can be sent.
    second = asyncio.create_task(server.call("echo", {"text": "x" * 1_000_000}, call="2"))
    first.cancel()
    await asyncio.wait({first})
    await server.stop()
    with pytest.raises(McpFailed, match="stopped"):
        await second


ASKING = """
number = 0
def ask():
    global number
    number += 1
    send(id=f"q{number}", method="elicitation/create", params={"message": "again?",
        "requestedSchema": {"type": "object", "properties": {"x": {"type": "string"}}}})
def call(number, name, arguments, meta): ask()
def answered(number, result, error): ask()
"""


async def test_a_call_that_asks_for_ever_is_ended(serve: Serve) -> None:
    server, events = serve(python_server(ASKING))
    await server.start()
    with pytest.raises(McpFailed, match="asked too many questions"):
        await server.call("echo", {}, call="c1")
    assert len(events.asked) == MOST_QUESTIONS
    assert {call for _, call, _ in events.asked} == {"c1"}
    assert server.state == "ready"


async def test_a_question_is_taken_back_when_its_call_is_cancelled(serve: Serve) -> None:
    server, events = serve(python_server(ASKING))
    await server.start()

    async def think(what: str, params: JsonObject) -> JsonObject:
        await asyncio.Event().wait()
        return {}

    events.answer = think
    call = asyncio.create_task(server.call("echo", {}, call="c1"))
    await events.until(lambda: events.asked)
    call.cancel()
    await events.until(lambda: events.taken_back == 1)


async def test_questions_without_a_call_reach_nobody(serve: Serve) -> None:
    code = """
def ready(): ask()
def answered(number, result, error): print(result["action"], file=sys.stderr, flush=True)
"""
    server, events = serve(python_server(ASKING + code))
    await server.start()
    await events.until(lambda: b"decline" in events.log)
    assert events.asked == []


async def test_a_list_of_tools_without_end_is_cut(serve: Serve) -> None:
    server, events = serve(python_server(PAGES))
    assert await server.start() == "ready"
    names = [tool.name for tool in events.offered[0]]
    assert len(names) == 256
    assert names.count("same") == 1
    assert "" not in names
    assert max(map(len, names)) <= 128


async def test_a_result_that_is_too_long_is_a_failure_and_ends_the_server(serve: Serve) -> None:
    code = "def call(number, *_): send(id=number, result=text('x' * (5 << 20)))"
    server, events = serve(python_server(code))
    await server.start()
    with pytest.raises(McpFailed, match="a line of more than 4 MiB") as caught:
        await server.call("echo", {}, call="1")
    assert caught.value.kind == "closed"
    await events.until(lambda: events.kinds[-1] == "error")


async def test_a_result_that_is_none_is_a_failure_of_its_call_alone(serve: Serve) -> None:
    code = """
def call(number, name, arguments, meta):
    results = {"huge": {"content": [], "_meta": {"n": 10 ** 30}},
        "strange": {"content": [{"type": "nonsense"}]}}
    send(id=number, result=results[name])
"""
    server, _ = serve(python_server(code))
    await server.start()
    for name in ("huge", "strange"):
        with pytest.raises(McpFailed) as caught:
            await server.call(name, {}, call=name)
        assert caught.value.kind == "refused"
    assert server.state == "ready"


async def test_an_expression_of_a_server_is_never_run_here(serve: Serve) -> None:
    """Its output schema would take years to check."""
    code = """
tools = [{"name": "echo", "inputSchema": {"type": "object"}, "outputSchema": {"type": "object",
    "properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}}}]
def call(number, *_):
    send(id=number, result={**text("done"), "structuredContent": {"a": "a" * 60 + "!"}})
"""
    server, _ = serve(python_server(code))
    await server.start()
    result = await server.call("echo", {}, call="1")
    assert result["structuredContent"]["a"].endswith("!")


async def test_tools_that_say_too_much_together_are_left_out(serve: Serve) -> None:
    code = """
named = {f"p{number}": {"type": "string"} for number in range(1000)}
schema = {"type": "object", "properties": named}
tools = [{"name": f"t{number}", "inputSchema": schema} for number in range(100)]
tools.append({"name": "small", "inputSchema": {"type": "object"}})
"""
    server, events = serve(python_server(code))
    assert await server.start() == "ready"
    offered = events.offered[-1]
    assert 0 < len(offered) < 50
    assert offered[-1].name == "small"
    await events.until(lambda: b"tools cannot be offered" in events.log)
