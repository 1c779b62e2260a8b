"""Times of automations: this machine's time zone and clock, and a schedule's end."""

from __future__ import annotations

import os
from datetime import UTC, date, datetime, timedelta

from agenthost.cli.exit_codes import USAGE, CommandFailed


def local_zone() -> str:
    """Return the time zone of this machine by its IANA name, or UTC where it has none."""
    named = os.environ.get("TZ", "").removeprefix(":")
    if "/" in named and not named.startswith("/"):
        return named
    _, found, zone = os.path.realpath("/etc/localtime").rpartition("/zoneinfo/")
    return zone if found and zone and not named else "UTC"


def last_moment(text: str, zone: str) -> str:
    """Read a day, whose end is meant, or a time, as the zone's clocks show it.

    Raises:
        CommandFailed: it is neither, or over; or there is no such zone.
    """
    from zoneinfo import ZoneInfo

    try:
        place = ZoneInfo(zone)
    except (KeyError, ValueError, OSError):
        raise CommandFailed(f"--zone: there is no time zone {zone!r}", USAGE) from None
    try:
        if len(text) == len("2026-01-31"):
            end = date.fromisoformat(text) + timedelta(days=1)
            then = datetime.combine(end, datetime.min.time(), place) - timedelta(minutes=1)
        else:
            then = datetime.fromisoformat(text)
            then = then if then.tzinfo is not None else then.replace(tzinfo=place)
        then = then.astimezone(UTC)
    except (ValueError, OverflowError):
        message = "--until: give a day as 2026-12-31, or a time as 2026-12-31T18:00"
        raise CommandFailed(message, USAGE) from None
    if then <= local_now():
        raise CommandFailed(f"--until: {text} is over", USAGE)
    return then.isoformat().replace("+00:00", "Z")


def local_now() -> datetime:
    """Return the time here, in a zone that knows of other seasons if it can be named."""
    from zoneinfo import ZoneInfo

    now = datetime.now(UTC).astimezone()
    try:
        there = now.astimezone(ZoneInfo(local_zone()))
    except (KeyError, ValueError, OSError):
        return now
    return there if there.utcoffset() == now.utcoffset() else now
