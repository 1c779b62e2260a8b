"""``agenthost watch``: follow one session, or all, and print one line per event until Ctrl-C."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import shutil
import sys
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from agenthost.cli.arguments import Subparsers, add_command, add_json_option
from agenthost.cli.connection.host_connection import (
    add_connection_options,
    connected,
    run_command,
    use_colour,
)
from agenthost.cli.connection.session_lookup import open_session
from agenthost.cli.exit_codes import OK
from agenthost.cli.format.chat_changes import (
    background_changes,
    canvas_fields,
    canvas_uris,
    change_line,
)
from agenthost.cli.format.event_format import EventLine, event_json, event_line
from agenthost.cli.format.state_format import (
    SHORT_ID,
    activity_word,
    is_archived,
    is_unread,
    session_json,
    short_chat_id,
    status_style,
    status_words,
)
from agenthost.cli.format.terminal_text import Ink, clip, one_line, safe_text
from agenthost.cli.read_mark import ReadMark
from agenthost.client import (
    ChannelGone,
    Chat,
    ChatEvent,
    Client,
    Closed,
    Reasoning,
    Session,
    SystemClock,
    Text,
)
from agenthost.client.chat import ChatFeed, before_turn
from agenthost.errors import AgentHostError
from agenthost.protocol.json_edits import without
from agenthost.tasks import Tasks

if TYPE_CHECKING:
    from agenthost.protocol.chat.state import ChatSummary
    from agenthost.protocol.session.state import SessionState, SessionSummary

Json = Mapping[str, Any]

_EXAMPLES = """examples:
  agenthost watch                     what becomes of all sessions
  agenthost watch release             everything that happens in one of them
  agenthost watch --json | jq -r 'select(.status == "needs input") | .title'
