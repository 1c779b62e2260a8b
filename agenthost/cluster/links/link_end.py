"""One end of a link: a ``Transport`` whose frames somebody else delivers."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence

from agenthost.cluster.links.frames import (
    LARGEST_FRAME,
    FrameKind,
    LinkFrame,
    close_body,
    close_of,
    piece,
    pieces_of,
    read_frame,
)
from agenthost.errors import AgentHostError, RemoteProtocolError
from agenthost.transport import LOW_WATER, CloseCode, Encoded, ReceiveQueue

log = logging.getLogger(__name__)

# Seconds after which each side says that it lives, and without a word after which it does not.
KEEPALIVE = 3.0
SILENCE = 10.0
# Bytes that the other side may have been sent without having taken them.
WINDOW = 1024 * 1024
# What a peer that heeds no window may send before the link ends, and the largest message.
MOST_HELD = 4 * WINDOW
LARGEST_MESSAGE = 128 * 1024 * 1024
_TOLD_EACH = LOW_WATER // 2
_GRACE = 2.0


class LinkEnd:
    """One end of a link."""

    def __init__(
        self,
        peer: str,
        publish: Callable[[bytes], Awaitable[None]],
        *,
        position: Callable[[], int] = lambda: 0,
        reached: Callable[[int], Awaitable[None]] | None = None,
        on_end: Callable[[LinkEnd], None] = lambda end: None,
    ) -> None:
        """``position`` goes out with what is written; what comes in waits for ``reached``."""
        self._peer = peer
        self._publish = publish
        self._position = position
        self._reached = reached
        self._on_end = on_end
        self._heard_at = time.monotonic()
        self._received = ReceiveQueue(on_take=self._taken_one)
        # Frames that wait for the position, and how far it is known to be.
        self._held: deque[LinkFrame] = deque()
        self._at = 0
        # The message that is still coming, in pieces.
        self._partial: list[bytes] = []
        self._partial_bytes = 0
        self._last_received = 0
        # Bytes that came at all.
        self._arrived = 0
        # Bytes that went to the one who receives, or to `_partial`; and what the peer knows of it.
        self._put = 0
        self._told = 0
        self._outgoing: deque[tuple[bytes, int]] = deque()
        self._outgoing_bytes = 0
        self._sent = 0
        self._sent_bytes = 0
        self._acknowledged = 0
        self._farewell: bytes | None = None
        self._wake = asyncio.Event()
        self._drained = asyncio.Event()
        self._drained.set()
        self._came = asyncio.Event()
        self._carrying = asyncio.create_task(self._carry(), name=f"link to {peer}")
        self._pumping = (
            None
            if reached is None
            else asyncio.create_task(self._pump(reached), name=f"link from {peer}")
        )

    # What a transport does.

    async def receive(self) -> bytes:
        """Return the next message."""
        return await self._received.take()

    def write(self, messages: Sequence[Encoded]) -> None:
        """Hand over messages."""
        if self.closed:
            return
        position = self._position()
        for message in messages:
            content = memoryview(message.payload)
            for at in range(0, max(len(content), 1), LARGEST_FRAME):
                goes_on = at + LARGEST_FRAME < len(content)
                part = piece(content[at : at + LARGEST_FRAME], goes_on)
                self._outgoing.append((part, position))
                self._outgoing_bytes += len(part)
        if self.backlog > LOW_WATER:
            self._drained.clear()
        self._wake.set()

    @property
    def backlog(self) -> int:
        """Bytes that the other side has not taken yet."""
        return self._outgoing_bytes + self._sent_bytes - self._acknowledged

    async def drained(self) -> None:
        """Wait until the other side has taken nearly everything."""
        await self._drained.wait()

    async def close(self, code: int = CloseCode.NORMAL, reason: str = "") -> None:
        """Send what is possible within a short grace, then end."""
        if self._farewell is None and not self.closed:
            self._farewell = close_body(code, reason)
            self._wake.set()
            try:
                await asyncio.wait((self._carrying,), timeout=_GRACE)
            finally:
                self.end(code, reason)
        self.end(code, reason)
        self._received.discard()

    @property
    def closed(self) -> bool:
        """Whether nothing written from now on can reach the peer."""
        return self._received.ended or self._farewell is not None

    @property
    def peer(self) -> str:
        """The other side's node, and the link's name."""
        return self._peer

    # What the two sides of the link see to.

    def deliver(self, data: bytes) -> None:
        """Take a frame that came for this end."""
        if self._received.ended:
            return
        self._heard_at = time.monotonic()
        try:
            self._take(read_frame(data))
        except RemoteProtocolError as error:
            self.fail(CloseCode.POLICY_VIOLATION, str(error))

    def end(self, code: int, reason: str) -> None:
        """End without a word to the other side."""
        if self._received.ended:
            return
        self._received.end(code, reason)
        self._outgoing.clear()
        self._outgoing_bytes = 0
        self._drained.set()
        self._wake.set()
        self._came.set()
        if self._pumping is not None and self._pumping is not asyncio.current_task():
            self._pumping.cancel()
        self._on_end(self)

    def fail(self, code: int, reason: str) -> None:
        """End because of the other side, which is told if it still hears."""
        log.info("link %s: %s", self._peer, reason)
        if self._farewell is None:
            self._farewell = close_body(code, reason)
        self.end(code, reason)

    # Coming in.

    def _take(self, frame: LinkFrame) -> None:
        self._acknowledge(frame.taken)
        if frame.kind is FrameKind.CLOSE and frame.number == 0:
            # From one who does not know the link.
            self.end(*close_of(frame.body))
            return
        is_numbered = frame.kind is not FrameKind.ALIVE
        if frame.number != self._last_received + is_numbered:
            self.fail(CloseCode.ABNORMAL, "messages of the link were lost")
            return
        self._last_received = frame.number
        if not is_numbered:
            return
        self._arrived += len(frame.body)
        if self._held or (self._reached is not None and frame.position > self._at):
            self._held.append(frame)
            self._came.set()
        else:
            self._put_in(frame)
        if self._arrived - self._taken > MOST_HELD:
            self.fail(CloseCode.TRY_AGAIN_LATER, "the other side sends more than is taken")

    async def _pump(self, reached: Callable[[int], Awaitable[None]]) -> None:
        while not self._received.ended:
            await self._came.wait()
            self._came.clear()
            while self._held:
                frame = self._held[0]
                if frame.position > self._at:
                    try:
                        await reached(frame.position)
                    except AgentHostError as error:
                        self.fail(CloseCode.INTERNAL_ERROR, str(error))
                        return
                    self._at = max(self._at, frame.position)
                self._held.popleft()
                try:
                    self._put_in(frame)
                except RemoteProtocolError as error:
                    self.fail(CloseCode.POLICY_VIOLATION, str(error))
                    return

    def _put_in(self, frame: LinkFrame) -> None:
        if frame.kind is FrameKind.CLOSE:
            self.end(*close_of(frame.body))
            return
        for content, goes_on in pieces_of(frame.body):
            if goes_on or self._partial:
                self._partial.append(content)
                self._partial_bytes += len(content)
                if self._partial_bytes > LARGEST_MESSAGE:
                    self.fail(CloseCode.TOO_BIG, "a message over the link is too large")
                    return
            if not goes_on:
                message = b"".join(self._partial) if self._partial else content
                self._partial, self._partial_bytes = [], 0
                self._received.put(message)
        self._put += len(frame.body)
        self._taken_one()

    @property
    def _taken(self) -> int:
        """Bytes that the other side need not count any more, nearly: pieces have heads."""
        return max(self._told, self._put - self._received.size)

    def _taken_one(self) -> None:
        if self._taken - self._told >= _TOLD_EACH:
            self._wake.set()

    # Going out.

    def _acknowledge(self, taken: int) -> None:
        self._acknowledged = min(max(self._acknowledged, taken), self._sent_bytes)
        if self.backlog <= LOW_WATER:
            self._drained.set()
        if self._outgoing:
            self._wake.set()

    async def _carry(self) -> None:
        """Send what there is, and that this side lives; end when the other does not."""
        next_word = time.monotonic() + KEEPALIVE
        while not self._received.ended:
            try:
                async with asyncio.timeout(max(next_word - time.monotonic(), 0)):
                    await self._wake.wait()
            except TimeoutError:
                pass
            self._wake.clear()
            while self._outgoing and self._sent_bytes - self._acknowledged < WINDOW:
                await self._send_pieces()
            if self._farewell is not None and not self._outgoing:
                break
            now = time.monotonic()
            if now >= next_word or self._taken - self._told >= _TOLD_EACH:
                await self._send(FrameKind.ALIVE)
                next_word = now + KEEPALIVE
            if now - self._heard_at > SILENCE:
                self.fail(CloseCode.ABNORMAL, "nothing is heard of the other side")
        if self._farewell is not None:
            await self._send(FrameKind.CLOSE, body=self._farewell)

    async def _send_pieces(self) -> None:
        parts: list[bytes] = []
        size = position = 0
        while self._outgoing and (not parts or size + len(self._outgoing[0][0]) <= LARGEST_FRAME):
            part, position = self._outgoing.popleft()
            parts.append(part)
            size += len(part)
        self._outgoing_bytes -= size
        self._sent_bytes += size
        await self._send(FrameKind.PIECES, position, b"".join(parts))

    async def _send(self, kind: FrameKind, position: int = 0, body: bytes = b"") -> None:
        if kind is not FrameKind.ALIVE:
            self._sent += 1
        self._told = self._taken
        await self._publish(LinkFrame(kind, self._sent, position, self._told, body).encoded())
