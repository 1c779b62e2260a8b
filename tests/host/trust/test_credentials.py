"""Tokens that people brought: which of them count, until when, and who is told when one expired."""

from __future__ import annotations

import asyncio
import gc
import re

import pytest

from agenthost.host.trust.credentials import LONGEST_LIFE, MOST_FORMER, Credentials
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


def test_who_repeats_a_token_without_its_deadline_does_not_make_it_live_longer() -> None:
    credentials, clock = held()
    one, two = Somebody(), Somebody()
    credentials.put("ann", RESOURCE, "t", deadline=credentials.deadline(10), supplier=one)
    credentials.put("ann", RESOURCE, "t", supplier=two)
    clock.advance(10)
    assert credentials.get("ann", RESOURCE) is None
    # Brought again after its end it is taken at its word, whether or not that was noticed.
    credentials.put("ann", RESOURCE, "t", supplier=two)
    assert credentials.get("ann", RESOURCE) == "t"
    assert credentials.take_expired() == []


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
        async with asyncio.timeout(60):
            await credentials.changed.wait()
        credentials.changed.clear()

    credentials.put("ann", RESOURCE, "t")
    await heard()
    credentials.put("ann", OTHER, "t", deadline=credentials.deadline(5))
    await heard()
    credentials.drop("ann", RESOURCE)
    await heard()


def holding(*tokens: str) -> Credentials:
    """Credentials of one person for as many resources as there are tokens."""
    credentials = Credentials()
    for number, token in enumerate(tokens):
        credentials.put("ann", f"https://{number}.example.org", token)
    return credentials


@pytest.mark.parametrize(
    ("tokens", "text", "masked"),
    [
        ((), "nothing is held", "nothing is held"),
        (("tok-1",), "401 for tok-1, tok-1!", "401 for [redacted], [redacted]!"),
        (("tok-1", "tok-1-long"), "tok-1-long", "[redacted]"),
        (("line\nbreak",), "KeyError: 'line\\nbreak'", "KeyError: '[redacted]'"),
        (("(.*)+",), "a (.*)+ b", "a [redacted] b"),
        # No secret, and the text would be unreadable without it.
        (("e",), "the sentence", "the sentence"),
        (("redacted", "[redacted]"), "redacted", "[redacted]"),
    ],
)
def test_every_token_that_is_held_is_taken_out(
    tokens: tuple[str, ...], text: str, masked: str
) -> None:
    assert holding(*tokens).mask(text) == masked


def test_a_token_that_no_longer_counts_is_taken_out_for_some_time() -> None:
    credentials = holding("rejected")
    credentials.drop("ann", "https://0.example.org")
    credentials.put("bob", "https://0.example.org", "replaced")
    credentials.put("bob", "https://0.example.org", "newest")
    assert credentials.mask("rejected replaced newest") == "[redacted] [redacted] [redacted]"
    assert credentials.get("ann", "https://0.example.org") is None
    for number in range(MOST_FORMER + 1):
        credentials.put("bob", "https://0.example.org", f"later-{number}")
    assert credentials.mask("rejected") == "rejected"


def test_what_is_not_in_a_text_is_not_made_a_pattern_of(monkeypatch: pytest.MonkeyPatch) -> None:
    credentials = Credentials()
    for number in range(MOST_FORMER):
        credentials.put("ann", RESOURCE, f"token-{number:03}-" + "x" * 1_000)
    credentials.put("ann", RESOURCE, "short")
    compiled: list[str] = []
    sub = re.sub

    def noting(pattern: str, replacement: str, text: str) -> str:
        compiled.append(pattern)
        return sub(pattern, replacement, text)

    # To make one of all takes seconds, in which nobody else is served.
    monkeypatch.setattr(re, "sub", noting)
    assert credentials.mask("nothing of it") == "nothing of it"
    assert credentials.mask("a short word") == "a [redacted] word"
    assert compiled == ["short"]
