"""Who owns which unit, where each unit's log ends, and to which unit a channel belongs.

Kept in memory, because it is asked for with every append and every action. What changes is stored
as records beside the copy's content, in the same unit of write as what it follows from.
"""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from agenthost.cluster.commits import Own
from agenthost.cluster.copy.applied import AppliedCommit
from agenthost.cluster.units import MISC
from agenthost.host.log.directory import OWNERS
from agenthost.host.store import (
    DropChannel,
    DropRecord,
    DropSession,
    PutRecord,
    PutSession,
    SaveSnapshot,
    Store,
    Write,
)

# Buckets of records; hosts have none that begin like this.
UNITS, CHANNELS = "@units", "@channels"


@dataclass(slots=True)
class _Unit:
    owner: str | None = None
    # The last message of its log.
    last: int = 0
    # Whether its session was disposed of.
    gone: bool = False
    # Whether there was ever more to it than an owner.
    made: bool = True


class UnitBook:
    """What the log says about units, as far as it was read."""

    def __init__(self) -> None:
        self._units: dict[str, _Unit] = {}
        # The sessions of chats and annotations, as the hosts' own records have it.
        self._sessions: dict[str, str] = {}
        # The units of other channels that are not named like their unit.
        self._others: dict[str, str] = {}
        self._changed_units: set[str] = set()
        self._changed_others: set[str] = set()

    async def load(self, store: Store) -> None:
        """Read what was stored, and know nothing else."""
        stored = await store.records(UNITS)
        self._units = {unit: _Unit(*orjson.loads(value)) for unit, value in stored.items()}
        self._changed_units.clear()
        self._changed_others.clear()
        self._others = {k: v.decode() for k, v in (await store.records(CHANNELS)).items()}
        self._sessions = {k: v.decode() for k, v in (await store.records(OWNERS)).items()}

    def forget_before(self, first: int) -> None:
        """Forget disposed units of which the stream, which begins with ``first``, has nothing.

        An empty subject expects nothing again, should such a session come back.
        """
        forgotten = [n for n, unit in self._units.items() if unit.gone and unit.last < first]
        for name in forgotten:
            del self._units[name]
        self._changed_units.update(forgotten)

    def take(self, applied: AppliedCommit) -> None:
        """Take note of a commit."""
        name = applied.unit
        unit = self._units.get(name)
        if unit is None:
            unit = self._units[name] = _Unit(made=name.startswith("@"))
        unit.last = applied.seq
        self._changed_units.add(name)
        for _, write in applied.writes:
            match write:
                case Own():
                    unit.owner = write.node
                case SaveSnapshot():
                    if write.channel == name:
                        unit.gone, unit.made = False, True
                    elif write.channel not in self._sessions:
                        self._place(write.channel, name)
                case PutRecord(bucket=bucket) if bucket == OWNERS:
                    self._sessions[write.key] = write.value.decode(errors="replace")
                    self._place(write.key, None)
                case DropRecord(bucket=bucket) if bucket == OWNERS:
                    self._sessions.pop(write.key, None)
                case DropChannel():
                    self._place(write.channel, None)
                case PutSession(session=session) if session == name:
                    unit.gone = False
                case DropSession(session=session) if session == name:
                    unit.gone = True

    def _place(self, channel: str, unit: str | None) -> None:
        if self._others.get(channel) != unit:
            self._changed_others.add(channel)
            if unit is None:
                del self._others[channel]
            else:
                self._others[channel] = unit

    def changes(self) -> list[Write]:
        """Return the writes that store what changed since the last call."""
        writes: list[Write] = []
        for name in self._changed_units:
            unit = self._units.get(name)
            if unit is None:
                writes.append(DropRecord(UNITS, name))
            else:
                value = orjson.dumps((unit.owner, unit.last, unit.gone, unit.made))
                writes.append(PutRecord(UNITS, name, value))
        for channel in self._changed_others:
            place = self._others.get(channel)
            writes.append(
                DropRecord(CHANNELS, channel)
                if place is None
                else PutRecord(CHANNELS, channel, place.encode())
            )
        self._changed_units.clear()
        self._changed_others.clear()
        return writes

    def owner_of(self, unit: str) -> str | None:
        """Return the node that owns a unit, if one does."""
        found = self._units.get(unit)
        return None if found is None else found.owner

    def last_of(self, unit: str) -> int:
        """Return the last message of a unit's log; 0 where there is none."""
        found = self._units.get(unit)
        return 0 if found is None else found.last

    def is_made(self, unit: str) -> bool:
        """Say whether there is or was what a unit is named after, and not only an owner of it."""
        found = self._units.get(unit)
        return found is not None and found.made

    def units_of(self, node: str) -> list[str]:
        """Return the units that a node owns and that are still there."""
        return [
            name
            for name, unit in self._units.items()
            if unit.owner == node and not unit.gone and name != MISC
        ]

    def unit_of_channel(self, channel: str) -> str | None:
        """Return the unit that a channel belongs to; ``None`` where there is no such channel."""
        unit = self._units.get(channel)
        if unit is not None:
            return None if unit.gone else channel
        return self._sessions.get(channel) or self._others.get(channel)

    def oldest_end(self) -> int | None:
        """Return the message at which that unit's log ends which was silent for longest.

        Without it the server would take an append to that unit from anybody. Nobody fences
        ``MISC``, and what is disposed of needs no fence.
        """
        ends = (unit.last for name, unit in self._units.items() if name != MISC and not unit.gone)
        return min(ends, default=None)

    def ending_before(self, message: int) -> dict[str, str | None]:
        """Return the units whose logs end before a message, and who owns them."""
        return {
            name: unit.owner
            for name, unit in self._units.items()
            if unit.last < message and not unit.gone and name != MISC
        }

    def __len__(self) -> int:
        return len(self._units)
