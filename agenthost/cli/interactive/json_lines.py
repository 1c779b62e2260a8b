"""``agenthost chat --json``: events as JSON lines out, commands in.

A line of input is a command as a JSON object, or just text to send. When the input ends, this ends
as soon as nothing runs any more or what runs waits for an answer that cannot come.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import json
import os
import threading
from collections.abc import AsyncIterator, Mapping
from typing import Any

from agenthost.cli.exit_codes import OK
from agenthost.cli.format.chat_changes import background_changes
from agenthost.cli.format.event_format import event_json
from agenthost.cli.interactive.prompts.pending import Pending, pending_prompts
from agenthost.client import (
    ChannelGone,
    Chat,
    ChatEvent,
    Client,
    Closed,
    ConfirmationNeeded,
    Connected,
    ConnectionState,
    Dispatch,
    DispatchFailed,
    Reconnecting,
    Session,
    actions,
)
from agenthost.client.chat import ChatFeed
from agenthost.errors import AgentHostError

Json = Mapping[str, Any]

# Each command, with the members that it must have.
_COMMANDS: dict[str, tuple[str, ...]] = {
    "send": ("text",),
    "queue": ("text",),
    "steer": ("text",),
    "cancel": (),
    "resume": (),
    "approve": ("toolCallId",),
    "deny": ("toolCallId",),
    "answer": ("requestId", "answers"),
    "decline": ("requestId",),
    "dismiss": ("requestId",),
    "leave": (),
}


class BadCommand(ValueError):
    """A line of input is not a valid command."""


def read_command(text: str) -> dict[str, Any] | None:
    """Parse a line of input; None when it is empty.

    Raises:
        BadCommand: it looks like a command and is none.
    """
    text = text.strip()
    if not text:
        return None
    if not text.startswith("{"):
        return {"do": "send", "text": text}
    try:
        command = json.loads(text)
        json.dumps(command, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise BadCommand("there is half a character in it, which cannot be sent") from None
    except ValueError as error:
        raise BadCommand(f"not valid JSON: {error}") from None
    needed = _COMMANDS.get(str(command.get("do")))
    if needed is None:
        raise BadCommand(f'"do" must be one of {", ".join(_COMMANDS)}')
    missing = [key for key in needed if key not in command]
    if missing:
        raise BadCommand(f"{command['do']} needs {', '.join(missing)}")
    found: dict[str, Any] = command
    return found


def link_json(state: ConnectionState) -> dict[str, Any]:
    """Return the connection's state as an event."""
    match state:
        case Connected(version=version, resumed=resumed):
            return {
                "event": "connection",
                "state": "connected",
                "version": version,
                "resumed": resumed,
            }
        case Reconnecting(reason=reason, delay=delay, attempt=attempt):
            told = {"reason": reason, "delay": round(delay, 3), "attempt": attempt}
            return {"event": "connection", "state": "reconnecting", **told}
        case Closed(error=error):
            return {
                "event": "connection",
                "state": "closed",
                "error": str(error) if error else None,
            }
    return {"event": "connection", "state": "connecting"}


