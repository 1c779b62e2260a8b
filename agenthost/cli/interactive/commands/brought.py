"""What a session is brought: /agent, /servers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from agenthost.cli.format.customization_format import MOST_NAME, cell
from agenthost.cli.interactive.chat_actions import failure_line
from agenthost.cli.interactive.commands.chat_command import ChatCommand
from agenthost.cli.interactive.display import brought_lines
from agenthost.cli.interactive.display.styled_text import line

if TYPE_CHECKING:
    from agenthost.cli.interactive.conversation import Conversation
    from agenthost.client.mcp import McpServerView
    from agenthost.client.state.dispatches import Dispatch

_NOBODY = ("none", "-", "default")


def _agent(at: Conversation, name: str) -> None:
    """List the custom agents, or choose the one that the next messages go to."""
    agents = at.session.customizations.agents()
    if not name:
        at.note(*brought_lines.agents_lines(agents, at.actions.agent, at.screen.size[0]))
        return
    if name in _NOBODY and all(item.name != name for item in agents):
        at.actions.agent = None
        at.note(line(("dim", "· the agent itself answers from now on")))
        return
    try:
        chosen = at.session.customizations.find(name, "agent")
    except LookupError as error:
        at.note(failure_line("no agent was chosen", cell(str(error))))
        return
    at.actions.agent = chosen.uri
    at.note(line(("good", "✓ "), f"{cell(chosen.name, MOST_NAME)} answers from now on"))


def _agent_names(at: Conversation) -> list[str]:
    agents = at.session.customizations.agents()
    return [*(item.name for item in agents if item.invocable), "none"]


def _servers(at: Conversation, words: str) -> None:
    """List the MCP servers, or start or stop one."""
    verb, _, name = words.partition(" ")
    if not words:
        at.note(*brought_lines.servers_lines(at.session.state, at.screen.size[0]))
        return
    ways: dict[str, Callable[[McpServerView], Dispatch]] = {
        "start": lambda server: server.start(),
        "restart": lambda server: server.restart(),
        "stop": lambda server: server.stop(),
        "background": lambda server: server.background(),
    }
    if verb not in ways or not name.strip():
        at.hint("/servers, or /servers start|stop|restart NAME")
        return
    try:
        server = at.session.mcp(name.strip())
        at.actions.report_failure(ways[verb](server), f"no {verb}")
    except LookupError as error:
        at.note(failure_line(f"no {verb}", cell(str(error))))


def _server_words(at: Conversation) -> list[str]:
    names = [item.name for item in at.session.customizations.servers()]
    return [f"{verb} {name}" for verb in ("start", "stop", "restart") for name in names]


COMMANDS = (
    ChatCommand(
        "agent",
        "[NAME]",
        "the custom agents; or let one answer, none goes back",
        _agent,
        _agent_names,
    ),
    ChatCommand(
        "servers",
        "[VERB NAME]",
        "the MCP servers; or start, stop or restart one",
        _servers,
        _server_words,
    ),
)
