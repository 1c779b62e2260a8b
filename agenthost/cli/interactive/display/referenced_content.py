"""File contents and long inputs that tool calls refer to, fetched and cached for display.

Fetched once, in the background, and kept for as long as it is likely to be looked at again. What
cannot be fetched or shown is said in its place: nobody should approve a blank.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from agenthost.cli.format.diff_rows import diff_rows
from agenthost.cli.format.state_format import directory_text
from agenthost.cli.format.terminal_text import one_line, visible
from agenthost.cli.interactive.display import diffs
from agenthost.cli.interactive.display.styled_text import StyledLine, hard_wrap, line, wrap
from agenthost.client import Client
from agenthost.errors import AgentHostError

Json = Mapping[str, Any]

LARGEST = 2 * 1024 * 1024
"""Bytes of a file that are fetched to be compared; nobody reads a longer one here."""

READING = 5.0
"""Seconds in which content must have been read."""

MOST_KEPT = 64
"""Edits and inputs that are kept."""

VIEW_HINT = "v shows the whole diff"
"""The key that opens a diff in the pager, for the first heading of what is asked about."""

MOST_WAYS = 4
"""Widths and lengths in which the lines of one thing are kept."""

_Drawn: TypeAlias = tuple[str, int, int]


@dataclass(frozen=True, slots=True)
class _Known:
    """Fetched content: one edit or one input."""

    heading: str
    what: str = ""
    # The rows of a diff, or of a text.
    rows: Sequence[str] = ()
    is_diff: bool = True
    # Lines that a diff adds and removes, counted here: whoever asks may tell what they like.
    added: int = 0
    removed: int = 0
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
        self._drawn: dict[_Drawn, list[StyledLine]] = {}

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

    def edit_lines(
        self, edit: Json, width: int, most: int | None = None
    ) -> Iterable[StyledLine] | None:
        """Return an edit's diff as lines, all or the beginning; None while it is not known."""
        return self._lines(_edit_key(edit), width, most)

    def preview_lines(
        self, call: Json, width: int, *, hint: str = "", most: int | None = None
    ) -> list[StyledLine]:
        """Return all known content of a call, each edit with its file's name.

        Args:
            call: the call that is asked about.
            width: columns of a line.
            hint: how to see more of it, said with the first diff.
            most: lines of one edit; one more says how much is left out.
        """
        lines: list[StyledLine] = []
        edits = edits_of(call)
        for number, edit in enumerate(edits):
            known = self._known.get(_edit_key(edit))
            if most is not None and len(lines) > most:
                # More than a screen of them; the count of files says the rest.
                lines.append(line(("dim", f"… {len(edits) - number:,} more files · /show")))
                break
            if known is not None:
                told = hint if not lines and not known.problem else ""
                lines += _heading(known, told, width)
                lines += self.edit_lines(edit, width, most) or ()
        return [*lines, *(self.input_lines(call, width, most) or ())]

    def input_lines(
        self, call: Json, width: int, most: int | None = None
    ) -> list[StyledLine] | None:
        """Return an input that is a reference; None while it is not known, or there is none."""
        given = call.get("toolInput")
        found = self._lines(given["uri"], width, most) if isinstance(given, Mapping) else None
        return None if found is None else list(found)

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

    def _lines(self, key: str, width: int, most: int | None) -> Iterable[StyledLine] | None:
        known = self._known.get(key)
        if known is None:
            return None
        if most is None:
            # As they are taken, perhaps by another thread: a pager's.
            return _whole(known, width)
        if (key, width, most) not in self._drawn:
            # One thing is drawn in few ways; further ones are of a terminal that changed.
            if sum(drawn[0] == key for drawn in self._drawn) >= MOST_WAYS:
                self._drawn = {d: lines for d, lines in self._drawn.items() if d[0] != key}
            self._drawn[key, width, most] = list(_beginning(known, width, most))
        return self._drawn[key, width, most]

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
        rows, added, removed = await asyncio.to_thread(_counted_diff, *texts)
        shown = rows or ["  (the content stays the same)"]
        return _Known(_name(edit), what, shown, added=added, removed=removed)

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


def _counted_diff(before: str | None, after: str | None) -> tuple[list[str], int, int]:
    rows = diff_rows(before, after)
    return rows, *diffs.counts(rows)


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


def _heading(known: _Known, hint: str, width: int) -> list[StyledLine]:
    # The name is whole: the end of a long path says the most.
    name = line(("bold", visible(known.heading)))
    counts = [] if known.problem else diffs.count_fragments(known.added, known.removed)
    told = line(("dim", f"{known.what} "), *counts)
    for more in (("dim", f" · {hint}" if hint else ""), ("", "")):
        in_one = hard_wrap(line(*name, "  ", *told, more), width)
        if len(in_one) == 1:
            return in_one
    # Where there is little room, the last row of what is asked says it too.
    return [*hard_wrap(name, width), *wrap(told, width)]


def _whole(known: _Known, width: int) -> Iterator[StyledLine]:
    if known.problem:
        yield from hard_wrap(line(("bad", known.problem)), width)
    elif known.is_diff:
        yield from diffs.whole(known.rows, width)
    else:
        for row in known.rows:
            yield from hard_wrap(line(("code", visible(row))), width)


def _beginning(known: _Known, width: int, most: int) -> Iterable[StyledLine]:
    if known.is_diff and not known.problem:
        return diffs.beginning(known.rows, width, most)
    return _cut(_whole(known, width), most)


def _cut(lines: Iterable[StyledLine], most: int) -> Iterator[StyledLine]:
    for number, row in enumerate(lines):
        if number == most:
            yield line(("dim", "… more · /show"))
            return
        yield row
