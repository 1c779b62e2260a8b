"""Trying the last turn again, or doing without it: /retry, /undo, /fork."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agenthost.cli.format.state_format import directory_text
from agenthost.cli.format.terminal_text import clip, one_line
from agenthost.cli.interactive.chat_actions import failure_line
from agenthost.cli.interactive.commands.chat_command import ChatCommand
from agenthost.cli.interactive.commands.confirming import is_confirmed, without_yes
from agenthost.cli.interactive.display.styled_text import StyledLine, line
from agenthost.cli.interactive.outcome import SwitchTo
from agenthost.client import Unsupported
from agenthost.client.chat import MessageOptions
from agenthost.errors import AgentHostError

if TYPE_CHECKING:
    from agenthost.cli.interactive.conversation import Conversation

Json = Mapping[str, Any]

MOST_TURNS = 10_000
"""The furthest back that anybody counts turns."""

# Of the files that turns changed, this many are named.
_MOST_FILES = 3
_RUNNING = "a turn is running; /cancel stops it"


# Undoing.


def _undo(at: Conversation, argument: str) -> None:
    words, yes = without_yes(argument)
    number = _count(words or "1")
    if number is None:
        at.hint("/undo [N]: how many of the last turns are to go")
    else:
        at.start(_undo_turns(at, number, yes), "undo")


async def _undo_turns(at: Conversation, number: int, yes: bool) -> None:
    if at.chat.active_turn is not None:
        at.hint(_RUNNING)
        return
    turns = await _last_turns(at, number + 1)
    if turns is None or len(turns) < number:
        if turns is not None:
            at.hint(f"there are only {len(turns)} turns" if turns else "there is nothing to undo")
        return
    dropped, kept = turns[-number:], _id_before(turns, number)
    told = f"this drops the last {number} turns" if number > 1 else "this drops the last turn"
    first = str(dropped[0]["message"]["text"])
    lines = (line(("ask", "! "), f"{told}, from {_quoted(first)} on"), _files_line(dropped))
    if not is_confirmed(at, f"/undo {number}", dropped[-1]["id"], *lines, yes=yes):
        return
    try:
        await at.chat.truncate(kept)
    except AgentHostError as error:
        at.note(failure_line("nothing was undone", one_line(str(error))))
        return
    if not at.screen.text and at.prompts.dialogue is None:
        # To be put better, most likely.
        at.screen.text = first


# Trying again.


def _retry(at: Conversation, argument: str) -> None:
    _, yes = without_yes(argument)
    if at.chat.active_turn is not None:
        at.hint(_RUNNING)
        return
    try:
        at.actions.resume()
    except (LookupError, Unsupported):
        at.start(_send_again(at, yes), "retry")


async def _send_again(at: Conversation, yes: bool) -> None:
    """Drop the last turn and send its message once more."""
    turns = await _last_turns(at, 2)
    if turns is None:
        return
    if not turns or turns[-1]["message"]["origin"]["kind"] != "user":
        at.hint("there is no message of yours to send again")
        return
    message = turns[-1]["message"]
    told = line(("ask", "! "), f"this drops the last answer and sends {_quoted(message['text'])}")
    lines = (line(*told, " again"), _files_line(turns[-1:]))
    if not is_confirmed(at, "/retry", turns[-1]["id"], *lines, yes=yes):
        return
    try:
        await at.chat.truncate(_id_before(turns, 1))
        started = at.chat.send(message["text"], **_options(at, message)).started
    except AgentHostError as error:
        at.note(failure_line("it was not sent again", one_line(str(error))))
        return
    assert started is not None
    at.actions.report_failure(started, "it was not sent again")


def _options(at: Conversation, message: Json) -> MessageOptions:
    """Return what goes with a message again; a model or agent that was chosen since counts."""
    options: MessageOptions = {"attachments": message.get("attachments") or ()}
    model = at.actions.model or message.get("model")
    agent = at.actions.agent or (message.get("agent") or {}).get("uri")
    if model is not None:
        options["model"] = model
    if agent is not None:
        options["agent"] = agent
    return options


# Going on from there elsewhere.


def _fork(at: Conversation, text: str) -> None:
    number = 0 if text in ("", "0") else _count(text)
    if number is None:
        at.hint("/fork [N]: how many of the last turns are to be left out")
    else:
        at.start(_fork_at(at, number), "fork")


async def _fork_at(at: Conversation, number: int) -> None:
    turns = await _last_turns(at, number + 1)
    if turns is None:
        return
    if len(turns) <= number:
        at.hint("nothing would be left to go on from" if turns else "there is no turn so far")
        return
    turn_id = turns[-1 - number]["id"]
    try:
        if at.chat.uri == at.session.state.get("defaultChat"):
            session = await at.client.sessions.fork(at.session.uri, turn_id)
            at.leave(SwitchTo(session.uri))
            session.close()
        else:
            chat = await at.session.fork_chat(at.chat.uri, turn_id)
            at.leave(SwitchTo(at.session.uri, chat.uri))
            chat.close()
    except (AgentHostError, TimeoutError) as error:
        at.note(failure_line("not forked", one_line(str(error)) or "no answer in time"))


# Turns.


async def _last_turns(at: Conversation, number: int) -> Sequence[Json] | None:
    """Return the loaded turns, at least so many if there are; None if they cannot be had."""
    try:
        while len(at.chat.channel.confirmed["turns"]) < number:
            if not await at.chat.load_earlier():
                break
    except AgentHostError as error:
        at.note(failure_line("the turns before cannot be had", one_line(str(error))))
        return None
    return at.chat.channel.confirmed["turns"]


def _id_before(turns: Sequence[Json], number: int) -> str | None:
    """Return the id of the turn before the last ones; None if they are all."""
    return str(turns[-1 - number]["id"]) if len(turns) > number else None


def _files_line(turns: Sequence[Json]) -> StyledLine:
    """Return what becomes of the files that turns changed."""
    names = list(dict.fromkeys(name for turn in turns for name in _edited(turn)))
    if not names:
        return line(("dim", "  Files stay as they are."))
    more = f" and {len(names) - _MOST_FILES} more" if len(names) > _MOST_FILES else ""
    told = f"{', '.join(names[:_MOST_FILES])}{more}"
    return line(("dim", f"  Files stay as they are, those that it changed too: {told} (/diff)"))


def _edited(turn: Json) -> list[str]:
    calls = [part["toolCall"] for part in turn["responseParts"] if part["kind"] == "toolCall"]
    blocks = [block for call in calls for block in call.get("content") or ()]
    edits = [block for block in blocks if block["type"] == "fileEdit"]
    sides = [edit.get("after") or edit.get("before") or {} for edit in edits]
    paths = [directory_text(str(side["uri"])) for side in sides if "uri" in side]
    return [clip(one_line(path.rpartition("/")[2] or path), 40) for path in paths]


def _quoted(text: str) -> str:
    return f"“{clip(one_line(text), 40)}”"


def _count(text: str) -> int | None:
    is_number = text.isascii() and text.isdigit() and len(text) < 6
    return int(text) if is_number and 1 <= int(text) <= MOST_TURNS else None


COMMANDS = (
    ChatCommand("retry", "", "go on after a failure, or send the last message again", _retry),
    ChatCommand("undo", "[N]", "drop the last turn, or the last N; files stay", _undo),
    ChatCommand("fork", "[N]", "go on from here in a new session, or from N turns before", _fork),
)
