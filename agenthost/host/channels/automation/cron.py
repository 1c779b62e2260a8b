"""The cron dialect of the protocol: which minutes an expression names in a time zone (pure).

Evaluated in local time. A minute that a change of the clocks skips gives no occurrence, one that it
repeats gives two. No library does that: they all move skipped times and merge repeated ones.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from msgspec import Struct

_MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]
_WEEKDAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]
# An expression that lists every value of every field has some 600 characters.
_LONGEST = 1000
_ITEM = re.compile(
    r"(?:(?P<all>\*)|(?P<first>[0-9]{1,4}|[A-Z]{3})(?:-(?P<last>[0-9]{1,4}|[A-Z]{3}))?)"
    r"(?:/(?P<step>[0-9]{1,4}))?"
)
# Leap days can lie eight years apart.
_YEARS_AHEAD = 9
# Hours around noon within which a change of the clocks concerns a day.
_AROUND = 18


class CronError(ValueError):
    """An expression or a time zone that is none; says why."""


class _Field(Struct, frozen=True):
    """What one of the five fields may hold."""

    name: str
    low: int
    high: int
    names: Mapping[str, int]


_FIELDS = (
    _Field("minute", 0, 59, {}),
    _Field("hour", 0, 23, {}),
    _Field("day of the month", 1, 31, {}),
    _Field("month", 1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    _Field("day of the week", 0, 7, {name: number for number, name in enumerate(_WEEKDAYS)}),
)
_DAY_OF_WEEK = _FIELDS[4]


class Cron(Struct, frozen=True):
    """An expression, read: the values that each field lets through."""

    # In order, because the first that matches is asked for.
    times: tuple[time, ...]
    days: frozenset[int]
    months: frozenset[int]
    # Sunday is 0.
    weekdays: frozenset[int]
    # Whether one of the fields for days is ``*``, so that the other one decides alone.
    one_day_field: bool

    def is_on(self, day: date) -> bool:
        """Say whether there are occurrences on a day."""
        if day.month not in self.months:
            return False
        by_date, by_weekday = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return (by_date and by_weekday) if self.one_day_field else (by_date or by_weekday)


@lru_cache(maxsize=1024)
def parse(expression: str) -> Cron:
    """Read an expression of five fields.

    Raises:
        CronError: it is not one.
    """
    if len(expression) > _LONGEST or not expression.isascii():
        raise CronError("a cron expression is five fields of ASCII text")
    texts = expression.split()
    if len(texts) != len(_FIELDS):
        raise CronError(f"a cron expression has five fields, not {len(texts)}")
    minutes, hours, days, months, weekdays = (
        _values(text.upper(), field) for text, field in zip(texts, _FIELDS, strict=True)
    )
    return Cron(
        tuple(time(hour, minute) for hour in sorted(hours) for minute in sorted(minutes)),
        frozenset(days),
        frozenset(months),
        frozenset(day % 7 for day in weekdays),
        # ``*/2`` is a restriction: it is not every day.
        one_day_field="*" in (texts[2], texts[4]),
    )


def _values(text: str, field: _Field) -> set[int]:
    found: set[int] = set()
    for item in text.split(","):
        match = _ITEM.fullmatch(item)
        if match is None:
            raise CronError(f"{item!r} is no {field.name}")
        if match["all"]:
            first, last = field.low, 6 if field is _DAY_OF_WEEK else field.high
        else:
            first = _value(match["first"], field)
            last = _value(match["last"], field) if match["last"] else first
            if match["step"] and not match["last"]:
                raise CronError(f"{item!r}: a step needs a range or * before it")
        if first > last:
            raise CronError(f"{item!r}: a range begins with the smaller {field.name}")
        step = int(match["step"] or 1)
        if step < 1:
            raise CronError(f"{item!r}: a step is at least 1")
        found.update(range(first, last + 1, step))
    return found


def _value(word: str, field: _Field) -> int:
    value = int(word) if word.isdigit() else field.names.get(word, -1)
    if not field.low <= value <= field.high:
        raise CronError(f"{word!r} is no {field.name}")
    return value


@lru_cache(maxsize=128)
def time_zone(name: str) -> ZoneInfo:
    """Return a time zone by its IANA name.

    Raises:
        CronError: there is none of that name.
    """
    try:
        # ``ZoneInfo`` looks for a file of that name: what is no name at all fails in several ways.
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise CronError(f"there is no time zone {name[:100]!r}") from None


def next_after(cron: Cron, zone: ZoneInfo, instant: datetime) -> datetime | None:
    """Return the first occurrence after an instant, in UTC; None where there is none, ever."""
    # A day early: a change of the clocks may repeat the end of the day before.
    day = instant.astimezone(zone).date() - timedelta(days=1)
    end = day + timedelta(days=366 * _YEARS_AHEAD)
    while day < end:
        if day.month not in cron.months:
            day = (day.replace(day=1) + timedelta(days=32)).replace(day=1)
            continue
        if cron.is_on(day):
            found = _first_on(cron, zone, day, instant)
            if found is not None:
                return found
        day += timedelta(days=1)
    return None


def _first_on(cron: Cron, zone: ZoneInfo, day: date, instant: datetime) -> datetime | None:
    """Return the first occurrence of a day after an instant."""
    offset = _steady_offset(zone, day)
    if offset is None:
        all_day = _instants_on(cron, zone, day)
        past = bisect_right(all_day, instant)
        return all_day[past] if past < len(all_day) else None
    local = instant.astimezone(UTC).replace(tzinfo=None) + offset
    if local.date() > day:
        return None
    past = bisect_right(cron.times, local.time()) if local.date() == day else 0
    if past == len(cron.times):
        return None
    return (datetime.combine(day, cron.times[past]) - offset).replace(tzinfo=UTC)


@lru_cache(maxsize=64)
def _instants_on(cron: Cron, zone: ZoneInfo, day: date) -> tuple[datetime, ...]:
    """Return all occurrences of a day on which the clocks change, in order."""
    return tuple(sorted({at for each in cron.times for at in _instants(day, each, zone)}))


def _instants(day: date, minute: time, zone: ZoneInfo) -> set[datetime]:
    """Return when the clocks of a zone show a minute: once, twice or never."""
    shown = datetime.combine(day, minute)
    found = (shown.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
    # A minute that the clocks skip comes back as another one.
    return {at for at in found if at.astimezone(zone).replace(tzinfo=None, fold=0) == shown}


@lru_cache(maxsize=1024)
def _steady_offset(zone: ZoneInfo, day: date) -> timedelta | None:
    """Return how far a zone is from UTC all through a day; None when its clocks change.

    Looked at every hour, with some hours before and after, whose minutes may be repeated.
    """
    noon = datetime.combine(day, time(12), zone).astimezone(UTC)
    hours = (noon + timedelta(hours=hour) for hour in range(-_AROUND, _AROUND + 1))
    offsets = {hour.astimezone(zone).utcoffset() for hour in hours}
    return offsets.pop() if len(offsets) == 1 else None
