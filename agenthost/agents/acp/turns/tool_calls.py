"""A tool call of the agent, shown as a tool call of the turn.

The agent sends its view of a call in pieces, each replacing what it names. This keeps the sum of
them, and brings the turn's call to where it says. What people were asked is theirs to answer: while
they are, the agent's words about the call wait, unless it ends the call itself.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from acp.schema import (
    ContentToolCallContent,
    FileEditToolCallContent,
    PermissionOption,
    RequestPermissionResponse,
    TerminalToolCallContent,
    ToolCallUpdate,
)
from acp.schema import ToolCall as AcpToolCall

from agenthost.agents import content
from agenthost.agents.acp.connection.terminals import Terminal, Terminals
from agenthost.agents.acp.turns.content_blocks import as_content, as_edit, as_text, text_of
from agenthost.agents.acp.turns.permissions import as_options, cancelled, may_allow_once, verdict
from agenthost.agents.common_settings import NeededMode
from agenthost.agents.folders import FileRefused, Folders
from agenthost.agents.tool_call import ToolCall
from agenthost.agents.turn import Turn
from agenthost.protocol.markdown import without_code_marks

Content = ContentToolCallContent | FileEditToolCallContent | TerminalToolCallContent

_LABELS = {
    "read": "Read",
    "edit": "Edit",
    "delete": "Delete",
    "move": "Move",
    "search": "Search",
    "execute": "Run",
    "think": "Think",
    "fetch": "Fetch",
    "switch_mode": "Switch mode",
}
# What a kind is to programs that show some kinds of tools in their own way.
_TOOL_KINDS = {"read": "read", "search": "search", "execute": "terminal"}
# How some agents name the tools of MCP servers.
_MCP_TOOL = re.compile(r"mcp__(?P<server>[^\s`]{1,80}?)__[^\s`]{1,80}")
_FIELDS = ("kind", "status", "title", "content", "locations", "raw_input", "raw_output")
# Raw output beyond this is left to the content.
MOST_RAW = 64 * 1024
# A reason is a sentence; the content has the rest.
MOST_REASON = 300
_ENDED = ("completed", "cancelled")


# What one piece of a call's content has become: text, a terminal (in which people see what is
# printed, or whose output is text), or blocks.
Part = str | Terminal | list[dict[str, Any]]
OpenCall = Callable[[ToolCall], Awaitable[ToolCall]]


class ShownToolCall:
    """One tool call of the agent and its tool call in the turn."""

    def __init__(
        self,
        turn: Turn,
        terminals: Terminals,
        folders: Folders,
        open_call: OpenCall,
        contributor: Callable[[str], Mapping[str, Any] | None] = lambda title: None,
    ) -> None:
        self._turn = turn
        self._terminals = terminals
        self._folders = folders
        self._folder = str(folders.primary)
        self._open_call = open_call
        # Says whose tool a call is, by its title.
        self._contributor = contributor
        # Whether what was called over a bridge is shown by this.
        self._is_taken = False
        # What the agent has said, by field, and what its content has become.
        self._said: dict[str, Any] = {}
        self._parts: list[Part] = []
        # The turn's call; another one when the agent takes up a call that has ended.
        self._call: ToolCall | None = None
        # Held while people are asked.
        self._asking = asyncio.Lock()
        # What the running call shows: text by where it comes from, and other content.
        self._shown_texts: dict[str, str] = {}
        self._shown: list[dict[str, Any]] = []
        # Edits that are stored already, by path and both texts.
        self._edits: dict[tuple[str, str | None, str], dict[str, Any]] = {}

    async def update(self, update: AcpToolCall | ToolCallUpdate) -> None:
        """Record an update of the call and show it."""
        call = await self._record(update)
        await self._advance(call)

    async def request(self, update: ToolCallUpdate) -> ToolCall:
        """Record what a permission request says of the call; return the call to ask about."""
        call = await self._record(update)
        if call.status in _ENDED:
            # It was refused or over, and the agent tries again.
            self._call, self._said["status"] = None, "pending"
            self._shown_texts, self._shown = {}, []
            call = await self._started()
        return call

    @property
    def said_title(self) -> str:
        """The call's title as the agent said it; empty if it has not."""
        return str(self._said.get("title") or "")

    async def take_up(self) -> ToolCall | None:
        """Show by this call what was called over a bridge; None if it cannot be, or is done.

        That it was called says that it runs, whether the agent says so or not.
        """
        call = self._call
        if self._is_taken or call is None or self._asking.locked():
            return None
        if call.status == "streaming":
            await call.start(self._input, invocation=self._title)
        self._is_taken = call.status == "running"
        return call if self._is_taken else None

    async def ask(
        self, call: ToolCall, options: Sequence[PermissionOption]
    ) -> RequestPermissionResponse:
        """Ask people whether a call may run, with the agent's own options."""
        async with self._asking:
            answer = await call.confirm(
                self._title,
                input=self._input,
                invocation=self._title,
                options=as_options(options),
                edits=self._previews() or None,
                rememberable=False,
                mode=self._mode() if may_allow_once(options) else None,
            )
            # Asking took what was shown off the call.
            self._shown_texts, self._shown = {}, []
        if self._said.get("status") in ("completed", "failed"):
            return cancelled()
        await self._advance(call)
        return verdict(answer, options)

    def _mode(self) -> NeededMode:
        """Return what the session must allow for the call to run without asking."""
        if self._said.get("kind") != "edit":
            return "everything"
        paths = {path for path, _, _ in self._edits}
        paths |= {place.path for place in self._said.get("locations") or ()}
        return "edits" if paths and all(map(self._is_inside, paths)) else "everything"

    def _is_inside(self, path: str) -> bool:
        try:
            # What git runs by itself is more than an edit.
            return ".git" not in self._folders.resolve(path).parts
        except FileRefused:
            return False

    def _previews(self) -> list[dict[str, Any]]:
        blocks = [block for part in self._parts if isinstance(part, list) for block in part]
        edits = [block for block in blocks if block["type"] == "fileEdit"]
        return [{key: edit[key] for key in edit if key != "type"} for edit in edits]

    @property
    def _title(self) -> str:
        title = self._said.get("title") or _LABELS.get(self._said.get("kind", ""), "Tool")
        # Agents write it as markdown; clients show it as it is.
        return without_code_marks(str(title))

    @property
    def _input(self) -> str | None:
        raw = self._said.get("raw_input")
        return None if raw is None else _as_text(raw)[:MOST_RAW]

    async def _record(self, update: AcpToolCall | ToolCallUpdate) -> ToolCall:
        given = {name: getattr(update, name) for name in _FIELDS}
        self._said |= {name: value for name, value in given.items() if value is not None}
        call = await self._started()
        if update.content is not None:
            self._parts = [await self._part(item, call) for item in update.content]
        return call

    async def _started(self) -> ToolCall:
        if self._call is None:
            kind = self._said.get("kind") or "other"
            self._call = self._turn.tool(
                kind,
                input=self._input,
                display_name=_LABELS.get(kind, "Tool"),
                intention=self._title,
                invocation=self._title,
                meta=_meta(kind, self.said_title),
                contributor=self._contributor(self.said_title),
            )
            await self._open_call(self._call)
        return self._call

    async def _part(self, item: Content, call: ToolCall) -> Part:
        match item:
            case FileEditToolCallContent():
                return [content.file_edit(await self._edit(item))]
            case TerminalToolCallContent():
                return self._terminal(item.terminal_id, call)
            case ContentToolCallContent():
                text = text_of(item.content)
                return await as_content(self._turn, item.content) if text is None else text

    async def _edit(self, diff: FileEditToolCallContent) -> dict[str, Any]:
        key = (diff.path, diff.old_text, diff.new_text)
        if key not in self._edits:
            self._edits[key] = await as_edit(self._turn, diff, self._folder)
        return self._edits[key]

    def _terminal(self, id: str, call: ToolCall) -> Part:
        for part in self._parts:
            # One that is shown already may have been released since.
            if isinstance(part, Terminal) and part.id == id:
                return part
        terminal = self._terminals.get(id)
        if terminal is None:
            return []
        terminal.listeners.append(lambda: self._advance(call))
        return terminal

    async def _advance(self, call: ToolCall) -> None:
        """Bring the turn's call to the status that the agent reported."""
        said, status = self._said.get("status"), call.status
        if status in _ENDED:
            return
        if said == "completed":
            await call.complete(self._title, await self._result(), structured=self._facts())
        elif said == "failed":
            await self._fail(call)
        elif not self._asking.locked():
            if said == "in_progress" and status == "streaming":
                await call.start(self._input, invocation=self._title)
            await self._show(call)

    async def _show(self, call: ToolCall) -> None:
        if call.status != "running":
            return
        # What was shown cannot be taken back before the end, only added to.
        for source, text in _texts(self._parts).items():
            before = self._shown_texts.get(source, "")
            if text.startswith(before) and text != before:
                more = text[len(before) :]
                # The newest source stands last, and each begins on a line of its own.
                newest = next(reversed(self._shown_texts), source)
                gap = "" if newest == source or self._shown_texts[newest].endswith("\n") else "\n"
                self._shown_texts.pop(source, None)
                self._shown_texts[source] = text
                await call.write(gap + more)
        blocks = [block for part in self._parts for block in _blocks(part)]
        known = len(self._shown)
        if blocks[:known] == self._shown and len(blocks) > known:
            self._shown = blocks
            await call.show(*blocks[known:])

    async def _fail(self, call: ToolCall) -> None:
        if call.status == "streaming":
            await call.start(self._input, invocation=self._title)
        await self._show(call)
        if any(isinstance(part, Terminal) and part.block for part in self._parts):
            # How its command ended is part of what is known of the terminal.
            await call.replace(*await self._result())
        texts = [part for part in self._parts if isinstance(part, str)]
        texts += [part.output for part in self._parts if isinstance(part, Terminal)]
        words = "\n".join(texts) or _as_text(self._said.get("raw_output") or "")
        lines = [line.strip() for line in words.splitlines() if line.strip()]
        await call.fail(lines[-1][:MOST_REASON] if lines else "the agent says that it failed")

    async def _result(self) -> list[dict[str, Any]]:
        blocks: list[dict[str, Any]] = []
        for part in self._parts:
            blocks += _blocks(part)
            if not isinstance(part, list):
                blocks += await as_text(self._turn, part if isinstance(part, str) else part.output)
        if not blocks and self._said.get("raw_output") is not None:
            blocks = await as_text(self._turn, _as_text(self._said["raw_output"]))
        return [*blocks, *self._places()]

    def _places(self) -> list[dict[str, Any]]:
        """Return the files that the call touched, except those whose edits are shown."""
        edited = {path for path, _, _ in self._edits}
        places = dict.fromkeys(place.path for place in self._said.get("locations") or ())
        return [
            content.resource({"uri": (Path(self._folder) / path).as_uri()})
            for path in places
            if path not in edited
        ]

    def _facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = {"kind": self._said.get("kind") or "other"}
        if places := self._said.get("locations"):
            facts["locations"] = [
                place.model_dump(include={"path", "line"}, exclude_none=True) for place in places
            ]
        output = self._said.get("raw_output")
        if output is not None and len(_as_text(output)) <= MOST_RAW:
            facts["rawOutput"] = output
        codes = [part.exit_code for part in self._parts if isinstance(part, Terminal)]
        if codes and codes[-1] is not None:
            facts["exitCode"] = codes[-1]
        return facts


def _meta(kind: str, title: str) -> dict[str, str] | None:
    """Return a call's metadata for programs."""
    meta = {"toolKind": _TOOL_KINDS[kind]} if kind in _TOOL_KINDS else {}
    tool = _MCP_TOOL.fullmatch(title)
    return (meta | {"mcpServerName": tool["server"]} if tool else meta) or None


def _blocks(part: Part) -> list[dict[str, Any]]:
    """Return what a part shows besides text."""
    if isinstance(part, Terminal):
        return [part.block] if part.block is not None else []
    return part if isinstance(part, list) else []


def _texts(parts: Sequence[Part]) -> dict[str, str]:
    """Return texts by source: terminals that are no more than text by id, others by number."""
    others = [part for part in parts if isinstance(part, str)]
    texts = {str(number): text for number, text in enumerate(others)}
    plain = (part for part in parts if isinstance(part, Terminal) and part.block is None)
    return texts | {part.id: part.output for part in plain}


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
