"""The chat in a terminal: keys beside a stream, Markdown, long diffs and long chats.

Keys are measured from outside, as a person would: a byte is written to the terminal, and counts
when it is drawn. The same keys without a stream stand beside them, because a busy machine slows
both. Everything else is CPU time.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import pty
import select
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ParamSpec, TypeVar

from agenthost.agents import Agent, Turn, content
from agenthost.cli.data_dir import STORE_FILE
from agenthost.cli.format.diff_rows import diff_rows
from agenthost.cli.interactive.display.diffs import whole
from agenthost.cli.interactive.display.markdown import MarkdownText
from agenthost.cli.pager import ansi_row, run_pager
from agenthost.client import connect
from agenthost.host.store import SaveSnapshot, SqliteStore

Given = ParamSpec("Given")
Result = TypeVar("Result")

RATE, SECONDS, KEYS = 2_000, 8, 100
COLUMNS, ROWS = 120, 40
AGENTHOST = [sys.executable, "-m", "agenthost.cli.main"]
NEW = ("--new", "--agent", "pace")
# Letters that no stream here writes, so that one on the screen is the one that was typed.
LETTERS = b"QXZJ"
READY = b"Ctrl-D leaves"
EDITED = Path("/srv/project/values.py")
DONE = b"-all-was-written-"
# Characters of one delta, and deltas of one frame at that rate.
DELTA, FRAME = 12, 60

PROSE = "Some *text* with `code`, **bold** words and a [link](http://x.y), as models write it.\n"
CODE = '    def method(self, value: int) -> str:  # comment\n        return f"{value}" or None\n'
TABLE = "| some `code` | **bold** words | 日本語 | 12 |\n"
HEADS = {"prose": "", "code": "```python\n", "table": "| a | b | c | d |\n|---|---|---|--:|\n"}
TEXTS = {"prose": PROSE, "code": CODE, "table": TABLE}


class Pace(Agent):
    """Streams one kind of text, so many deltas a second, or asks about a long edit."""

    provider, display_name = "pace", "Pace"

    async def run(self, turn: Turn) -> None:
        kind, *figures = turn.text.split()
        if kind == "edit":
            await self._edit(turn)
        elif figures:
            await self._stream(turn, kind, *figures)
        else:
            await turn.write("a word")

    async def _edit(self, turn: Turn) -> None:
        old = source_lines()
        edit = await content.stored_edit(turn, EDITED, "".join(old), "".join(every_200th(old)))
        async with turn.tool("edit", display_name="Edit file") as call:
            if await call.confirm("Write it?", edits=[edit]):
                await call.complete("Wrote it", [content.file_edit(edit)])

    async def _stream(self, turn: Turn, kind: str, rate: str, seconds: str) -> None:
        text, sent, start = TEXTS[kind], 0, time.perf_counter()
        await turn.write(HEADS[kind])
        while (now := time.perf_counter() - start) < int(seconds):
            while sent < now * int(rate):
                at = sent * DELTA % len(text)
                await turn.write(text[at : at + DELTA])
                sent += 1
            await asyncio.sleep(0.002)
        await turn.write(f"\n{'```' if kind == 'code' else ''}\n\n{DONE.decode()}\n")


class Pane:
    """A chat on a terminal of its own."""

    def __init__(self, words: list[str], folder: str) -> None:
        self.fd, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        environment = {**os.environ, "TERM": "xterm-256color"}
        self.process = subprocess.Popen(
            [*words, "--data-dir", folder],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environment,
            start_new_session=True,
        )
        os.close(slave)
        # Bytes that were written to the terminal, the last of them, and whether a turn has ended.
        self.written = 0
        self.newest = b""
        self.is_done = False

    def read(self) -> bytes:
        data = os.read(self.fd, 65536)
        self.written += len(data)
        self.newest = self.newest[-len(DONE) :] + data
        self.is_done = self.is_done or DONE in self.newest
        return data

    def stream(self, kind: str) -> None:
        self.is_done = False
        os.write(self.fd, f"{kind} {RATE} {SECONDS}\r".encode())

    def until_done(self) -> None:
        """Wait for the end of a turn, which may have come long ago."""
        end = time.perf_counter() + 3 * SECONDS
        while not self.is_done and time.perf_counter() < end:
            self.drain(0.2)

    def until(self, wanted: bytes, limit: float = 60) -> float:
        """Read until something is drawn; return the milliseconds that took."""
        start, seen = time.perf_counter(), b""
        while wanted not in seen:
            if time.perf_counter() - start > limit:
                raise TimeoutError(seen[-500:])
            if select.select([self.fd], [], [], 0.5)[0]:
                # What is wanted may come in two pieces.
                seen = seen[-len(wanted) :] + self.read()
        return (time.perf_counter() - start) * 1e3

    def drain(self, seconds: float) -> None:
        end = time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0:
            if select.select([self.fd], [], [], left)[0]:
                self.read()

    def type(self, count: int) -> tuple[list[float], list[float]]:
        """Type letters, one after the other; return the milliseconds until each was drawn.

        Then the same without the time for which the chat waited for a processor.
        """
        delays, own = [], []
        for number in range(count):
            letter = LETTERS[number % len(LETTERS) :][:1]
            waited = self.waited()
            os.write(self.fd, letter)
            delays.append(self.until(letter))
            own.append(max(delays[-1] - (self.waited() - waited), 0))
            self.drain(0.03)
        os.write(self.fd, b"\x15")
        self.drain(0.2)
        return sorted(delays), sorted(own)

    def resident(self) -> float:
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def waited(self) -> float:
        """Return the milliseconds for which the chat, or who types, was ready and others ran."""
        stats = (Path(f"/proc/{who}/schedstat").read_text() for who in (self.process.pid, "self"))
        return sum(int(stat.split()[1]) for stat in stats) / 1e6

    def cpu(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def running_host(folder: str) -> Iterator[None]:
    """Run a host."""
    serve = [*AGENTHOST, "serve", "--port", "0", "--agent", "benchmarks.terminal:Pace"]
    with subprocess.Popen(
        [*serve, "--data-dir", folder], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as host:
        assert host.stdout is not None
        host.stdout.readline()
        try:
            yield
        finally:
            host.terminate()


@contextmanager
def open_chat(folder: str, *words: str) -> Iterator[Pane]:
    """Run a chat with a host that runs."""
    pane = Pane([*AGENTHOST, "chat", *words], folder)
    try:
        yield pane
    finally:
        pane.process.terminate()
        pane.process.wait()


def typing() -> None:
    print(f"a key until it is drawn, milliseconds, beside {RATE:,} deltas a second;")
    print("then without the time for which other programs had the processors")
    print(f"{'':<22}{'median':>8}{'p95':>8}{'worst':>8}{'median':>10}{'p95':>8}{'worst':>8}   CPU")
    with (
        tempfile.TemporaryDirectory() as folder,
        running_host(folder),
        open_chat(folder, *NEW) as pane,
    ):
        pane.until(READY)
        pane.drain(0.5)
        show_keys(pane, "no stream")
        for kind in TEXTS:
            pane.stream(kind)
            pane.drain(1)
            show_keys(pane, kind)
            # The turn has to end before the next can begin.
            pane.until_done()
            pane.drain(0.5)
        show_keys(pane, "no stream, again")


def show_keys(pane: Pane, name: str, count: int = KEYS) -> None:
    cpu, start = pane.cpu(), time.perf_counter()
    told = "  ".join(map(_spread, pane.type(count)))
    share = (pane.cpu() - cpu) / (time.perf_counter() - start)
    print(f"  {name:<20}{told}{share:6.0%}", flush=True)


def _spread(delays: list[float]) -> str:
    middle, p95 = statistics.median(delays), delays[int(len(delays) * 0.95)]
    return f"{middle:8.1f}{p95:8.1f}{delays[-1]:8.1f}"


def markdown() -> None:
    print(f"Markdown as it arrives, {FRAME} deltas a frame: CPU milliseconds a frame")
    for kind, text in TEXTS.items():
        shown, body, costs = MarkdownText(), HEADS[kind], []
        for frame in range(300):
            for delta in range(FRAME):
                at = (frame * FRAME + delta) * DELTA % len(text)
                body += text[at : at + DELTA]
            costs.append(cpu_of(draw, shown, body)[0])
        costs.sort()
        lines = body.count("\n") / sum(costs) * 1e3
        print(
            f"  {kind:<22}median {statistics.median(costs):6.2f}  p95 {costs[285]:6.2f}  "
            f"worst {costs[-1]:6.2f}   {lines:8,.0f} lines a second"
        )


def draw(shown: MarkdownText, body: str) -> None:
    """Do what a frame does with a text that has grown."""
    shown.settle(body, COLUMNS, whole=False)
    shown.rest(body, COLUMNS)


def diffs() -> None:
    print("a diff of 10,000 lines: rows, CPU milliseconds to find, to style, to page")
    old = source_lines()
    cases = {
        "every 200th changed": every_200th(old),
        "halves swapped": old[5_000:] + old[:5_000],
        "all different": [f"other {n}\n" for n in range(10_000)],
    }
    for name, new in cases.items():
        found, rows = cpu_of(diff_rows, "".join(old), "".join(new))
        looks, lines = cpu_of(list, whole(rows, COLUMNS))
        paged, _ = cpu_of(run_pager, ["head", "-n", "0"], map(ansi_row, lines))
        print(f"  {name:<22}{len(rows):8,}{found:8.1f}{looks:8.1f}{paged:8.1f}")


def source_lines() -> list[str]:
    return [f"    value_{n} = compute({n % 97})\n" if n % 3 else "\n" for n in range(10_000)]


def every_200th(lines: list[str]) -> list[str]:
    return [f"new {text}" if n % 200 == 0 else text for n, text in enumerate(lines)]


def long_diff() -> None:
    print("an edit of 10,000 lines in the chat: milliseconds, from outside")
    with (
        tempfile.TemporaryDirectory() as folder,
        running_host(folder),
        open_chat(folder, *NEW) as pane,
    ):
        pane.until(READY)
        pane.drain(0.5)
        os.write(pane.fd, b"edit\r")
        print(f"  {'the message until its card has the diff':<44}{pane.until(b'value_1 '):8.1f}")
        pane.drain(1)
        os.write(pane.fd, b"v")
        print(f"  {'v until the pager has a screen of it':<44}{pane.until(b'q leaves'):8.1f}")
        pane.drain(0.5)
        os.write(pane.fd, b"G")
        print(f"  {'G until it has the end':<44}{pane.until(b'value_9802'):8.1f}")
        os.write(pane.fd, b"q")
        pane.drain(0.5)


def long_chats() -> None:
    print("a chat of so many turns of 1 KB, opened: milliseconds until it can be typed in,")
    print("bytes written to the terminal, resident MB of the chat")
    for count in (5_000, 20):
        with tempfile.TemporaryDirectory() as folder:
            with running_host(folder):
                session, chat_uri = asyncio.run(one_turn(folder))
            asyncio.run(lengthen(folder, chat_uri, count))
            with running_host(folder), open_chat(folder, session) as pane:
                took = pane.until(READY)
                pane.drain(1)
                print(f"  {count:<12,}{took:10.0f}{pane.written:10,}{pane.resident():8.0f}")


async def one_turn(folder: str) -> tuple[str, str]:
    """Have a session with one turn; return its id and its chat's URI."""
    async with connect(data_dir=Path(folder)) as client:
        session = await client.sessions.create("pace")
        talk = await session.chat()
        await talk.ask("hi")
        return session.uri.rpartition("/")[2], talk.uri


async def lengthen(folder: str, chat_uri: str, count: int) -> None:
    """Write a chat into the store with so many copies of its turn."""
    async with SqliteStore(Path(folder) / STORE_FILE) as store:
        stored = await store.load_channel(chat_uri)
        assert stored is not None
        state = json.loads(stored.state)
        (first,) = state["turns"]
        part = {**first["responseParts"][0], "content": PROSE * 12}
        state["turns"] = [
            {**first, "id": f"turn-{number}", "responseParts": [part]} for number in range(count)
        ]
        seq = max([stored.seq, *(entry.seq for entry in stored.tail)])
        await store.write(SaveSnapshot(chat_uri, stored.kind, seq + 1, json.dumps(state).encode()))


def cpu_of(
    operation: Callable[Given, Result], *given: Given.args, **named: Given.kwargs
) -> tuple[float, Result]:
    """Return the CPU milliseconds that an operation takes, and its result."""
    start = time.process_time()
    result = operation(*given, **named)
    return (time.process_time() - start) * 1e3, result


def run() -> None:
    """Print the figures."""
    markdown()
    diffs()
    long_diff()
    long_chats()
    typing()