"""


def register(subparsers: Subparsers) -> None:
    """Add ``watch`` to the argument tree."""
    watch = add_command(subparsers, "watch", "follow one session or all of them", run, _EXAMPLES)
    watch.add_argument(
        "session", metavar="SESSION", nargs="?", help="URI, id or title (default: all sessions)"
    )
    add_json_option(watch, "print one JSON object per line", events=True)
    add_connection_options(watch, patience=None)


def run(args: argparse.Namespace) -> int:
    """Print what happens until interrupted."""
    return run_command(args, _watch)


async def _watch(args: argparse.Namespace) -> int:
    printer = _Printer(args.json)
    async with connected(args) as client:
        if args.session is None:
            return await _watch_all(client, printer)
        session = await open_session(client, args.session)
        return await _SessionWatch(client, session, printer).run()


class _Printer:
    """Prints events as text or as JSON lines."""

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json
        self._ink = Ink(use_colour())
        self._clock = SystemClock()

    def print_line(self, where: str, line: EventLine) -> None:
        """Print an event as one or more lines of text: time, chat, label, text."""
        for text in line.text.split("\n"):
            self._print_row(where, EventLine(line.what, text, line.style))

    def _print_row(self, where: str, line: EventLine) -> None:
        now = datetime.now().astimezone().strftime("%H:%M:%S")
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        head = f"{now}  {where}  {line.what:<12}"
        text = clip(line.text, None if width is None else max(width - len(head) - 2, 20))
        text = self._ink("dim" if line.style == "dim" else None, text)
        what = self._ink(line.style, f"{line.what:<12}")
        print(f"{self._ink('dim', now)}  {where}  {what}  {text}".rstrip(), flush=True)

    def print_json(self, happening: Json) -> None:
        """Print an event as one line of JSON, with the time."""
        print(json.dumps({"time": self._clock.now(), **happening}), flush=True)


# All sessions.


async def _watch_all(client: Client, printer: _Printer) -> int:
    before: Mapping[str, SessionSummary] | None = None
    async for after in client.sessions.watch():
        for change, summary in catalogue_changes(before, after):
            if printer.as_json:
                printer.print_json({"event": change, **session_json(summary)})
            else:
                printer.print_line(_short(summary["resource"]), _summary_line(change, summary))
        before = after
    return OK


# What a session's line does not show.
_UNTOLD = ("modifiedAt", "chats", "defaultChat")


def catalogue_changes(
    before: Mapping[str, SessionSummary] | None, after: Mapping[str, SessionSummary]
) -> Iterator[tuple[str, SessionSummary]]:
    """Yield changes of the session list: ``present`` at first, then added, changed, removed.

    ``present`` leaves archived sessions out. A newer ``modifiedAt`` alone is not a change, nor is
    what happens to one of the chats: its session tells what that comes to.
    """
    if before is None:
        for summary in list(after.values())[::-1]:
            if not is_archived(summary["status"]):
                yield "present", summary
        return
    for uri, summary in before.items():
        if uri not in after:
            yield "removed", summary
    for uri, summary in after.items():
        was = before.get(uri)
        if was is None:
            yield "added", summary
        elif without(was, *_UNTOLD) != without(summary, *_UNTOLD):
            yield "changed", summary


def _summary_line(change: str, summary: SessionSummary) -> EventLine:
    if change == "removed":
        return EventLine("removed", one_line(summary["title"]), "dim")
    words = ", ".join(status_words(summary["status"])[1:])
    activity = one_line(summary.get("activity") or "")
    text = " - ".join(filter(None, (one_line(summary["title"]) or "(no title)", activity)))
    return EventLine(
        activity_word(summary["status"]),
        f"{text} ({words})" if words else text,
        status_style(summary["status"]),
    )


# One session.


class _SessionWatch:
    """Follows a session and all of its chats, new ones included."""

    def __init__(self, client: Client, session: Session, printer: _Printer) -> None:
        self._client = client
        self._session = session
        self._printer = printer
        # Whoever sits at a terminal sees it; a program that reads along is nobody.
        self._read = ReadMark(session) if sys.stdout.isatty() and not printer.as_json else None
        # What follows each chat.
        self._following: dict[str, asyncio.Task[None]] = {}
        # What each canvas last showed.
        self._canvases: dict[str, Json] = {}
        self._tasks = Tasks(self._on_task_failure)
        # Done when the session is gone, or with whatever else ends this.
        self._over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        # The beginning of a line of the answer or of reasoning, and the chat and part that it
        # belongs to.
        self._text = ""
        self._text_of = ("", "")
        self._is_thought = False

    async def run(self) -> int:
        """Print until the session is gone."""
        self._tasks.start(self._follow_session(), f"follow {self._session.uri}")
        try:
            await self._over
        finally:
            await self._tasks.close()
        return OK

    def _start(self, uri: str, work: Coroutine[Any, Any, None]) -> None:
        self._following[uri] = self._tasks.start(work, f"follow {uri}")

    def _on_task_failure(self, error: Exception) -> None:
        if not self._over.done():
            self._over.set_exception(error)

    async def _follow_session(self) -> None:
        try:
            before = await self._begin()
            async for state in self._session.channel:
                self._follow_chats(state)
                for kind, fields in session_changes(before, state):
                    self._print_change(kind, fields)
                before = state
                self._mark_read()
        except ChannelGone:
            if isinstance(self._client.connection.state, Closed):
                raise
            self._print_change("removed", {})
            self._over.set_result(None)

    def _follow_chats(self, state: SessionState) -> None:
        """Follow the chats that are new, and let go of those that went or moved elsewhere."""
        chats = {chat["resource"]: chat for chat in state["chats"]}
        for uri in self._following.keys() - chats.keys():
            self._following.pop(uri).cancel()
            if self._read is not None:
                self._read.chats.pop(uri, None)
        for uri, chat in chats.items():
            if uri not in self._following:
                self._start(uri, self._follow_new(chat))

    def _mark_read(self) -> None:
        chats = self._session.chats
        running = any(activity_word(chat["status"]) in ("running", "needs input") for chat in chats)
        if self._read is not None:
            self._read.mark_if_unread(running=running)

    async def _begin(self) -> SessionState:
        """Subscribe to the existing chats, then print what the session has."""
        state = self._session.state
        uris = [chat["resource"] for chat in state["chats"]]
        chats = await asyncio.gather(*(self._session.chat(uri, turns=1) for uri in uris))
        self._print_change("present", _present(state))
        for chat in chats:
            # A turn under way is told from its beginning.
            self._start(chat.uri, self._tell(chat, before_turn(chat.channel.confirmed)))
        return state

    async def _follow_new(self, summary: ChatSummary) -> None:
        """Follow a chat that was opened later, from its beginning."""
        origin = summary.get("origin")
        with contextlib.suppress(ChannelGone):
            chat = await self._session.chat(summary["resource"])
            # A fork brings turns along that did not happen in it.
            is_fork = origin is not None and origin["kind"] == "fork"
            confirmed = chat.channel.confirmed
            await self._tell(chat, before_turn(confirmed) if is_fork else {"turns": []})

    async def _tell(self, chat: Chat, before: Json) -> None:
        if self._read is not None:
            self._read.chats[chat.uri] = chat
        around = asyncio.create_task(self._tell_around(chat), name=f"around {chat.uri}")
        # That a chat was closed is told by its session.
        try:
            with contextlib.suppress(ChannelGone):
                async for event in ChatFeed(chat.channel, before):
                    self._print_event(chat.uri, event)
        finally:
            around.cancel()
            await asyncio.gather(around, return_exceptions=True)

    async def _tell_around(self, chat: Chat) -> None:
        """Tell what goes on beside a chat's turns: work in the background, canvases."""
        before: Json = {}
        canvases: dict[str, asyncio.Task[None]] = {}
        try:
            async for state in chat.channel:
                for kind, fields in background_changes(before, state):
                    self._print_around(chat.uri, kind, fields)
                self._follow_canvases(chat.uri, canvases, canvas_uris(state))
                before = state
        except ChannelGone:
            pass
        finally:
            for task in canvases.values():
                task.cancel()
            await asyncio.gather(*canvases.values(), return_exceptions=True)

    def _follow_canvases(
        self, chat: str, canvases: dict[str, asyncio.Task[None]], uris: Sequence[str]
    ) -> None:
        for uri in [uri for uri in canvases if uri not in uris]:
            canvases.pop(uri).cancel()
            closed = self._canvases.pop(uri, canvas_fields(uri, {}))
            self._print_around(chat, "canvasClosed", without(closed, "url"))
        for uri in uris:
            if uri not in canvases:
                work = self._tell_canvas(chat, uri)
                canvases[uri] = asyncio.create_task(work, name=f"follow {uri}")

    async def _tell_canvas(self, chat: str, uri: str) -> None:
        """Tell what a canvas shows, until it is closed."""
        try:
            channel = await self._client.subscribe(uri)
        except (AgentHostError, TimeoutError):
            # It went before it could be looked at, or is not for us.
            return
        try:
            with contextlib.suppress(ChannelGone):
                async for state in channel:
                    self._canvases[uri] = canvas_fields(uri, state)
                    self._print_around(chat, "canvas", self._canvases[uri])
        finally:
            self._client.unsubscribe(channel)

    def _print_around(self, chat: str, kind: str, fields: Json) -> None:
        if self._printer.as_json:
            told = {"event": kind, "session": self._session.uri, "chat": chat, **fields}
            self._printer.print_json(told)
        else:
            self._print_text(self._text)
            self._printer.print_line(_short(chat), change_line(kind, fields))

    def _print_change(self, kind: str, fields: Json) -> None:
        uri = self._session.uri
        if self._printer.as_json:
            self._printer.print_json({"event": kind, "session": uri, **fields})
        else:
            self._printer.print_line(_short(fields.get("chat", uri)), _change_line(kind, fields))

    def _print_event(self, chat: str, event: ChatEvent) -> None:
        if self._printer.as_json:
            told = {"session": self._session.uri, "chat": chat, **event_json(event)}
            self._printer.print_json(told)
        elif isinstance(event, Text | Reasoning):
            self._collect(chat, event)
        elif (line := event_line(event)) is not None:
            self._print_text(self._text)
            self._printer.print_line(_short(chat), line)

    def _collect(self, chat: str, event: Text | Reasoning) -> None:
        """Print the complete lines of streamed text."""
        if self._text_of != (chat, event.part_id):
            self._print_text(self._text)
            self._text_of = (chat, event.part_id)
            self._is_thought = isinstance(event, Reasoning)
        *lines, rest = (self._text + event.text).split("\n")
        for line in lines:
            self._print_text(line)
        self._text = rest

    def _print_text(self, text: str) -> None:
        self._text = ""
        if text.strip():
            shown = safe_text(text).rstrip()
            line = (
                EventLine("reasoning", shown, "dim")
                if self._is_thought
                else EventLine("answer", shown)
            )
            self._printer.print_line(_short(self._text_of[0]), line)


