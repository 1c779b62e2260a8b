"""The cron dialect: what is an expression, and exactly which minutes it names."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agenthost.host.channels.automation.cron import (
    Cron,
    CronError,
    next_after,
    parse,
    time_zone,
)

# Zones with their changes of the clocks: whole hours, half an hour, twice around Ramadan, a whole
# day that was left out, and two that never change.
CHANGES = {
    "Europe/Berlin": [(2026, 3, 29), (2026, 10, 25)],
    "America/New_York": [(2026, 3, 8), (2026, 11, 1)],
    "Australia/Lord_Howe": [(2026, 4, 5), (2026, 10, 4)],
    "Africa/Casablanca": [(2026, 2, 15), (2026, 3, 22), (2024, 3, 10)],
    "Antarctica/Casey": [(2018, 3, 11), (2020, 10, 4)],
    "America/Havana": [(2026, 3, 8), (2026, 11, 1)],
    "Pacific/Apia": [(2011, 12, 30)],
    "Asia/Kathmandu": [(2024, 2, 29)],
    "UTC": [(2027, 1, 1)],
}


def test_the_five_fields() -> None:
    cron = parse("*/20 9-17/4 1,15 jan-mar,DEC 5-7")
    assert {each.minute for each in cron.times} == {0, 20, 40}
    assert {each.hour for each in cron.times} == {9, 13, 17}
    assert cron.days == {1, 15}
    assert cron.months == {1, 2, 3, 12}
    assert cron.weekdays == {5, 6, 0}


@pytest.mark.parametrize("sunday", ["0", "7", "SUN", "sun", "7-7", "0-0"])
def test_sunday_has_three_names(sunday: str) -> None:
    assert parse(f"0 0 * * {sunday}").weekdays == {0}


@pytest.mark.parametrize("spaced", ["\t0  0 * * * ", "0 0\n* * *", "00 0 * * *"])
def test_any_white_space_separates(spaced: str) -> None:
    assert parse(spaced) == parse("0 0 * * *")


@pytest.mark.parametrize(
    "expression",
    [
        "",
        "* * * *",
        "* * * * * *",
        "@daily",
        "60 * * * *",
        "* 24 * * *",
        "0 0 0 * *",
        "0 0 32 * *",
        "0 0 * 0 *",
        "0 0 * 13 *",
        "0 0 * * 8",
        "*/0 * * * *",
        "5/2 * * * *",
        "1,,2 * * * *",
        ",1 * * * *",
        "-1 * * * *",
        "1- * * * *",
        "5-1 * * * *",
        "1-2-3 * * * *",
        "*-5 * * * *",
        "**/2 * * * *",
        "0 0 * * FRI-MON",
        "0 0 * * MONDAY",
        "0 0 * MON *",
        "0 0 JAN * *",
        "0 0 L * *",
        "0 0 ? * *",
        "0 0 15W * *",
        "0 0 * * MON#1",
        "1.5 * * * *",
        "+1 * * * *",
        "00001 * * * *",
        "\u0661 * * * *",
        "0\u00a00 * * *",
        "0 0 * * *" + " " * 2000,
        ",".join(["1"] * 1000) + " * * * *",
    ],
)
def test_everything_else_is_refused(expression: str) -> None:
    with pytest.raises(CronError):
        parse(expression)


@pytest.mark.parametrize(
    "name", ["", "Berlin", "../etc/passwd", "/etc/passwd", "Europe", "a\0b", "x" * 5000, "Europe/"]
)
def test_what_is_no_time_zone_is_refused(name: str) -> None:
    with pytest.raises(CronError, match="there is no time zone"):
        time_zone(name)


def occurrences(cron: Cron, zone: str, start: datetime, end: datetime) -> Iterator[datetime]:
    at = next_after(cron, time_zone(zone), start)
    while at is not None and at <= end:
        yield at
        at = next_after(cron, time_zone(zone), at)


def days_of(expression: str, start: str, days: int) -> list[str]:
    begin = datetime.fromisoformat(start).replace(tzinfo=UTC)
    found = occurrences(parse(expression), "Europe/Berlin", begin, begin + timedelta(days=days))
    return [f"{at:%d %H:%M}" for at in found]


def test_a_minute_that_the_clocks_skip_gives_nothing() -> None:
    # At two they show three.
    assert days_of("30 2 * * *", "2026-03-27", 4) == ["27 01:30", "28 01:30", "30 00:30"]


def test_a_minute_that_the_clocks_repeat_gives_two() -> None:
    # At three they show two again.
    assert days_of("30 2 * * *", "2026-10-24", 3) == [
        "24 00:30",
        "25 00:30",
        "25 01:30",
        "26 01:30",
    ]


def test_every_hour_means_every_hour_there_is() -> None:
    assert len(days_of("0 * * * *", "2026-03-29T10:59", 1)) == 24
    assert days_of("0 1-3 * * *", "2026-03-28T22:00", 1) == ["29 00:00", "29 01:00"]
    autumn = ["24 23:00", "25 00:00", "25 01:00", "25 02:00"]
    assert days_of("0 1-3 * * *", "2026-10-24T22:00", 1) == autumn


def test_either_field_for_days_suffices_where_both_restrict() -> None:
    # The 13th, and every Friday; with a * for one of them the other decides alone.
    assert days_of("0 12 13 * FRI", "2026-02-01", 28) == [
        f"{day:02} 11:00" for day in (6, 13, 20, 27)
    ]
    assert days_of("0 12 12 * FRI", "2026-02-08", 8) == ["12 11:00", "13 11:00"]
    assert days_of("0 12 12 * *", "2026-02-08", 8) == ["12 11:00"]
    # A step restricts, also one that leaves nothing out.
    assert len(days_of("0 12 */31 * FRI", "2026-02-02", 14)) == 2
    assert len(days_of("0 12 */1 * FRI", "2026-02-02", 14)) == 14


def test_leap_days_are_found_across_a_century() -> None:
    found = next_after(parse("0 0 29 2 *"), time_zone("UTC"), datetime(2096, 3, 1, tzinfo=UTC))
    assert found == datetime(2104, 2, 29, tzinfo=UTC)


def test_an_expression_may_never_come_true() -> None:
    assert (
        next_after(parse("0 0 30 2 *"), time_zone("UTC"), datetime(2026, 1, 1, tzinfo=UTC)) is None
    )


def brute_force(cron: Cron, zone: str, start: datetime, end: datetime) -> list[datetime]:
    """Look at every minute there is."""
    found = []
    minutes = {(each.hour, each.minute) for each in cron.times}
    at = start.replace(second=0, microsecond=0)
    while (at := at + timedelta(minutes=1)) <= end:
        local = at.astimezone(time_zone(zone))
        if (local.hour, local.minute) in minutes and cron.is_on(local.date()):
            found.append(at)
    return found


def field(low: int, high: int) -> st.SearchStrategy[str]:
    number = st.integers(low, high)
    pair = st.tuples(number, number).map(sorted)
    return st.one_of(
        st.just("*"),
        number.map(str),
        st.integers(1, high).map(lambda step: f"*/{step}"),
        pair.map(lambda ends: f"{ends[0]}-{ends[1]}"),
        st.tuples(pair, st.integers(1, 9)).map(lambda x: f"{x[0][0]}-{x[0][1]}/{x[1]}"),
        st.lists(number, min_size=1, max_size=3).map(lambda some: ",".join(map(str, some))),
    )


EXPRESSIONS = st.tuples(field(0, 59), field(0, 23), field(1, 31), field(1, 12), field(0, 7)).map(
    " ".join
)
PLACES = st.sampled_from([(zone, day) for zone, days in CHANGES.items() for day in days])


@settings(max_examples=60, deadline=None)
@given(EXPRESSIONS, PLACES, st.integers(0, 24 * 3600))
def test_the_same_as_looking_at_every_minute(
    expression: str, place: tuple[str, tuple[int, int, int]], early: int
) -> None:
    zone, day = place
    cron = parse(expression)
    start = datetime(*day, tzinfo=UTC) - timedelta(hours=30, seconds=early)
    end = start + timedelta(days=4)
    found: list[datetime] = []
    for at in occurrences(cron, zone, start, end):
        found.append(at)
        if len(found) == 200:
            # Long rows of minutes have nothing new to say.
            end = at
            break
    assert found == brute_force(cron, zone, start, end)
