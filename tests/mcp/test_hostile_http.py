"""HTTP servers that send too much, something else, or somebody else's papers."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from agenthost.mcp.link import McpWorker
from agenthost.mcp.types import McpFailed, ServerDeclaration
from tests.mcp.conftest import Serve
from tests.mcp.test_hostile import MOST_MEMORY, memory


class AnyRequest(BaseHTTPRequestHandler):
    """A request that a test answers."""

    body = b""


Respond = Callable[[AnyRequest], None]
Listen = Callable[[Respond], str]


@pytest.fixture
def listen() -> Iterator[Listen]:
    """Answer every request as a test wants, at the address that is returned."""
    servers: list[ThreadingHTTPServer] = []

    def listen(respond: Respond) -> str:
        class Handler(AnyRequest):
            def do_GET(self) -> None:
                respond(self)

            def do_POST(self) -> None:
                self.body = self.rfile.read(int(self.headers["content-length"]))
                respond(self)

            def log_message(self, *words: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{server.server_port}/mcp"

    yield listen
    for server in servers:
        server.shutdown()
        server.server_close()


def begin(handler: AnyRequest, status: int, **headers: str) -> None:
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()


def pour(handler: AnyRequest, data: bytes, times: int) -> None:
    try:
        for _ in range(times):
            handler.wfile.write(data)
    except OSError:
        # Nobody listens any more, which is the point.
        return


def endless_body(handler: AnyRequest) -> None:
    begin(handler, 200, content_type="application/json")
    pour(handler, b" " * 1_000_000, 300)


def endless_refusal(handler: AnyRequest) -> None:
    begin(handler, 400, content_type="application/json")
    pour(handler, b" " * 1_000_000, 300)


def bomb(handler: AnyRequest) -> None:
    begin(handler, 200, content_type="application/json", content_encoding="gzip")
    pour(handler, gzip.compress(b" " * 300_000_000, 1), 1)


def endless_event(handler: AnyRequest) -> None:
    begin(handler, 200, content_type="text/event-stream")
    handler.wfile.write(b"data: ")
    pour(handler, b"x" * 1_000_000, 300)


def page(handler: AnyRequest) -> None:
    begin(handler, 200, content_type="text/html")
    pour(handler, b"<p>Welcome</p>", 1)


def broken(handler: AnyRequest) -> None:
    begin(handler, 500)


def elsewhere(handler: AnyRequest) -> None:
    begin(handler, 307, location="http://192.0.2.1/mcp")


@pytest.mark.parametrize(
    ("respond", "reason"),
    [
        (endless_body, "more than 4 MiB"),
        (endless_refusal, "HTTP 400"),
        (bomb, "compressed response"),
        (endless_event, "SSE"),
        (page, "Unexpected content type: text/html"),
        (broken, "HTTP 500"),
        (elsewhere, "Redirect to http://192.0.2.1/mcp not followed"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
async def test_a_server_that_answers_badly_is_an_error_with_its_reason(
    worker: McpWorker, serve: Serve, listen: Listen, respond: Respond, reason: str
) -> None:
    server, events = serve(ServerDeclaration("test", url=listen(respond)))
    assert await server.start() == "error"
    assert reason in events.detail
    assert memory(worker) < MOST_MEMORY


async def test_nobody_there_is_an_error(serve: Serve) -> None:
    server, events = serve(ServerDeclaration("test", url="http://127.0.0.1:1/mcp"))
    assert await server.start() == "error"
    assert "connect" in events.detail


async def test_a_server_that_forgot_its_session_is_an_error(serve: Serve, listen: Listen) -> None:
    def forgetful(handler: AnyRequest) -> None:
        told = json.loads(handler.body or b"{}")
        results = {
            "initialize": {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "test", "version": "1"},
            },
            "tools/list": {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]},
        }
        # It forgets once it was asked for its tools.
        if told.get("method") not in results or forgotten:
            begin(handler, 202 if "id" not in told else 404)
            return
        if told["method"] == "tools/list":
            forgotten.append(True)
        begin(handler, 200, content_type="application/json", mcp_session_id="s")
        reply = {"jsonrpc": "2.0", "id": told["id"], "result": results[told["method"]]}
        handler.wfile.write(json.dumps(reply).encode())

    forgotten: list[bool] = []
    server, events = serve(ServerDeclaration("test", url=listen(forgetful)))
    assert await server.start() == "ready"
    with pytest.raises(McpFailed, match="does not know this session"):
        await server.call("echo", {}, call="1")
    await events.until(lambda: events.kinds[-1] == "error")


def challenging(metadata: object, *, at: str | None = None) -> Respond:
    """Ask for a token, and tell what it is for, at its place or somewhere else."""

    def respond(handler: AnyRequest) -> None:
        if handler.command == "GET":
            begin(handler, 200, content_type="application/json")
            handler.wfile.write(json.dumps(metadata).encode())
            return
        named = "" if at is None else f' resource_metadata="{at}"'
        begin(handler, 401, www_authenticate=f"Bearer{named}")

    return respond


async def test_papers_of_somebody_else_are_refused(serve: Serve, listen: Listen) -> None:
    metadata = {
        "resource": "https://bank.example/",
        "authorization_servers": ["https://as.example"],
    }
    server, events = serve(ServerDeclaration("test", url=listen(challenging(metadata))))
    assert await server.start() == "error"
    assert "belongs to another address" in events.detail


async def test_papers_are_not_fetched_from_somewhere_else(serve: Serve, listen: Listen) -> None:
    fetched: list[str] = []

    def inside(handler: AnyRequest) -> None:
        fetched.append(handler.path)
        begin(handler, 200)

    private = listen(inside)
    url = listen(challenging({"resource": 7}, at=private))
    server, events = serve(ServerDeclaration("test", url=url))
    assert await server.start() == "authRequired"
    assert events.challenges[0].resource == {"resource": url}
    assert fetched == []
