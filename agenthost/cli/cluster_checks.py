"""The checks of ``agenthost doctor --cluster``: servers, replicas, clock, room, nodes."""

from __future__ import annotations

import argparse
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from agenthost.cli.commands.serve_cluster import credentials, require_cluster
from agenthost.cli.connection.command_hints import hint
from agenthost.cli.diagnostics import Check
from agenthost.cli.format.terminal_text import one_line
from agenthost.errors import AgentHostError

if TYPE_CHECKING:
    from agenthost.cluster.inspection import RealmReport

# Seconds by which clocks may differ before times look odd.
_TOLERABLE_SKEW = 5.0
# Messages that a node or a copy may be behind: fractions of a second of a busy realm.
_TOLERABLE_LAG = 1_000
# The share of the room at which it is time to make more.
_FULL = 0.8


async def cluster_checks(args: argparse.Namespace) -> AsyncIterator[Check]:
    """Look at the servers and the realm, one check after the other."""
    try:
        require_cluster()
        found = credentials(args.cluster_credentials)
    except AgentHostError as error:
        yield Check("servers", "problem", str(error))
        return
    from agenthost.cluster.inspection import inspect_realm, reach
    from agenthost.cluster.realm import RealmAddress

    address = RealmAddress(args.cluster, args.realm, found)
    wrong = 0
    for server, reason in (await reach(address)).items():
        wrong += bool(reason)
        fix = "is it running, and is its port open to this machine?" if reason else ""
        yield Check("server", "problem" if reason else "ok", one_line(reason or server), fix)
    if wrong == len(args.cluster):
        return
    try:
        report = await inspect_realm(address)
    except AgentHostError as error:
        yield Check("realm", "problem", one_line(str(error)))
        return
    for check in judge_realm(report):
        yield check


def judge_realm(report: RealmReport) -> list[Check]:
    """Say what is well and what is not."""
    size = f"{report.messages:,} messages, {report.bytes / 1e6:,.1f} MB, format {report.format}"
    whole = (_replicas(report), _room(report), _clock(report))
    return [Check("realm", "ok", size), *whole, *_nodes(report)]


def _replicas(report: RealmReport) -> Check:
    if report.wanted < 3:
        detail = f"{report.wanted} cop{'y' if report.wanted == 1 else 'ies'} of the log"
        fix = "run three servers: what this one loses is gone"
        return Check("replicas", "warning", detail, fix)
    behind = [
        each.server for each in report.replicas if not each.is_current or each.lag > _TOLERABLE_LAG
    ]
    missing = report.wanted - len(report.replicas)
    if behind or missing > 0:
        named = f": {', '.join(behind)}" if behind else ""
        detail = f"{len(behind) + max(0, missing)} of {report.wanted} copies are behind{named}"
        return Check("replicas", "problem", detail, "start that server, or see its log")
    return Check("replicas", "ok", f"{report.wanted}, led by {report.replicas[0].server}")


def _room(report: RealmReport) -> Check:
    if report.limit is None:
        return Check("room", "ok", f"{report.stored / 1e6:,.1f} MB stored, no limit but the disk")
    detail = f"{report.stored / 1e6:,.1f} of {report.limit / 1e6:,.1f} MB"
    if report.stored < _FULL * report.limit:
        return Check("room", "ok", detail)
    return Check("room", "problem", detail, "give JetStream more: max_file_store in its settings")


def _clock(report: RealmReport) -> Check:
    if abs(report.ahead) <= _TOLERABLE_SKEW:
        return Check("clock", "ok", f"{abs(report.ahead):.1f} s apart from the servers'")
    way = "behind" if report.ahead > 0 else "ahead of"
    detail = f"this machine's is {abs(report.ahead):.0f} s {way} the servers'"
    return Check("clock", "warning", detail, "set the clocks of all machines by NTP")


def _nodes(report: RealmReport) -> list[Check]:
    if not report.nodes:
        return [
            Check(
                "nodes",
                "warning",
                "none is there",
                f"start one: {hint('serve', '--cluster', 'URL')}",
            )
        ]
    checks = []
    for node in report.nodes:
        told = node.values
        detail = (
            f"{node.id}: {told.get('sessions', 0)} sessions, {told.get('turns', 0)} turns, "
            f"{told.get('clients', 0)} clients"
        )
        lag = report.last - int(told.get("position", 0))
        if told.get("ailment"):
            checks.append(Check("node", "problem", f"{detail}; {one_line(str(told['ailment']))}"))
        elif lag > _TOLERABLE_LAG:
            fix = "it catches up by itself, unless its machine is too slow"
            checks.append(Check("node", "warning", f"{detail}; {lag:,} messages behind", fix))
        else:
            leaving = "; leaving" if told.get("draining") else ""
            checks.append(Check("node", "ok", detail + leaving))
    return checks
