"""Keeps a client connected: dial, handshake, wait for the end, try again.

Owns the loop and nothing else: ``backoff`` has the policy, ``resume`` the handshake, and
``host_link`` each link.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable

from agenthost.client.errors import CannotConnect, ClientError, ConnectionLost
from agenthost.client.link.backoff import Backoff, GiveUp, retry_or_give_up
from agenthost.client.link.connection_status import Closed, Connected, Connecting, Reconnecting
from agenthost.client.link.host_link import HostLink, LinkOptions
from agenthost.client.link.resume import Introduction, Resumed, open_link
from agenthost.client.state.client_core import ClientCore
from agenthost.errors import AgentHostError
from agenthost.local_host import NoHost
from agenthost.transport import CloseCode, Transport, TransportClosed

log = logging.getLogger(__name__)

Dial = Callable[[], Awaitable[Transport]]
"""Opens a transport to the host, or raises CannotConnect, NoHost or NotAdmitted."""

HANDSHAKE_TIMEOUT = 30.0
"""Seconds for the answer to the first request; as long as hosts wait for that request."""


class Supervisor:
    """Keeps a client connected for as long as that makes sense."""

    def __init__(
        self,
        core: ClientCore,
        dial: Dial,
        introduction: Introduction,
        *,
        backoff: Backoff | None = None,
        roll: Callable[[], float] = random.random,
        options: LinkOptions | None = None,
        patient: bool = False,
    ) -> None:
        self._core = core
        self._dial = dial
        self._introduction = introduction
        self._backoff = backoff or Backoff()
        self._roll = roll
        self._options = options or LinkOptions()
        # Whether a host that was never reached is tried again, too.
        self._patient = patient
        # Attempts since the last connection that lasted.
        self._attempt = 0
        # Whether the host was ever there.
        self._met = False
        # Attempts that ended with their first request on its way: the host may get round to each
        # of them later, and then takes it for the newest connection of this client.
        self._ghosts = 0

    async def run(self) -> None:
        """Connect, again and again, until closed or refused for good; status tells how it goes."""
        core = self._core
        while True:
            core.status.change_to(Connecting(self._attempt))
            since = core.clock.monotonic()
            error, established = await self._live()
            core.link_lost()
            lasted = established and core.clock.monotonic() - since >= self._backoff.stable
            superseded_by_us = self._ghosts > 0 and not lasted
            verdict = retry_or_give_up(
                error, established=established, superseded_by_us=superseded_by_us
            )
            if isinstance(verdict, GiveUp):
                return self._close(verdict.error)
            if verdict.own_doing:
                # Each takes over once at most, so twins do not take turns for ever.
                self._ghosts -= 1
            if not self._met and not self._patient:
                return self._close(_unreached(error, verdict.reason))
            if lasted:
                self._attempt = self._ghosts = 0
            delay = self._backoff.delay(self._attempt, self._roll(), verdict.at_least)
            self._attempt += 1
            log.info("connecting again in %.1f s: %s", delay, verdict.reason)
            core.status.change_to(Reconnecting(verdict.reason, delay, self._attempt))
            await core.clock.sleep(delay)

    async def _live(self) -> tuple[Exception, bool]:
        """Run one connection; return how it ended and whether it was established."""
        try:
            transport = await self._dial()
        except (OSError, TimeoutError) as error:
            return CannotConnect(str(error) or type(error).__name__), False
        except Exception as error:
            return error, False
        link = HostLink(transport, self._core, self._core.clock, self._options)
        running = asyncio.create_task(link.run(), name="link")
        established = False
        try:
            async with asyncio.timeout(HANDSHAKE_TIMEOUT):
                resumed = await open_link(self._core, link, self._introduction)
            established = self._met = True
            self._connected(resumed)
            return await asyncio.shield(running), True
        except ConnectionLost:
            # The link itself knows best why it ended.
            ended = await asyncio.shield(running)
            if not established and ended.code == CloseCode.ABNORMAL:
                self._ghosts += 1
            return ended, established
        except TimeoutError:
            self._ghosts += 1
            return CannotConnect("the host did not finish the handshake in time"), False
        except Exception as error:
            if not isinstance(error, AgentHostError):
                log.exception("the handshake failed")
            return error, established
        finally:
            self._core.link_lost()
            await self._abandon(running, link)

    async def _abandon(self, running: asyncio.Task[TransportClosed], link: HostLink) -> None:
        if running.done():
            # Saying goodbye to somebody who is gone takes time that the next attempt should not.
            self._core.tasks.start(link.close(), name="close")
            return
        await link.close()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    def _connected(self, resumed: Resumed) -> None:
        self._core.status.change_to(Connected(self._core.version, resumed))

    def _close(self, error: Exception) -> None:
        self._core.status.change_to(Closed(error))
        self._core.close(error)


def _unreached(error: Exception, reason: str) -> ClientError | NoHost:
    """Return the error for a host that was not reached."""
    if isinstance(error, ClientError | NoHost):
        return error
    unreached = CannotConnect(reason)
    unreached.__cause__ = error
    return unreached
