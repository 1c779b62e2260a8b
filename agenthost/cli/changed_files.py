"""The files that a session, a turn or a branch changed, with their diffs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from agenthost.cli.format.diff_format import FileDiff, describe_file
from agenthost.cli.format.diff_rows import diff_rows
from agenthost.cli.format.terminal_text import one_line
from agenthost.errors import AgentHostError

if TYPE_CHECKING:
    from agenthost.client import Session
    from agenthost.client.changes import ChangesView
    from agenthost.protocol.changeset import ChangesetFile

Json = Mapping[str, Any]

LARGEST = 2 * 1024 * 1024
"""Bytes of a file that are compared; a larger one is named only."""

COMPUTING = 120.0
"""Seconds in which a host must have found out what was changed."""

# Lines around a change, as git shows them.
_CONTEXT = 3
# Files that are fetched at the same time.
_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class ChangedFiles:
    """The changed files of a session."""

    session: Session
    view: ChangesView
    files: Sequence[ChangesetFile]

    def described(self) -> list[FileDiff]:
        """Return the files as the host describes them."""
        directories = self.session.state.get("workingDirectories") or []
        described = [describe_file(file, directories) for file in self.files]
        return [
            replace(item, is_binary=item.added is None and _is_kept(file))
            for file, item in zip(self.files, described, strict=True)
        ]

    async def compared(self, *, keep_returns: bool) -> AsyncIterator[FileDiff]:
        """Yield the files with their diffs, in order; some are fetched at the same time."""
        pairs = list(zip(self.files, self.described(), strict=True))
        for start in range(0, len(pairs), _AT_ONCE):
            batch = pairs[start : start + _AT_ONCE]
            work = (self._compare(file, item, keep_returns) for file, item in batch)
            for compared in await asyncio.gather(*work):
                yield compared

    async def _compare(self, file: ChangesetFile, item: FileDiff, keep_returns: bool) -> FileDiff:
        """Return a file with its diff, or with why it has none."""
        if not _is_kept(file) and await self._is_folder(item.uri):
            return replace(item, unshown="a submodule, which is at another commit")
        size = max(_size_hint(file, name) for name in ("before", "after"))
        if size > LARGEST:
            return replace(item, unshown=f"too large to be shown: {size:,} bytes")
        try:
            before, after = await self.view.contents(file)
        except (AgentHostError, TimeoutError) as error:
            why = one_line(str(error)) or "no answer in time"
            return replace(item, unshown=f"cannot be shown: {why}")
        if max(len(before or b""), len(after or b"")) > LARGEST:
            return replace(item, unshown=f"too large to be shown: {_sizes(before, after)}")
        try:
            texts = _text(before), _text(after)
        except ValueError:
            return replace(item, unshown=_sizes(before, after), is_binary=True)
        # Elsewhere, so that what comes from the host is read meanwhile.
        rows = await asyncio.to_thread(
            diff_rows, *texts, context=_CONTEXT, keep_returns=keep_returns
        )
        if item.added is not None:
            return replace(item, rows=rows)
        added, removed = (sum(row.startswith(sign) for row in rows) for sign in "+-")
        return replace(item, rows=rows, added=added, removed=removed, is_binary=False)

    async def _is_folder(self, uri: str) -> bool:
        """Return whether what changed is a folder, as a submodule is."""
        try:
            return (await self.session.files.stat(uri))["type"] == "directory"
        except (AgentHostError, TimeoutError):
            return False


def _text(data: bytes | None) -> str | None:
    """Return the text of a file.

    Raises:
        ValueError: it is none, as git sees it.
    """
    if data is None:
        return None
    if b"\0" in data:
        raise ValueError("it holds a NUL")
    return data.decode()


def _sizes(before: bytes | None, after: bytes | None) -> str:
    if before is None or after is None:
        return f"{len(before or after or b''):,} bytes"
    return f"{len(before):,} bytes before, {len(after):,} now"


def _size_hint(file: Json, name: str) -> int:
    content = (file["edit"].get(name) or {}).get("content") or {}
    hint: int = content.get("sizeHint") or 0
    return hint


def _is_kept(file: Json) -> bool:
    """Return whether the host kept what was in a file, rather than naming the file itself."""
    sides = [file["edit"].get(name) or {} for name in ("before", "after")]
    return any((side.get("content") or {}).get("uri") != side.get("uri") for side in sides if side)
