"""What tool calls do while they do it: what their terminals print, and what they edited.

On standard error, line by line. Whether a call may run at all is ``auto_answers``' to say.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from typing import Any

from agenthost.cli.format.diff_rows import diff_rows
from agenthost.cli.format.state_format import content_text, running_terminals, tool_output
from agenthost.cli.format.terminal_text import Style, one_line, safe_text, visible
from agenthost.cli.headless.answer_output import Output
from agenthost.client import ChannelGone, Client
from agenthost.errors import AgentHostError
from agenthost.tasks import Tasks

Json = Mapping[str, Any]

READING = 5.0
"""Seconds in which an edit must have been read, and in which the end of an output must be there."""

LARGEST = 256 * 1024
"""Bytes of a file that are compared; nobody reads a longer one here."""

MOST_ROWS = 40
"""Rows of one file's diff."""

_STYLES: Mapping[str, Style] = {"+": "green", "-": "red"}


class ToolProgress:
    """Tells what the tool calls of one turn do; all of it only with ``--verbose``."""

    def __init__(self, client: Client, out: Output) -> None:
        self._client = client
        self._out = out
        self._tasks = Tasks()
        # The terminals that were followed, and who follows them.
        self._streams: dict[str, asyncio.Task[None]] = {}

    async def tell(self, call: Json, *, is_news: bool) -> None:
        """Tell what is new of a call; ``is_news`` is whether it has come further."""
        if self._out.verbose:
            for uri in running_terminals(call):
                if uri not in self._streams:
                    self._streams[uri] = self._tasks.start(self._stream(uri), "stream a terminal")
        if is_news and call["status"] == "completed":
            await self._tell_end(call)

    async def close(self) -> None:
        """Stop following terminals."""
        await self._tasks.close()

    async def _tell_end(self, call: Json) -> None:
        blocks = list(call.get("content") or ())
        followed = [block for block in blocks if block.get("resource") in self._streams]
        for block in followed:
            # It ends with the terminal's program, which has ended.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(READING):
                    await asyncio.shield(self._streams[block["resource"]])
        for block in blocks:
            if block["type"] == "fileEdit":
                self._out.note(one_line(content_text(block)), "cyan")
                await self._tell_edit(block)
        if self._out.verbose:
            # What it printed was told as it came, and so was what it edited.
            told = ("text", "terminal", "fileEdit") if followed else ("fileEdit",)
            rest = {**call, "content": [block for block in blocks if block["type"] not in told]}
            self._out.note(safe_text(tool_output(rest)), "dim")

    async def _stream(self, uri: str) -> None:
        rest = ""
        with contextlib.suppress(ChannelGone, AgentHostError, TimeoutError):
            async with await self._client.terminals.open(uri) as terminal:
                async for text in terminal.output():
                    *lines, rest = (rest + text).split("\n")
                    for line in lines:
                        self._out.note(safe_text(line, overwrite=True) or " ", "dim")
        self._out.note(safe_text(rest, overwrite=True), "dim")

    async def _tell_edit(self, edit: Json) -> None:
        """Print the diff of an edit."""
        if not self._out.verbose:
            return
        sides = [edit.get(name) for name in ("before", "after")]
        refs = [None if side is None else side["content"] for side in sides]
        if any((ref or {}).get("sizeHint", 0) > LARGEST for ref in refs):
            return
        try:
            async with asyncio.timeout(READING):
                texts = [
                    None if ref is None else await self._client.files.read_text(ref["uri"])
                    for ref in refs
                ]
        except (AgentHostError, TimeoutError) as error:
            self._out.note(f"  cannot be shown: {one_line(str(error)) or 'no answer'}", "yellow")
            return
        rows = await asyncio.to_thread(diff_rows, *texts)
        for row in rows[:MOST_ROWS]:
            self._out.note(f"  {visible(row)}", _STYLES.get(row[:1], "dim"))
        if len(rows) > MOST_ROWS:
            self._out.note(f"  … {len(rows) - MOST_ROWS:,} more rows", "dim")
