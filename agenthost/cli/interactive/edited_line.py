"""What is typed in a conversation, edited in the user's own editor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agenthost.cli.interactive.text_editor import NotEdited, edit_text

if TYPE_CHECKING:
    from agenthost.cli.interactive.conversation import Conversation


async def edit_line(at: Conversation) -> None:
    """Let the user edit the line; nothing is sent before Enter is pressed."""
    asked = at.prompts.dialogue
    try:
        text = await edit_text(at.screen.text, screen=at.screen)
    except NotEdited as error:
        at.hint(str(error))
        return
    at.screen.text = text
    if asked is not None and at.prompts.dialogue is None:
        at.hint("what was asked is settled meanwhile; this is a message now")
