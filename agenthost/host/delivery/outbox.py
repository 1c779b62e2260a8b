"""What waits to be sent to one client: bounded, in order, and merged for a slow reader.

As long as the socket takes what it is given, messages go straight through. When it does not,
they wait here; neighbouring text appends become one. Past the limit, or when the client takes
nothing at all any more, the owner is told to disconnect it, and it resumes by ``reconnect``. Nobody
else ever waits for a slow client. What waits for all clients together is bounded by ``budget``.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import chain

from agenthost.host.delivery.budget import Share
from agenthost.host.delivery.envelopes import Envelope, MergedText, text_key
from agenthost.transport import Encoded, Transport

# Bytes that may sit in the socket's own buffer before messages wait here instead.
SOCKET_BACKLOG = 128 * 1024
# Text is merged up to this size, because common tunnels pass no frame of a megabyte.
MOST_MERGED_BYTES = 256 * 1024
# Answers not sent yet, in bytes, beyond which the client gets no further ones, and what a small
# one costs besides its own.
MOST_ANSWER_BYTES = 128 * 1024
ANSWER_OVERHEAD = 512
# What may wait for a client in any case, however much waits for others.
ALWAYS_ALLOWED = 256 * 1024
# A client that takes nothing is given some time, but less of it once so much waits: still enough
# for one that draws what it got, or whose machine is busy.
STALL_SECONDS = 30.0
# The same while others wait for what it holds.
SECONDS_WHEN_WANTED = 10.0
MUCH, SECONDS_WITH_MUCH = 1024 * 1024, 3.0
# Seconds between two looks at a transport that does not drain.
LOOK_SECONDS = 0.25


class Answer(Encoded):
    """A message that the client asked for: that it waits is no sign of falling behind."""

    # Weakly referred to by the budget, to see when it is gone.
    __slots__ = ("__weakref__",)


class Outbox:
    """The outgoing side of one connection."""

    def __init__(
        self,
        transport: Transport,
        *,
        limit: int,
        on_overflow: Callable[[int], None],
        on_stall: Callable[[int], None] | None = None,
        observe: Callable[[Encoded], None] | None = None,
        share: Share | None = None,
    ) -> None:
        self._transport = transport
        # The part of the host's budget that this connection draws on.
        self._share = share
        self._limit = limit
        self._on_overflow = on_overflow
        self._on_stall = on_stall or on_overflow
        # Sees every message in the order it leaves: the wire log.
        self._observe = observe
        # Gathered since the last flush, and the least latency that their subscriptions allow.
        self._gathered: list[Sequence[Encoded]] = []
        self._gathered_latency = 0.0
        # Held back: the socket is full, or the client allows some gathering.
        self._waiting: deque[Encoded | MergedText] = deque()
        self.waiting_bytes = 0
        # Answers on their way to the socket, which do not count above, and whether they are few
        # enough for another one.
        self._answer_bytes = 0
        self._room = asyncio.Event()
        self._room.set()
        self._pump: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False
        # Set while the answer that everything else must follow is still being made.
        self.held = False

    def hold(self) -> None:
        """Keep everything back until ``resume``."""
        self.held = True

    def drop_held(self) -> None:
        """Forget what was kept back: a snapshot of the same moment will hold it."""
        self.held = False
        self._count_answers(-_answer_bytes(chain.from_iterable(self._gathered)))
        self._gathered.clear()

    def resume(self, first: Sequence[Encoded]) -> None:
        """Send ``first``, then what was kept back."""
        self.held = False
        self._gathered.insert(0, first)
        # An answer is never kept waiting, whatever those behind it allow.
        self._gathered_latency = 0.0
        self.flush()

    def put(self, messages: Sequence[Encoded], max_latency: float | None = None) -> None:
        """Add messages to the next flush; ``max_latency`` allows that many seconds of gathering."""
        latency = max_latency or 0.0
        self._gathered_latency = min(self._gathered_latency, latency) if self._gathered else latency
        self._gathered.append(messages)

    def flush(self) -> None:
        """Send what was put, in order, as far as the socket and the client's wishes allow."""
        if self.held:
            return
        gathered, self._gathered = self._gathered, []
        if self._closed or not gathered:
            return
        # One shared tuple is handed on as it is: transports join it once for all its receivers.
        messages = gathered[0] if len(gathered) == 1 else tuple(chain.from_iterable(gathered))
        latency = self._gathered_latency
        if not latency and self._pump is None and self._transport.backlog <= SOCKET_BACKLOG:
            # Whatever was gathered for a while goes first, in the same write.
            if self._timer is not None:
                self._stop_timer()
            self._write((*self._take(None), *messages) if self._waiting else messages)
            return
        if not self._wait(messages):
            return
        if not latency:
            self._send_waiting()
        elif self._pump is None:
            self._send_within(latency)

    def expect(self, answers: Sequence[Answer]) -> None:
        """Take note of answers that will be put in once it is their turn."""
        if not self._closed:
            self._count_answers(_answer_bytes(answers))
            if self._share is not None:
                for answer in answers:
                    self._share.hold(answer)

    async def room(self) -> None:
        """Wait while the client has yet to take the answers that it asked for."""
        await self._room.wait()

    def finish(self) -> None:
        """Send all that waits, however much the socket holds already, and nothing any more."""
        # What was kept back belongs behind an answer that will not come.
        if not self._closed and not self.held:
            self._write((*self._take(None), *chain.from_iterable(self._gathered)))
        self.close()

    def close(self) -> None:
        """Drop what waits; nothing is sent any more."""
        self._closed = True
        self._waiting.clear()
        self._gathered.clear()
        self._count_waiting(-self.waiting_bytes)
        self._count_answers(-self._answer_bytes)
        self._stop_timer()
        if self._pump is not None:
            self._pump.cancel()

    def _wait(self, messages: Sequence[Encoded]) -> bool:
        """Add messages to the queue; False when that was too much, and everything is over."""
        before = self.waiting_bytes
        waiting = before
        for message in messages:
            key = text_key(message) if isinstance(message, Envelope) else None
            if key is None or not isinstance(message, Envelope):
                self._waiting.append(message)
                waiting += _counted(message)
                continue
            last = self._waiting[-1] if self._waiting else None
            if isinstance(last, MergedText) and last.key == key and last.size < MOST_MERGED_BYTES:
                waiting += last.absorb(message)
            else:
                self._waiting.append(MergedText(key, message))
                waiting += len(message)
        self._count_waiting(waiting - before)
        if waiting <= self._limit and (waiting <= ALWAYS_ALLOWED or self._has_room):
            return True
        self.close()
        self._on_overflow(waiting)
        return False

    @property
    def _has_room(self) -> bool:
        return self._share is None or self._share.has_room

    def _count_waiting(self, size: int) -> None:
        self.waiting_bytes += size
        if self._share is not None and size:
            self._share.count(size)

    def _count_answers(self, size: int) -> None:
        self._answer_bytes += size
        if self._answer_bytes <= MOST_ANSWER_BYTES:
            self._room.set()
        else:
            self._room.clear()

    def _send_within(self, latency: float) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time() + latency
        if self._timer is None or due < self._timer.when():
            self._stop_timer()
            self._timer = loop.call_at(due, self._send_waiting)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _send_waiting(self) -> None:
        self._stop_timer()
        if self._pump is None:
            if self._transport.backlog <= SOCKET_BACKLOG:
                self._write(self._take(SOCKET_BACKLOG))
            if self._waiting:
                self._pump = asyncio.create_task(self._pump_waiting(), name="outbox")

    async def _pump_waiting(self) -> None:
        try:
            while self._waiting:
                if not await takes_more(self._transport, self._patience):
                    self._stalled()
                elif self._transport.closed:
                    self.close()
                else:
                    self._write(self._take(SOCKET_BACKLOG))
        finally:
            self._pump = None

    def _patience(self) -> float:
        if self.waiting_bytes > MUCH:
            return SECONDS_WITH_MUCH
        is_wanted = self._share is not None and self._share.is_wanted
        return SECONDS_WHEN_WANTED if is_wanted else STALL_SECONDS

    def _stalled(self) -> None:
        waiting = self.waiting_bytes + self._answer_bytes
        self.close()
        self._on_stall(waiting)

    def _take(self, most: int | None) -> list[Encoded]:
        """Take messages off the queue until they are more than ``most`` bytes, or all of them."""
        batch: list[Encoded] = []
        size = counted = 0
        while self._waiting and (most is None or size <= most):
            item = self._waiting.popleft()
            if isinstance(item, MergedText):
                counted += item.size
                message: Encoded = item.encode()
            else:
                counted += _counted(item)
                message = item
            batch.append(message)
            size += len(message)
        self._count_waiting(-counted)
        return batch

    def _write(self, messages: Sequence[Encoded]) -> None:
        if self._observe is not None:
            for message in messages:
                self._observe(message)
        if self._answer_bytes:
            self._count_answers(-_answer_bytes(messages))
        self._transport.write(messages)


def _counted(message: Encoded) -> int:
    return 0 if isinstance(message, Answer) else len(message)


def _answer_bytes(messages: Iterable[Encoded]) -> int:
    return sum(
        len(message) + ANSWER_OVERHEAD for message in messages if isinstance(message, Answer)
    )


async def takes_more(transport: Transport, patience: Callable[[], float]) -> bool:
    """Wait until a transport can take more, or has ended; False when it has stalled.

    It has stalled when its backlog did not shrink for as many seconds as ``patience`` says, which
    is asked again at every look.
    """
    loop = asyncio.get_running_loop()
    backlog, since = transport.backlog, loop.time()
    while True:
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                await transport.drained()
                return True
        except TimeoutError:
            if transport.backlog < backlog:
                backlog, since = transport.backlog, loop.time()
            elif loop.time() - since >= patience():
                return False
