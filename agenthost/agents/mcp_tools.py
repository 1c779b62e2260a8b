"""The MCP servers of a turn, as its agent is given them: their tools, and ways to call them.

Values and one Protocol. The host runs the servers, asks whether they may start, publishes their
states and shows what they ask for; an agent shows the call and asks for its approval.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol, TypeAlias

from agenthost.agents.api import AgentError
from agenthost.agents.one_line import one_line

# Characters of a title or a name in what people are shown.
LONGEST_LABEL: Final = 100
# The bridge to the tools of clients.
CLIENT_BRIDGE: Final = "client"
McpStateKind: TypeAlias = Literal["starting", "ready", "authRequired", "error", "stopped"]


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool of an MCP server, under the name that models know it by."""

    # ``server__tool``: letters, digits, ``_`` and ``-``, at most 64, unique in the turn.
    name: str
    # The customization id of its server, and its name.
    server: str
    server_name: str
    # What the server itself calls it.
    tool: str
    title: str
    description: str
    input_schema: Mapping[str, Any]
    # What the server says of it: hints, no promises.
    read_only: bool = False
    destructive: bool = True
    meta: Mapping[str, Any] | None = None

    @property
    def label(self) -> str:
        """What people are shown of its title: one line, and not a long one."""
        return one_line(self.title, LONGEST_LABEL) or one_line(self.tool, LONGEST_LABEL)

    @property
    def server_label(self) -> str:
        """What people are shown of its server's name."""
        return one_line(self.server_name, LONGEST_LABEL)

    @property
    def contributor(self) -> dict[str, Any]:
        """Whose the tool is, for ``turn.tool(contributor=…)``."""
        return {"kind": "mcp", "customizationId": self.server}


@dataclass(frozen=True, slots=True)
class McpServerInfo:
    """An MCP server that is switched on in the session."""

    id: str
    name: str
    state: McpStateKind
    # Why it is not ready, for people; empty if there is nothing to say.
    detail: str = ""


@dataclass(frozen=True, slots=True)
class BridgeAddress:
    """A local MCP server by which a program outside reaches the tools of a turn: what to run."""

    # The customization id of the server behind it; CLIENT_BRIDGE for the tools of clients.
    server: str
    # Letters, digits, ``_`` and ``-``; unique in the chat.
    name: str
    command: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)


# Runs a tool that a program called over a bridge: given the bridge's ``server``, the tool's own
# name there and its arguments, returns a CallToolResult. AgentError fails the call.
BridgedCall: TypeAlias = Callable[[str, str, Mapping[str, Any]], Awaitable[Mapping[str, Any]]]


class TurnMcp(Protocol):
    """What MCP servers offer to one turn; ``servers`` and ``tools`` are as they are now."""

    @property
    def servers(self) -> Sequence[McpServerInfo]:
        """The servers that are switched on in the session, ready or not; any thread may ask."""
        ...

    @property
    def tools(self) -> Sequence[OfferedTool]:
        """The tools of those that are ready; any thread may ask."""
        ...

    async def call(
        self, tool: OfferedTool, call: str, arguments: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """Call a tool and return its CallToolResult; ``call`` is the id of the call that shows it.

        The call is running by then, and its agent completes it. Signing in and what the server
        asks people happen inside. Cancelling this cancels the call.

        Raises:
            AgentError: the server has failed, has gone or refuses; the message says why.
        """
        ...


class NoMcp:
    """The MCP servers of a turn that has none."""

    servers: Sequence[McpServerInfo] = ()
    tools: Sequence[OfferedTool] = ()

    async def call(
        self, tool: OfferedTool, call: str, arguments: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """Refuse, for there is nobody to be asked."""
        raise AgentError(f"there is no MCP server {tool.server_name} here", "noMcpServer")


NO_MCP: TurnMcp = NoMcp()
