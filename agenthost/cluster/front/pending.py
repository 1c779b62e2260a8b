"""Clients' actions that are under way to whoever decides, and how each of them ends.

An action ends by the log that has it, by its owner's refusal or acknowledgement, or by its time.
Owns which are under way, and that there are never too many: a client that sends faster than is
decided is not read meanwhile.
"""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from msgspec.structs import replace

from agenthost.protocol.jsonrpc import dumps

if TYPE_CHECKING:
    from agenthost.cluster.front.owner_peer import OwnerPeer
    from agenthost.host.log.receiver import Receiver
    from agenthost.host.log.writer import ClientAction
    from agenthost.protocol.common import Action
    from agenthost.protocol.envelopes import ActionOrigin

# Actions of one connection that are under way at once, and their bytes. Owners remember as many.
MOST_PENDING = 256
MOST_BYTES = 8 * 1024 * 1024
# Seconds in which somebody must be found who decides, and in which that one must have decided.
OWNER_SECONDS = 60.0
ANSWER_SECONDS = 180.0
NOBODY = "no machine of this host could take this in time; try again"
NO_ANSWER = "the machine that this belongs to has not answered; look whether it was done"
# What an owner fills in for clients that leave it out, which makes it no other action.
_MEASURED = "duration"
# Tells this process's actions from those of others.
_numbers = itertools.count(1)
_PROCESS = os.urandom(6).hex()


@dataclass(eq=False, slots=True)
class PendingAction:
    """One action under way."""

    dispatch: ClientAction
    # The channel's own URI, and the action in canonical form.
    channel: str
    action: Action
    size: int
    # Under which its owner knows it again.
    id: str = field(default_factory=lambda: f"{_PROCESS}-{next(_numbers)}")
    # Over which link it was sent last; None while it waits for one.
    sent_by: OwnerPeer | None = None
    # Whether it was sent before, or might have been by a connection before this one.
    is_again: bool = False
    is_over: bool = False
    timer: asyncio.TimerHandle | None = None


class PendingActions:
    """All actions under way."""

    def __init__(
        self,
        *,
        owner_seconds: float = OWNER_SECONDS,
        answer_seconds: float = ANSWER_SECONDS,
    ) -> None:
        self._owner_seconds = owner_seconds
        self._answer_seconds = answer_seconds
        # Told of an action whose time is over, with the reason that its client is given.
        self.on_expired: Callable[[PendingAction, str], None] = lambda entry, reason: None
        # Connection -> its actions, oldest first.
        self._of: dict[Receiver, dict[PendingAction, None]] = {}
        # Client and number -> its actions, oldest first: editors give 0 to all of theirs.
        self._by_origin: dict[tuple[str, int], dict[PendingAction, None]] = {}
        self._bytes: dict[Receiver, int] = {}
        self._room: dict[Receiver, asyncio.Event] = {}

    def __len__(self) -> int:
        return sum(map(len, self._of.values()))

    def of(self, connection: Receiver) -> Iterator[PendingAction]:
        """Return a connection's actions, oldest first."""
        yield from list(self._of.get(connection, ()))

    async def room(self, connection: Receiver, size: int) -> None:
        """Wait until one more of that size may be under way; one is always taken."""
        while self._is_full(connection, size):
            await self._one_over(connection)

    async def settled(self, connection: Receiver) -> None:
        """Wait until all are over that are under way now."""
        entries = list(self.of(connection))
        while not all(entry.is_over for entry in entries):
            await self._one_over(connection)

    async def _one_over(self, connection: Receiver) -> None:
        event = self._room.setdefault(connection, asyncio.Event())
        event.clear()
        await event.wait()

    def _is_full(self, connection: Receiver, size: int) -> bool:
        count = len(self._of.get(connection, ()))
        bytes_waiting = self._bytes.get(connection, 0)
        return count >= MOST_PENDING or (count > 0 and bytes_waiting + size > MOST_BYTES)

    def add(
        self, dispatch: ClientAction, channel: str, action: Action, *, is_again: bool
    ) -> PendingAction:
        """Take note of an action that is to be decided elsewhere."""
        connection = dispatch.connection
        entry = PendingAction(dispatch, channel, action, size_of(action), is_again=is_again)
        self._of.setdefault(connection, {})[entry] = None
        self._bytes[connection] = self._bytes.get(connection, 0) + entry.size
        origin = (connection.client_id, dispatch.client_seq)
        self._by_origin.setdefault(origin, {})[entry] = None
        loop = asyncio.get_running_loop()
        entry.timer = loop.call_later(self._owner_seconds, self._look, entry)
        return entry

    def take(
        self, origin: ActionOrigin | None, channel: str, action: Action
    ) -> ClientAction | None:
        """End the action of a client of ours that was applied, and return its dispatch.

        ``action`` is what was applied. For who tells the channel's followers of it.
        """
        if origin is None:
            return None
        for entry in self._by_origin.get((origin["clientId"], origin["clientSeq"]), ()):
            if entry.channel == channel:
                self.end(entry)
                same = _compared(entry.action) == _compared(action)
                return entry.dispatch if same else replace(entry.dispatch, rewritten=True)
        return None

    def logged(self, client_id: str, client_seq: int) -> tuple[ClientAction, Action] | None:
        """End the oldest action of a client with a number, which the log has now; return it."""
        entry = next(iter(self._by_origin.get((client_id, client_seq), ())), None)
        if entry is None:
            return None
        self.end(entry)
        return entry.dispatch, entry.action

    def asked_of(self, by: OwnerPeer, origin: ActionOrigin, channel: str) -> PendingAction | None:
        """Return the action that an owner answers, if it was sent to that one."""
        for entry in self._by_origin.get((origin["clientId"], origin["clientSeq"]), ()):
            if entry.channel == channel and entry.sent_by is by:
                return entry
        return None

    def end(self, entry: PendingAction) -> None:
        """Take note that an action is not under way any more."""
        if entry.is_over:
            return
        entry.is_over = True
        if entry.timer is not None:
            entry.timer.cancel()
        connection = entry.dispatch.connection
        entries = self._of[connection]
        del entries[entry]
        self._bytes[connection] -= entry.size
        if not entries:
            del self._of[connection], self._bytes[connection]
        origin = (connection.client_id, entry.dispatch.client_seq)
        same = self._by_origin[origin]
        del same[entry]
        if not same:
            del self._by_origin[origin]
        room = self._room.get(connection)
        if room is not None:
            room.set()

    def left(self, connection: Receiver) -> None:
        """Forget the actions of a connection that is over: its client sends them again."""
        for entry in self.of(connection):
            self.end(entry)
        room = self._room.pop(connection, None)
        if room is not None:
            room.set()

    def _look(self, entry: PendingAction) -> None:
        """Give up on an action that nobody took, or that was not answered in a longer time."""
        loop = asyncio.get_running_loop()
        if entry.sent_by is not None and not entry.sent_by.closed.done():
            later = self._answer_seconds - self._owner_seconds
            entry.timer = loop.call_later(later, self._give_up, entry, NO_ANSWER)
        else:
            self._give_up(entry, NO_ANSWER if entry.is_again else NOBODY)

    def _give_up(self, entry: PendingAction, reason: str) -> None:
        self.end(entry)
        self.on_expired(entry, reason)


def size_of(action: Action) -> int:
    """Return how many bytes an action counts for."""
    return len(dumps(action))


def _compared(action: Action) -> Action:
    return {key: value for key, value in action.items() if key != _MEASURED}
