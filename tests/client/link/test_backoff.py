"""The policy of coming back: when, and when not."""

from __future__ import annotations

import pytest

from agenthost.client import Backoff, CannotConnect, GivenUp, NotAdmitted, Superseded
from agenthost.client.link.backoff import GiveUp, Retry, retry_or_give_up
from agenthost.errors import (
    InternalError,
    InvalidParams,
    PermissionDenied,
    RemoteProtocolError,
    TurnInProgress,
)
from agenthost.transport import TransportClosed

SUPERSEDED = TransportClosed(1008, "superseded by a newer connection of this client")


def test_the_bound_doubles_up_to_half_a_minute() -> None:
    bounds = [Backoff().delay(attempt, 1.0) for attempt in range(10)]
    assert bounds == [0.25, 0.5, 1, 2, 4, 8, 16, 30, 30, 30]
    assert Backoff().delay(10_000, 1.0) == 30


def test_the_delay_is_anywhere_below_the_bound() -> None:
    assert Backoff().delay(5, 0.0) == 0
    assert Backoff().delay(5, 0.5) == 4


def test_a_host_that_asks_for_rest_gets_at_least_that() -> None:
    assert Backoff().delay(0, 0.5, at_least=60) == 60
    assert Backoff().delay(9, 1.0, at_least=1) == 30


@pytest.mark.parametrize(
    "error",
    [
        CannotConnect("refused"),
        TransportClosed(1006, "cut"),
        TransportClosed(1000),
        TransportClosed(1001, "the host is shutting down"),
        TransportClosed(1009, "too big"),
        TransportClosed(1013, "too slow"),
        InternalError("storage"),
        TurnInProgress(),
        RuntimeError("surprise"),
    ],
)
@pytest.mark.parametrize("established", [True, False])
def test_what_may_pass_is_tried_again(error: Exception, established: bool) -> None:
    assert isinstance(
        retry_or_give_up(error, established=established, superseded_by_us=False), Retry
    )


@pytest.mark.parametrize(
    "error",
    [
        NotAdmitted("401", status=401),
        GivenUp("no"),
        PermissionDenied("not yours"),
        InvalidParams("malformed"),
        RemoteProtocolError("gibberish"),
    ],
)
def test_what_will_not_pass_is_given_up(error: Exception) -> None:
    verdict = retry_or_give_up(error, established=False, superseded_by_us=False)
    assert isinstance(verdict, GiveUp)
    assert str(error) in str(verdict.error)


def test_who_is_thrown_out_after_the_handshake_stays_out() -> None:
    thrown_out = TransportClosed(1008, "too many messages that break the protocol")
    verdict = retry_or_give_up(thrown_out, established=True, superseded_by_us=True)
    assert isinstance(verdict, GiveUp)
    assert isinstance(verdict.error, NotAdmitted)
    assert isinstance(
        retry_or_give_up(thrown_out, established=False, superseded_by_us=False), Retry
    ), "it was too slow"


def test_who_is_superseded_gives_way_unless_it_may_have_been_by_itself() -> None:
    verdict = retry_or_give_up(SUPERSEDED, established=True, superseded_by_us=False)
    assert isinstance(verdict, GiveUp)
    assert isinstance(verdict.error, Superseded)
    assert isinstance(retry_or_give_up(SUPERSEDED, established=True, superseded_by_us=True), Retry)
