"""The short forms of states and times, and that they come back as they were."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agenthost.host.store.row_format import (
    LEAST_DEFLATED,
    MOST_DEFLATED,
    SHORT_RECORD,
    checksum,
    long_record,
    long_state,
    long_time,
    session_checksum,
    short_record,
    short_state,
    short_time,
)


@given(st.binary(max_size=2 * LEAST_DEFLATED))
@example(b"\x01" * 1000)
@example(b"\x01plain")
@example(b"\x00plain")
@example(b"")
@example(b"{}" * MOST_DEFLATED)
def test_a_state_comes_back_as_it_was(state: bytes) -> None:
    assert long_state(short_state(state)) == state


@given(st.binary(max_size=2 * LEAST_DEFLATED))
@example(SHORT_RECORD)
@example(SHORT_RECORD * 1000)
@example(b"\x00" * 1000)
@example(b"\x01key")
def test_a_record_comes_back_as_it_was(value: bytes) -> None:
    assert long_record(short_record(value)) == value


@given(st.binary())
@example(b"\x00key")
@example(b"\x01key")
def test_a_record_of_an_older_host_is_taken_as_it_is(value: bytes) -> None:
    assert long_record(value) == value


def test_a_state_takes_less_room_than_its_json() -> None:
    state = b'{"turns":[' + b'{"id":"t","message":{"text":"hello"}},' * 100 + b"{}]}"
    assert len(short_state(state)) < len(state) / 4


@pytest.mark.parametrize("state", [b'{"a":1}', b'{"turns":[{"id":"t"},{"id":"u"}]}' * 100])
def test_a_state_of_an_older_host_is_taken_as_it_is(state: bytes) -> None:
    assert long_state(state) == state


@given(st.text() | st.datetimes().map(lambda at: at.isoformat(timespec="milliseconds") + "Z"))
@example("2026-01-01T00:00:00.000Z")
@example("1969-12-31T23:59:59.999Z")
@example("2026-01-01 00:00:00.000Z")
@example("2026-02-30T00:00:00.000Z")
@example("2026-01-01T24:00:00.000Z")
@example("2026-01-01T00:00:00.٣٣٣Z")
@example("2026-W01-1T00:00:00.000Z")
@example("~~rz")
@example("~")
def test_a_time_comes_back_as_it_was(now: str) -> None:
    assert long_time(short_time(now)) == now


def test_a_time_of_the_host_takes_ten_bytes() -> None:
    assert len(short_time("2026-01-01T00:00:00.000Z")) == 10


@pytest.mark.parametrize("stored", ["~", "~ab", "~!!!!!!000", "~zzzzzzzzzzzzzzzzzz000"])
def test_what_is_no_short_time_is_told(stored: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        long_time(stored)


@given(st.text(), st.text(), st.binary())
def test_a_session_has_the_same_checksum_by_the_shorter_way(
    sort_key: str, uri: str, summary: bytes
) -> None:
    assert session_checksum(sort_key, uri, summary) == checksum(sort_key, uri, summary)


@pytest.mark.parametrize(("long", "mark"), [(long_state, b""), (long_record, SHORT_RECORD)])
def test_what_is_no_short_form_is_told(long: Callable[[bytes], bytes], mark: bytes) -> None:
    with pytest.raises(ValueError, match="decompressing"):
        long(mark + b"\x01nothing that was ever deflated")
