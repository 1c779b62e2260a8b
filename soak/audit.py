"""After a crash: is everything that anybody saw still there, and does everybody agree?

Owns the judgement. It only asks over the wire, as any client could: the log after a number is what
a ``reconnect`` replays.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from soak.witness import NEWEST, Seen, Witness, open_witness
from tests.wire.client import ROOT, promised

__all__ = ["Findings", "audit", "check_mirror", "difference"]

AUDITOR = "auditor"
# What older versions are told where the newest is told that a turn goes on.
RETOLD = {
    *("chat/truncated", "chat/turnStarted", "chat/responsePart"),
    *("chat/inputRequested", "chat/usage"),
}


@dataclass
class Findings:
    """What one audit found."""

    # Changes that were seen, and how clients were brought up to date.
    seen: int = 0
    replays: int = 0
    snapshots: int = 0
    # Changes that somebody saw and that are gone.
    losses: list[str] = field(default_factory=list)
    # Everything else that is not as it should be.
    faults: list[str] = field(default_factory=list)


async def audit(
    url: str, formers: list[Witness], *, at_rest: bool = False
) -> tuple[list[Witness], Findings]:
    """Ask a restarted host for all that its clients saw; return the clients' new connections.

    ``at_rest``: it was stopped, and kept only a part of the logs of what was at rest.
    """
    findings = Findings()
    for former in formers:
        former.forget_disposed()
    await _check_numbers(url, formers, findings)
    by_channel: dict[str, list[Seen]] = defaultdict(list)
    for seen in {seen for former in formers for seen in former.seen}:
        by_channel[seen.channel].append(seen)
    for channel, changes in by_channel.items():
        findings.seen += len(changes)
        await _check_log(url, channel, changes, findings, at_rest=at_rest)
    witnesses = [await _resume(url, former, findings) for former in formers]
    for witness in witnesses:
        await check_mirror(witness, findings)
        _check_rest(witness, findings)
        witness.seen.clear()
    return witnesses, findings


async def _check_numbers(url: str, formers: list[Witness], findings: Findings) -> None:
    auditor = await open_witness(url, AUDITOR, NEWEST)
    result = await auditor.initialize(ROOT)
    highest = max((former.last_seen for former in formers), default=0)
    if result["serverSeq"] < highest:
        findings.faults.append(f"numbers went back from {highest} to {result['serverSeq']}")
    await auditor.close()


async def _check_log(
    url: str, channel: str, changes: list[Seen], findings: Findings, *, at_rest: bool
) -> None:
    """Compare what was seen of a channel with what its log has."""
    first = min(seen.seq for seen in changes)
    auditor = await open_witness(url, AUDITOR, NEWEST)
    result = await auditor.reconnect(first - 1, channel)
    await auditor.close()
    if result["type"] != "replay":
        if at_rest:
            # What everybody holds is compared all the same.
            return
        findings.faults.append(f"{channel}: {len(changes)} changes cannot be audited")
        return
    if channel in result["missing"]:
        # It was disposed, with everything in it.
        return
    logged = {entry["serverSeq"]: entry["action"]["type"] for entry in result["actions"]}
    for seen in changes:
        if seen.version != NEWEST and _is_retold(seen, logged):
            continue
        if seen.seq not in logged:
            findings.losses.append(f"{channel}: {seen.action_type} number {seen.seq} is gone")
        elif seen.version == NEWEST and seen.action_type != logged[seen.seq]:
            what = f"{seen.action_type} became {logged[seen.seq]}"
            findings.losses.append(f"{channel}: number {seen.seq}: {what}")


def _is_retold(seen: Seen, logged: dict[int, str]) -> bool:
    """Say whether a change has one of the numbers that were taken for a turn that goes on.

    They lie right before the number under which the log has it.
    """
    behind = min((number for number in logged if number >= seen.seq), default=None)
    goes_on = behind is not None and logged[behind] == "chat/turnResume"
    return goes_on and seen.action_type in RETOLD


async def _resume(url: str, former: Witness, findings: Findings) -> Witness:
    witness = await open_witness(url, former.client_id, former.version)
    result = await witness.resume(former)
    if result["type"] == "replay":
        findings.replays += 1
    else:
        findings.snapshots += 1
    return witness


async def check_mirror(witness: Witness, findings: Findings) -> None:
    """Compare what a client holds with fresh snapshots; nothing may be going on meanwhile."""
    for channel in list(witness.states):
        fresh = await witness.snapshot(channel)
        where = difference(
            promised(witness.states[channel], witness.version), promised(fresh, witness.version)
        )
        if where is not None:
            who = f"{witness.client_id} ({witness.version})"
            findings.losses.append(f"{who} holds something else than {channel} is: {where}")


def difference(held: Any, fresh: Any, path: str = "") -> str | None:
    """Say where two states differ first, or None where they do not."""
    if isinstance(held, dict) and isinstance(fresh, dict) and held.keys() == fresh.keys():
        pairs = ((f"{path}.{key}", held[key], fresh[key]) for key in held)
    elif isinstance(held, list) and isinstance(fresh, list) and len(held) == len(fresh):
        pairs = ((f"{path}[{i}]", *pair) for i, pair in enumerate(zip(held, fresh, strict=True)))
    else:
        return None if held == fresh else f"{path}: {_brief(held)} instead of {_brief(fresh)}"
    found = (difference(left, right, where) for where, left, right in pairs)
    return next((difference for difference in found if difference is not None), None)


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 200 else f"{text[:80]} … {text[-80:]} ({len(text)} characters)"


def _check_rest(witness: Witness, findings: Findings) -> None:
    """Check that nothing was left running by the host that died."""
    for channel, state in witness.states.items():
        if "activeTurn" in state:
            findings.faults.append(f"{channel} still has an active turn")
        if state.get("lifecycle") == "creating":
            findings.faults.append(f"{channel} is still being created")
