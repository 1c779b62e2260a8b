"""The terminals of this session: /terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from agenthost.cli.connection.host_connection import ConnectionNotices
from agenthost.cli.format.terminal_text import one_line
from agenthost.cli.interactive.chat_actions import failure_line
from agenthost.cli.interactive.commands.chat_command import ChatCommand, numbers, typed_index
from agenthost.cli.interactive.display import listings
from agenthost.cli.interactive.display.styled_text import StyledLine, line
from agenthost.cli.interactive.outcome import Leave
from agenthost.client import Connected
from agenthost.errors import AgentHostError, NotFound

if TYPE_CHECKING:
    from agenthost.cli.attach.attachment import AttachmentEnd
    from agenthost.cli.interactive.conversation import Conversation
    from agenthost.client.terminals import TerminalView

_NEW = "new"

# What was last listed, by its numbers: those that have ended may be gone from the next list.
_listed: WeakKeyDictionary[Conversation, Sequence[str]] = WeakKeyDictionary()


def _terminal(at: Conversation, word: str) -> None:
    """List the session's terminals, work in one, or open a new one."""
    at.start(_work_in(at, word) if word else _list(at), "terminal")


async def _list(at: Conversation) -> None:
    try:
        terminals = await at.session.terminals.list()
    except (AgentHostError, TimeoutError) as error:
        at.note(failure_line("the terminals cannot be listed", _why(error)))
        return
    _listed[at] = [info["resource"] for info in terminals]
    at.note(*listings.terminals_lines(terminals, at.screen.size[0]))


async def _work_in(at: Conversation, word: str) -> None:
    from agenthost.cli.attach.raw_tty import has_terminal

    if not has_terminal():
        at.hint("this needs a terminal of your own")
        return
    try:
        terminal = await _opened(at, word)
        if terminal is None:
            at.hint("/terminal N: a number of /terminal; /terminal new opens one")
            return
        async with terminal:
            await _attach(at, terminal, ours=word == _NEW)
    except NotFound:
        at.note(failure_line("no terminal", "it is not there any more"))
    except (AgentHostError, TimeoutError) as error:
        at.note(failure_line("no terminal", _why(error)))


async def _opened(at: Conversation, word: str) -> TerminalView | None:
    """Follow a new terminal, or the one of a number; None if there is none of that number."""
    if word == _NEW:
        columns, rows = at.screen.size
        return await at.session.terminals.create(cols=columns, rows=rows)
    if at not in _listed:
        listed = await at.session.terminals.list()
        _listed[at] = [info["resource"] for info in listed]
    index = typed_index(word, len(_listed[at]))
    return None if index is None else await at.session.terminals.open(_listed[at][index])


async def _attach(at: Conversation, terminal: TerminalView, *, ours: bool) -> None:
    """Leave the screen to a terminal until its program ends or the user comes back."""
    from agenthost.cli.attach.attachment import Attachment
    from agenthost.cli.attach.raw_tty import RawTty

    title = one_line(terminal.title) or "the terminal"
    async with at.screen.suspended():
        with RawTty() as tty:
            attachment = Attachment(
                terminal, tty, lambda: isinstance(at.client.connection.state, Connected)
            )
            stop = at.client.connection.on_change(ConnectionNotices(attachment.say))
            try:
                end = await attachment.run()
            finally:
                stop()
            # The chat goes on below what was drawn.
            await tty.write("\r\n")
    if ours and end.how == "exited":
        await terminal.dispose()
    if end.how in ("stopped", "closed"):
        at.leave(Leave())
    at.note(_end_line(end, title))


def _end_line(end: AttachmentEnd, title: str) -> StyledLine:
    match end.how:
        case "exited":
            how = "" if end.code is None else f" with exit code {end.code}"
            return line(("dim", f"· {title} ended{how}"))
        case "gone":
            return line(("dim", f"· {title} is gone"))
    return line(("dim", f"· left {title}, which runs on; /terminal comes back"))


def _why(error: Exception) -> str:
    return one_line(str(error)) or "no answer in time"


def _words(at: Conversation) -> Sequence[str]:
    return (_NEW, *numbers(len(_listed.get(at, ()))))


COMMANDS = (
    ChatCommand(
        "terminal", "[N|new]", "the terminals of this session; or work in one", _terminal, _words
    ),
)
