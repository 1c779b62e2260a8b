"""Diffs of edited files as styled lines. Pure; what changed is ``diff_rows``' to say."""

from __future__ import annotations

from collections.abc import Sequence

from agenthost.cli.format.terminal_text import visible
from agenthost.cli.interactive.display.styled_text import StyledLine, hard_wrap, line

_STYLES = {"+": "good", "-": "bad", "@": "dim", "\\": "dim"}


def styled(rows: Sequence[str], width: int) -> list[StyledLine]:
    """Return the rows of a diff as styled lines of a width, with nothing hidden in them."""
    return [
        part
        for row in rows
        for part in hard_wrap(line((_STYLES.get(row[:1], ""), visible(row))), width)
    ]
