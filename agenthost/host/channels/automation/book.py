"""What the host keeps of an automation that clients are not shown (data, and how it is stored)."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct, field

from agenthost.host.channels.automation.scheduler import instant_of, write_instant
from agenthost.host.trust.principals import Principal
from agenthost.protocol.jsonrpc import dumps
from agenthost.tokens import Role

# The record of each automation, by its URI.
AUTOMATIONS_BUCKET = "automations"
# The record of the runs that are not over: the run's URI -> its automation.
ACTIVE_RUNS = "automationRuns"
# How many runs an automation shows until somebody asks for older ones.
SHOWN_RUNS = 20
# How long, and how many at most, requests to run are known that were carried out.
REQUEST_AGE = timedelta(days=30)
MOST_REQUESTS = 500


class Book(Struct):
    """One automation's bookkeeping; stored as a whole with every change."""

    # On whose behalf it runs: who last said what it does.
    owner: Principal
    # Trigger -> the instant up to which its occurrences were dealt with.
    cursors: dict[str, datetime] = field(default_factory=dict)
    # Request -> the run that it led to, and when.
    requests: dict[str, tuple[str, datetime]] = field(default_factory=dict)
    # All runs that are kept, the newest first.
    runs: list[str] = field(default_factory=list)
    # How many of them are shown; not stored.
    shown: int = SHOWN_RUNS
    # When the schedule must be looked at again; not stored.
    wake_at: datetime | None = None

    def remember(self, request: str, run: str, now: datetime) -> None:
        """Remember which run a request led to, and forget what is too long ago."""
        requests = {**self.requests, request: (run, now)}
        fresh = [(id, made) for id, made in requests.items() if made[1] > now - REQUEST_AGE]
        self.requests = dict(fresh[-MOST_REQUESTS:])

    def encode(self) -> bytes:
        """Return what is stored."""
        return dumps(
            {
                "owner": {"name": self.owner.name, "role": self.owner.role.value},
                "cursors": {id: write_instant(at) for id, at in self.cursors.items()},
                "requests": {
                    id: [run, write_instant(at)] for id, (run, at) in self.requests.items()
                },
                "runs": self.runs,
            }
        )

    @classmethod
    def decode(cls, stored: Any) -> Book:
        """Take up what was stored."""
        owner = stored["owner"]
        return cls(
            Principal(owner["name"], Role(owner["role"])),
            {id: instant_of(at) for id, at in stored["cursors"].items()},
            {id: (run, instant_of(at)) for id, (run, at) in stored["requests"].items()},
            list(stored["runs"]),
        )
