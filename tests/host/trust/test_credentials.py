"""Tokens that people brought: which of them count, until when, and who is told when one expired."""

from __future__ import annotations

import asyncio
import gc

from agenthost.host.trust.credentials import LONGEST_LIFE, Credentials
from tests.client.scripted import ManualClock

RESOURCE, OTHER = "https://api.example.org", "https://other.example.org"


class Somebody:
    """A connection, as far as this matters."""


def held() -> tuple[Credentials, ManualClock]:
    clock = ManualClock()
    return Credentials(clock), clock


def test_a_token_without_a_deadline_is_good_until_it_is_dropped() -> None:
    credentials, clock = held()
    credentials.put("ann", RESOURCE, "t")
    clock.advance(1e9)
    assert credentials.get("ann", RESOURCE) == "t"
    assert (credentials.seconds_left(), credentials.take_expired()) == (None, [])
    credentials.drop("ann", RESOURCE)
    assert credentials.get("ann", RESOURCE) is None
    credentials.drop("ann", RESOURCE)


def test_an_expired_token_counts_as_missing_and_is_told_once_with_those_who_brought_it() -> None:
    credentials, clock = held()
    one, two = Somebody(), Somebody()
    for connection in (one, two):
        deadline = credentials.deadline(60)
        credentials.put("ann", RESOURCE, "secret", deadline=deadline, supplier=connection)
    credentials.put("bob", RESOURCE, "lasting")
    clock.advance(59)
    assert credentials.get("ann", RESOURCE) == "secret"
    assert (credentials.seconds_left(), credentials.take_expired()) == (1, [])
    clock.advance(1)
    assert credentials.get("ann", RESOURCE) is None
    assert credentials.missing("ann", [{"resource": RESOURCE}]) == [{"resource": RESOURCE}]
    assert credentials.missing("bob", [{"resource": RESOURCE}]) == []
    (expired,) = credentials.take_expired()
    assert (expired.principal, expired.resource) == ("ann", RESOURCE)
    assert expired.suppliers == {one, two}
    assert "secret" not in repr(expired)
    assert (credentials.take_expired(), credentials.seconds_left()) == ([], None)
    # A turn may still hold it.
    assert credentials.mask("with secret") == "with [redacted]"


def test_another_token_has_its_own_deadline_and_its_own_people() -> None:
    credentials, clock = held()
    first, second = Somebody(), Somebody()
    credentials.put("ann", RESOURCE, "old", deadline=credentials.deadline(10), supplier=first)
    credentials.put("ann", RESOURCE, "new", deadline=credentials.deadline(30), supplier=second)
    clock.advance(20)
    assert credentials.get("ann", RESOURCE) == "new"
    # Said again, it may live longer than was known.
    credentials.put("ann", RESOURCE, "new", deadline=credentials.deadline(30), supplier=first)
    clock.advance(20)
    assert credentials.take_expired() == []
    clock.advance(10)
    (expired,) = credentials.take_expired()
    assert expired.suppliers == {first, second}


def test_who_is_gone_is_not_told() -> None:
    credentials, clock = held()
    gone = Somebody()
    credentials.put("ann", RESOURCE, "old", deadline=credentials.deadline(1), supplier=gone)
    del gone
    gc.collect()
    clock.advance(1)
    (expired,) = credentials.take_expired()
    assert expired.suppliers == frozenset()


def test_a_life_beyond_all_measure_is_a_long_one() -> None:
    credentials, clock = held()
    credentials.put("ann", RESOURCE, "t", deadline=credentials.deadline(10**400))
    assert credentials.seconds_left() == LONGEST_LIFE
    clock.advance(LONGEST_LIFE - 1)
    assert credentials.get("ann", RESOURCE) == "t"


async def test_whoever_waits_hears_of_every_change() -> None:
    credentials, _ = held()

    async def heard() -> None:
        async with asyncio.timeout(10):
            await credentials.changed.wait()
        credentials.changed.clear()

    credentials.put("ann", RESOURCE, "t")
    await heard()
    credentials.put("ann", OTHER, "t", deadline=credentials.deadline(5))
    await heard()
    credentials.drop("ann", RESOURCE)
    await heard()
