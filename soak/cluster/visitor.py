"""A client that goes from node to node and tells the history all that it sends, sees and holds.

It does what the protocol asks of clients: it comes back with the last number it saw, and sends
again, under the same numbers, what was not answered.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

from agenthost.cluster.front.pending import ANSWER_SECONDS
from soak.cluster.history import History
from soak.witness import NEWEST
from tests.wire.client import ROOT, WireClient

__all__ = ["Memory", "Visit", "visit"]

Json = dict[str, Any]
# Seconds for a node to answer who comes; a paused one takes connections and says nothing.
WELCOME = 8.0
# Seconds for an answer to an action: nodes promise one, if only a refusal, within three minutes.
ANSWER = ANSWER_SECONDS + 20.0


@dataclass
class Memory:
    """What a client keeps from one connection to the next."""

    client_id: str
    version: str
    history: History
    # What it held when it was last connected, and how it came there.
    last: Visit | None = None
    next_seq: int = 1
    # Its numbers -> channel and action that nobody has answered yet.
    unanswered: dict[int, tuple[str, Json]] = field(default_factory=dict)
    replays: int = 0
    snapshots: int = 0
    # Seconds of the longest wait for an answer, on one connection.
    slowest: float = 0.0


class Visit(WireClient):
    """One connection of such a client to one node."""

    def __init__(self, socket: ClientConnection, memory: Memory) -> None:
        self.memory = memory
        super().__init__(socket, memory.client_id, memory.version)

    async def dispatch(self, channel: str, action: Json) -> int:
        """Dispatch an action, and keep it until it is answered."""
        memory = self.memory
        seq, memory.next_seq = memory.next_seq, memory.next_seq + 1
        memory.unanswered[seq] = (channel, action)
        memory.history.dispatched(memory.client_id, seq, channel, action)
        await self._send(seq)
        return seq

    async def settled(self, channel: str, action: Json) -> None:
        """Dispatch an action and wait until it was done or refused."""
        memory, clock = self.memory, asyncio.get_running_loop().time
        seq, start = await self.dispatch(channel, action), clock()
        while seq in memory.unanswered:
            try:
                await self.until(lambda: None if seq in memory.unanswered else {})
            except TimeoutError:
                if clock() - start > ANSWER:
                    raise
        memory.slowest = max(memory.slowest, clock() - start)

    async def _send(self, seq: int) -> None:
        channel, action = self.memory.unanswered[seq]
        params = {"channel": channel, "clientSeq": seq, "action": action}
        self.sent.clear()
        await self.send({"method": "dispatchAction", "params": params})

    async def arrive(self) -> None:
        """Say hello, or come back where the last connection ended; send again what is open."""
        memory, former = self.memory, self.memory.last
        if former is None:
            await self.initialize(ROOT)
        else:
            result = await self.resume(former)
            if result["type"] == "replay":
                memory.replays += 1
                gone = set(result["missing"])
            else:
                memory.snapshots += 1
                given = {each["resource"]: each["state"] for each in result["snapshots"]}
                gone = self.states.keys() - given.keys()
                if memory.version == NEWEST:
                    memory.history.rejoined(memory.client_id, former.states, given)
            for channel in gone:
                memory.history.missing(channel, memory.client_id)
                del self.states[channel]
        for seq in list(memory.unanswered):
            await self._send(seq)

    def take_result(self, result: Json) -> None:
        """Take up what was asked for; from now on this is where the client stands."""
        super().take_result(result)
        # At once: it was shown this, whatever becomes of the connection before it is let in.
        self.memory.last = self

    def take_envelope(self, envelope: Json) -> None:
        """Apply an envelope, tell the history, and keep nothing else of it."""
        memory = self.memory
        memory.history.saw(memory.client_id, envelope)
        origin = envelope.get("origin") or {}
        super().take_envelope(envelope)
        if origin.get("clientId") == memory.client_id:
            memory.unanswered.pop(origin["clientSeq"], None)
        # A run has millions of these.
        self.envelopes.clear()
        self.received.clear()

    def take_snapshot(self, snapshot: Json) -> None:
        """Take a snapshot up, and tell the history what is in it."""
        super().take_snapshot(snapshot)
        if self.version == NEWEST:
            channel, number = snapshot["resource"], snapshot["fromSeq"]
            self.memory.history.held(self.client_id, number, channel, snapshot["state"])

    def tell_what_is_held(self) -> None:
        """Tell the history what this client mirrors, at the number that it saw last."""
        if self.version == NEWEST:
            for channel, state in self.states.items():
                self.memory.history.held(self.client_id, self.last_seen, channel, state)


async def visit(url: str, memory: Memory) -> Visit:
    """Connect to a node and be let in; the caller closes it.

    Raises:
        OSError, TimeoutError, WebSocketException, AssertionError: it is not there, or it went.
        WireFailure: it does not take this client.
    """
    async with asyncio.timeout(WELCOME):
        socket = await connect(url, max_size=None, compression=None, open_timeout=WELCOME)
        arriving = Visit(socket, memory)
        try:
            await arriving.arrive()
        except BaseException:
            arriving.abort()
            await arriving.close()
            raise
    return arriving
