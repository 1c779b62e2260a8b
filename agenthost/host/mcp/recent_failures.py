"""How often and how lately a server failed, and whether turns should try it again."""

from __future__ import annotations

from collections import deque

from agenthost.clock import Clock

# Seconds that a turn leaves a server alone that has failed once, twice, three times; and the time
# in which one that has failed more often is not started by turns any more.
BACK_OFF = (1.0, 5.0, 30.0)
FORGIVEN_AFTER = 600.0


class RecentFailures:
    """The moments at which a server failed, as long as they count."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._moments: deque[float] = deque(maxlen=len(BACK_OFF) + 1)

    def __bool__(self) -> bool:
        self._forget_old_ones()
        return bool(self._moments)

    def add(self) -> None:
        """Take note of a failure."""
        self._moments.append(self._clock.monotonic())

    def clear(self) -> None:
        """Forget them: a person wants the server, or it is another one now."""
        self._moments.clear()

    @property
    def are_too_recent(self) -> bool:
        """Whether turns leave the server alone for now: it failed too lately, or too often."""
        self._forget_old_ones()
        if not self._moments:
            return False
        if len(self._moments) > len(BACK_OFF):
            return True
        again = self._moments[-1] + BACK_OFF[len(self._moments) - 1]
        return self._clock.monotonic() < again

    def _forget_old_ones(self) -> None:
        long_ago = self._clock.monotonic() - FORGIVEN_AFTER
        while self._moments and self._moments[0] < long_ago:
            self._moments.popleft()
