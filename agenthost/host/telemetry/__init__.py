"""Telemetry of the host: where turns tell what they do, as long as somebody wants to know.

Importing this loads nothing, and while nobody follows an ``ahp-otlp:`` channel and no endpoint is
configured, all that it costs is one look: ``if (active := telemetry.active) is not None``.
"""

from __future__ import annotations

import asyncio
import logging
from functools import cache, partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Protocol

from agenthost.agents.optional_dependencies import how_to_install
from agenthost.host.channels.otlp_kind import TelemetryDeserted, TelemetryFollowed
from agenthost.host.telemetry.followers import TelemetryFollowers
from agenthost.host.telemetry.settings import TelemetrySettings, read_settings
from agenthost.host.telemetry.signals import LOGS, METRICS, TRACES, Signal
from agenthost.tasks import in_own_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agenthost.agents.tracing import TracingProviders
    from agenthost.host.http.metrics import Metrics
    from agenthost.host.log.directory import Directory
    from agenthost.host.log.effects import Effects
    from agenthost.host.log.writer import Writer
    from agenthost.host.root_config import RootConfig
    from agenthost.host.telemetry.recorder import TelemetryRecorder
    from agenthost.protocol.chat.state import ChatState
    from agenthost.protocol.notifications import TelemetryCapabilities
    from agenthost.tasks import Tasks

__all__ = ["ActiveTelemetry", "Telemetry", "TurnSpan"]

log = logging.getLogger(__name__)

# Seconds for sending what is left when the host ends, and when settings change.
CLOSING_SECONDS = 2.0
# Seconds for which everything stays as it is after the last follower has left: one who only lost
# the connection misses nothing of a turn.
LINGER_SECONDS = 10.0


@cache
def is_installed() -> bool:
    """Say whether there is what telemetry is made with, without loading it."""
    return all(
        find_spec("opentelemetry") and find_spec(f"opentelemetry.{name}")
        for name in ("sdk", "exporter")
    )


class TurnSpan(Protocol):
    """One turn in a trace, and what happens in it; used on the host's loop."""

    @property
    def traceparent(self) -> str:
        """The turn's place in its trace, as the W3C header has it."""
        ...

    @property
    def providers(self) -> TracingProviders:
        """What a library needs that traces by itself."""
        ...

    def look(self, chat: ChatState) -> None:
        """See what has changed in the turn's chat: its tool calls, and what they wait for."""
        ...

    def call_traceparent(self, call: str) -> str:
        """Return a tool call's place in the trace; the turn's, if there is no such call."""
        ...

    def end(self, error: str | None = None) -> None:
        """End it, and all that is open in it; a second time does nothing.

        ``error`` is a word for why it failed, or ``cancelled``.
        """
        ...


class ActiveTelemetry(Protocol):
    """Takes part while somebody wants to know."""

    def turn(
        self,
        *,
        session: str,
        chat: str,
        turn_id: str,
        agent: str,
        model: str | None,
        parent: object = None,
        origin: Mapping[str, object] | None = None,
    ) -> TurnSpan:
        """Begin the trace of a turn.

        It is below the tool call that ``origin``, its chat's, names, or below ``parent``, the
        ``traceparent`` that its message came with, which may be anything.
        """
        ...