def _present(state: SessionState) -> Json:
    return {
        "title": state["title"],
        "agent": state["provider"],
        "chats": [{"chat": chat["resource"], "title": chat["title"]} for chat in state["chats"]],
    }


def session_changes(before: SessionState, after: SessionState) -> Iterator[tuple[str, Json]]:
    """Yield changes of a session itself: title, flags, chats, lifecycle."""
    if before["title"] != after["title"]:
        yield "title", {"title": after["title"]}
    if before["lifecycle"] != after["lifecycle"]:
        yield "lifecycle", {"lifecycle": after["lifecycle"]}
    for kind, holds in (("archived", is_archived), ("unread", is_unread)):
        if holds(before["status"]) != holds(after["status"]):
            yield kind, {kind: holds(after["status"])}
    was = {chat["resource"]: chat for chat in before["chats"]}
    now = {chat["resource"]: chat for chat in after["chats"]}
    for uri in now.keys() - was.keys():
        yield "chatAdded", {"chat": uri, "title": now[uri]["title"]}
    for uri in was.keys() - now.keys():
        yield "chatRemoved", {"chat": uri, "title": was[uri]["title"]}


def _change_line(kind: str, fields: Json) -> EventLine:
    if kind in ("archived", "unread"):
        return EventLine(kind if fields[kind] else f"not {kind}", "", "magenta")
    words = {"chatAdded": "new chat", "chatRemoved": "chat closed"}
    text = fields.get("title", fields.get("lifecycle", ""))
    return EventLine(words.get(kind, kind), one_line(text), "magenta")


def _short(uri: str) -> str:
    return short_chat_id(uri)[:SHORT_ID].ljust(SHORT_ID)
