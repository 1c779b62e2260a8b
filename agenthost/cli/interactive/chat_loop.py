"""Opens the chat's session and runs conversations until the user leaves."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from agenthost.cli.connection.host_connection import (
    PATIENCE,
    ConnectionNotices,
    command_for_host,
    connected,
    host_patience,
    use_colour,
)
from agenthost.cli.connection.session_lookup import begin_session, check_model, open_session
from agenthost.cli.exit_codes import FAILED, OK, USAGE, CommandFailed
from agenthost.cli.format.state_format import directory_text, is_archived, short_id
from agenthost.cli.format.terminal_text import one_line
from agenthost.cli.interactive.conversation import Conversation, chat_location
from agenthost.cli.interactive.display.styled_text import EMPTY, StyledLine, line
from agenthost.cli.interactive.json_lines import JsonLines
from agenthost.cli.interactive.outcome import ConversationOutcome, Leave, SwitchTo
from agenthost.client import Backoff, ChannelGone, Chat, Client, ConnectionState, Session
from agenthost.errors import AgentHostError

PATIENT = Backoff(longest=5.0)
"""Somebody sits there and waits, so the host is looked for more often than usual."""


@dataclass(frozen=True, slots=True)
class _Opened:
    session: Session
    chat: Chat
    # Whether it was made just now, and nothing is lost if it goes unused.
    is_new: bool = False


async def chat(args: argparse.Namespace) -> int:
    """Run ``agenthost chat``."""
    _check(args)
    who = "agenthost chat"
    options = {"backoff": PATIENT, "display_name": who, "locale": language()}
    # A chat shows how the connection is doing and outlasts every drop, but only once it is open.
    async with connected(args, tell=_ignore_changes, **options) as client:
        async with host_patience(client, args.patience or PATIENCE, ConnectionNotices()):
            opened = await _open(client, args)
        if args.json:
            lines = JsonLines(client, opened.session, opened.chat, model=args.model)
            return await lines.run()
        while True:
            conversation = Conversation(
                client,
                opened.session,
                opened.chat,
                model=args.model,
                colour=use_colour(),
                banner=_banner(client, opened),
            )
            with _signals(conversation):
                left = await conversation.run()
            following = await _leave(client, opened, left)
            if following is None:
                return _goodbye(conversation, opened, left, args)
            opened = following


def _ignore_changes(_: ConnectionState) -> None:
    """Ignore connection changes."""


def _check(args: argparse.Namespace) -> None:
    if args.session is not None and args.last:
        raise CommandFailed("give SESSION or --last, not both", USAGE)
    if (args.session is not None or args.last) and (args.agent or args.dir):
        raise CommandFailed("--agent and --dir are for new sessions", USAGE)
    if not args.json and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise CommandFailed("this needs a terminal; use --json, or `agenthost send`", USAGE)


async def _open(client: Client, args: argparse.Namespace) -> _Opened:
    if args.session is not None:
        session = await open_session(client, args.session)
    elif args.last:
        session = await client.sessions.get(await _last(client))
    else:
        session = await begin_session(client, args)
        return _Opened(session, await session.chat(), is_new=True)
    check_model(client, session.state["provider"], args.model)
    return _Opened(session, await session.chat())


async def _last(client: Client) -> str:
    async for summary in client.sessions:
        if not is_archived(summary["status"]):
            return summary["resource"]
    raise CommandFailed("there are no sessions; `agenthost chat` starts one", kind="notFound")


async def _leave(client: Client, opened: _Opened, left: ConversationOutcome) -> _Opened | None:
    """Clean up after a conversation; open the next one if the user switched to it."""
    if isinstance(left, Leave):
        if isinstance(left.error, ChannelGone):
            return None
        if left.error is not None:
            raise left.error
    state = opened.chat.state
    if opened.is_new and not state["turns"] and "activeTurn" not in state:
        with contextlib.suppress(AgentHostError, TimeoutError):
            async with asyncio.timeout(1):
                await opened.session.dispose()
    if not isinstance(left, SwitchTo):
        return None
    session = opened.session
    if left.session != session.uri:
        session = await client.sessions.get(left.session)
        opened.session.close()
    chat = await session.chat(left.chat)
    opened.chat.close()
    return _Opened(session, chat)


def _banner(client: Client, opened: _Opened) -> list[StyledLine]:
    place = chat_location(client, opened.session, opened.chat)
    folders = opened.session.state.get("workingDirectories") or ()
    where = f" in {one_line(directory_text(folders[0]))}" if folders else ""
    what = "new session" if opened.is_new else one_line(place.title) or "session"
    chat = f" · {place.chat}" if place.chat else ""
    return [EMPTY, line(("bold", place.agent), ("dim", f" · {what}{chat} · {place.id}{where}"))]


def _goodbye(
    conversation: Conversation, opened: _Opened, left: ConversationOutcome, args: argparse.Namespace
) -> int:
    if isinstance(left, Leave) and left.error is not None:
        conversation.screen.print([line(("bad", "✗ "), "the chat does not exist any more")])
        return FAILED
    state = opened.chat.state
    if not state["turns"] and "activeTurn" not in state:
        return OK
    again = command_for_host(args, "chat", short_id(opened.session.uri))
    running = "The turn goes on. " if "activeTurn" in state else ""
    conversation.screen.print([line(("dim", f"{running}Come back with: {again}"))])
    return OK


@contextlib.contextmanager
def _signals(conversation: Conversation) -> Iterator[None]:
    """Handle signals for the length of a block, so that the terminal is restored."""
    loop = asyncio.get_running_loop()
    handlers = {
        signal.SIGINT: conversation.on_interrupt,
        signal.SIGTERM: conversation.on_end,
        signal.SIGHUP: conversation.on_end,
    }
    for number, handler in handlers.items():
        loop.add_signal_handler(number, handler)
    try:
        yield
    finally:
        for number in handlers:
            loop.remove_signal_handler(number)


def language() -> str | None:
    """Return the user's language as BCP 47, from the environment; None if not set."""
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        value = os.environ.get(name, "").partition(".")[0].partition("@")[0]
        if value and value not in ("C", "POSIX"):
            return value.replace("_", "-")
    return None