class Telemetry:
    """The one place to look whether anybody wants to know."""

    def __init__(
        self,
        *,
        writer: Writer,
        directory: Directory,
        effects: Effects,
        tasks: Tasks,
        config: RootConfig,
        mask: Callable[[str], str],
        metrics: Callable[[], Metrics],
        version: str | None,
    ) -> None:
        """``mask`` takes secrets out of a text; ``version`` is this host's."""
        self.active: ActiveTelemetry | None = None
        self.followers = TelemetryFollowers(writer, directory)
        self._tasks = tasks
        self._config = config
        self._mask = mask
        self._metrics = metrics
        self._version = version
        self._settings = TelemetrySettings()
        self._recorder: TelemetryRecorder | None = None
        # Set when something has changed that decides what is to be recorded.
        self._changed = asyncio.Event()
        self._problems: set[str] = set()
        self._closed = False
        effects.on(TelemetryFollowed, self._followed)
        effects.on(TelemetryDeserted, self._deserted)
        config.on_change("telemetry.endpoint", lambda _: self._read_settings())
        config.on_change("telemetry.level", lambda _: self._read_settings())

    @property
    def is_recording(self) -> bool:
        """Whether anything is recorded."""
        return self._recorder is not None

    @property
    def capabilities(self) -> TelemetryCapabilities | None:
        """What ``initialize`` tells: which signals there are, under which URIs; None for none."""
        if self._settings.is_disabled or not is_installed():
            return None
        return {"logs": LOGS, "traces": TRACES, "metrics": METRICS}

    async def open(self) -> None:
        """Begin, if an endpoint is configured; nobody waits for what that takes."""
        self._metrics().gauge(
            "agenthost_telemetry_batches_lost",
            "Batches of telemetry that followers were too slow for",
            lambda: self.followers.lost,
        )
        self._read_settings()
        self._tasks.start(self._run(), "telemetry")

    async def close(self) -> None:
        """Send what is left, within a bound, and end."""
        self._closed = True
        await self._end_recorder()

    def _followed(self, effect: TelemetryFollowed) -> None:
        """Begin to send what a channel is for."""
        self.followers.add(effect.channel)
        self._changed.set()

    def _deserted(self, effect: TelemetryDeserted) -> None:
        """Send no more to a channel."""
        self.followers.remove(effect.channel)
        self._changed.set()

    def _read_settings(self) -> None:
        config = self._config
        self._settings = read_settings(
            config.text("telemetry.endpoint"), config.text("telemetry.level")
        )
        for problem in self._settings.problems:
            self._warn(problem)
        self._changed.set()

    async def _run(self) -> None:
        """Make what is recorded be what is wanted, again and again."""
        made_for: TelemetrySettings | None = None
        while True:
            await self._changed.wait()
            self._changed.clear()
            settings = self._settings
            wanted = settings.wants_export or (self.followers.any and not settings.is_disabled)
            wanted = wanted and not self._closed
            if self._recorder is not None and made_for != settings:
                await self._end_recorder()
            if wanted and self._recorder is None:
                await self._begin_recorder(settings)
                made_for = settings
            elif not wanted and self._recorder is not None and not await self._linger():
                await self._end_recorder()
            self.active = self._recorder if self._wants_turns else None
            if self._recorder is not None:
                self._recorder.listen(self.followers.severity)
                if self.followers.take_new("metrics"):
                    # They come seldom, and who has just come sees them at once.
                    in_own_thread(self._recorder.tell_numbers, "tell numbers")

    @property
    def _wants_turns(self) -> bool:
        """Whether anybody wants to know of turns; editors follow the log alone."""
        sent = {signal for signal, _ in self._settings.endpoints}
        signals: tuple[Signal, ...] = ("traces", "metrics")
        return any(each in sent or self.followers.streams(each) for each in signals)

    async def _linger(self) -> bool:
        """Wait a little; return whether something has changed meanwhile."""
        try:
            async with asyncio.timeout(LINGER_SECONDS):
                await self._changed.wait()
        except TimeoutError:
            return False
        return True

    async def _begin_recorder(self, settings: TelemetrySettings) -> None:
        try:
            self._recorder = await in_own_thread(partial(self._make, settings), "load telemetry")
        except ImportError as error:
            self._warn(f"telemetry needs: {how_to_install('telemetry')} ({error.name} is missing)")
        except Exception as error:
            # What somebody set in the environment, most likely.
            self._warn(f"telemetry cannot begin ({type(error).__name__})")

    def _make(self, settings: TelemetrySettings) -> TelemetryRecorder:
        """Load OpenTelemetry, in a thread: it takes too long for anybody to wait."""
        from agenthost.host.telemetry.recorder import RecorderNeeds, TelemetryRecorder

        read = self._metrics().samples
        needs = RecorderNeeds(settings, self.followers, self._mask, read, self._version)
        recorder = TelemetryRecorder(needs)
        if self._closed:
            # Nobody waits for it any more.
            recorder.close(0)
        return recorder

    async def _end_recorder(self) -> None:
        recorder, self._recorder, self.active = self._recorder, None, None
        if recorder is not None:
            ending = in_own_thread(partial(recorder.close, CLOSING_SECONDS), "end telemetry")
            await asyncio.wait([ending], timeout=CLOSING_SECONDS + 0.5)

    def _warn(self, problem: str) -> None:
        if problem not in self._problems:
            self._problems.add(problem)
            log.warning("%s", problem)
