from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

import agenthost
from agenthost.host.trust import (
    Limits,
    Principal,
    PrincipalRates,
    RateLimiter,
    Role,
    exceeds_depth,
    find_excess,
)


def test_limits_are_given_by_name_and_cannot_be_changed() -> None:
    limits = Limits(max_depth=10)
    assert limits.max_depth == 10
    assert limits.max_frame_bytes == 16 * 1024 * 1024
    with pytest.raises(dataclasses.FrozenInstanceError):
        limits.max_depth = 11  # type: ignore[misc]


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(Limits)])
@pytest.mark.parametrize("value", [0, -1, float("nan")])
def test_a_limit_that_would_stop_everything_is_refused(name: str, value: float) -> None:
    changes: dict[str, Any] = {name: value}
    with pytest.raises(ValueError, match=name):
        Limits(**changes)


# --- the rate


def test_a_burst_passes_at_once_and_then_the_rate_counts() -> None:
    limiter = RateLimiter(rate=10, burst=3, now=0.0)
    assert [limiter.take(0.0) for _ in range(3)] == [0.0, 0.0, 0.0]
    assert limiter.take(0.0) == pytest.approx(0.1)
    assert limiter.take(0.05) == pytest.approx(0.05)
    assert limiter.take(0.11) == 0.0
    assert limiter.take(0.11) > 0.0


def test_waiting_as_long_as_told_is_enough() -> None:
    limiter = RateLimiter(rate=7, burst=1, now=0.0)
    now, waited = 0.0, 0
    for _ in range(100):
        while wait := limiter.take(now):
            now += wait
            waited += 1
            assert waited < 300
    assert now == pytest.approx(99 / 7)


def test_rest_restores_the_burst_and_no_more() -> None:
    limiter = RateLimiter(rate=10, burst=3, now=0.0)
    for _ in range(3):
        limiter.take(0.0)
    assert [limiter.take(1_000.0) > 0 for _ in range(4)] == [False, False, False, True]


def test_a_clock_that_steps_back_neither_gives_nor_takes() -> None:
    limiter = RateLimiter(rate=10, burst=2, now=100.0)
    assert limiter.take(50.0) == 0.0
    assert limiter.take(0.0) == 0.0
    assert limiter.take(50.0) > 0.0
    assert limiter.take(100.0) > 0.0
    assert limiter.take(100.2) == 0.0


def test_something_larger_than_the_burst_waits_for_a_full_bucket_and_is_paid_off_later() -> None:
    limiter = RateLimiter(rate=10, burst=5, now=0.0)
    assert limiter.take(0.0, cost=20) == 0.0
    assert limiter.take(0.0) == pytest.approx(1.6)
    assert limiter.take(1.6) == 0.0


@given(
    st.lists(st.tuples(st.floats(0, 2), st.floats(0.1, 3)), max_size=60),
    st.floats(1, 50),
    st.integers(3, 20),
)
def test_no_sequence_gets_more_through_than_burst_and_rate_allow(
    steps: list[tuple[float, float]], rate: float, burst: int
) -> None:
    limiter = RateLimiter(rate, burst, now=0.0)
    now = passed = 0.0
    for pause, cost in steps:
        now += pause
        if limiter.take(now, cost) == 0.0:
            passed += cost
        assert passed <= burst + now * rate + 1e-6


# --- the depth


