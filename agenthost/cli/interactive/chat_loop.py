"""Opens the chat's session, picked or named, and runs conversations until the user leaves."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import os
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from agenthost.cli.connection.command_hints import command, hint
from agenthost.cli.connection.customization_lookup import chosen_agent
from agenthost.cli.connection.host_connection import (
    PATIENCE,
    ConnectionNotices,
    connected,
    decode_argument,
    host_patience,
    use_colour,
)
from agenthost.cli.connection.session_lookup import (
    begin_session,
    check_model,
    configure_session,
    find_session,
    open_session,
)
from agenthost.cli.exit_codes import FAILED, OK, USAGE, CommandFailed
from agenthost.cli.format.state_format import directory_text, is_archived, short_id
from agenthost.cli.format.terminal_text import one_line
from agenthost.cli.interactive.chat_location import chat_location
from agenthost.cli.interactive.conversation import Conversation
from agenthost.cli.interactive.display.markdown import load_libraries
from agenthost.cli.interactive.display.styled_text import EMPTY, StyledLine, line
from agenthost.cli.interactive.json_lines import JsonLines
from agenthost.cli.interactive.message_history import open_history
from agenthost.cli.interactive.outcome import (
    ConversationOutcome,
    Leave,
    StartSession,
    SwitchTo,
)
from agenthost.cli.interactive.picker.session_picker import SessionPicker
from agenthost.cli.interactive.terminal_signals import terminal_signals
from agenthost.client import (
    Backoff,
    ChannelGone,
    Chat,
    Client,
    Closed,
    ConnectionState,
    Session,
)
from agenthost.errors import AgentHostError

PATIENT = Backoff(longest=5.0)
"""Somebody sits there and waits, so the host is looked for more often than usual."""

MOST_TURNS = 60
"""Turns of a chat that are loaded at first; ``/earlier`` loads more."""

# Sessions among which one is looked for that is not archived, before anything is shown.
_FIRST_PAGE = 20


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
        first = await _first(client, args)
        if first is None:
            return OK
        opened, agent = first
        if args.json:
            lines = JsonLines(client, opened.session, opened.chat, model=args.model, agent=agent)
            return await lines.run()
        _settle_memory()
        # While nobody waits: else the first answer would, for what draws it.
        loading = asyncio.create_task(asyncio.to_thread(load_libraries), name="load libraries")
        try:
            return await _converse(client, opened, agent, args)
        finally:
            await loading


async def _converse(
    client: Client, opened: _Opened, agent: str | None, args: argparse.Namespace
) -> int:
    """Run one conversation after the other, until the user leaves."""
    model = args.model
    banner = _banner(client, opened)
    while True:
        conversation = Conversation(
            client,
            opened.session,
            opened.chat,
            model=model,
            agent=agent,
            colour=use_colour(),
            banner=banner,
            history=open_history(args.data_dir, opened.session.state),
        )
        with terminal_signals(conversation.on_end, _interrupt(conversation)):
            left = await conversation.run()
        try:
            following = await _next(client, opened, left)
        except (AgentHostError, TimeoutError) as error:
            if isinstance(client.connection.state, Closed) or isinstance(left, Leave):
                raise
            # Where it was to go cannot be opened, so it goes on here.
            banner = [EMPTY, line(("bad", "✗ "), one_line(str(error) or "no answer in time"))]
            continue
        await _discard_unused(opened)
        if following is None:
            return _goodbye(conversation, opened, left)
        if following.session is not opened.session:
            # A custom agent is one of its session's, and a model one of its agent's.
            agent = None
            providers = {each.session.state["provider"] for each in (opened, following)}
            model = model if len(providers) == 1 else None
            opened.session.close()
        opened.chat.close()
        opened = following
        banner = _banner(client, opened)


def _settle_memory() -> None:
    """Leave what is loaded by now out of later collections, which would hold up the keys."""
    gc.collect()
    gc.freeze()


def _ignore_changes(_: ConnectionState) -> None:
    """Ignore connection changes."""


def _check(args: argparse.Namespace) -> None:
    if args.session is not None and args.last:
        raise CommandFailed("give SESSION or --last, not both", USAGE)
    if (args.session is not None or args.last) and (args.agent or args.dir or args.new):
        raise CommandFailed("--new, --agent and --dir are for new sessions", USAGE)
    if not args.json and not (sys.stdin.isatty() and sys.stdout.isatty()):
        other = hint("send", "--help")
        raise CommandFailed(f"this needs a terminal; use --json, or {other}", USAGE)


# The first one.


async def _first(client: Client, args: argparse.Namespace) -> tuple[_Opened, str | None] | None:
    """Open what the options name, or what somebody picks; None for nothing."""
    async with _patience(client, args):
        query = await _to_pick(client, args)
        if query is None:
            return await _open(client, args)
    # Whoever looks at a list can wait for the host as in a chat.
    picker = SessionPicker(client, query=query, colour=use_colour())
    with terminal_signals(picker.on_leave, picker.on_leave):
        chosen = await picker.run()
    if isinstance(chosen, Leave):
        if chosen.error is not None:
            raise chosen.error
        return None
    args.session = chosen.session if isinstance(chosen, SwitchTo) else None
    async with _patience(client, args):
        return await _open(client, args)


def _patience(client: Client, args: argparse.Namespace) -> AbstractAsyncContextManager[None]:
    return host_patience(client, args.patience or PATIENCE, ConnectionNotices())


async def _to_pick(client: Client, args: argparse.Namespace) -> str | None:
    """Return what to search for in the picker; None if it is known what to open."""
    if args.json or args.last or args.new or args.agent or args.dir:
        return None
    if args.session is None:
        page = await client.sessions.page(limit=_FIRST_PAGE)
        listed = any(not is_archived(item["status"]) for item in page["items"])
        return "" if listed or "nextCursor" in page else None
    try:
        args.session = await find_session(client, args.session)
    except CommandFailed as error:
        if error.kind != "ambiguous":
            raise
        return decode_argument(args.session)
    return None


async def _open(client: Client, args: argparse.Namespace) -> tuple[_Opened, str | None]:
    if args.session is not None:
        session = await open_session(client, args.session)
    elif args.last:
        session = await client.sessions.get(await _last(client))
    else:
        session = await begin_session(client, args)
    is_new = args.session is None and not args.last
    if not is_new:
        check_model(client, session.state["provider"], args.model)
        await configure_session(session, args)
    opened = _Opened(session, await session.chat(turns=_window(args)), is_new)
    return opened, await chosen_agent(session, args)


def _window(args: argparse.Namespace) -> int | None:
    """Return how many turns to load; programs get all."""
    return None if args.json else MOST_TURNS


async def _last(client: Client) -> str:
    async for summary in client.sessions:
        if not is_archived(summary["status"]):
            return summary["resource"]
    raise CommandFailed(f"there are no sessions; {hint('chat')} starts one", kind="notFound")


# The next one.


async def _next(client: Client, opened: _Opened, left: ConversationOutcome) -> _Opened | None:
    """Open what the user goes to after a conversation; None to leave."""
    session = opened.session
    match left:
        case Leave(error=error):
            if error is not None and not isinstance(error, ChannelGone):
                raise error
            return None
        case StartSession(agent=agent):
            state = session.state
            folders = state.get("workingDirectories") or ()
            provider = agent or state["provider"]
            session = await client.sessions.create(provider, directories=folders, keep=True)
            return _Opened(session, await session.chat(), is_new=True)
        case SwitchTo(session=uri, chat=chat):
            if uri != session.uri:
                session = await client.sessions.get(uri)
            return _Opened(session, await session.chat(chat, turns=MOST_TURNS))


async def _discard_unused(opened: _Opened) -> None:
    """Remove a session that was made just now and in which nothing was said."""
    state = opened.chat.state
    if opened.is_new and not state["turns"] and "activeTurn" not in state:
        with contextlib.suppress(AgentHostError, TimeoutError):
            async with asyncio.timeout(1):
                await opened.session.dispose()


def _banner(client: Client, opened: _Opened) -> list[StyledLine]:
    place = chat_location(client, opened.session, opened.chat)
    folders = opened.session.state.get("workingDirectories") or ()
    where = f" in {one_line(directory_text(folders[0]))}" if folders else ""
    what = "new session" if opened.is_new else one_line(place.title) or "session"
    chat = f" · {place.chat}" if place.chat else ""
    return [EMPTY, line(("bold", place.agent), ("dim", f" · {what}{chat} · {place.id}{where}"))]


def _goodbye(conversation: Conversation, opened: _Opened, left: ConversationOutcome) -> int:
    if isinstance(left, Leave) and left.error is not None:
        conversation.screen.print([line(("bad", "✗ "), "the chat does not exist any more")])
        return FAILED
    state = opened.chat.state
    if not state["turns"] and "activeTurn" not in state:
        return OK
    again = command("chat", short_id(opened.session.uri))
    running = "The turn goes on. " if "activeTurn" in state else ""
    conversation.screen.print([line(("dim", f"{running}Come back with: {again}"))])
    return OK


def _interrupt(conversation: Conversation) -> Callable[[], None]:
    def on_interrupt() -> None:
        # A pager has a Ctrl-C of its own.
        if not conversation.screen.is_suspended:
            conversation.on_interrupt()

    return on_interrupt


def language() -> str | None:
    """Return the user's language as BCP 47, from the environment; None if not set."""
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        value = os.environ.get(name, "").partition(".")[0].partition("@")[0]
        if value and value not in ("C", "POSIX"):
            return value.replace("_", "-")
    return None
