"""What the host and its MCP servers tell each other: declarations, tools, states, questions.

Values only; `link.py` moves them, and whoever implements `ServerEvents` makes sense of them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol
from urllib.parse import urlsplit

import orjson
from msgspec import Struct, field
from msgspec.structs import replace

from agenthost.errors import AgentHostError

if TYPE_CHECKING:
    from agenthost.protocol.common import JsonObject


ServerState = Literal["starting", "ready", "authRequired", "error", "stopped"]
ChallengeReason = Literal["required", "expired", "insufficientScope"]
FailureKind = Literal["closed", "timeout", "refused", "tooLarge"]
_HOST_VARIABLE = re.compile(r"\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}")


class McpFailed(AgentHostError):
    """A call or request to an MCP server did not succeed."""

    def __init__(
        self, text: str, kind: FailureKind, *, code: int | None = None, data: Any = None
    ) -> None:
        super().__init__(text)
        self.text = text
        self.kind = kind
        # What the server's own error said, if it was one.
        self.code = code
        self.data = data


class ServerDeclaration(Struct, frozen=True):
    """An MCP server as a file declares it: a command to run, or an address."""

    name: str
    command: tuple[str, ...] | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None
    url: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    # The id of a registered OAuth client, and its secret.
    oauth_client: tuple[str, str | None] | None = None
    # Seconds until it must be ready.
    start_timeout: float = 30.0
    # The variables of the host's environment that it takes: each stands as ``${env:NAME}``.
    host_variables: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """A hash of all that decides what runs, which is what trust is given to."""
        told = {**self.to_json(), "startTimeout": None}
        if self.host_variables:
            told["hostVariables"] = list(self.host_variables)
        return hashlib.sha256(orjson.dumps(told, option=orjson.OPT_SORT_KEYS)).hexdigest()

    def problem(self) -> str | None:
        """Say why such a server cannot be started, or None."""
        if (self.command is None) == (self.url is None):
            return "a server needs either a command or a url"
        words = (*(self.command or ()), self.cwd or "", *self.env, *self.env.values())
        if any("\0" in word for word in words) or any("=" in name or not name for name in self.env):
            return "its command or environment contains a character that none may"
        if self.command is not None:
            return None if self.command and self.command[0] else "its command is empty"
        return _problem_of_url(self.url or "", self.headers)

    def with_host_variables(self, environment: Mapping[str, str]) -> ServerDeclaration:
        """Return it with the variables of the host's environment in their places.

        Raises:
            McpFailed: one of them is not set.
        """
        missing = [name for name in self.host_variables if name not in environment]
        if missing:
            raise McpFailed(f"{', '.join(missing)} is not set where this host runs", "refused")

        def value(found: re.Match[str]) -> str:
            name = found.group(1)
            return environment[name] if name in self.host_variables else found.group()

        def filled(text: str) -> str:
            return _HOST_VARIABLE.sub(value, text)

        return replace(
            self,
            command=None if self.command is None else tuple(map(filled, self.command)),
            env={name: filled(text) for name, text in self.env.items()},
            cwd=None if self.cwd is None else filled(self.cwd),
            url=None if self.url is None else filled(self.url),
            headers={name: filled(text) for name, text in self.headers.items()},
            host_variables=(),
        )

    def to_json(self) -> JsonObject:
        """Return it as the worker reads it."""
        return {
            "name": self.name,
            "command": None if self.command is None else list(self.command),
            "env": dict(self.env),
            "cwd": self.cwd,
            "url": self.url,
            "headers": dict(self.headers),
            "oauthClient": None if self.oauth_client is None else list(self.oauth_client),
            "startTimeout": self.start_timeout,
        }

    @classmethod
    def from_json(cls, told: JsonObject) -> ServerDeclaration:
        """Return what ``to_json`` was made of."""
        client = told["oauthClient"]
        return cls(
            name=told["name"],
            command=None if told["command"] is None else tuple(told["command"]),
            env=told["env"],
            cwd=told["cwd"],
            url=told["url"],
            headers=told["headers"],
            oauth_client=None if client is None else (client[0], client[1]),
            start_timeout=told["startTimeout"],
        )


def _problem_of_url(url: str, headers: Mapping[str, str]) -> str | None:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        return "its url is no http or https address"
    lines = "".join([*headers, *headers.values()])
    if not lines.isascii() or any(end in lines for end in "\r\n\0") or "" in headers:
        return "its headers contain a character that none may"
    return None


class McpTool(Struct, frozen=True):
    """A tool that a server offers."""

    name: str
    title: str
    description: str
    input_schema: JsonObject
    meta: JsonObject | None
    # What the server says of it, which is a hint and no promise.
    read_only: bool
    destructive: bool


class Challenge(Struct, frozen=True):
    """What a server wants before it goes on: a token for a protected resource."""

    reason: ChallengeReason
    # Protected-resource metadata (RFC 9728), in wire spelling.
    resource: JsonObject
    scopes: tuple[str, ...] = ()
    description: str = ""

    def to_json(self) -> JsonObject:
        """Return it as it travels."""
        return {
            "reason": self.reason,
            "resource": self.resource,
            "scopes": list(self.scopes),
            "description": self.description,
        }

    @classmethod
    def from_json(cls, told: JsonObject) -> Challenge:
        """Return what ``to_json`` was made of."""
        return cls(told["reason"], told["resource"], tuple(told["scopes"]), told["description"])


class ServerEvents(Protocol):
    """Is told what happens to one server; called on the host's loop, in order."""

    def state(
        self, kind: ServerState, detail: str = "", challenge: Challenge | None = None
    ) -> None:
        """Take note of a new state."""
        ...

    def auth_required(self, call: str | None, challenge: Challenge) -> None:
        """Take note that a ready server wants a token before a call goes on."""
        ...

    def tools(self, tools: Sequence[McpTool]) -> None:
        """Take note of all tools that it offers now."""
        ...

    def output(self, data: bytes) -> None:
        """Take what belongs in its log: standard error, lines that are no messages, log notices."""
        ...

    async def elicit(self, call: str | None, params: JsonObject) -> JsonObject:
        """Answer a question to a person with an elicitation result; cancelled if it is over."""
        ...

    async def sample(self, call: str | None, params: JsonObject) -> JsonObject:
        """Answer a question to a model with a sampling result; cancelled if it is over."""
        ...
