"""When automations run: what is due, what was missed, when it ends, when to look again (pure).

For each trigger there is a cursor, the instant up to which its occurrences were dealt with. Whoever
stores the cursors together with the runs that they led to never runs an occurrence twice, and never
forgets one. A cursor never goes back by itself: when the wall clock is set back, nothing is due
until it has passed the cursor again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from msgspec import Struct

from agenthost.host.channels.automation.cron import next_after, parse, time_zone
from agenthost.host.channels.timestamps import read_instant

if TYPE_CHECKING:
    from agenthost.protocol.automation.definition import (
        AutomationDefinition,
        AutomationScheduleTrigger,
    )

# An occurrence that is older was missed.
ON_TIME = timedelta(seconds=60)


class Occurrence(Struct, frozen=True):
    """One run that a schedule asks for."""

    trigger_id: str
    scheduled_for: datetime
    # Whether it makes up for what was missed.
    catch_up: bool = False


class Decision(Struct, frozen=True):
    """What is to be done at one moment, and what must be stored together with it."""

    runs: tuple[Occurrence, ...]
    cursors: Mapping[str, datetime]
    # How many scheduled runs were admitted, where they are counted.
    run_count: int | None
    # False when a condition ends the schedule.
    enabled: bool


def decide(
    definition: AutomationDefinition,
    cursors: Mapping[str, datetime],
    run_count: int | None,
    now: datetime,
) -> Decision:
    """Say which runs start now."""
    if not definition["enabled"]:
        return Decision((), cursors, run_count, enabled=False)
    until = end_date(definition)
    due: list[Occurrence] = []
    moved = dict(cursors)
    for trigger in schedule_triggers(definition):
        cursor = cursors.get(trigger["id"], now)
        found = _due(trigger, cursor, now, until)
        if found is not None:
            due += found
            moved[trigger["id"]] = now
    due.sort(key=lambda each: each.scheduled_for)
    most = most_runs(definition)
    if most is not None:
        run_count = run_count or 0
        due = due[: max(0, most - run_count)]
        run_count += len(due)
    enabled = not has_ended(definition, run_count, now)
    return Decision(tuple(due), moved, run_count, enabled)


def _due(
    trigger: AutomationScheduleTrigger, cursor: datetime, now: datetime, until: datetime | None
) -> list[Occurrence] | None:
    """Return the runs that a trigger asks for; None when nothing has happened since its cursor."""
    first = _next(trigger, cursor)
    if first is None or first > now:
        return None
    # Of one trigger there is at most one in a minute.
    latest = _next(trigger, max(cursor, now - ON_TIME))
    on_time = latest if latest is not None and latest <= now else None
    runs: list[Occurrence] = []
    if first != on_time and trigger.get("misfirePolicy") != "skip" and not _is_over(until, now):
        runs.append(Occurrence(trigger["id"], first, catch_up=True))
    if on_time is not None and not _is_over(until, on_time):
        runs.append(Occurrence(trigger["id"], on_time))
    return runs


def next_run(
    definition: AutomationDefinition, cursors: Mapping[str, datetime], now: datetime
) -> datetime | None:
    """Return the earliest occurrence that was not dealt with yet; it may lie in the past."""
    if not definition["enabled"]:
        return None
    found = (
        _next(trigger, cursors.get(trigger["id"], now)) for trigger in schedule_triggers(definition)
    )
    first = min((each for each in found if each is not None), default=None)
    return None if first is None or _is_over(end_date(definition), first) else first


def wake_at(definition: AutomationDefinition, next_run_at: datetime | None) -> datetime | None:
    """Return when there may be something to decide."""
    if not definition["enabled"]:
        return None
    moments = (next_run_at, end_date(definition))
    return min((each for each in moments if each is not None), default=None)


# What an edit does to the bookkeeping.


def edited_cursors(
    former: AutomationDefinition | None,
    definition: AutomationDefinition,
    cursors: Mapping[str, datetime],
    now: datetime,
) -> dict[str, datetime]:
    """Return the cursors after an edit: what is new, changed or enabled begins now."""
    kept: dict[str, object] = {}
    if former is not None and former["enabled"]:
        kept = {trigger["id"]: trigger["schedule"] for trigger in schedule_triggers(former)}
    return {
        id: cursors[id] if id in cursors and kept.get(id) == trigger["schedule"] else now
        for trigger in schedule_triggers(definition)
        if (id := trigger["id"])
    }


def edited_run_count(
    former: AutomationDefinition | None, definition: AutomationDefinition, run_count: int | None
) -> int | None:
    """Return how many runs count after an edit: enabling, or limiting anew, starts at none."""
    if most_runs(definition) is None:
        return None
    fresh = former is None or most_runs(former) is None
    enabled = former is not None and definition["enabled"] and not former["enabled"]
    return 0 if fresh or enabled else run_count or 0


def has_ended(definition: AutomationDefinition, run_count: int | None, now: datetime) -> bool:
    """Say whether a condition for an automation to disable itself is met."""
    most, until = most_runs(definition), end_date(definition)
    return (most is not None and (run_count or 0) >= most) or (until is not None and now >= until)


def most_runs(definition: AutomationDefinition) -> int | None:
    """Return after how many scheduled runs an automation disables itself."""
    for condition in definition.get("disableConditions") or ():
        if condition["kind"] == "afterRuns":
            return condition["max"]
    return None


def end_date(definition: AutomationDefinition) -> datetime | None:
    """Return when an automation disables itself."""
    for condition in definition.get("disableConditions") or ():
        if condition["kind"] == "afterDate":
            return instant_of(condition["date"])
    return None


def schedule_triggers(definition: AutomationDefinition) -> Iterator[AutomationScheduleTrigger]:
    """Return the triggers that the clock pulls."""
    for trigger in definition["triggers"]:
        if trigger["kind"] == "schedule":
            yield trigger


def _next(trigger: AutomationScheduleTrigger, after: datetime) -> datetime | None:
    schedule = trigger["schedule"]
    return next_after(parse(schedule["expression"]), time_zone(schedule["timeZone"]), after)


def _is_over(until: datetime | None, instant: datetime) -> bool:
    return until is not None and instant > until


def instant_of(text: str) -> datetime:
    """Read an ISO 8601 timestamp; without a zone it is UTC.

    Raises:
        ValueError: it is none.
    """
    instant = read_instant(text)
    if instant is None:
        raise ValueError(f"{text} is no date")
    return instant


def write_instant(instant: datetime) -> str:
    """Write an instant as the protocol does: UTC with milliseconds and ``Z``."""
    return instant.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
