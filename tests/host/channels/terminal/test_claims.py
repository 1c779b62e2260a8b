"""Who may hand a terminal to whom."""

from __future__ import annotations

from typing import Any

import pytest

from agenthost.host.channels.terminal.claims import narrowed, why_not_asked, why_not_changed

OWN = {"kind": "client", "clientId": "me"}
OTHER = {"kind": "client", "clientId": "other"}
BACKGROUND = {"kind": "session", "session": "s", "chat": "c"}
ELSEWHERE = {"kind": "session", "session": "s2", "chat": "c2"}
IN_CALL = {**BACKGROUND, "turnId": "t", "toolCallId": "k"}
IN_TURN = {**BACKGROUND, "turnId": "t"}


@pytest.mark.parametrize(
    ("before", "wanted"),
    [
        (OWN, OWN),
        (OWN, BACKGROUND),
        (BACKGROUND, OWN),
        (BACKGROUND, ELSEWHERE),
        (IN_CALL, BACKGROUND),
        (IN_TURN, BACKGROUND),
    ],
)
def test_a_client_may(before: Any, wanted: Any) -> None:
    assert why_not_changed(before, wanted, "me") is None


@pytest.mark.parametrize(
    ("before", "wanted", "reason"),
    [
        (OWN, OTHER, "for itself"),
        (OTHER, OWN, "another client"),
        (OTHER, BACKGROUND, "another client"),
        (OWN, IN_CALL, "only the host"),
        (BACKGROUND, IN_CALL, "only the host"),
        (IN_CALL, OWN, "in the background first"),
        (IN_CALL, ELSEWHERE, "in the background first"),
        (IN_CALL, {**BACKGROUND, "chat": "c2"}, "in the background first"),
    ],
)
def test_a_client_may_not(before: Any, wanted: Any, reason: str) -> None:
    assert reason in str(why_not_changed(before, wanted, "me"))


def test_a_claim_without_its_call_is_the_sessions() -> None:
    claims: list[Any] = [IN_CALL, IN_TURN, BACKGROUND, OWN]
    assert [narrowed(claim) for claim in claims] == [BACKGROUND, BACKGROUND, BACKGROUND, OWN]
    asked: Any = BACKGROUND
    assert why_not_asked(asked, "me") is None
