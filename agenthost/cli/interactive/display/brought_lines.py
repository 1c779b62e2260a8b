"""What a session is brought, as the chat shows it: servers, custom agents, the approval mode.

Pure. Names and reasons are strangers' words; ``customization_format`` makes them safe and short.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agenthost.cli.connection.command_hints import hint
from agenthost.cli.connection.customization_lookup import word_for
from agenthost.cli.format.customization_format import (
    MOST_NAME,
    about,
    cell,
    server_word,
    state_word,
)
from agenthost.cli.format.terminal_text import table
from agenthost.cli.interactive.display.styled_text import EMPTY, StyledLine, clip_line, line
from agenthost.client.customizations import CustomizationItem, customization_items

Json = Mapping[str, Any]

APPROVALS = "autoApprove"
"""The setting of a session that says what goes ahead without being asked about."""

_ASK = "default"
# What people say for the modes that agents know by other words.
_SAME = {"ask": _ASK, "everything": "autoApprove", "all": "autoApprove"}

# How a server in the line above the input is marked, by its state.
_MARKS = {"starting": "…", "authRequired": "⚿"}
_MOST_SHOWN = 4


class BroughtItems:
    """The servers and custom agents of a session, looked for only when what is brought changes.

    A screen is drawn many times a second, and there may be thousands of customizations.
    """

    def __init__(self) -> None:
        # The list that was looked through last.
        self._tree: object = None
        self.servers: list[CustomizationItem] = []
        self.agents: list[CustomizationItem] = []

    def update(self, session: Json) -> BroughtItems:
        """Look through a session's state, if it has other customizations than before."""
        tree = session.get("customizations")
        if tree is not self._tree:
            self._tree = tree
            items = list(customization_items(session))
            self.servers = [item for item in items if item.kind == "mcpServer"]
            self.agents = [item for item in items if item.kind == "agent"]
        return self

    def agent_name(self, uri: str | None) -> str:
        """Return the name of the custom agent of a URI; empty without one."""
        if uri is None:
            return ""
        return next((cell(item.name, 24) for item in self.agents if item.uri == uri), cell(uri, 24))


def servers_in(session: Json) -> list[CustomizationItem]:
    """Return the MCP servers in a session's state."""
    return BroughtItems().update(session).servers


def busy_server_line(servers: Sequence[CustomizationItem], width: int) -> list[StyledLine]:
    """Return one line about the servers that are not there yet, or none."""
    told = [
        f"{cell(item.name, 24)} {_MARKS[kind]} {server_word(_state(item))[0]}"
        for item in servers
        if item.enabled and (kind := str(_state(item).get("kind"))) in _MARKS
    ]
    if not told:
        return []
    more = [f"and {len(told) - _MOST_SHOWN} more"] if len(told) > _MOST_SHOWN else []
    text = " · ".join([*told[:_MOST_SHOWN], *more, "/servers"])
    return [clip_line(line(("busy", "⧉ "), ("dim", text)), width)]


def server_notes(
    before: Mapping[str, str], servers: Sequence[CustomizationItem]
) -> Iterator[StyledLine]:
    """Yield what happened to servers since their states were as before: failures, sign-ins."""
    for item in servers:
        kind = str(_state(item).get("kind"))
        if before.get(item.id, kind) == kind:
            continue
        name = cell(item.name, MOST_NAME)
        if kind == "error":
            yield line(("bad", "✗ "), f"the MCP server {name} failed: {about(item)}")
        elif kind == "authRequired":
            told = f"{hint('mcp', 'login', word_for(item))} hands over a token"
            yield line(("ask", "⚿ "), f"the MCP server {name} needs you to sign in: {told}")


def server_kinds(servers: Sequence[CustomizationItem]) -> dict[str, str]:
    """Return the states of servers by id, for ``server_notes``."""
    return {item.id: str(_state(item).get("kind")) for item in servers}


def servers_lines(session: Json, width: int) -> list[StyledLine]:
    """Return the servers of a session, with how they fare."""
    items = servers_in(session)
    if not items:
        return [line(("dim", "· there are no MCP servers; .mcp.json in the folder declares some"))]
    rows = [(f"  {cell(item.name, MOST_NAME)}", state_word(item)[0], about(item)) for item in items]
    lines = [line(text) for text in table(rows, width=width, flexible=2)]
    log = f"{hint('mcp', 'log', word_for(items[0]))} shows what it prints"
    rest = (line(("dim", f"   {told}")) for told in ("/servers start|stop|restart NAME", log))
    return [EMPTY, *lines, *rest]


def agents_lines(
    agents: Sequence[CustomizationItem], chosen: str | None, width: int
) -> list[StyledLine]:
    """Return the custom agents of a session, the chosen one marked."""
    if not agents:
        return [line(("dim", "· there are no custom agents; .agents/agents/NAME.md makes one"))]
    rows = [
        (
            f" {'*' if item.uri == chosen else ' '}{cell(item.name, MOST_NAME)}",
            "" if item.invocable else state_word(item)[0],
            about(item),
        )
        for item in agents
    ]
    lines = [line(text) for text in table(rows, width=width, flexible=2)]
    return [EMPTY, *lines, line(("dim", "   /agent NAME chooses one, /agent none goes back"))]


# The approval mode.


def approval_modes(schema: Json | None) -> list[tuple[str, str]]:
    """Return the approval modes that a session knows, each with its label."""
    setting = ((schema or {}).get("properties") or {}).get(APPROVALS) or {}
    labels = setting.get("enumLabels") or ()
    return [
        (str(mode), cell(str(labels[index]), MOST_NAME) if index < len(labels) else str(mode))
        for index, mode in enumerate(setting.get("enum") or ())
    ]


def approval_mode(modes: Sequence[tuple[str, str]], word: str) -> str | None:
    """Return the mode that a typed word means: its name, its label, or a part of the label."""
    word = word.casefold()
    named = _SAME.get(word, word)
    for mode, label in modes:
        if named in (mode, mode.casefold(), label.casefold()):
            return mode
    found = [mode for mode, label in modes if word in label.casefold()]
    return found[0] if len(found) == 1 else None


def approvals_lines(modes: Sequence[tuple[str, str]], current: str | None) -> list[StyledLine]:
    """Return the approval modes, the current one marked."""
    if not modes:
        return [line(("dim", "· this agent has no approval modes"))]
    listed = [
        line(f" {'*' if mode == (current or modes[0][0]) else ' '}", ("key", mode), f"  {label}")
        for mode, label in modes
    ]
    return [EMPTY, *listed, line(("dim", "   /mode MODE changes it, also during a turn"))]


def approval_word(modes: Sequence[tuple[str, str]], current: str | None) -> str:
    """Return what the status bar says of the mode: nothing while everything is asked about."""
    if current in (None, _ASK):
        return ""
    return dict(modes).get(str(current), cell(str(current), MOST_NAME)).lower()


def _state(item: CustomizationItem) -> Json:
    members: Json = item.value
    state = members.get("state")
    return state if isinstance(state, Mapping) else {}
