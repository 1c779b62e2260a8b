"""File contents and long inputs that tool calls refer to, fetched and cached for display.

Fetched once, in the background, and kept for as long as it is likely to be looked at again. What
cannot be fetched or shown is said in its place: nobody should approve a blank.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agenthost.cli.format.diff_rows import diff_rows
from agenthost.cli.format.state_format import directory_text
from agenthost.cli.format.terminal_text import one_line, visible
from agenthost.cli.interactive.display import diffs
from agenthost.cli.interactive.display.styled_text import StyledLine, hard_wrap, line
from agenthost.client import Client
from agenthost.errors import AgentHostError

Json = Mapping[str, Any]

LARGEST = 2 * 1024 * 1024
"""Bytes of a file that are fetched to be compared; nobody reads a longer one here."""

READING = 5.0
"""Seconds in which content must have been read."""

MOST_KEPT = 64
"""Edits and inputs that are kept."""


@dataclass(frozen=True, slots=True)
class _Known:
    """Fetched content: one edit or one input."""

    heading: str
    what: str = ""
    # The rows of a diff, or of a text.
    rows: Sequence[str] = ()
    is_diff: bool = True
    # Why there is nothing to see.
    problem: str = ""


class ReferencedContent:
    """Fetches the content that tool calls refer to, and shows it."""

    def __init__(self, client: Client, on_change: Callable[[], None]) -> None:
        self._client = client
        self._on_change = on_change
        # By what they are made of; the oldest go first.
        self._known: dict[str, _Known] = {}
        self._reading: dict[str, asyncio.Task[None]] = {}
        # All that was ever fetched without being asked for: what was let go is not fetched again.
        self._wanted: set[str] = set()
        # Lines as they were last asked for: they are drawn again and again.
        self._drawn: dict[tuple[str, int], list[StyledLine]] = {}

    def prefetch(self, call: Json) -> None:
        """Start to fetch the content of a call, unless that was done before."""
        for key, item in _references(call):
            if key not in self._wanted:
                self._begin(key, item)

    def is_loading(self, call: Json) -> bool:
        """Return whether content of a call is being fetched."""
        return any(key in self._reading for key, _ in _references(call))

    async def fetch(self, call: Json) -> None:
        """Fetch all content of a call and wait for it; failed content is tried again."""
        for key, item in _references(call):
            known = self._known.get(key)
            if (known is None or known.problem) and key not in self._reading:
                self._begin(key, item)
        tasks = [self._reading[key] for key, _ in _references(call) if key in self._reading]
        if tasks:
            await asyncio.wait(tasks)

    def retry_failed(self) -> None:
        """Let failed content be fetched again."""
        failed = [key for key, known in self._known.items() if known.problem]
        for key in failed:
            self._forget(key)
            self._wanted.discard(key)

    def edit_lines(self, edit: Json, width: int) -> list[StyledLine] | None:
        """Return an edit's diff as lines; None while it is not known."""
        return self._lines(_edit_key(edit), width)

    def preview_lines(self, call: Json, width: int) -> list[StyledLine]:
        """Return all known content of a call, each edit with its file's name."""
        lines: list[StyledLine] = []
        for edit in edits_of(call):
            known = self._known.get(_edit_key(edit))
            if known is not None:
                # Whole: the end of a long path says the most.
                heading = line(("bold", visible(known.heading)), ("dim", f"  {known.what}"))
                lines += [*hard_wrap(heading, width), *(self.edit_lines(edit, width) or ())]
        return lines + (self.input_lines(call, width) or [])

    def input_lines(self, call: Json, width: int) -> list[StyledLine] | None:
        """Return an input that is a reference; None while it is not known, or there is none."""
        given = call.get("toolInput")
        return self._lines(given["uri"], width) if isinstance(given, Mapping) else None

    async def close(self) -> None:
        """Stop fetching."""
        tasks = list(self._reading.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _begin(self, key: str, item: Json) -> None:
        self._wanted.add(key)
        self._forget(key)
        self._reading[key] = asyncio.create_task(self._read(key, item), name="read content")

    def _forget(self, key: str) -> None:
        self._known.pop(key, None)
        self._drawn = {drawn: lines for drawn, lines in self._drawn.items() if drawn[0] != key}

    def _lines(self, key: str, width: int) -> list[StyledLine] | None:
        known = self._known.get(key)
        if known is None:
            return None
        if (key, width) not in self._drawn:
            # One thing is drawn in two widths at most; further ones are of a terminal that changed.
            if sum(drawn[0] == key for drawn in self._drawn) > 1:
                self._drawn = {d: lines for d, lines in self._drawn.items() if d[0] != key}
            self._drawn[key, width] = list(_drawn(known, width))
        return self._drawn[key, width]

    async def _read(self, key: str, item: Json) -> None:
        try:
            async with asyncio.timeout(READING):
                known = await (self._compare(item) if _is_edit(item) else self._input(item))
        except (AgentHostError, TimeoutError) as error:
            why = one_line(str(error)) or "no answer in time"
            known = _Known(_name(item), problem=f"this cannot be shown: {why}")
        finally:
            self._reading.pop(key, None)
        while len(self._known) >= MOST_KEPT:
            self._forget(next(iter(self._known)))
        self._known[key] = known
        self._on_change()

    async def _compare(self, edit: Json) -> _Known:
        before, after = edit.get("before"), edit.get("after")
        what = "new file" if before is None else "deleted" if after is None else "changed"
        if before is not None and after is not None and before["uri"] != after["uri"]:
            what = f"moved from {visible(directory_text(before['uri']))}"
        texts: list[str | None] = []
        for side in (before, after):
            text, problem = await self._text(side["content"]) if side is not None else (None, "")
            if problem:
                return _Known(_name(edit), what, problem=problem)
            texts.append(text)
        # Not here, because others type meanwhile.
        rows = await asyncio.to_thread(diff_rows, *texts)
        return _Known(_name(edit), what, rows or ["  (the content stays the same)"])

    async def _input(self, ref: Json) -> _Known:
        text, problem = await self._text(ref)
        return _Known("", rows=(text or "").split("\n"), is_diff=False, problem=problem)

    async def _text(self, ref: Json) -> tuple[str, str]:
        """Return the text of a reference, or why it cannot be shown."""
        if ref.get("sizeHint", 0) > LARGEST:
            return "", f"too large to be shown here: {ref['sizeHint']:,} bytes"
        read = await self._client.request("resourceRead", {"uri": ref["uri"]})
        if read["encoding"] != "utf-8":
            return "", f"not text: {len(read['data']) * 3 // 4:,} bytes"
        if len(read["data"]) > LARGEST:
            return "", f"too large to be shown here: {len(read['data']):,} characters"
        return str(read["data"]), ""


def edits_of(call: Json) -> list[Json]:
    """Return the edits that a tool call made, or else those that it is about to make."""
    made = [block for block in call.get("content") or () if block["type"] == "fileEdit"]
    return made or list((call.get("edits") or {}).get("items") or ())


def _references(call: Json) -> Iterator[tuple[str, Json]]:
    for edit in edits_of(call):
        yield _edit_key(edit), edit
    given = call.get("toolInput")
    if isinstance(given, Mapping):
        yield given["uri"], given


def _edit_key(edit: Json) -> str:
    sides = (edit.get(side) or {} for side in ("before", "after"))
    return "\n".join(f"{side.get('uri')} {side.get('content', {}).get('uri')}" for side in sides)


def _is_edit(item: Json) -> bool:
    return "before" in item or "after" in item


def _name(item: Json) -> str:
    side = item.get("after") or item.get("before") or {}
    return directory_text(side.get("uri", ""))


def _drawn(known: _Known, width: int) -> Iterator[StyledLine]:
    if known.problem:
        yield from hard_wrap(line(("bad", known.problem)), width)
    elif known.is_diff:
        yield from diffs.styled(known.rows, width)
    else:
        for row in known.rows:
            yield from hard_wrap(line(("code", visible(row))), width)
