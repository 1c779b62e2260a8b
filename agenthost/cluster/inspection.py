"""What can be told of a realm from outside: its servers, its stream, its clock, who beats there.

Asks and changes nothing. Makes no judgement: ``agenthost doctor`` does.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from agenthost.cluster.nodes.node_info import HeardBeat, decode_beat
from agenthost.cluster.realm import RealmAddress, RealmError, RealmLink
from agenthost.cluster.realm.stream import RealmStream

# Seconds in which every node that lives has beaten several times.
_LISTENING = 1.5


@dataclass(frozen=True)
class Replica:
    """One server's copy of the stream."""

    server: str
    is_current: bool
    # Messages that it is behind.
    lag: int


@dataclass(frozen=True)
class RealmReport:
    """What was found."""

    # Format and size of the stream.
    format: int
    messages: int
    bytes: int
    last: int
    # How many copies there should be, and those that there are; the leader's first.
    wanted: int
    replicas: tuple[Replica, ...]
    # Bytes that may be stored and are; None where nothing limits them.
    limit: int | None
    stored: int
    # Seconds by which the leader's clock is ahead of this machine's.
    ahead: float
    nodes: tuple[HeardBeat, ...]


async def reach(address: RealmAddress) -> dict[str, str]:
    """Try every server; return what is wrong with each, nothing where all is well."""
    found = await asyncio.gather(*(_reach(address, server) for server in address.servers))
    return {
        str(RealmAddress((server,))): reason
        for server, reason in zip(address.servers, found, strict=True)
    }


async def _reach(address: RealmAddress, server: str) -> str:
    try:
        async with RealmLink(RealmAddress((server,), address.realm, address.credentials), "doctor"):
            return ""
    except RealmError as error:
        return str(error)


async def inspect_realm(address: RealmAddress) -> RealmReport:
    """Ask the realm about itself.

    Raises:
        RealmError: it is not there, cannot be reached, or is of a newer agenthost.
    """
    async with RealmLink(address, "doctor") as link:
        info = await link.open_realm(create=False)
        stream = RealmStream(link)
        before = time.time()
        told = await stream.call(f"STREAM.INFO.{link.stream}")
        here = (before + time.time()) / 2
        account = await stream.call("INFO")
        limit = int(account.get("limits", {}).get("max_storage", -1))
        return RealmReport(
            format=info.format,
            messages=told["state"]["messages"],
            bytes=told["state"]["bytes"],
            last=told["state"]["last_seq"],
            wanted=info.replicas,
            replicas=_replicas(told.get("cluster") or {}),
            limit=limit if limit > 0 else None,
            stored=int(account.get("storage", 0)),
            ahead=_seconds(told["ts"]) - here if "ts" in told else 0.0,
            nodes=await _listen(link),
        )


def _replicas(cluster: dict[str, Any]) -> tuple[Replica, ...]:
    leader = [Replica(cluster["leader"], True, 0)] if cluster.get("leader") else []
    others = [
        Replica(
            each["name"], bool(each.get("current")) and not each.get("offline"), each.get("lag", 0)
        )
        for each in cluster.get("replicas") or ()
    ]
    return (*leader, *others)


def _seconds(text: str) -> float:
    """Read a time as the servers write it, whose nanoseconds Python does not know."""
    whole, _, rest = text.rstrip("Z").partition(".")
    return datetime.fromisoformat(f"{whole}+00:00").timestamp() + float(f"0.{rest or 0}")


async def _listen(link: RealmLink) -> tuple[HeardBeat, ...]:
    heard: dict[str, HeardBeat] = {}

    def hear(_subject: str, body: bytes, _reply: object) -> None:
        beat = decode_beat(body)
        if beat is not None:
            heard[beat.id] = beat

    subscription = await link.subscribe("beat", hear)
    try:
        await asyncio.sleep(_LISTENING)
    finally:
        await subscription.close()
    return tuple(heard[id] for id in sorted(heard))
