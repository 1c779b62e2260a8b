"""Sessions and chats, and going to them: /sessions, /open, /new, /rename, /chats, /chat."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from agenthost.cli.connection.session_lookup import find_session
from agenthost.cli.exit_codes import CommandFailed
from agenthost.cli.format.customization_format import MOST_NAME, cell
from agenthost.cli.format.terminal_text import one_line
from agenthost.cli.interactive.chat_actions import failure_line
from agenthost.cli.interactive.commands.chat_command import ChatCommand, numbers, typed_index
from agenthost.cli.interactive.display import listings
from agenthost.cli.interactive.display.styled_text import line
from agenthost.cli.interactive.outcome import StartSession, SwitchTo
from agenthost.errors import AgentHostError

if TYPE_CHECKING:
    from agenthost.cli.interactive.conversation import Conversation


def _sessions(at: Conversation, words: str) -> None:
    at.start(_pick(at, words), "sessions")


async def _pick(at: Conversation, words: str) -> None:
    from agenthost.cli.interactive.picker.chat_picker import pick_in_chat

    await pick_in_chat(at, words)


def _open(at: Conversation, text: str) -> None:
    if text:
        at.start(_go_to(at, text), "open")
    else:
        at.hint("/open SESSION: its id or title; /sessions shows them all")


async def _go_to(at: Conversation, text: str) -> None:
    try:
        at.leave(SwitchTo(await find_session(at.client, text)))
    except CommandFailed as error:
        if error.kind == "ambiguous":
            await _pick(at, text)
        else:
            at.note(*(line(("bad", row)) for row in str(error).splitlines()))
    except AgentHostError as error:
        at.note(failure_line("not there", one_line(str(error))))


def _new(at: Conversation, agent: str) -> None:
    known = _agents(at)
    if agent and known and agent not in known:
        at.hint(f"there is no agent {cell(agent, MOST_NAME)}; there are {cell(', '.join(known))}")
    else:
        at.leave(StartSession(agent or None))


def _agents(at: Conversation) -> list[str]:
    root = at.client.root
    return [agent["provider"] for agent in root.state["agents"]] if root.has_state else []


def _rename(at: Conversation, text: str) -> None:
    title = " ".join(text.split())
    if not title:
        at.hint("/rename TITLE: give the title")
        return
    at.actions.report_failure(at.session.rename(title), "the title stays")
    at.note(line(("good", "✓ "), f"this session is called {cell(title, MOST_NAME)} now"))


def _chats(at: Conversation, _: str) -> None:
    now = datetime.now(UTC).astimezone()
    at.note(*listings.chats_lines(at.session.state, at.chat.uri, now, at.screen.size[0]))


def _chat(at: Conversation, number: str) -> None:
    chats = at.session.chats
    index = typed_index(number, len(chats))
    if index is None:
        at.hint("/chat N: a number of /chats")
    else:
        at.leave(SwitchTo(at.session.uri, chats[index]["resource"]))


def _chat_numbers(at: Conversation) -> list[str]:
    return numbers(len(at.session.chats))


COMMANDS = (
    ChatCommand("sessions", "[WORDS]", "choose among all sessions", _sessions, viewer=True),
    ChatCommand("open", "SESSION", "go to another session, by its id or title", _open, viewer=True),
    ChatCommand("new", "[AGENT]", "start a session in the same folder", _new, _agents),
    ChatCommand("rename", "TITLE", "give this session a title", _rename),
    ChatCommand("chats", "", "the chats of this session, workers included", _chats, viewer=True),
    ChatCommand("chat", "N", "go to another chat of this session", _chat, _chat_numbers, True),
)