def depth(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + max(map(depth, value.values()), default=0)
    if isinstance(value, list):
        return 1 + max(map(depth, value), default=0)
    return 0


AWKWARD = st.text(alphabet='[]{}"\\,:ab\n\u00e9\U0001f600', max_size=12)
VALUES = st.recursive(
    st.none() | st.integers(-1000, 1000) | AWKWARD,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(AWKWARD, inner, max_size=4),
    max_leaves=40,
)


@given(VALUES, st.integers(0, 12), st.booleans())
def test_the_depth_of_valid_json_is_judged_exactly(value: Any, limit: int, spaced: bool) -> None:
    raw = json.dumps(value, indent=1).encode() if spaced else orjson.dumps(value)
    assert exceeds_depth(raw, limit) == (depth(value) > limit)


@given(VALUES, st.integers(0, 30))
def test_deep_wrapping_around_anything_is_judged_exactly(value: Any, extra: int) -> None:
    raw = b'[{"k\\\\\\"[": ' * extra + orjson.dumps(value) + b"}]" * extra
    assert orjson.loads(raw) is not None or value is None
    for limit in (2 * extra + depth(value) - 1, 2 * extra + depth(value)):
        if limit >= 0:
            assert exceeds_depth(raw, limit) == (2 * extra + depth(value) > limit)


@given(st.binary(max_size=200), st.integers(0, 5))
def test_bytes_that_are_no_json_never_raise(raw: bytes, limit: int) -> None:
    assert exceeds_depth(raw, limit) in (True, False)


@pytest.mark.parametrize(
    "raw",
    [
        b"[" * 65,
        b"[" * 1_000_000,
        b'{"a":' * 65,
        b"[" * 65 + b"]" * 65,
        b"[[]," * 65,
        b'[{"a":' * 33,
        (b"[" * 64 + b"{}" + b"]" * 64),
        b"[]" * 100 + b"[" * 65,
    ],
)
def test_what_nests_too_deep_is_caught_whether_or_not_it_ever_closes(raw: bytes) -> None:
    assert exceeds_depth(raw, 64)


@pytest.mark.parametrize(
    "raw",
    [
        b"[" * 64 + b"]" * 64,
        b"[]" * 100_000,
        b'"' + b"[" * 1_000 + b'"',
        b'["\\"' + b"[" * 1_000 + b'"]',
        b'["\\\\", "' + b"{" * 1_000 + b'\\\\\\""]',
        b"[" + b",".join([b'{"[":["]"]}'] * 1_000) + b"]",
        b"",
        b"]" * 1_000,
    ],
)
def test_what_is_wide_or_holds_brackets_in_text_passes(raw: bytes) -> None:
    assert not exceeds_depth(raw, 64)


def test_an_escaped_backslash_does_not_hide_the_end_of_a_string() -> None:
    raw = b'["\\\\",' + b"[" * 64 + b"]" * 64 + b"]"
    assert orjson.loads(raw)[0] == "\\"
    assert exceeds_depth(raw, 64)
    assert not exceeds_depth(raw, 65)


# --- values


def values_in(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + sum(map(values_in, value.values()))
    if isinstance(value, list):
        return 1 + sum(map(values_in, value))
    return 1


@given(VALUES, st.booleans())
def test_nothing_with_more_values_than_allowed_is_ever_parsed(value: Any, spaced: bool) -> None:
    raw = json.dumps(value, indent=1).encode() if spaced else orjson.dumps(value)
    count = values_in(value)
    assert find_excess(raw, depth=99, values=2 * count + 1) is None
    if count > 1:
        assert find_excess(raw, depth=99, values=count // 2) == f"hold {count // 2} values"


@given(VALUES, st.integers(0, 12))
def test_the_depth_counts_beside_the_values(value: Any, limit: int) -> None:
    excess = find_excess(orjson.dumps(value), depth=limit, values=10_000)
    assert excess == (f"nest {limit} levels deep" if depth(value) > limit else None)


@pytest.mark.parametrize("item", [b"[]", b'""', b"1", b'"a"', b'{"a":[]}'])
def test_very_many_values_are_too_many(item: bytes) -> None:
    raw = b"[" + b",".join([item] * 300_000) + b"]"
    assert find_excess(raw, depth=64, values=200_000) == "hold 200000 values"


# --- seats and shares

OWNER, VIEWER = Principal("owner", Role.OWNER), Principal("v", Role.VIEWER)


def test_no_principal_but_the_owner_has_more_than_its_share_of_the_seats() -> None:
    limits = Limits(max_connections=80)
    assert limits.has_seat(VIEWER, taken=9, taken_by_same=9)
    assert not limits.has_seat(VIEWER, taken=10, taken_by_same=10)
    assert limits.has_seat(OWNER, taken=79, taken_by_same=79)
    assert not limits.has_seat(OWNER, taken=80, taken_by_same=0)


def test_the_last_seats_are_the_owner_s() -> None:
    for most in (1, 2, 10, 2000):
        limits = Limits(max_connections=most)
        assert not limits.has_seat(VIEWER, taken=most - 1, taken_by_same=0)
        assert limits.has_seat(OWNER, taken=most - 1, taken_by_same=0)


def test_all_connections_of_a_principal_share_one_rate() -> None:
    rates = PrincipalRates(Limits(viewer_byte_burst=10, byte_burst=100), 0.0)
    assert rates.of(VIEWER) is rates.of(Principal("v", Role.VIEWER))
    assert rates.of(VIEWER) is not rates.of(Principal("w", Role.VIEWER))
    assert [rates.of(VIEWER).take(0.0, 10), rates.of(OWNER).take(0.0, 100)] == [0.0, 0.0]
    assert rates.of(VIEWER).take(0.0) > 0


def test_what_was_charged_must_be_paid_off_first() -> None:
    limiter = RateLimiter(10, 10, 0.0)
    limiter.charge(30)
    assert limiter.take(0.0) == pytest.approx(2.1)
    assert limiter.take(2.1) == 0.0


def test_every_limit_is_looked_at_by_whom_it_limits() -> None:
    package = Path(agenthost.__file__).parent
    text = "\n".join(path.read_text() for path in package.rglob("*.py"))
    # Once where it is said, and once where it counts.
    names = [field.name for field in dataclasses.fields(Limits)]
    assert [name for name in names if len(re.findall(rf"\b{name}\b", text)) < 2] == []