class JsonLines:
    """One chat as JSON lines."""

    def __init__(
        self,
        client: Client,
        session: Session,
        chat: Chat,
        *,
        model: str | None = None,
        agent: str | None = None,
    ) -> None:
        self._client = client
        self._session = session
        self._chat = chat
        given = {"model": model, "agent": agent}
        self._options: dict[str, Any] = {
            k: value for k, value in given.items() if value is not None
        }
        self._sending: set[asyncio.Task[None]] = set()
        # Whether the last command was to leave at once.
        self._leaves = False
        self._feed = ChatFeed(chat.channel, chat.channel.confirmed)

    async def run(self) -> int:
        """Follow the chat and run commands until the input ends and nothing runs any more."""
        stop = self._client.connection.on_change(lambda state: _print(link_json(state)))
        self._print_attached()
        events = asyncio.create_task(self._tell_events(), name="events")
        around = asyncio.create_task(self._tell_background(), name="background")
        commands = asyncio.create_task(self._carry_out_all(), name="commands")
        try:
            await asyncio.wait({events, commands}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stop()
            tasks = (events, around, commands, *self._sending)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        gone = self._chat.channel.gone
        if gone is not None:
            _print({"event": "gone", "reason": str(gone)})
            raise gone
        for event in self._feed.new():
            _print(_event(event))
        if not commands.cancelled():
            commands.result()
        return OK

    def _print_attached(self) -> None:
        state = self._session.state
        _print(
            {
                "event": "attached",
                "session": self._session.uri,
                "chat": self._chat.uri,
                "title": state["title"],
                "agent": state["provider"],
                "state": self._chat.channel.confirmed,
            }
        )

    async def _tell_events(self) -> None:
        with contextlib.suppress(ChannelGone):
            async for event in self._feed:
                _print(_event(event))

    async def _tell_background(self) -> None:
        """Tell what begins and ends in the background; what ran before is in the state."""
        before: Json = self._chat.channel.confirmed
        with contextlib.suppress(ChannelGone):
            async for state in self._chat.channel:
                for kind, fields in background_changes(before, state):
                    _print({"event": kind, **fields})
                before = state

    async def _carry_out_all(self) -> None:
        async for text in _lines():
            try:
                command = read_command(text)
                if command is not None:
                    self._carry_out(command)
                if self._leaves:
                    break
            except (LookupError, TypeError, ValueError, AgentHostError) as error:
                _print({"event": "refused", "command": text.strip(), "reason": str(error)})
        await self._until_over()

    def _carry_out(self, command: dict[str, Any]) -> None:
        if command["do"] == "leave":
            self._leaves = True
            return
        dispatch = self._dispatch(command)
        if dispatch is not None:
            task = asyncio.create_task(self._outcome(command, dispatch), name="outcome")
            self._sending.add(task)
            task.add_done_callback(self._sending.discard)

    def _dispatch(self, command: dict[str, Any]) -> Dispatch | None:
        chat = self._chat
        match command["do"]:
            case "send" if chat.active_turn is None:
                return chat.send(command["text"], **self._options).started
            case "send" | "queue":
                return chat.queue(command["text"], **self._options)
            case "steer":
                return chat.steer(command["text"], **self._options)
            case "cancel":
                return chat.cancel()
            case "resume":
                return chat.resume().started
        pending = self._find(command)
        return self._client.dispatch(pending.chat, _answer(pending, command))

    def _find(self, command: Json) -> Pending:
        id = command.get("toolCallId", command.get("requestId"))
        for pending in self._waiting(self._chat.state):
            if pending.id == id:
                return pending
        raise LookupError(f"nothing called {id} waits for an answer")

    def _waiting(self, state: Json) -> list[Pending]:
        session = self._session
        return pending_prompts(self._chat.uri, state, session.chats, session.input_needed)

    async def _outcome(self, command: Json, dispatch: Dispatch) -> None:
        try:
            await dispatch
        except DispatchFailed as error:
            _print({"event": "refused", "command": command, "reason": str(error)})

    async def _until_over(self) -> None:
        while self._sending:
            await asyncio.wait(set(self._sending))
        if self._leaves:
            return

        def is_over(state: Any) -> bool:
            if self._waiting(state):
                return True
            return "activeTurn" not in state and not state.get("queuedMessages")

        await self._chat.channel.until(is_over)


def _answer(pending: Pending, command: Json) -> Json:
    match command["do"]:
        case "approve":
            return actions.approval(
                pending.turn_id,
                pending.item,
                option=command.get("option"),
                edited_input=command.get("input"),
            )
        case "deny":
            return actions.denial(
                pending.turn_id,
                pending.item,
                option=command.get("option"),
                reason=command.get("reason"),
                suggestion=command.get("suggestion"),
            )
        case "answer":
            answers = actions.answers_to(pending.item, command["answers"])
            return actions.input_completed(pending.id, "accept", answers)
        case "decline":
            return actions.input_completed(pending.id, "decline")
    return actions.input_completed(pending.id, "cancel")


def _event(event: ChatEvent) -> dict[str, Any]:
    told = event_json(event)
    if isinstance(event, ConfirmationNeeded):
        # Whoever is to approve needs to know what there is to choose.
        keys = ("confirmationTitle", "options", "editable", "edits", "riskAssessment")
        call: Json = event.call
        return {**told, **{key: call[key] for key in keys if key in call}}
    return told


async def _lines(descriptor: int = 0) -> AsyncIterator[str]:
    """Yield the lines of standard input, which may be a file, a pipe or a terminal."""
    loop = asyncio.get_running_loop()
    pieces: asyncio.Queue[bytes] = asyncio.Queue(maxsize=16)

    def read() -> None:
        # Without a buffer of Python's own, whose lock would outlive us at the exit.
        with contextlib.suppress(OSError, RuntimeError, concurrent.futures.CancelledError):
            while True:
                piece = os.read(descriptor, 65536)
                asyncio.run_coroutine_threadsafe(pieces.put(piece), loop).result()
                if not piece:
                    return

    # A thread that nobody waits for: it may read for ever.
    threading.Thread(target=read, name="standard input", daemon=True).start()
    rest = b""
    while piece := await pieces.get():
        *lines, rest = (rest + piece).split(b"\n")
        for text in lines:
            yield text.decode(errors="replace")
    if rest:
        yield rest.decode(errors="replace")


def _print(what: Json) -> None:
    print(json.dumps(what), flush=True)
