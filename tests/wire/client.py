"""A client that knows nothing but the wire: it sends frames, keeps what comes, and mirrors state.

Written against the specification, not against our own client: what it holds after applying the
envelopes it was sent, with the reducers of its own version, is compared with fresh snapshots.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import random
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import orjson
from websockets.asyncio.client import ClientConnection, connect

from agenthost.protocol import SUPPORTED_VERSIONS, reduce
from agenthost.protocol.reducer_registry import KINDS, Kind, kind_of
from tests.wire.wording import knows_times, since, turn_started, user_message

__all__ = ["ACTIVITY", "WireClient", "WireFailure", "open_client", "promised", "user_message"]

ROOT = "ahp-root://"
PATIENCE = 60.0
# Seconds by which each client's reading is put off at random, each message anew. Set, it shows
# tests that take for granted what another client, or another channel, has heard already.
JITTER = float(os.environ.get("AGENTHOST_TEST_JITTER", "0"))
# The bits of a status that say what is going on.
ACTIVITY = 31
NOW = "1970-01-01T00:00:09.999Z"

Json = dict[str, Any]

# By what members a state is known, the first that has them all: a snapshot does not say its kind.
MARKS: dict[Kind, set[str]] = {
    "root": {"agents"},
    "automationRun": {"automation", "sessions"},
    "session": {"lifecycle", "activeClients"},
    "chat": {"turns"},
    "terminal": {"content", "claim"},
    "canvas": {"instanceId", "canvasId"},
    "automation": {"entries"},
    "changeset": {"files", "status"},
    "resourceWatch": {"root", "recursive"},
    "annotations": {"annotations"},
}


def promised(state: Any, version: str = "") -> Any:
    """Drop what no client is promised to hold as a fresh snapshot has it.

    No action carries what a session is doing: its clients look at its chats, and only who comes new
    is told. Likewise a chat's title, what it changed and the count of annotations, which their
    lines in the lists have. Up to 0.9.0 none says that a chat was read or archived, either. Up to
    0.8.0, and where no version is given, every reducer stamps ``modifiedAt`` with its own clock.
    """
    if isinstance(state, list):
        return [promised(item, version) for item in state]
    if not isinstance(state, dict):
        return state
    kept = {key: promised(value, version) for key, value in state.items()}
    if not version or not since(version, "0.9.0"):
        kept.pop("modifiedAt", None)
    if "activeClients" in kept:
        kept.pop("annotations", None)
        return {**kept, "status": kept["status"] & ~ACTIVITY}
    if "turns" in kept and "resource" in kept:
        del kept["title"]
        kept.pop("changes", None)
        if version and not since(version, "1.0.0"):
            kept["status"] &= ACTIVITY
    return kept


class WireFailure(Exception):
    """The host answered a request with an error."""

    def __init__(self, error: Json) -> None:
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.data: Any = error.get("data")
        super().__init__(f"{self.code} {self.message}")


class WireClient:
    """One connection of one client, in one protocol version."""

    # Opens another connection to the same host, for a client of another name.
    beside: Callable[[str], AbstractAsyncContextManager[WireClient]]

    def __init__(self, socket: ClientConnection, client_id: str, version: str) -> None:
        self.socket = socket
        self.greeting: Json = {}
        self.client_id = client_id
        self.version = version
        # Everything received, in order, and every message sent.
        self.received: list[Json] = []
        self.sent: list[Json] = []
        # Channel -> the state it mirrors, and the kind of its reducer.
        self.states: dict[str, Json] = {}
        self.kinds: dict[str, Kind] = {}
        # Channel -> envelopes received for it, rejected ones too.
        self.envelopes: dict[str, list[Json]] = {}
        self.last_seen = 0
        # Asked of every message that was taken: whether to drop the connection right behind it.
        self.drop_when: Callable[[Json], bool] | None = None
        self._ids = itertools.count(1)
        self._seqs = itertools.count(1)
        # Request id -> the method that was asked for, for whoever looks at results afterwards.
        self.asked: dict[int, str] = {}
        self._answers: dict[int, asyncio.Future[Json]] = {}
        self._adopting: set[int] = set()
        # Request id -> what to do at the very moment its answer arrives.
        self._at_answer: dict[int, Callable[[], None]] = {}
        self._arrived = asyncio.Condition()
        self._reader = asyncio.create_task(self._read(), name=f"read {client_id}")
        # Set when the connection ended: its close code and reason.
        self.closed: asyncio.Future[tuple[int, str]] = asyncio.get_running_loop().create_future()

    async def request(
        self,
        method: str,
        *,
        adopt: bool = False,
        at_answer: Callable[[], None] | None = None,
        **params: Any,
    ) -> Any:
        """Send a request and return its result, or raise WireFailure.

        ``adopt`` takes up the snapshots in the result, in order with the envelopes behind it.
        ``at_answer`` is called before anything behind the answer is looked at.
        """
        id = next(self._ids)
        self.asked[id] = method
        if at_answer is not None:
            self._at_answer[id] = at_answer
        if adopt:
            self._adopting.add(id)
        self._answers[id] = asyncio.get_running_loop().create_future()
        message = {"id": id, "method": method, "params": {"channel": ROOT, **params}}
        await self.send(message)
        if self._reader.done():
            raise AssertionError(f"nobody reads the answer: {self.closed.result()}")
        try:
            async with asyncio.timeout(PATIENCE):
                answer = await self._answers[id]
        finally:
            del self._answers[id]
        if "error" in answer:
            raise WireFailure(answer["error"])
        return answer["result"]

    async def send_recorded(self, message: Json) -> asyncio.Future[Json] | None:
        """Send a message as another client once sent it; give what its answer will be, if any."""
        id = message.get("id")
        if id is None or "method" not in message:
            await self.send(message)
            return None
        self.asked[id] = message["method"]
        if message["method"] in ("initialize", "reconnect", "subscribe"):
            self._adopting.add(id)
        answer = self._answers[id] = asyncio.get_running_loop().create_future()
        await self.send(message)
        return answer

    async def refusal(self, method: str, **params: Any) -> WireFailure:
        """Send a request that must fail, and return how it failed."""
        try:
            result = await self.request(method, **params)
        except WireFailure as failure:
            return failure
        raise AssertionError(f"{method} was not refused but answered {result!r}")

    async def ping(self) -> None:
        """Wait until everything that the host had decided to send this client has arrived."""
        assert await self.request("ping") is None

    async def send(self, message: Json) -> None:
        message = {"jsonrpc": "2.0", **message}
        self.sent.append(message)
        await self.socket.send(orjson.dumps(message).decode())

    async def exchange(self, frame: str | bytes, id: Any = None, *, text: bool = True) -> Json:
        """Send a frame as it is, and return the answer with that id; null if it has none."""
        seen = len(self.received)

        def find() -> Json | None:
            answers = (message for message in self.received[seen:] if "method" not in message)
            return next((answer for answer in answers if answer["id"] == id), None)

        await self.socket.send(frame, text=text)
        return await self.until(find)

    async def initialize(self, *subscriptions: str, **params: Any) -> Json:
        self.greeting = params
        result: Json = await self.request(
            "initialize",
            adopt=True,
            **{
                "protocolVersions": [self.version],
                "clientId": self.client_id,
                "initialSubscriptions": list(subscriptions),
                **params,
            },
        )
        return result

    async def reconnect(self, last_seen: int, *subscriptions: str) -> Json:
        """Resume; what is replayed is applied to the states this client holds."""
        result: Json = await self.request(
            "reconnect",
            adopt=True,
            clientId=self.client_id,
            lastSeenServerSeq=last_seen,
            subscriptions=list(subscriptions),
        )
        return result

    def inherit(self, former: WireClient) -> None:
        """Hold what an earlier connection of the same client held."""
        self.states = dict(former.states)
        self.kinds = dict(former.kinds)
        self.envelopes = {channel: list(seen) for channel, seen in former.envelopes.items()}
        self.last_seen = former.last_seen

    async def resume(self, former: WireClient) -> Json:
        """Reconnect where an earlier connection of the same client ended."""
        self.inherit(former)
        return await self.reconnect(self.last_seen, *self.states)

    async def subscribe(self, channel: str, **params: Any) -> Json:
        result = await self.request("subscribe", adopt=True, channel=channel, **params)
        state: Json = result["snapshot"]["state"]
        return state

    async def fresh(self, channel: str) -> Json:
        """Return a fresh snapshot of a channel, without touching what this client mirrors.

        Another connection asks for it: who subscribes anew himself skips what is under way to him.
        """
        async with self._onlooker() as onlooker:
            return await onlooker.snapshot(channel)

    async def compared(self, channel: str) -> tuple[Json, Json]:
        """Return what this client mirrors and a fresh snapshot of the same moment, as promised.

        The host may have more to say by itself, so what differs is asked for again for a while.
        """
        clock = asyncio.get_running_loop().time
        ends = clock() + PATIENCE
        async with self._onlooker() as onlooker:
            while True:
                fresh = promised(await onlooker.snapshot(channel), self.version)
                # Its answer comes behind everything that the snapshot knows of.
                await self.ping()
                mirrored = promised(self.states[channel], self.version)
                if mirrored == fresh or clock() > ends:
                    return mirrored, fresh

    async def snapshot(self, channel: str) -> Json:
        """Subscribe, and return the snapshot without mirroring the channel."""
        result = await self.request("subscribe", channel=channel)
        state: Json = result["snapshot"]["state"]
        return state

    @asynccontextmanager
    async def _onlooker(self) -> AsyncIterator[WireClient]:
        async with self.beside(f"{self.client_id}, beside") as onlooker:
            await onlooker.initialize(**self.greeting)
            yield onlooker

    async def dispatch(self, channel: str, action: Json) -> int:
        """Dispatch an action and return its clientSeq."""
        seq = next(self._seqs)
        params = {"channel": channel, "clientSeq": seq, "action": action}
        await self.send({"method": "dispatchAction", "params": params})
        return seq

    async def dispatched(self, channel: str, action: Json) -> Json:
        """Dispatch an action and return the envelope that answers it."""
        seq = await self.dispatch(channel, action)
        return await self.envelope(
            channel,
            lambda e: e.get("origin") == {"clientId": self.client_id, "clientSeq": seq},
        )

    async def rejected(self, channel: str, action: Json) -> str:
        """Dispatch an action that must be refused, and return the reason."""
        envelope = await self.dispatched(channel, action)
        assert envelope["action"] == action, "a refused action comes back as it was sent"
        assert "rejectionReason" in envelope, f"{action} was accepted"
        reason: str = envelope["rejectionReason"]
        return reason

    async def accepted(self, channel: str, action: Json) -> Json:
        """Dispatch an action that must be accepted, and return its envelope."""
        envelope = await self.dispatched(channel, action)
        assert "rejectionReason" not in envelope, envelope["rejectionReason"]
        return envelope

    async def envelope(self, channel: str, matches: Callable[[Json], bool]) -> Json:
        """Wait for an envelope on a channel."""
        looked_at = 0

        def find() -> Json | None:
            # What was looked at is not looked at again: a long stream would make that slow, and
            # a client that is slow for its own reasons looks to the host like one that fell behind.
            nonlocal looked_at
            envelopes = self.envelopes.get(channel, [])
            new, looked_at = envelopes[looked_at:], len(envelopes)
            return next(filter(matches, new), None)

        return await self.until(find)

    async def action(self, channel: str, action_type: str, **fields: Any) -> Json:
        """Wait for an accepted action of a type on a channel, and return it."""

        def matches(envelope: Json) -> bool:
            action = envelope["action"]
            return (
                action["type"] == action_type
                and "rejectionReason" not in envelope
                and all(action.get(key) == value for key, value in fields.items())
            )

        return (await self.envelope(channel, matches))["action"]  # type: ignore[no-any-return]

    async def notification(self, method: str, matches: Callable[[Json], bool]) -> Json:
        """Wait for a notification and return its params."""

        def find() -> Json | None:
            for message in self.received:
                if message.get("method") == method and matches(message["params"]):
                    found: Json = message["params"]
                    return found
            return None

        return await self.until(find)

    async def until(self, find: Callable[[], Json | None]) -> Json:
        """Wait until something that arrives makes ``find`` return a value."""
        async with asyncio.timeout(PATIENCE), self._arrived:
            while True:
                found = find()
                if found is not None:
                    return found
                if self._reader.done():
                    raise AssertionError(f"the connection ended first: {self.closed.result()}")
                await self._arrived.wait()

    async def ready_session(self, session: str, **params: Any) -> str:
        """Create a session, wait until it is ready, subscribe to it; return its default chat."""
        await self.request("createSession", channel=session, **params)
        await self.subscribe(session)
        await self.until(
            lambda: self.states[session] if self.states[session]["lifecycle"] == "ready" else None
        )
        chat: str = self.states[session]["defaultChat"]
        return chat

    async def used_session(self, session: str, **params: Any) -> str:
        """As ``ready_session``, with one turn, t1, in the default chat, which is followed."""
        chat = await self.ready_session(session, **params)
        await self.subscribe(chat)
        await self.run_turn(chat, "t1", "hello")
        return chat

    async def run_turn(self, chat: str, turn_id: str, text: str) -> None:
        """Start a turn and wait until it has ended, one way or another."""
        await self.start_turn(chat, turn_id, text)
        await self.turn_end(chat, turn_id)

    async def start_turn(self, chat: str, turn_id: str, text: str) -> Json:
        return await self.dispatched(chat, self.turn_started(turn_id, text))

    def turn_started(self, turn_id: str, text: str) -> Json:
        """Return the action that starts a turn, as this client's version spells it."""
        return turn_started(self.version, turn_id, text)

    async def working_slowly(self, chat: str) -> None:
        """Wait until a ``/slow`` turn has said what it does, after which it says nothing more."""
        await self.until(
            lambda: {} if self.states[chat].get("activity") == "working slowly" else None
        )

    async def turn_end(self, chat: str, turn_id: str) -> Json:
        endings = ("chat/turnComplete", "chat/turnCancelled", "chat/error")

        def ended(envelope: Json) -> bool:
            action = envelope["action"]
            return (
                action["type"] in endings
                and action["turnId"] == turn_id
                and "rejectionReason" not in envelope
            )

        return (await self.envelope(chat, ended))["action"]  # type: ignore[no-any-return]

    @property
    def knows_times(self) -> bool:
        """Whether turns carry startedAt and duration in this version."""
        return knows_times(self.version)

    def take_result(self, result: Json) -> None:
        for snapshot in (*result.get("snapshots", ()), *filter(None, [result.get("snapshot")])):
            self.take_snapshot(snapshot)
        for envelope in result.get("actions", ()):
            self.take_envelope(envelope)
        self.last_seen = max(self.last_seen, result.get("serverSeq", 0))

    def take_snapshot(self, snapshot: Json) -> None:
        channel, state = snapshot["resource"], snapshot["state"]
        self.states[channel] = state
        self.kinds[channel] = _kind(state)
        self.envelopes.setdefault(channel, [])
        self.last_seen = max(self.last_seen, snapshot["fromSeq"])

    def take_envelope(self, envelope: Json) -> None:
        channel, action = envelope["channel"], envelope["action"]
        self.envelopes.setdefault(channel, []).append(envelope)
        self.last_seen = max(self.last_seen, envelope["serverSeq"])
        if "rejectionReason" in envelope or channel not in self.states:
            return
        kind = self.kinds[channel]
        if kind_of(action["type"]) != kind:
            # What does not belong here changes nothing, and comes from nobody but ourselves.
            assert (envelope.get("origin") or {}).get("clientId") == self.client_id, action["type"]
            return
        self.states[channel] = reduce(
            kind, self.states[channel], action, now=NOW, version=self.version
        )

    async def end(self) -> tuple[int, str]:
        """Wait until the host ends the connection; return its close code and reason."""
        async with asyncio.timeout(PATIENCE):
            return await asyncio.shield(self.closed)

    async def close(self) -> None:
        await self.socket.close()
        await asyncio.gather(self._reader, return_exceptions=True)

    def abort(self) -> None:
        """Drop the connection as a cut cable would."""
        self.socket.transport.abort()

    async def _read(self) -> None:
        try:
            async for frame in self.socket:
                message = orjson.loads(frame)
                if JITTER and '"chat/delta"' not in str(frame):
                    await asyncio.sleep(random.uniform(0, JITTER))
                self.received.append(message)
                if message.get("method") == "action":
                    self.take_envelope(message["params"])
                elif "method" not in message and message.get("id") in self._answers:
                    if message["id"] in self._adopting and "result" in message:
                        self.take_result(message["result"])
                    self._at_answer.pop(message["id"], lambda: None)()
                    self._answers[message["id"]].set_result(message)
                async with self._arrived:
                    self._arrived.notify_all()
                if self.drop_when is not None and self.drop_when(message):
                    self.abort()
                    break
        finally:
            self.closed.set_result((self.socket.close_code or 1006, self.socket.close_reason or ""))
            for answer in self._answers.values():
                if not answer.done():
                    answer.set_exception(AssertionError(f"closed: {self.closed.result()}"))
                    # Whoever waits for it is told; if nobody does any more, that is fine too.
                    answer.exception()
            async with self._arrived:
                self._arrived.notify_all()


def _kind(state: Json) -> Kind:
    for kind, keys in MARKS.items():
        if state.keys() >= keys:
            assert kind in KINDS
            return kind
    raise AssertionError(f"a state of no known kind: {list(state)}")


@asynccontextmanager
async def open_client(
    url: str, client_id: str = "c1", version: str = SUPPORTED_VERSIONS[0], **options: Any
) -> AsyncIterator[WireClient]:
    """Connect one client for the length of a block."""

    def beside(name: str) -> AbstractAsyncContextManager[WireClient]:
        return open_client(url, name, version, **options)

    # Seconds after which a host on a busy machine will not answer any more.
    limits = {"max_size": None, "open_timeout": 60, **options}
    async with connect(url, compression=None, **limits) as socket:
        client = WireClient(socket, client_id, version)
        client.beside = beside
        try:
            yield client
        finally:
            await client.close()
