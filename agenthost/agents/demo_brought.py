"""What people brought, as the demo agent shows it: customizations, and the tools of MCP servers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agenthost.agents.api import AgentError
from agenthost.agents.mcp_calls import begin_mcp_call, run_mcp_call
from agenthost.agents.mcp_tools import McpServerInfo, OfferedTool
from agenthost.agents.one_line import one_line
from agenthost.agents.turn import Turn
from agenthost.agents.turn_customizations import GlobRule, Prompt, Skill

# Characters of instructions, and of a result, that are shown.
MOST_INSTRUCTIONS = 600
MOST_RESULT = 2000
# Tools of one server that are listed.
MOST_TOOLS = 40

_NO_SERVERS = (
    "There are no MCP servers here. Declare one in `.mcp.json` in the session's folder:\n\n"
    "```json\n"
    '{"mcpServers": {"time": {"command": "uvx", "args": ["mcp-server-time"]}}}\n'
    "```\n"
)
_NOTHING = (
    "Nobody has brought anything for this session. Put instructions into `AGENTS.md`, or a skill"
    " into `.agents/skills/NAME/SKILL.md`, in the session's folder.\n"
)


async def show_servers(turn: Turn) -> None:
    """List the MCP servers of the session and their tools."""
    servers, tools = turn.mcp.servers, turn.mcp.tools
    if not servers:
        await turn.write(_NO_SERVERS)
        return
    for server in servers:
        await turn.write(_server(server, [tool for tool in tools if tool.server == server.id]))
    await turn.write("\n`/mcp call SERVER TOOL {…}` calls a tool, after asking.\n")


async def call_tool(turn: Turn, rest: str) -> None:
    """Call a tool of a server with arguments in JSON, after asking."""
    server, _, rest = rest.strip().partition(" ")
    name, _, text = rest.strip().partition(" ")
    usage = AgentError("usage: /mcp call SERVER TOOL {…}", "badArguments")
    if not server or not name:
        raise usage
    try:
        given = json.loads(text or "{}")
    except (ValueError, RecursionError) as error:
        raise usage from error
    if not isinstance(given, dict):
        raise usage
    await _call(turn, _found(turn, server, name), given)


async def _call(turn: Turn, tool: OfferedTool, arguments: Mapping[str, Any]) -> None:
    async with begin_mcp_call(turn, tool, input=arguments) as call:
        answer = await call.confirm(
            f"Call {tool.label} of {tool.server_label}?",
            invocation=f"Call {tool.label}",
            editable=True,
        )
        if not answer:
            await turn.write("Then I will not.")
            return
        edited = _edited(answer.input)
        try:
            result = await run_mcp_call(turn, tool, call, arguments if edited is None else edited)
        except AgentError as error:
            await turn.write(f"That did not work: {error}")
            return
    # In a block: a server's words are no markdown of ours.
    shown = result.text[:MOST_RESULT].replace("```", "` ` `")
    left_out = "\n…" if len(result.text) > MOST_RESULT else ""
    verb = "failed" if result.is_error else "answered"
    await turn.write(f"{_code(tool.server_name)} {verb}:\n\n```\n{shown}{left_out}\n```\n")


async def show_customizations(turn: Turn, name: str) -> None:
    """List what people brought for the turn, or show the text of one thing."""
    given = turn.customizations
    items: list[Skill | Prompt | GlobRule] = [*given.skills, *given.prompts, *given.rules]
    if name:
        await _show_text(turn, items, name)
        return
    if not (items or given.instructions or given.agent):
        await turn.write(_NOTHING)
        return
    if given.agent is not None:
        about = f"{_code(given.agent.name)} {one_line(given.agent.description)}"
        await turn.write(f"**Agent**: {about}\n\n")
    if given.instructions:
        shown = given.instructions[:MOST_INSTRUCTIONS]
        left_out = " …" if len(given.instructions) > MOST_INSTRUCTIONS else ""
        await turn.write(f"**Instructions**\n\n{shown}{left_out}\n\n")
    await _list(turn, "Skills", ((s.name, s.description) for s in given.skills))
    await _list(turn, "Prompts", ((p.name, p.description) for p in given.prompts))
    rules = ((rule.name, f"{', '.join(rule.globs)}: {rule.description}") for rule in given.rules)
    await _list(turn, "Rules for some files", rules)
    await turn.write("\n`/customizations NAME` shows the text of one.\n")


async def _show_text(turn: Turn, items: Sequence[Skill | Prompt | GlobRule], name: str) -> None:
    found = next((item for item in items if item.name == name), None)
    if found is None:
        known = ", ".join(item.name for item in items) or "nothing"
        raise AgentError(f"there is no {name} here; there is: {known[:500]}", "badArguments")
    await turn.write(await turn.customizations.load(found))


async def _list(turn: Turn, title: str, entries: Iterable[tuple[str, str]]) -> None:
    lines = [f"- {_code(name)} {one_line(description)}\n" for name, description in entries]
    if lines:
        await turn.write(f"**{title}**\n\n{''.join(lines)}\n")


def _found(turn: Turn, server: str, name: str) -> OfferedTool:
    """Return the tool that is meant, or say what there is instead."""
    known = {info.id: info for info in turn.mcp.servers if server in (info.name, info.id)}
    if not known:
        names = ", ".join(info.name for info in turn.mcp.servers) or "none"
        raise AgentError(f"there is no server {server}; there is: {names[:500]}", "noMcpServer")
    theirs = [tool for tool in turn.mcp.tools if tool.server in known]
    found = next((tool for tool in theirs if name in (tool.tool, tool.name)), None)
    if found is not None:
        return found
    info = next(iter(known.values()))
    if not theirs and info.state != "ready":
        why = f": {info.detail}" if info.detail else ""
        raise AgentError(f"{info.name} is not ready ({info.state}){why}", "mcpServerNotReady")
    names = ", ".join(tool.tool for tool in theirs) or "none"
    raise AgentError(f"{info.name} has no tool {name}; it has: {names[:500]}", "unknownTool")


def _edited(text: str | None) -> Mapping[str, Any] | None:
    """Return what somebody made of the arguments; None where they left them."""
    try:
        made = json.loads(text) if text else None
    except (ValueError, RecursionError):
        made = text
    if made is not None and not isinstance(made, dict):
        raise AgentError("the edited arguments are no JSON object", "badArguments")
    return made


def _server(info: McpServerInfo, tools: Sequence[OfferedTool]) -> str:
    why = f": {one_line(info.detail)}" if info.detail else ""
    lines = [f"- {_code(info.name)} {info.state}{why}\n"]
    for tool in tools[:MOST_TOOLS]:
        lines.append(f"  - {_code(tool.tool)} {one_line(tool.description or tool.title)}\n")
    if len(tools) > MOST_TOOLS:
        lines.append(f"  - … and {len(tools) - MOST_TOOLS} more\n")
    return "".join(lines)


def _code(text: str) -> str:
    return f"`{one_line(text.replace('`', ' '))}`"
