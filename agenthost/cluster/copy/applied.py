"""Commits as they come to lie in the stream: every write with its number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from agenthost.cluster.commits import Commit, RealmWrite
from agenthost.cluster.numbers import number
from agenthost.host.store import Append, SaveSnapshot


@dataclass(frozen=True, slots=True)
class AppliedCommit:
    """What one message of the stream says; entries and snapshots have their real numbers."""

    seq: int
    unit: str
    id: str
    node: str
    writes: tuple[tuple[int, RealmWrite], ...]


# The name by which the rest of the cluster knows it; the log of a host has one of its own.
Applied: TypeAlias = AppliedCommit


def numbered(seq: int, commit: Commit) -> AppliedCommit:
    """Give the writes of message ``seq`` their numbers.

    A snapshot's number is that of the channel's last entry; where that is in an earlier message,
    or there is none, its own does as well, because nothing of the channel lies between.
    """
    last: dict[str, int] = {}
    writes: list[tuple[int, RealmWrite]] = []
    for index, write in enumerate(commit.writes):
        own = number(seq, index)
        if isinstance(write, Append):
            # Nobody else has it yet, and a copy of every action would cost as much as all the rest.
            write.seq = own
            last[write.channel] = own
        elif isinstance(write, SaveSnapshot):
            own = last.get(write.channel, own)
            write = SaveSnapshot(write.channel, write.kind, own, write.state)
        writes.append((own, write))
    return AppliedCommit(seq, commit.unit, commit.id, commit.node, tuple(writes))
