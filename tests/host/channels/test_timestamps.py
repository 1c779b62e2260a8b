"""Instants as clients write them, which text does not compare."""

from __future__ import annotations

from datetime import timedelta

import pytest

from agenthost.host.channels.timestamps import is_off, milliseconds_between, sortable

NOON = "2026-01-01T12:00:00.000Z"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (NOON, NOON),
        ("2026-01-01T14:00:00+02:00", NOON),
        ("2026-01-01T12:00:00", NOON),
        ("2026-01-01T12:00:00.0009Z", NOON),
        ("20260101T120000Z", NOON),
        ("yesterday", "0001-01-01T00:00:00.000Z"),
        ("", "0001-01-01T00:00:00.000Z"),
        ("0001-01-01T00:00:00+14:00", "0001-01-01T00:00:00.000Z"),
    ],
)
def test_instants_sort_as_text_once_they_are_written_alike(text: str, expected: str) -> None:
    assert sortable(text) == expected


def test_time_that_passed_is_never_negative() -> None:
    assert milliseconds_between(NOON, "2026-01-01T12:00:01.500Z") == 1500
    assert milliseconds_between("2026-01-01T13:00:00+02:00", NOON) == 3_600_000
    assert milliseconds_between("2026-01-02T12:00:00Z", NOON) == 0
    assert milliseconds_between("soon", NOON) == milliseconds_between(NOON, "soon") == 0


def test_what_lies_too_far_from_now_or_cannot_be_read_is_found() -> None:
    some = timedelta(minutes=5)
    for near in ("2026-01-01T12:05:00Z", "2026-01-01T13:55:00+02:00", NOON):
        assert not is_off(near, NOON, some)
    for far in ("2026-01-01T12:05:01Z", "2026-01-01T11:54:59Z", "1970-01-01T00:00:00Z", "later"):
        assert is_off(far, NOON, some)
