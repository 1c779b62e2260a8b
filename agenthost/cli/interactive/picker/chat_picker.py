"""The session picker over a conversation: to go to another session, or back to this one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_toolkit.input import create_input

from agenthost.cli.connection.host_connection import use_colour
from agenthost.cli.format.state_format import directory_text
from agenthost.cli.format.terminal_text import one_line
from agenthost.cli.interactive.outcome import Leave, SwitchTo
from agenthost.cli.interactive.picker import texts
from agenthost.cli.interactive.picker.session_picker import SessionPicker
from agenthost.cli.interactive.terminal_signals import terminal_signals

if TYPE_CHECKING:
    from agenthost.cli.interactive.conversation import Conversation


async def pick_in_chat(at: Conversation, query: str = "") -> None:
    """Let somebody choose a session; the conversation ends if that is another one."""
    state = at.session.state
    folders = state.get("workingDirectories") or ()
    where = one_line(directory_text(folders[0])) if folders else ""
    picker = SessionPicker(
        at.client,
        query=query,
        current=at.session.uri,
        new=texts.new_session(where, one_line(state["provider"])),
        colour=use_colour(),
        # Of its own: the conversation's may still wait for the rest of the last key, and would
        # take an Escape for it.
        input=create_input(),
    )

    def end() -> None:
        picker.on_leave()
        at.on_end()

    async with at.screen.suspended():
        with terminal_signals(end, picker.on_leave):
            chosen = await picker.run()
    stays = chosen == SwitchTo(at.session.uri)
    if not stays and chosen != Leave():
        at.leave(chosen)
