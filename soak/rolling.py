"""Restarting a cluster's nodes one after the other, while people work on it.

Everybody works in sessions of their own, so that nothing they do may be refused. All that they may
notice is that a connection ends, in a way that has clients connect again, and that they come back
through another node.
"""

from __future__ import annotations

import asyncio
import itertools
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException

from soak.cluster.ground import Node, ground
from tests.wire.client import PATIENCE, ROOT, WireClient, WireFailure
from tests.wire.talking import call_in, confirmed

__all__ = ["Office", "at_work", "restarted_in_turn", "run_rolling"]

Json = dict[str, Any]
# What shows that a connection is over, depending on the moment.
_GONE = (OSError, WebSocketException, AssertionError)
# The words of a turn, at most: it streams for about a second.
_MOST_WORDS = 80
# The most turns that people get on by before the next node is stopped.
_MOST_TURNS = 5
# The code that clients take as final.
_THROWN_OUT = 1008


@dataclass
class Office:
    """Where people work: the nodes that take clients, and what was done and went wrong."""

    nodes: Sequence[Node]
    random: Random = field(default_factory=lambda: Random(1))
    done: Counter[str] = field(default_factory=Counter)
    # What no client should have seen, in words.
    errors: list[str] = field(default_factory=list)
    returns: int = 0
    is_over: bool = False


class Person:
    """One client, which comes back and goes on with what it was doing."""

    def __init__(self, office: Office, name: str) -> None:
        self._office = office
        self._name = name
        self._names = itertools.count(1)
        self._client: WireClient | None = None
        self._random = Random(f"{office.random.random()} {name}")
        self._next_node = self._random.randrange(len(office.nodes))
        self._seqs = itertools.count(1)

    async def work(self) -> None:
        """Create, talk, approve and rename until the office closes."""
        office = self._office
        try:
            await self._come()
            while not office.is_over:
                session = f"ahp-session:/{self._name}-{next(self._names)}"
                chat = await self._created(session)
                await self._talked(chat, "t1", self._words())
                await self._approved(chat, "t2")
                await self._queued(chat, "t3")
                await self._done(session, {"type": "session/titleChanged", "title": "done"})
                office.done["sessions"] += 1
        except (WireFailure, TimeoutError, _Refused) as error:
            office.errors.append(f"{self._name}: {type(error).__name__} {error}")
        finally:
            if self._client is not None:
                await self._client.close()

    def _words(self) -> str:
        return f"stream {self._random.randint(1, _MOST_WORDS)}"

    # Coming, and coming back.

    async def _come(self) -> WireClient:
        former, office = self._client, self._office
        async with asyncio.timeout(PATIENCE):
            while True:
                up = [node for node in office.nodes if node.is_up]
                node = up[self._next_node % len(up)]
                self._next_node += 1
                try:
                    client = await self._arrived(node, former)
                except _GONE:
                    await asyncio.sleep(0.05)
                    continue
                self._client = client
                return client

    async def _arrived(self, node: Node, former: WireClient | None) -> WireClient:
        socket = await connect(node.host.url, max_size=None, compression=None)
        client = WireClient(socket, self._name, "1.0.0")
        try:
            if former is None:
                await client.initialize(ROOT)
            else:
                await client.resume(former)
                await former.close()
                self._office.returns += 1
        except BaseException:
            await client.close()
            raise
        return client

    async def _kept(self, work: Any) -> Any:
        """Do something, as often as the connection ends meanwhile."""
        while True:
            client = self._client
            assert client is not None
            try:
                return await work(client)
            except _GONE as error:
                if not client.closed.done():
                    raise
                self._tell_ended(client, error)
                await self._come()

    def _tell_ended(self, client: WireClient, error: BaseException) -> None:
        code, reason = client.closed.result()
        self._office.done[f"connection ended with {code} {reason}"] += 1
        if code == _THROWN_OUT:
            raise _Refused(f"the connection ended with {code} {reason}")

    # What people do. Each of these may be begun again on another connection.

    async def _created(self, session: str) -> str:
        asked = 0

        async def create(client: WireClient) -> str:
            nonlocal asked
            asked += 1
            try:
                await client.request("createSession", channel=session, provider="worker")
            except WireFailure as failure:
                # Asked for on a connection that ended before the answer.
                if asked == 1 or "in use" not in failure.message:
                    raise
            await client.subscribe(session)
            await client.until(
                lambda: (
                    client.states[session]
                    if client.states[session]["lifecycle"] == "ready"
                    else None
                )
            )
            chat: str = client.states[session]["defaultChat"]
            await client.subscribe(chat)
            return chat

        chat: str = await self._kept(create)
        return chat

    async def _done(self, channel: str, action: Json) -> None:
        """Dispatch an action, again under its number where nobody answered it."""
        seq = next(self._seqs)
        origin = {"clientId": self._name, "clientSeq": seq}

        async def send(client: WireClient) -> None:
            params = {"channel": channel, "clientSeq": seq, "action": action}
            seen = [e for e in client.envelopes.get(channel, ()) if e.get("origin") == origin]
            if not seen:
                await client.send({"method": "dispatchAction", "params": params})
            envelope = await client.envelope(channel, lambda e: e.get("origin") == origin)
            if "rejectionReason" in envelope:
                raise _Refused(f"{action['type']}: {envelope['rejectionReason']}")

        await self._kept(send)
        self._office.done[action["type"]] += 1

    async def _talked(self, chat: str, turn: str, text: str) -> None:
        client = self._client
        assert client is not None
        await self._done(chat, client.turn_started(turn, text))
        await self._ended(chat, turn)

    async def _approved(self, chat: str, turn: str) -> None:
        client = self._client
        assert client is not None
        await self._done(chat, client.turn_started(turn, "approve"))
        call: Json = await self._kept(lambda c: call_in(c, chat, "pending-confirmation"))
        await self._done(chat, confirmed(turn, call, True))
        await self._ended(chat, turn)

    async def _queued(self, chat: str, turn: str) -> None:
        """Have a message wait for the end of a turn."""
        client = self._client
        assert client is not None
        await self._done(chat, client.turn_started(turn, self._words()))
        message = client.turn_started("", "stream 5")["message"]
        pending = {"type": "chat/pendingMessageSet", "kind": "queued", "id": "q"}
        await self._done(chat, {**pending, "message": message})
        await self._ended(chat, turn)

        def is_last_over(client: WireClient) -> Json | None:
            state = client.states[chat]
            over = state["turns"][-1]["id"] != turn and "activeTurn" not in state
            return state if over else None

        state: Json = await self._kept(lambda c: c.until(lambda: is_last_over(c)))
        self._judge(state["turns"][-1])

    async def _ended(self, chat: str, turn: str) -> None:
        def found(client: WireClient) -> Json | None:
            turns = client.states[chat]["turns"]
            return next((each for each in turns if each["id"] == turn), None)

        ended: Json = await self._kept(lambda client: client.until(lambda: found(client)))
        self._judge(ended)

    def _judge(self, turn: Json) -> None:
        if turn["state"] != "complete":
            error = [part for part in turn["responseParts"] if part["kind"] == "error"]
            raise _Refused(f"the turn {turn['id']} ended as {turn['state']}: {error}")
        self._office.done["turns"] += 1


