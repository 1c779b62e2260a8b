"""Those who follow telemetry channels: who gets what, and who is too slow to get it."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from agenthost.host.channels.otlp_kind import OTLP
from agenthost.host.telemetry.signals import METHODS, Signal, Stream, stream_of

if TYPE_CHECKING:
    from agenthost.host.channels.otlp_kind import OtlpChannel
    from agenthost.host.log.directory import Directory
    from agenthost.host.log.writer import Writer
    from agenthost.protocol.common import JsonObject

# Bytes that may wait for a client when it is given one more batch; who has more to read loses it.
MOST_WAITING_BYTES = 256 * 1024
# Batches that may be on their way from other threads to the host's loop.
MOST_UNDER_WAY = 8


class TelemetryFollowers:
    """The telemetry channels of a host and their followers."""

    def __init__(self, writer: Writer, directory: Directory) -> None:
        self._writer = writer
        self._directory = directory
        self._followed: dict[OtlpChannel, Stream] = {}
        self._new: set[Signal] = set()
        # The same for other threads, which look at it and never change it.
        self._streams: dict[Signal, tuple[Stream, ...]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._under_way = threading.BoundedSemaphore(MOST_UNDER_WAY)
        # Batches that somebody did not get because too much waited for them.
        self.lost = 0
        directory.on_missing(self._open)

    @property
    def any(self) -> bool:
        """Whether anybody follows anything."""
        return bool(self._followed)

    @property
    def severity(self) -> int | None:
        """The least severity of log records that anybody follows; None if nobody follows any."""
        severities = [stream.severity for stream in self._streams.get("logs", ())]
        return min(severities, default=None)

    def add(self, channel: OtlpChannel) -> Stream | None:
        """Send to a channel from now on; return what it carries."""
        stream = stream_of(channel.uri)
        if stream is not None:
            self._loop = asyncio.get_running_loop()
            self._followed[channel] = stream
            self._new.add(stream.signal)
            self._look_over()
        return stream

    def take_new(self, signal: Signal) -> bool:
        """Say whether a channel of a signal was added since this was last asked."""
        is_new = signal in self._new
        self._new.discard(signal)
        return is_new

    def remove(self, channel: OtlpChannel) -> None:
        """Send no more to a channel, which nobody follows any more."""
        if self._followed.pop(channel, None) is not None:
            self._look_over()

    def streams(self, signal: Signal) -> Sequence[Stream]:
        """Return what is followed of a signal; any thread may ask."""
        return self._streams.get(signal, ())

    def publish(self, stream: Stream, payload: JsonObject) -> None:
        """Send a batch to all who follow a stream; any thread may ask."""
        loop = self._loop
        if loop is None or not self._under_way.acquire(blocking=False):
            self.lost += 1
            return
        try:
            loop.call_soon_threadsafe(self._send, stream, payload)
        except RuntimeError:
            # The host has ended.
            self._under_way.release()

    def _send(self, stream: Stream, payload: JsonObject) -> None:
        with contextlib.suppress(ValueError):
            self._under_way.release()
        for channel, carried in self._followed.items():
            if carried == stream:
                quick = frozenset(
                    each
                    for each in channel.subscriptions
                    if each.outbox.waiting_bytes <= MOST_WAITING_BYTES
                )
                self.lost += len(channel.subscriptions) - len(quick)
                if quick:
                    params = {"payload": payload}
                    self._writer.notify(channel, METHODS[stream.signal], params, only=quick)

    def _look_over(self) -> None:
        signals = {stream.signal for stream in self._followed.values()}
        self._streams = {
            signal: tuple({each for each in self._followed.values() if each.signal == signal})
            for signal in signals
        }

    async def _open(self, uri: str) -> OtlpChannel | None:
        if stream_of(uri) is None:
            return None
        return self._directory.create(uri, OTLP, {})
