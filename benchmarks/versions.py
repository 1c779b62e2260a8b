"""A delta to a client of each of several versions: what it costs the host, this one and another.

``python -m benchmarks.versions --beside TREE`` measures the host in another tree in the same run,
turn by turn, so that other work on the machine disturbs both alike; TREE is a checkout of a commit
that spoke other versions, say. Each host is a process of its own that only uses what both trees
have; the subscribers sit in a third (``audience``). What is told is the time that the host's
process was busy, which other processes do not add to.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

VERSIONS = ("1.0.0", "0.7.0", "0.5.0")
# Rounds of which the best counts.
CLIENTS, DELTAS, ROUNDS = 10, 8_192, 15
HERE = Path(__file__).resolve().parents[1]
CHAT = "ahp-chat:/bench"
NOW = "2026-01-01T00:00:00.000Z"


class MeasuredHost:
    """A host in a process of its own, as its parent sees it."""

    def __init__(self, name: str, process: Process) -> None:
        self.name = name
        self._process = process

    async def ask(self, **command: Any) -> Any:
        """Send a command and wait for its answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(command).encode() + b"\n")
        line = await self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the host of {self.name} died")
        return json.loads(line)


@asynccontextmanager
async def measured(name: str, tree: Path) -> AsyncIterator[MeasuredHost]:
    """Run the host of a tree for the length of a block."""
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    process = await asyncio.create_subprocess_exec(
        sys.executable, __file__, "--host", stdin=PIPE, stdout=PIPE, env=environment
    )
    try:
        yield MeasuredHost(name, process)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        await process.wait()


async def compare(trees: dict[str, Path]) -> None:
    """Measure all hosts in turn and print a row for each version."""
    from benchmarks.audience import crowd

    async with AsyncExitStack() as stack:
        watchers = await stack.enter_async_context(crowd())
        hosts = [await stack.enter_async_context(measured(*tree)) for tree in trees.items()]
        spoken = {host.name: await host.ask(do="versions") for host in hosts}
        ports = {host.name: await host.ask(do="port") for host in hosts}
        costs: dict[tuple[str, str], list[float]] = {}
        for _ in range(ROUNDS):
            for version in VERSIONS:
                for host in hosts:
                    if version not in spoken[host.name]:
                        continue
                    await host.ask(do="begin")
                    followers = {"count": CLIENTS, "chat": CHAT, "version": version}
                    await watchers.ask(do="connect", port=ports[host.name], **followers)
                    await watchers.ask(do="watch", delays=False)
                    cost = await host.ask(do="stream")
                    await watchers.answer()
                    await watchers.ask(do="close")
                    costs.setdefault((version, host.name), []).append(cost)
    names = list(trees)
    print(f"a delta to {CLIENTS} clients of a version, microseconds that the host is busy")
    print(f"  {'':<12}" + "".join(f"{name:>12}" for name in names) + f"{'ratio':>8}")
    for version in VERSIONS:
        found = [min(costs[version, name]) for name in names if (version, name) in costs]
        shown = [
            f"{min(costs[version, name]):12.2f}" if (version, name) in costs else f"{'-':>12}"
            for name in names
        ]
        ratio = f"{found[0] / found[1]:8.2f}" if len(found) == 2 else ""
        print(f"  {'delta ' + version:<12}" + "".join(shown) + ratio)


# The process of one host


async def serve() -> None:
    """Run a host with one chat and do what is asked on standard input."""
    from agenthost.host import Host
    from agenthost.host.channels.chat.kind import CHAT as CHAT_KIND
    from agenthost.protocol import SUPPORTED_VERSIONS

    async with Host() as host:
        port = int((await host.listen(port=0)).rpartition(":")[2])
        named = {"resource": CHAT, "title": "Chat", "status": 1, "modifiedAt": NOW}
        state: Any = {**named, "turns": []}
        chat = host.core.directory.create(CHAT, CHAT_KIND, state)
        loop = asyncio.get_running_loop()
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            answer: Any = "done"
            match json.loads(line)["do"]:
                case "versions":
                    answer = SUPPORTED_VERSIONS
                case "port":
                    answer = port
                case "begin":
                    begin(host, chat)
                case "stream":
                    answer = await stream(host, chat)
            os.write(1, json.dumps(answer).encode() + b"\n")


def begin(host: Any, chat: Any) -> None:
    """Empty the chat, and start a turn in it."""
    message = {"text": "go", "origin": {"kind": "user"}}
    started = {"type": "chat/turnStarted", "turnId": "t", "startedAt": NOW, "message": message}
    part = {"kind": "markdown", "id": "p", "content": ""}
    apply = host.core.writer.apply
    if chat.state["turns"]:
        apply(chat, {"type": "chat/truncated"})
    apply(chat, started)
    apply(chat, {"type": "chat/responsePart", "turnId": "t", "part": part})


async def stream(host: Any, chat: Any) -> float:
    """Stream a turn to its end; return the microseconds of each delta."""
    writer = host.core.writer
    delta = {"type": "chat/delta", "turnId": "t", "partId": "p", "content": " and so on"}
    await writer.ledger.settle()
    start = time.process_time()
    for index in range(DELTAS):
        writer.apply(chat, delta)
        if index % 64 == 63:
            await writer.ledger.settle()
            # What waits is merged, which would flatter whoever is slower.
            while any(each.outbox.waiting_bytes for each in host.connections):
                await asyncio.sleep(0.001)
    busy = time.process_time() - start
    writer.apply(chat, {"type": "chat/turnComplete", "turnId": "t", "duration": 1})
    await writer.ledger.settle()
    return busy / DELTAS * 1e6


def run(beside: Path | None = None) -> None:
    """Print the figures."""
    trees = {"this": HERE} | ({"beside": beside} if beside is not None else {})
    asyncio.run(compare(trees))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--beside", type=Path, metavar="TREE", help="another tree to measure")
    parser.add_argument("--host", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.host:
        asyncio.run(serve())
    else:
        run(arguments.beside and arguments.beside.resolve())


if __name__ == "__main__":
    main()
