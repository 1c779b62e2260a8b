"""What is due when: on time, missed, across changes of the clocks, and until when."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenthost.host.channels.automation.cron import next_after, parse, time_zone
from agenthost.host.channels.automation.scheduler import (
    Occurrence,
    decide,
    edited_cursors,
    edited_run_count,
    instant_of,
    next_run,
    wake_at,
    write_instant,
)
from tests.thoroughness import examples

if TYPE_CHECKING:
    from agenthost.protocol.automation.definition import AutomationDefinition


def automation(
    *expressions: str, zone: str = "Europe/Berlin", policy: str | None = None, **members: Any
) -> AutomationDefinition:
    triggers = [
        {
            "id": f"t{number}",
            "kind": "schedule",
            "schedule": {"expression": expression, "timeZone": zone},
            **({"misfirePolicy": policy} if policy else {}),
        }
        for number, expression in enumerate(expressions, 1)
    ]
    definition: dict[str, Any] = {
        "title": "Tidy up",
        "message": {"text": "tidy up", "origin": {"kind": "automation"}},
        "session": {},
        "enabled": True,
        "triggers": triggers,
        **members,
    }
    return cast("AutomationDefinition", definition)


def until(date: str) -> dict[str, Any]:
    return {"disableConditions": [{"kind": "afterDate", "date": date}]}


def at_most(runs: int) -> dict[str, Any]:
    return {"disableConditions": [{"kind": "afterRuns", "max": runs}]}


class Days:
    """Lets time pass for one automation, as the host does."""

    def __init__(self, definition: AutomationDefinition, now: str) -> None:
        self.definition = definition
        self.now = instant_of(now)
        self.cursors: Mapping[str, datetime] = edited_cursors(None, definition, {}, self.now)
        self.run_count = edited_run_count(None, definition, None)
        self.runs: list[Occurrence] = []

    def look(self, now: datetime | str) -> list[Occurrence]:
        """Let the host look at the clock once, which shows this."""
        self.now = instant_of(now) if isinstance(now, str) else now
        decision = decide(self.definition, self.cursors, self.run_count, self.now)
        self.cursors, self.run_count = decision.cursors, decision.run_count
        self.definition = {**self.definition, "enabled": decision.enabled}
        self.runs += decision.runs
        return list(decision.runs)

    def pass_until(self, end: str, late: timedelta = timedelta(milliseconds=5)) -> list[str]:
        """Let the host look whenever there is something to see; return what ran, in UTC."""
        before = len(self.runs)
        while True:
            due = next_run(self.definition, self.cursors, self.now)
            moment = wake_at(self.definition, due)
            if moment is None or moment > instant_of(end):
                break
            self.look(max(self.now, moment) + late)
        self.look(end)
        return [f"{run.scheduled_for:%d %H:%M}" for run in self.runs[before:]]


def test_a_run_starts_at_its_minute_and_not_again() -> None:
    days = Days(automation("0 9 * * *"), "2026-01-05T06:00Z")
    assert days.look("2026-01-05T07:59:59.999Z") == []
    assert days.look("2026-01-05T08:00:00.000Z") == [
        Occurrence("t1", instant_of("2026-01-05T08:00Z"))
    ]
    for second in range(0, 120, 7):
        assert days.look(instant_of("2026-01-05T08:00Z") + timedelta(seconds=second)) == []


def test_what_lies_before_an_automation_is_not_made_up_for() -> None:
    days = Days(automation("0 9 * * *"), "2026-01-05T08:00:00.000Z")
    assert days.look("2026-01-05T08:00:01Z") == []


def test_spring_has_no_half_past_two() -> None:
    days = Days(automation("30 2 * * *"), "2026-03-28T00:00Z")
    assert days.pass_until("2026-03-31T00:00Z") == ["28 01:30", "30 00:30"]
    assert not any(run.catch_up for run in days.runs)


def test_autumn_has_it_twice() -> None:
    days = Days(automation("30 2 * * *"), "2026-10-24T00:00Z")
    assert days.pass_until("2026-10-27T00:00Z") == ["24 00:30", "25 00:30", "25 01:30", "26 01:30"]
    assert not any(run.catch_up for run in days.runs)


def test_every_hour_is_every_hour_when_the_clocks_change() -> None:
    for day in ("2026-03-28", "2026-10-24"):
        days = Days(automation("0 * * * *"), f"{day}T12:30Z")
        start = instant_of(f"{day}T12:30Z")
        assert len(days.pass_until(write_instant(start + timedelta(days=1)))) == 24


def test_of_all_that_was_missed_one_run_makes_up_for_the_first() -> None:
    days = Days(automation("*/10 * * * *"), "2026-01-05T08:00Z")
    (run,) = days.look("2026-01-05T11:05Z")
    assert run == Occurrence("t1", instant_of("2026-01-05T08:10Z"), catch_up=True)
    assert days.look("2026-01-05T11:05:30Z") == []


def test_what_was_missed_can_be_skipped() -> None:
    days = Days(automation("*/10 * * * *", policy="skip"), "2026-01-05T08:00Z")
    assert days.look("2026-01-05T11:05Z") == []
    # And is never made up for: the next one is the next.
    assert days.pass_until("2026-01-05T11:11Z") == ["05 11:10"]


@pytest.mark.parametrize(("policy", "catching_up"), [("skip", 0), ("runOnce", 1), (None, 1)])
def test_the_one_on_time_runs_besides(policy: str | None, catching_up: int) -> None:
    days = Days(automation("*/10 * * * *", policy=policy), "2026-01-05T08:00Z")
    runs = days.look("2026-01-05T11:10:20Z")
    assert [run.catch_up for run in runs] == [True] * catching_up + [False]
    assert runs[-1].scheduled_for == instant_of("2026-01-05T11:10Z")


def test_a_minute_late_is_still_on_time() -> None:
    for late, missed in ((59.9, False), (60.1, True)):
        days = Days(automation("0 9 * * *"), "2026-01-05T06:00Z")
        (run,) = days.look(instant_of("2026-01-05T08:00Z") + timedelta(seconds=late))
        assert run.catch_up == missed


def test_a_year_of_missed_minutes_is_one_run() -> None:
    days = Days(automation("* * * * *"), "2025-01-01T00:00Z")
    runs = days.look("2026-01-01T00:00:30Z")
    assert [run.catch_up for run in runs] == [True, False]


def test_a_clock_that_is_set_back_repeats_nothing() -> None:
    days = Days(automation("*/10 * * * *"), "2026-01-05T08:00Z")
    assert days.pass_until("2026-01-05T09:01Z") == [f"05 08:{m}0" for m in range(1, 6)] + [
        "05 09:00"
    ]
    assert days.look("2026-01-05T08:05Z") == []
    # It shows all those times again, and nothing runs until it is past what has run.
    assert days.pass_until("2026-01-05T09:21Z") == ["05 09:10", "05 09:20"]
    assert not any(run.catch_up for run in days.runs)


def test_several_triggers_run_in_the_order_of_their_times() -> None:
    days = Days(automation("30 9 * * *", "0 9 * * *", "0 10 * * *"), "2026-01-05T06:00Z")
    runs = days.look("2026-01-05T08:40Z")
    assert [(run.trigger_id, run.catch_up) for run in runs] == [("t2", True), ("t1", True)]


def test_what_is_disabled_or_never_comes_true_never_runs() -> None:
    paused = Days(automation("* * * * *", enabled=False), "2026-01-05T06:00Z")
    assert paused.pass_until("2026-02-05T06:00Z") == []
    assert next_run(paused.definition, paused.cursors, paused.now) is None
    never = Days(automation("0 0 30 2 *"), "2026-01-05T06:00Z")
    assert never.pass_until("2026-02-05T06:00Z") == []
    assert next_run(never.definition, never.cursors, never.now) is None


def test_the_next_run_is_the_earliest_that_nobody_dealt_with() -> None:
    days = Days(automation("0 9 * * *", "0 8 * * *"), "2026-01-05T06:00Z")
    late = instant_of("2026-01-05T12:00Z")
    assert next_run(days.definition, days.cursors, late) == instant_of("2026-01-05T07:00Z")
    days.look(late)
    assert next_run(days.definition, days.cursors, late) == instant_of("2026-01-06T07:00Z")


# Conditions.


def test_it_stops_after_so_many_runs_whatever_becomes_of_them() -> None:
    days = Days(automation("*/10 * * * *", **at_most(3)), "2026-01-05T08:00Z")
    assert days.pass_until("2026-01-05T12:00Z") == ["05 08:10", "05 08:20", "05 08:30"]
    assert days.run_count == 3
    assert days.definition["enabled"] is False


def test_no_more_runs_start_than_are_left() -> None:
    days = Days(automation("0 9 * * *", "5 9 * * *", **at_most(1)), "2026-01-05T06:00Z")
    (run,) = days.look("2026-01-05T10:00Z")
    assert run.trigger_id == "t1"
    assert days.definition["enabled"] is False


def test_it_stops_when_its_date_has_passed() -> None:
    days = Days(automation("0 * * * *", **until("2026-01-05T10:00:00Z")), "2026-01-05T07:30Z")
    # The last one is at that very minute, although the host looks a moment later.
    assert days.pass_until("2026-01-05T15:00Z") == ["05 08:00", "05 09:00", "05 10:00"]
    assert days.definition["enabled"] is False


def test_after_its_date_nothing_is_made_up_for() -> None:
    days = Days(automation("0 * * * *", **until("2026-01-05T10:30:00Z")), "2026-01-05T07:30Z")
    assert days.look("2026-01-05T12:00:10Z") == []
    assert days.definition["enabled"] is False


def test_a_date_is_a_moment_to_look_at_by_itself() -> None:
    definition = automation("0 9 * * *", **until("2026-01-05T06:45Z"))
    days = Days(definition, "2026-01-05T06:00Z")
    assert next_run(definition, days.cursors, days.now) is None
    assert wake_at(definition, None) == instant_of("2026-01-05T06:45Z")


# Edits.


def edited(days: Days, definition: AutomationDefinition, now: str) -> None:
    former, days.now = days.definition, instant_of(now)
    days.cursors = edited_cursors(former, definition, days.cursors, days.now)
    days.run_count = edited_run_count(former, definition, days.run_count)
    days.definition = definition


def test_enabling_begins_anew() -> None:
    days = Days(automation("*/10 * * * *", **at_most(3)), "2026-01-05T08:00Z")
    days.pass_until("2026-01-05T08:25Z")
    edited(days, {**days.definition, "enabled": False}, "2026-01-05T08:26Z")
    assert days.run_count == 2
    edited(days, {**days.definition, "enabled": True}, "2026-01-05T09:05Z")
    assert days.run_count == 0
    assert days.pass_until("2026-01-05T12:00Z") == ["05 09:10", "05 09:20", "05 09:30"]
    assert not any(run.catch_up for run in days.runs)


def test_another_time_begins_anew_and_another_title_does_not() -> None:
    for change, runs in (
        ({"title": "Other"}, 1),
        ({"triggers": automation("0 9 * * *", policy="runOnce")["triggers"]}, 1),
        ({"triggers": automation("0 9 * * *", zone="Europe/Paris")["triggers"]}, 0),
        ({"triggers": automation("0 9 * * MON")["triggers"]}, 0),
    ):
        days = Days(automation("0 9 * * *"), "2026-01-05T06:00Z")
        changed: Any = {**days.definition, **change}
        # The host was asleep at nine, and the edit comes before it has looked.
        edited(days, changed, "2026-01-05T08:30Z")
        assert len(days.look("2026-01-05T08:30:01Z")) == runs


def test_the_count_follows_the_condition() -> None:
    limited, free = automation("0 9 * * *", **at_most(3)), automation("0 9 * * *")
    assert edited_run_count(None, limited, None) == 0
    assert edited_run_count(limited, automation("0 9 * * *", **at_most(9)), 2) == 2
    assert edited_run_count(limited, free, 2) is None
    assert edited_run_count(free, limited, None) == 0


def test_instants_are_written_as_the_protocol_does() -> None:
    assert write_instant(instant_of("2026-01-05T10:00:00+02:00")) == "2026-01-05T08:00:00.000Z"
    assert instant_of("2026-01-05") == instant_of("2026-01-05T00:00:00Z")
    for bad in ("", "tomorrow", "2026-13-01", "0001-01-01T00:00:00+14:00"):
        with pytest.raises(ValueError, match="is no date"):
            instant_of(bad)


STEPS = st.lists(
    st.one_of(
        # The host looks as it should, sleeps, is down for a while, and has its clock set back.
        st.integers(1, 60),
        st.integers(60, 3600),
        st.integers(3600, 200_000),
        st.integers(-7200, -1),
    ),
    min_size=1,
    max_size=30,
)
CLOCKS_CHANGE = st.sampled_from(["2026-03-28T20:00Z", "2026-10-24T20:00Z", "2026-06-01T00:00Z"])
EXPRESSIONS = st.sampled_from(
    ["* * * * *", "*/7 * * * *", "30 2 * * *", "0 * * * *", "15,45 1-3 * * SUN", "0 0 1 * *"]
)


@examples(100)
@given(EXPRESSIONS, CLOCKS_CHANGE, STEPS, st.sampled_from(["skip", "runOnce"]))
def test_whatever_the_clock_does_each_occurrence_is_dealt_with_once(
    expression: str, start: str, steps: list[int], policy: str
) -> None:
    days = Days(automation(expression, policy=policy), start)
    furthest = days.now
    for step in steps:
        now = days.now + timedelta(seconds=step)
        runs = days.look(now)
        # What has come to pass since the clock was furthest, one by one.
        passed = between(expression, furthest, now)
        fresh = [each for each in passed if now - each < timedelta(seconds=60)]
        missed = [each for each in passed if each not in fresh]
        expected = [Occurrence("t1", each) for each in fresh]
        if missed and policy == "runOnce":
            expected.insert(0, Occurrence("t1", missed[0], catch_up=True))
        assert runs == expected
        furthest = max(furthest, now)
    times = [run.scheduled_for for run in days.runs]
    assert len(set(times)) == len(times)


def between(expression: str, start: datetime, end: datetime) -> list[datetime]:
    cron, zone, found = parse(expression), time_zone("Europe/Berlin"), []
    at = next_after(cron, zone, start)
    while at is not None and at <= end:
        found.append(at)
        at = next_after(cron, zone, at)
    return found
