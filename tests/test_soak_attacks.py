"""The soak's attacks: what counts as a fault, and a quick run of some against a real host."""

from __future__ import annotations

from dataclasses import replace

import pytest

from soak import attacks
from soak.attacks import MOST_KEPT, MOST_MEGABYTES, MOST_PING_SECONDS, Outcome, attack

CLEAN = Outcome(
    "an attack",
    before=100.0,
    peak=MOST_MEGABYTES,
    after=100.0 + MOST_KEPT,
    pings=[0.01] * 99 + [10 * MOST_PING_SECONDS],
    connects=[0.1],
    done={"pings": 500},
)


def test_an_outcome_within_all_goals_has_no_fault() -> None:
    assert CLEAN.faults == []
    assert "←" not in str(CLEAN)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"pings": [0.01] * 98 + [1.01 * MOST_PING_SECONDS] * 2}, "ping"),
        ({"pings": []}, "ping"),
        ({"peak": MOST_MEGABYTES + 1}, "memory"),
        ({"after": 101.0 + MOST_KEPT}, "memory kept"),
        ({"connects": []}, "owner kept out"),
        ({"failed_connects": 1}, "owner kept out"),
        ({"traceback": "Traceback (most recent call last):"}, "traceback"),
        ({"done": {}}, "no attack"),
        ({"attack_failed": True}, "no attack"),
    ],
)
def test_what_falls_short_of_a_goal_is_a_fault(change: dict[str, object], fault: str) -> None:
    outcome = replace(CLEAN, **change)  # type: ignore[arg-type]
    assert outcome.faults == [fault]
    assert str(outcome).endswith(f"← {fault}")


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seconds instead of a minute; what a busy machine measures then is no matter."""
    monkeypatch.setattr(attacks, "CHAT_MEGABYTES", 1)
    monkeypatch.setattr(attacks, "DURATION", 0.5)
    monkeypatch.setattr(attacks, "PATIENCE", 60.0)
    monkeypatch.setattr(attacks, "LEAST_REST", 0.1)
    monkeypatch.setattr(attacks, "MOST_REST", 0.1)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("name", "deed"),
    [("half frames of an operator", "begun"), ("10 MB drafts, accepted", "accepted")],
)
async def test_an_attack_comes_to_figures(
    name: str, deed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (outcome,) = await attack([name])
    assert outcome.name == name
    assert outcome.peak >= outcome.before > 0
    assert outcome.after > 0
    assert outcome.pings
    assert outcome.connects
    assert outcome.done[deed] > 0
    assert not {"no attack", "traceback"} & set(outcome.faults)
    assert capsys.readouterr().out == f"{outcome}\n"
