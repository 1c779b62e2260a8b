"""A client in a process of its own that works with a host's files, terminals and changes.

Started by ``workspace`` with a task and its arguments; prints one line of JSON when it begins and
one with its figures when it is done.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from agenthost.client import Client, Session, WatchInterrupted, connect

# Lines of 80 characters, as a program prints that says too much.
FLOOD = "yes {line} | head -c {size}"
LINE = "x" * 79
ROUNDS = 5


def begin() -> None:
    """Say that the task itself begins now."""
    print(json.dumps("begun"), flush=True)


async def flood(session: Session, size: str) -> Any:
    """Let a shell print a lot, and read all of it."""
    async with await session.terminals.create(cols=120, rows=30) as terminal:
        begin()
        start = time.perf_counter()
        await terminal.type(FLOOD.format(line=LINE, size=size) + "; exit\r")
        read = 0
        async for text in terminal.output():
            read += len(text)
        return {"seconds": time.perf_counter() - start, "characters": read}


def bare_flood(size: str) -> Any:
    """Let a shell print the same into a pty that is only read."""
    main, terminal = os.openpty()
    begin()
    start = time.perf_counter()
    command = ["sh", "-c", FLOOD.format(line=LINE, size=size)]
    process = subprocess.Popen(command, stdin=terminal, stdout=terminal)
    os.close(terminal)
    read = 0
    while True:
        try:
            data = os.read(main, 1 << 16)
        except OSError:
            # How Linux says that nobody holds the other end any more.
            break
        read += len(data)
    process.wait()
    os.close(main)
    return {"seconds": time.perf_counter() - start, "characters": read}


async def changes(session: Session, kind: str) -> Any:
    """Open a set of changes and wait until it is known, several times."""
    await session.channel.until(lambda state: state.get("changesets"))
    taken, files = [], 0
    begin()
    for _ in range(ROUNDS):
        start = time.perf_counter()
        async with await session.changes.open(kind) as view:
            files = len(await view.ready())
        taken.append(time.perf_counter() - start)
    return {"first": taken[0], "later": min(taken[1:]), "files": files}


async def complete(session: Session, query: str) -> Any:
    """Ask for files by a few characters, first of all and then again."""
    async with await session.chat() as chat:
        taken, items = [], 0
        begin()
        for _ in range(ROUNDS):
            start = time.perf_counter()
            items = len(await chat.completions(f"look at @{query}"))
            taken.append(time.perf_counter() - start)
    return {"first": taken[0], "later": min(taken[1:]), "items": items}


async def watch(session: Session, folder: str, branch: str, expected: str) -> Any:
    """Check out a branch under a watch, and wait until all of it was told."""
    async with await session.files.watch(folder) as watching:
        begin()
        start = time.perf_counter()
        process = await asyncio.create_subprocess_exec(
            "git", "-C", folder, "checkout", "-q", branch
        )
        batches = events = 0
        seen: set[str] = set()
        async for batch in watching:
            if isinstance(batch, WatchInterrupted):
                continue
            batches += 1
            events += len(batch)
            seen |= {change["uri"] for change in batch if "/.git" not in change["uri"]}
            if len(seen) >= int(expected):
                break
        await process.wait()
        seconds = time.perf_counter() - start
    return {"seconds": seconds, "batches": batches, "events": events}


async def read(session: Session, path: str, size: str) -> Any:
    """Read one file of a known size several times."""
    taken = []
    begin()
    for _ in range(ROUNDS):
        start = time.perf_counter()
        content = await session.files.read_bytes(path)
        taken.append(time.perf_counter() - start)
        assert len(content) == int(size)
    return {"seconds": min(taken)}


TASKS = {task.__name__: task for task in (flood, changes, complete, watch, read)}


async def visit(url: str, folder: str, task: str, *words: str) -> Any:
    """Make a session in a folder of the host and do something there."""
    async with connect(url, request_timeout=300) as client:
        return await _work(client, folder, task, *words)


async def _work(client: Client, folder: str, task: str, *words: str) -> Any:
    directories = [Path(folder).as_uri()]
    async with await client.sessions.create(directories=directories, keep=True) as session:
        return await TASKS[task](session, *words)


def main(task: str, *words: str) -> None:
    if task == "bare_flood":
        figures = bare_flood(*words)
    else:
        url, folder, *rest = words
        figures = asyncio.run(visit(url, folder, task, *rest))
    print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
