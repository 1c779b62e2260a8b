"""A streamable HTTP server on the official package, with OAuth in front; run by tests.

Takes a folder: the file ``tokens`` in it has a good token and its scopes on each line, and what the
tool ``note`` is told is appended to the file ``notes``. Prints its port.
"""

import socket
import sys
from pathlib import Path

import uvicorn
from mcp.server import MCPServer
from mcp.server.auth.provider import AccessToken, TokenVerifier
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import Context
from mcp_types import SamplingMessage, TextContent
from pydantic import AnyHttpUrl, BaseModel

folder = Path(sys.argv[1])
listening = socket.create_server(("127.0.0.1", 0))
port = listening.getsockname()[1]


class TokensOfFile(TokenVerifier):
    async def verify_token(self, token: str) -> AccessToken | None:
        for line in (folder / "tokens").read_text().splitlines():
            good, *scopes = line.split()
            if good == token:
                return AccessToken(token=token, client_id="c", scopes=scopes)
        return None


server = MCPServer(
    "locked",
    token_verifier=TokensOfFile(),
    auth=AuthSettings(
        issuer_url=AnyHttpUrl("https://as.example"),
        resource_server_url=AnyHttpUrl(f"http://127.0.0.1:{port}/mcp"),
        required_scopes=["tools"],
    ),
)


class Name(BaseModel):
    name: str


@server.tool()
def add(a: int, b: int) -> int:
    return a + b


@server.tool()
def note(text: str) -> str:
    with (folder / "notes").open("a") as notes:
        notes.write(text + "\n")
    return "noted"


@server.tool()
async def greet(whom: str, ctx: Context) -> str:
    answer = await ctx.elicit(f"Who is {whom}?", Name)
    return f"{answer.action} {getattr(answer, 'data', None)}"


@server.tool()
async def think(about: str, ctx: Context) -> str:
    message = SamplingMessage(role="user", content=TextContent(type="text", text=about))
    thought = await ctx.session.create_message(messages=[message], max_tokens=10)
    return thought.content.text if isinstance(thought.content, TextContent) else ""


@server.tool()
async def trace(ctx: Context) -> str:
    meta = ctx.request_context.meta or {}
    return str(dict(meta).get("traceparent"))


print(port, flush=True)
app = server.streamable_http_app()
uvicorn.Server(uvicorn.Config(app, log_level="critical")).run(sockets=[listening])
