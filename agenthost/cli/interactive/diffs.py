"""What an edit would change, as lines of a diff. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from agenthost.cli.interactive.text import Line, hard_wrap, line, visible

__all__ = ["diff_lines"]

_STYLES = {"+": "good", "-": "bad", "@": "dim"}


def diff_lines(name: str, before: str | None, after: str | None, width: int) -> list[Line]:
    """Return a file's change; None stands for no file."""
    what = "new file" if before is None else "deleted" if after is None else "changed"
    return [
        line(("bold", visible(name)), ("dim", f"  {what}")),
        *_changes((before or "").splitlines(), (after or "").splitlines(), width),
    ]


def _changes(before: list[str], after: list[str], width: int) -> Iterator[Line]:
    for number, text in enumerate(difflib.unified_diff(before, after, n=2, lineterm="")):
        # The first two name the files, which the line above does already.
        if number > 1:
            yield from hard_wrap(line((_STYLES.get(text[0], ""), visible(text))), width)
