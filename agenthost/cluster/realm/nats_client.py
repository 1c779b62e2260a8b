"""The client of NATS, without its ways to wait for ever for a server that is paused or cut off."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from nats.aio.client import Client
from nats.errors import Error as NatsError

if TYPE_CHECKING:
    from nats.aio.client import Srv

log = logging.getLogger(__name__)

_GRACE = 2.0


class PatientClient(Client):
    """A client that leaves a server without saying goodbye to it, and ends when it is told to."""

    # Whether it was told to end.
    _is_over = False

    async def _attempt_reconnect(self) -> None:
        # It would close the socket and wait for that, which takes until all that was written has
        # been sent: for ever, while the server is paused or the network is cut.
        self.abort()
        await super()._attempt_reconnect()

    async def _connect_to_server(self, s: Srv) -> None:
        if self._is_over:
            # It goes on for ever where it lost its cancellation, which `wait_for` does at times.
            raise asyncio.CancelledError
        # A server that took the connection and said nothing is left, and its socket with it.
        self.abort()
        await super()._connect_to_server(s)

    async def end(self) -> None:
        """Close it, whatever the server does."""
        self._is_over = True
        try:
            async with asyncio.timeout(_GRACE):
                await self.close()
        except (NatsError, OSError, TimeoutError, AttributeError, AssertionError):
            # One that never came about has nothing to close, and says so.
            log.debug("NATS did not close cleanly", exc_info=True)
        self.abort()

    def abort(self) -> None:
        """Drop the socket with whatever is in it."""
        writer = getattr(self._transport, "_io_writer", None)
        if isinstance(writer, asyncio.StreamWriter):
            writer.transport.abort()
