"""``agenthost inspect``: show a wire log or a live connection in readable lines."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Literal

from agenthost.cli.arguments import Subparsers, add_command, add_json_option
from agenthost.cli.connection.host_connection import (
    add_connection_options,
    connected,
    run_command,
    use_colour,
)
from agenthost.cli.connection.session_lookup import open_session
from agenthost.cli.exit_codes import FAILED, OK, USAGE, report_failure
from agenthost.cli.format.terminal_text import Ink
from agenthost.cli.format.wire_log_format import (
    Filter,
    WireLogReader,
    WireMessage,
    message_json,
    message_line,
)
from agenthost.client import Client, SystemClock

# Seconds between two looks at a file that somebody else writes.
_LOOK = 0.2

_EXAMPLES = """examples:
  agenthost serve --wire-log wire.jsonl &
  agenthost inspect wire.jsonl --errors           what went wrong
  agenthost inspect wire.jsonl --method 'chat/*' --channel 3f2a
  agenthost inspect wire.jsonl --follow           as it is written
  agenthost inspect --live                        a connection of our own
  agenthost inspect --live release                while it follows a session

→ is said by a client, ← by the host; = answers a request, ! refuses it.
"""


def register(subparsers: Subparsers) -> None:
    """Add ``inspect`` to the argument tree."""
    inspect = add_command(
        subparsers, "inspect", "make a wire log, or a live connection, readable", run, _EXAMPLES
    )
    add = inspect.add_argument
    add("what", metavar="FILE", nargs="?", help="a log of `serve --wire-log`; - is standard input")
    add("--live", action="store_true", help="connect instead, and follow a SESSION if one is named")
    add("-f", "--follow", action="store_true", help="go on as the file grows")
    add("--channel", metavar="TEXT", help="only messages with TEXT in their channel's URI")
    add("--method", metavar="NAME", help="only this method or action type; may hold *")
    add("--errors", action="store_true", help="only what was refused, rejected or is malformed")
    add_json_option(inspect, "print one JSON object per line")
    add_connection_options(inspect, patience=None)


def run(args: argparse.Namespace) -> int:
    """Print messages until there are no more, or until interrupted."""
    if args.live:
        return run_command(args, _inspect_live)
    if args.what is None:
        return report_failure(args, "name a FILE, or use --live", USAGE, "usage")
    printer = _Printer(args)
    conversation = WireLogReader()
    understood = False
    try:
        for line in _lines(args.what, follow=args.follow):
            said = conversation.read_line(line)
            if said is not None:
                understood = understood or said.kind != "invalid"
                printer.print(said)
    except BrokenPipeError:
        raise
    except OSError as error:
        return report_failure(
            args, f"{args.what} cannot be read: {error.strerror}", FAILED, "failed"
        )
    if not understood:
        what = f"there is no message in {args.what}; is it a log that serve wrote with --wire-log?"
        return report_failure(args, what, FAILED, "failed")
    return OK


class _Printer:
    """Prints the messages that pass the filter."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._filter = Filter(args.channel, args.method, args.errors)
        self._as_json: bool = args.json
        self._ink = Ink(use_colour())
        # A log is read at once, but a growing one is watched.
        self._flush: bool = args.follow or args.live

    def print(self, said: WireMessage) -> None:
        """Print one message."""
        if not self._filter(said):
            return
        if self._as_json:
            print(json.dumps(message_json(said)), flush=self._flush)
            return
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        print(message_line(said, width, self._ink), flush=self._flush)


# A file.


def _lines(name: str, *, follow: bool) -> Iterator[bytes]:
    if name == "-":
        yield from sys.stdin.buffer
        return
    path = Path(name)
    rest = b""
    with path.open("rb") as first:
        file: IO[bytes] = first
        try:
            while True:
                for line in file:
                    rest += line
                    if rest.endswith(b"\n"):
                        yield rest
                        rest = b""
                if not follow:
                    break
                time.sleep(_LOOK)
                file = _current(path, file)
        finally:
            file.close()
    if rest:
        yield rest


def _current(path: Path, file: IO[bytes]) -> IO[bytes]:
    """Reopen a log file that was rotated, and rewind one that was truncated."""
    try:
        now, was = path.stat(), os.fstat(file.fileno())
    except FileNotFoundError:
        # Moved away; another one will come.
        return file
    if (now.st_ino, now.st_dev) != (was.st_ino, was.st_dev):
        file.close()
        return path.open("rb")
    if now.st_size < file.tell():
        file.seek(0)
    return file


# A connection.


async def _inspect_live(args: argparse.Namespace) -> int:
    printer = _Printer(args)
    conversation = WireLogReader()
    clock = SystemClock()
    # Bounded by nothing, as nothing else runs while a line is printed.
    seen: asyncio.Queue[tuple[str, Literal["in", "out"], bytes]] = asyncio.Queue()

    def observe(direction: Literal["in", "out"], payload: bytes) -> None:
        seen.put_nowait((clock.now(), direction, payload))

    async with connected(args, observe=observe) as client:
        following = asyncio.create_task(_follow(client, args.what), name="follow")
        try:
            while not following.done() or not seen.empty():
                taking = asyncio.create_task(seen.get(), name="take")
                await asyncio.wait({taking, following}, return_when=asyncio.FIRST_COMPLETED)
                if taking.done():
                    printer.print(_said(conversation, *taking.result()))
                else:
                    taking.cancel()
            await following
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
    return OK


def _said(
    conversation: WireLogReader, now: str, direction: Literal["in", "out"], payload: bytes
) -> WireMessage:
    # A log is written by the host, for which our "out" is its "in".
    entry = {"time": now, "connection": "live", "direction": "in" if direction == "out" else "out"}
    try:
        return conversation.read({**entry, "message": json.loads(payload)})
    except ValueError:
        return conversation.read({**entry, "raw": payload.decode(errors="replace")})


async def _follow(client: Client, session: str | None) -> None:
    """Follow a session and its chats until it is gone, so that messages are exchanged."""
    if session is None:
        await asyncio.Event().wait()
        return
    opened = await open_session(client, session)
    followed: set[str] = set()
    async for state in opened.channel:
        for chat in state["chats"]:
            if chat["resource"] not in followed:
                followed.add(chat["resource"])
                await opened.chat(chat["resource"])
