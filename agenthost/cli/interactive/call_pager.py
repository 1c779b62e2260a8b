"""A tool call from its first to its last line, in the pager."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agenthost.cli.format.terminal_text import one_line
from agenthost.cli.interactive.display.blocks import call_in_full
from agenthost.cli.interactive.display.styled_text import EMPTY
from agenthost.cli.pager import page_if_long

if TYPE_CHECKING:
    from agenthost.cli.interactive.conversation import Conversation


async def page_call(at: Conversation, call: Mapping[str, Any]) -> None:
    """Show all of a call: its input, its diff, its output; where no pager is, print it."""
    width = at.screen.size[0]
    await at.content.fetch(call)
    kept_input = at.content.input_lines(call, width - 2)
    lines = call_in_full(call, width, at.content.edit_lines, kept_input)
    title = one_line(str(call.get("displayName", "tool call")))
    printed = await page_if_long(lines, title=title, screen=at.screen, rows=0)
    if printed:
        at.note(EMPTY, *printed)
