"""Reconnect policy: how long to wait before the next attempt, and when to give up.

Pure. Owns the policy alone: randomness and time are handed in, and ``supervisor`` acts on it.
"""

from __future__ import annotations

from dataclasses import dataclass

from agenthost.client.errors import CannotConnect, GivenUp, NotAdmitted, Superseded
from agenthost.errors import (
    AuthRequired,
    InvalidParams,
    InvalidRequest,
    MethodNotFound,
    PermissionDenied,
    RemoteProtocolError,
    WireError,
)
from agenthost.local_host import NoHost
from agenthost.transport import CloseCode, TransportClosed

# A handshake refused with one of these will be refused again in the same words.
_FINAL = (AuthRequired, InvalidParams, InvalidRequest, MethodNotFound, PermissionDenied)


@dataclass(frozen=True, slots=True)
class Backoff:
    """Delays with full jitter: between 0 and a bound that doubles with every attempt.

    Spreading over the whole range is what keeps the clients of a host that restarted from coming
    back all at once.
    """

    # Seconds: the bound of the first delay, and the largest bound.
    first: float = 0.25
    longest: float = 30.0
    # A connection that lasted this many seconds was a good one: the next attempt is a first one.
    stable: float = 10.0

    def delay(self, attempt: int, roll: float, at_least: float = 0.0) -> float:
        """Return the seconds before an attempt, counted from 0; ``roll`` is random in [0, 1)."""
        # Beyond 2**16 the bound is the longest one anyway, and numbers stay small.
        bound: float = min(self.longest, self.first * 2 ** min(attempt, 16))
        return max(at_least, roll * bound)


@dataclass(frozen=True, slots=True)
class Retry:
    """Try again; the host may have asked for some seconds of rest."""

    reason: str
    at_least: float = 0.0
    # Whether an earlier attempt of this very client is taken to have superseded the connection.
    own_doing: bool = False


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Trying again cannot help."""

    error: GivenUp


def retry_or_give_up(
    error: Exception, *, established: bool, superseded_by_us: bool
) -> Retry | GiveUp:
    """Decide whether a connection that failed or ended is tried again.

    ``established`` says whether the handshake had succeeded, ``superseded_by_us`` whether the host
    may have got round only now to an earlier attempt of this very client.
    """
    match error:
        case GivenUp():
            return GiveUp(error)
        case CannotConnect():
            return Retry(str(error), error.retry_after or 0.0)
        case NoHost():
            return Retry(str(error))
        case TransportClosed() if error.code == CloseCode.POLICY_VIOLATION and established:
            return _closed_by_host(error, superseded_by_us)
        case TransportClosed():
            return Retry(error.reason or f"the connection ended ({error.code})")
        case RemoteProtocolError():
            return GiveUp(GivenUp(f"this is no host we can talk to: {error}"))
        case _ if isinstance(error, _FINAL):
            return GiveUp(NotAdmitted(f"the host refuses this client: {error.message}"))
        case WireError():
            return Retry(f"the host cannot serve us now: {error.message}")
    return Retry(f"{type(error).__name__}: {error}")


def _closed_by_host(error: TransportClosed, superseded_by_us: bool) -> Retry | GiveUp:
    why = f"the host ended the connection: {error.reason or 'policy violation'}"
    if "supersede" not in error.reason:
        return GiveUp(NotAdmitted(why))
    if superseded_by_us:
        return Retry(why, own_doing=True)
    # Two processes that share a client id would otherwise throw each other out for ever.
    return GiveUp(Superseded(why))