class _Refused(Exception):
    """Somebody was refused what must be taken."""


@asynccontextmanager
async def at_work(office: Office, people: int) -> AsyncIterator[None]:
    """Have people work while the block runs; they end what they are doing behind it."""
    working = [
        asyncio.create_task(Person(office, f"person {number}").work()) for number in range(people)
    ]
    try:
        yield
    finally:
        office.is_over = True
        for result in await asyncio.gather(*working, return_exceptions=True):
            if isinstance(result, BaseException):
                office.errors.append(repr(result))


async def restarted_in_turn(office: Office) -> None:
    """Stop each node as an update does, and start it again, once people have got on."""
    for node in office.random.sample(office.nodes, len(office.nodes)):
        enough = office.done["turns"] + office.random.randint(0, _MOST_TURNS)
        async with asyncio.timeout(PATIENCE):
            while office.done["turns"] < enough and not office.errors:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        await node.stop()
        await node.start()
        office.errors += node.complaints


def run_rolling(rounds: int, people: int, seed: int) -> int:
    """Restart the nodes of a cluster so often; 0 if nobody saw an error."""
    return asyncio.run(_run(rounds, people, seed))


async def _run(rounds: int, people: int, seed: int) -> int:
    print(f"seed {seed}, {rounds} rolling restarts of three nodes, {people} clients", flush=True)
    with tempfile.TemporaryDirectory(prefix="agenthost-rolling-") as folder:
        async with ground(Path(folder)) as running:
            office = Office(running.nodes, Random(seed))
            async with at_work(office, people):
                for number in range(1, rounds + 1):
                    await restarted_in_turn(office)
                    done = office.done
                    print(
                        f"{number}: {done['sessions']} sessions, {done['turns']} turns, "
                        f"{office.returns} returns, {len(office.errors)} errors",
                        flush=True,
                    )
                    if office.errors:
                        break
    print(f"done: {dict(office.done)}", *office.errors[:20], sep="\n  ")
    return 1 if office.errors else 0
