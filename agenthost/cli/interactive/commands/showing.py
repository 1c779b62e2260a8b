"""Showing more of this chat: /earlier, /reasoning, /show, /export."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agenthost.cli.format.session_markdown import session_markdown
from agenthost.cli.format.state_format import short_id
from agenthost.cli.format.terminal_text import one_line
from agenthost.cli.interactive.chat_actions import failure_line
from agenthost.cli.interactive.commands.chat_command import ChatCommand, typed_index
from agenthost.cli.interactive.display import listings
from agenthost.cli.interactive.display.blocks import call_in_full
from agenthost.cli.interactive.display.styled_text import EMPTY, line
from agenthost.cli.pager import page, page_if_long
from agenthost.errors import AgentHostError

if TYPE_CHECKING:
    from agenthost.cli.interactive.conversation import Conversation

Json = Mapping[str, Any]

MOST_CALLS = 10_000
"""The furthest back that anybody counts tool calls."""


def _earlier(at: Conversation, _: str) -> None:
    at.start(_page_earlier(at), "earlier")


async def _page_earlier(at: Conversation) -> None:
    """Show the turns above those that were printed, above which nothing can be printed."""
    try:
        await at.chat.load_earlier()
    except AgentHostError as error:
        at.note(failure_line("the turns before cannot be had", one_line(str(error))))
        return
    lines = at.transcript.earlier_lines(at.chat.channel.confirmed, at.screen.size[0])
    first = next(lines, None)
    if first is None:
        at.hint("there are no earlier turns")
        return
    rest = [first, *lines]
    if not await page(rest, title="earlier turns", screen=at.screen, at_end=True):
        at.note(*rest)


def _reasoning(at: Conversation, word: str) -> None:
    if word in ("on", "off"):
        at.transcript.unfold = word == "on"
        how = "in full" if word == "on" else "folded"
        at.note(line(("dim", f"· reasoning is shown {how} from now on")))
        return
    at.note(*listings.reasoning_lines(at.chat.state, at.screen.size[0]))


def _on_or_off(_: Conversation) -> tuple[str, ...]:
    return ("on", "off")


def _show(at: Conversation, number: str) -> None:
    """Show a tool call in full: the pending one, the last one, or the Nth last."""
    current = at.prompts.current
    if not number and current is not None and current.pending.kind != "questions":
        # Perhaps of another chat.
        call: Json | None = current.pending.item
    else:
        index = typed_index(number or "1", MOST_CALLS)
        call = None if index is None else listings.nth_last_call(at.chat.state, index + 1)
    if call is None:
        at.hint("/show N: there is no such tool call" if number else "no tool call so far")
        return
    at.start(_show_call(at, call), "show")


async def _show_call(at: Conversation, call: Json) -> None:
    width, rows = at.screen.size
    await at.content.fetch(call)
    kept_input = at.content.input_lines(call, width - 2)
    lines = call_in_full(call, width, at.content.edit_lines, kept_input)
    title = one_line(str(call.get("displayName", "tool call")))
    short = await page_if_long(lines, title=title, screen=at.screen, rows=rows // 2)
    if short:
        at.note(EMPTY, *short)


def _export(at: Conversation, text: str) -> None:
    path = Path(text or f"{short_id(at.session.uri)}.md").expanduser()
    at.start(_export_to(at, path), "export")


async def _export_to(at: Conversation, path: Path) -> None:
    try:
        await at.chat.load_all()
        _write(at, path)
    except OSError as error:
        at.note(failure_line(str(path), error.strerror or "it cannot be written"))
    except AgentHostError as error:
        at.note(failure_line("not exported", one_line(str(error))))


def _write(at: Conversation, path: Path) -> None:
    session = {**at.session.state, "resource": at.session.uri}
    # What is there already may be dear to somebody.
    with path.open("x", encoding="utf-8") as file:
        file.write(session_markdown(session, [at.chat.channel.confirmed]))
    at.note(line(("good", "✓ "), f"written to {path.resolve()}"))


COMMANDS = (
    ChatCommand("earlier", "", "turns before those on the screen", _earlier, viewer=True),
    ChatCommand(
        "reasoning",
        "[on|off]",
        "show the last reasoning; on: always in full",
        _reasoning,
        _on_or_off,
        viewer=True,
    ),
    ChatCommand(
        "show",
        "[N]",
        "what is asked about or the last tool call, in full",
        _show,
        viewer=True,
    ),
    ChatCommand("export", "[PATH]", "write this chat to a file as Markdown", _export, viewer=True),
)
