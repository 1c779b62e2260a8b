"""What telemetry costs: turns without its call sites, with them while nobody looks on, recorded.

The first two take turns in the same run, so that other work on the machine disturbs both alike.
"""

from __future__ import annotations

import asyncio
import itertools
import sys
import tempfile
import time
from statistics import median

from agenthost.agents import Agent, Turn
from agenthost.host import Host
from agenthost.host.channels.chat.extra import ChatChannel
from agenthost.host.channels.chat.kind import CHAT
from agenthost.host.channels.otlp_kind import OTLP, TelemetryFollowed
from agenthost.host.channels.session.kind import SESSION
from agenthost.host.trust.principals import Starter
from agenthost.protocol.chat.messages import Message
from agenthost.tokens import Role
from benchmarks.timing import microseconds

TRACES = "ahp-otlp://traces"
ROUNDS = 15
# How much there is in one turn of each sort.
SORTS = {"words": 5_000, "calls": 50, "turns": 20}


class Busy(Agent):
    """Writes as many words, or makes as many tool calls, as it is told."""

    provider, display_name = "busy", "Busy"

    async def run(self, turn: Turn) -> None:
        sort, count = turn.text.split()
        for _ in range(int(count)):
            if sort == "words":
                await turn.write(" and so on")
            else:
                async with turn.tool("nothing") as call:
                    await call.start()
                    await call.complete("Done")


class Bench:
    """A host in which turns run one after the other."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self._numbers = itertools.count()
        runner = host.core.turns
        self._sites = (runner._begin_trace, runner.changed)
        # Nothing waits for changes here: what is left of the call site without the look.
        self._bare = (lambda running: None, self._changed)

    def trace(self, *, call_sites: bool) -> None:
        """Leave the call sites in, or take them out."""
        begin, changed = self._sites if call_sites else self._bare
        vars(self.host.core.turns).update(_begin_trace=begin, changed=changed)

    async def seconds(self, sort: str, count: int) -> float:
        """Return the CPU time that a turn takes, or some of one word each."""
        chat = await self._chat()
        started = time.process_time()
        if sort == "turns":
            for _ in range(count):
                await self._turn(chat, "words 1")
        else:
            await self._turn(chat, f"{sort} {count}")
        return time.process_time() - started

    async def _chat(self) -> ChatChannel:
        """Open a new one: what was said before would be told to the agent each time."""
        core, uri = self.host.core, f"ahp-session:/bench-{next(self._numbers)}"
        await core.sessions.create({"channel": uri}, Starter("benchmark"), Role.OWNER)
        session = core.directory.get(uri, SESSION)
        assert session is not None
        chat = core.directory.get(session.state["defaultChat"], CHAT)
        assert chat is not None
        return chat

    async def _turn(self, chat: ChatChannel, text: str) -> None:
        message: Message = {"text": text, "origin": {"kind": "user"}}
        self.host.core.chats.start_turn(chat, message, Starter("benchmark"))
        while self.host.core.turns.is_running(chat):
            await asyncio.sleep(0.0005)

    def _changed(self, chat: ChatChannel) -> None:
        runner = self.host.core.turns
        running = runner._running.get(chat.uri)
        if running is not None:
            running.publish()
        runner._waits.wake(chat)


async def compare() -> None:
    """Print what turns take without call sites, with them, and recorded."""
    # Where there is no repository, or looking at it would take the most time.
    with tempfile.TemporaryDirectory() as folder:
        async with Host([Busy()], default_directory=folder) as host:
            await _compare(host)


async def _compare(host: Host) -> None:
    bench = Bench(host)
    print(f"milliseconds of CPU time, the best and the median of {ROUNDS}")
    print(f"  {'':<24}{'no call sites':>18}{'off':>18}{'difference':>12}{'recorded':>18}")
    figures = {sort: await _two(bench, sort, count) for sort, count in SORTS.items()}
    loaded = sum(name.startswith("opentelemetry") for name in sys.modules)
    await _record(host)
    for sort, count in SORTS.items():
        without, off = figures[sort]
        recorded = [await bench.seconds(sort, count) for _ in range(ROUNDS)]
        change = (min(off) / min(without) - 1) * 100
        shown = f"{_shown(without):>18}{_shown(off):>18}{change:>+11.1f}%{_shown(recorded):>18}"
        print(f"  {count:>6} {sort:<17}{shown}")
    print(f"  modules of OpenTelemetry that were loaded while it was off: {loaded}")


async def _two(bench: Bench, sort: str, count: int) -> tuple[list[float], list[float]]:
    """Take turns with and without call sites."""
    await bench.seconds(sort, count)
    without: list[float] = []
    off: list[float] = []
    for number in range(2 * ROUNDS):
        is_off = number % 2 == 1
        bench.trace(call_sites=is_off)
        (off if is_off else without).append(await bench.seconds(sort, count))
    bench.trace(call_sites=True)
    return without, off


async def _record(host: Host) -> None:
    """Let somebody follow the traces; nobody is sent them, but all is made for it."""
    channel = await host.core.directory.find(TRACES, OTLP)
    assert channel is not None
    host.core.effects.carry_out(TelemetryFollowed(channel))
    while host.core.telemetry.active is None:
        await asyncio.sleep(0.01)


def _shown(seconds: list[float]) -> str:
    return f"{min(seconds) * 1e3:.1f} {median(seconds) * 1e3:7.1f}"


class _Off:
    """What a call site looks at while nobody wants to know."""

    def __init__(self) -> None:
        self.active: object | None = None


def look() -> None:
    """Print what one look takes while nobody wants to know."""
    telemetry = _Off()

    def looked() -> None:
        if (active := telemetry.active) is not None:
            raise AssertionError(active)

    def empty() -> None:
        pass

    taken = microseconds(looked, at_least=0.5) - microseconds(empty, at_least=0.5)
    cost = max(0.0, taken * 1e3)
    print(f"one look while nobody wants to know: {cost:.0f} ns")


def run() -> None:
    """Print the figures."""
    look()
    asyncio.run(compare())


if __name__ == "__main__":
    run()
