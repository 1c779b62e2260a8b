"""What verbs of ``agenthost sessions`` do to sessions and chats: rename, archive, dispose, move."""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agenthost.cli.connection.chat_lookup import find_chat, find_chat_anywhere, session_of_chat
from agenthost.cli.connection.command_hints import hint
from agenthost.cli.connection.host_connection import HostWentAway, connected, decode_argument
from agenthost.cli.connection.session_lookup import (
    IN_TRASH,
    disposed_how,
    find_session,
    find_sessions,
    open_session,
)
from agenthost.cli.exit_codes import FAILED, OK, UNREACHABLE, USAGE, CommandFailed, print_error
from agenthost.cli.format.state_format import short_id
from agenthost.cli.format.terminal_text import one_line
from agenthost.errors import AgentHostError
from agenthost.protocol import translator

if TYPE_CHECKING:
    from agenthost.client import Client

_DISPOSE = ("dispose", "delete")
# Verbs for sessions that are in the trash.
_IN_TRASH = ("restore", "purge")
_DONE = {
    "archive": "archived",
    "unarchive": "unarchived",
    "read": "marked as read",
    "rename": "renamed",
    "restore": "restored",
    "purge": "deleted for good",
}
# What takes back what a host did to a session that it was to dispose of.
_UNDOING = {"archived": "unarchive", IN_TRASH: "restore"}


@dataclass(slots=True)
class _Outcome:
    # The URI, or what was named where that means no session.
    session: str
    done: bool = False
    error: str | None = None
    # What became of it, where the verb leaves that to the host.
    became: str | None = None
    # Its chat that the verb was about.
    chat: str | None = None

    def as_json(self) -> dict[str, Any]:
        told: dict[str, Any] = {"session": self.session, "done": self.done}
        if self.chat is not None:
            told["chat"] = self.chat
        if self.became is not None:
            told["outcome"] = self.became
        return told if self.done else {**told, "error": self.error}


async def change_sessions(args: argparse.Namespace) -> int:
    """Apply a verb to each session that is named; one that fails does not keep the others."""
    outcomes: list[_Outcome] = []
    code = OK
    try:
        async with connected(args) as client:
            await _change_all(client, args, outcomes)
    except HostWentAway as error:
        if not outcomes:
            raise
        # What is done is done, and worth knowing.
        code = UNREACHABLE
        for outcome in outcomes:
            outcome.error = outcome.error or str(error)
    for outcome in outcomes:
        if not outcome.done:
            print_error(f"{outcome.session}: {outcome.error}", FAILED)
        elif not args.json:
            print(_told(outcome, args))
    if args.json:
        print(json.dumps([outcome.as_json() for outcome in outcomes], indent=2))
    return code or (OK if all(outcome.done for outcome in outcomes) else FAILED)


def _told(outcome: _Outcome, args: argparse.Namespace) -> str:
    """Describe what was done to a session and how to undo it."""
    told = f"{outcome.became or _DONE[args.verb]}  {one_line(outcome.chat or outcome.session)}"
    undoing = _UNDOING.get(outcome.became or "")
    if undoing is None:
        return told
    return f"{told}\n  {hint('sessions', undoing, short_id(outcome.session))} takes it back"


async def _change_all(client: Client, args: argparse.Namespace, outcomes: list[_Outcome]) -> None:
    named = [args.session] if args.verb == "rename" else args.sessions
    in_trash = args.verb in _IN_TRASH
    for text, found in (await find_sessions(client, named, in_trash=in_trash)).items():
        if isinstance(found, CommandFailed):
            outcomes.append(_Outcome(text, error=str(found)))
        elif all(outcome.session != found for outcome in outcomes):
            outcomes.append(_Outcome(found))
    for outcome in outcomes:
        if outcome.error is None:
            try:
                if getattr(args, "chat", None) is not None:
                    outcome.chat = await _change_chat(client, outcome.session, args)
                else:
                    outcome.became = await _change_one(client, outcome.session, args)
                outcome.done = True
            except (AgentHostError, TimeoutError) as error:
                outcome.error = str(error) or "no answer in time"


async def _change_one(client: Client, uri: str, args: argparse.Namespace) -> str | None:
    """Apply the verb to a session; return what the host did where that is its decision."""
    if args.verb in _DISPOSE:
        await client.sessions.dispose(uri)
        return await disposed_how(client, uri)
    if args.verb in _IN_TRASH:
        sessions = client.sessions
        await (sessions.restore(uri) if args.verb == "restore" else sessions.purge(uri))
        return None
    async with await open_session(client, uri) as session:
        match args.verb:
            case "rename":
                await session.rename(decode_argument(args.title))
            case "read":
                await session.mark_read()
            case verb:
                await session.archive(verb == "archive")
    return None


async def _change_chat(client: Client, uri: str, args: argparse.Namespace) -> str:
    """Apply a verb to one chat of a session; return the chat."""
    async with await open_session(client, uri) as session:
        found = find_chat(session, args.chat)
        async with await session.chat(found, turns=1) as chat:
            is_read = args.verb == "read"
            await (chat.mark_read() if is_read else chat.archive(args.verb == "archive"))
    return found


async def move_chat(args: argparse.Namespace) -> int:
    """Move a chat to another session, or within its own."""
    if args.new and args.after is not None:
        raise CommandFailed("--after is for a session that is there; a new one has no chats", USAGE)
    async with connected(args) as client:
        if not translator(client.version).has_method("moveChat"):
            message = f"the host speaks protocol {client.version}, in which chats cannot be moved"
            raise CommandFailed(message)
        chat = await find_chat_anywhere(client, args.chat)
        session, after = None, None
        if not args.new:
            named = args.to
            session = await (
                find_session(client, named) if named else session_of_chat(client, chat)
            )
        if args.after is not None:
            after = await find_chat_anywhere(client, args.after, session)
        session = await client.sessions.move_chat(chat, session=session, after=after)
    if args.json:
        print(json.dumps({"chat": chat, "session": session}, indent=2))
    else:
        print(f"moved  {one_line(chat)}  to {one_line(session)}")
    return OK


async def move_session(args: argparse.Namespace) -> int:
    """Have a session run by another machine of a cluster."""
    if args.after is not None:
        raise CommandFailed("--after is for chats; --node moves a whole session", USAGE)
    node = decode_argument(args.node)
    async with connected(args) as client:
        session = await find_session(client, args.chat)
        await client.request("agenthost/moveSession", {"channel": session, "node": node})
    if args.json:
        print(json.dumps({"session": session, "node": node}, indent=2))
    else:
        print(f"moved  {one_line(session)}  to {one_line(node)}")
    return OK
