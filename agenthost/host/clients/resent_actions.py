"""Actions that a client sends again after a reconnect, because it saw no answer to them.

They keep their ``clientSeq``. Some were done before the connection was lost, and must not be done
twice: a queued message would run a second time. Owns which ones those are, as the log tells, also
after a restart; of what is in no log, such as what is typed into a terminal, the newest. Number 0
is never compared: editors give it to everything that they do not track.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from agenthost.host.clients.forwarded_actions import TakenActions
from agenthost.host.log.stored_values import stored_value
from agenthost.host.store import Append, Store, StoreDamaged
from agenthost.protocol.jsonrpc import dumps

if TYPE_CHECKING:
    from agenthost.protocol.common import Action

log = logging.getLogger(__name__)

# Log entries that are looked through; a client that missed more starts from a snapshot anyway.
MOST_ENTRIES = 20_000
# Actions of one client that are in no log, as many as are on their way at once.
MOST_UNLOGGED = 256
# What the host fills in for clients that do not send it.
_FILLED_IN = ("duration", "startedAt")


class UnloggedActions:
    """The newest of a client's actions that were done and that no log tells of."""

    def __init__(self) -> None:
        # Never the actions themselves: what was typed is nobody's business.
        self._done: deque[tuple[str, int, int]] = deque(maxlen=MOST_UNLOGGED)
        # What others have passed on of the client's, which they may do twice.
        self.taken = TakenActions()

    def add(self, channel: str, client_seq: int, action: Action) -> None:
        """Note that an action was done."""
        if client_seq:
            self._done.append((channel, client_seq, hash(dumps(action))))

    def take(self, channel: str, client_seq: int, action: Action) -> bool:
        """Say whether this very action was done; it is asked for once."""
        key = (channel, client_seq, hash(dumps(action)))
        if key not in self._done:
            return False
        self._done.remove(key)
        return True


class ResentActions:
    """A client's own actions that were done and that it has not seen."""

    def __init__(
        self,
        client_id: str = "",
        entries: Iterable[Append] = (),
        unlogged: UnloggedActions | None = None,
    ) -> None:
        self._unlogged = unlogged
        self._done: dict[tuple[str, int], Action] = {}
        for entry in entries:
            if entry.origin is not None:
                origin = stored_value(entry.origin, entry.channel)
                if origin["clientId"] == client_id:
                    action = stored_value(entry.action, entry.channel)
                    self.note(entry.channel, origin["clientSeq"], action)

    def note(self, channel: str, client_seq: int, action: Action) -> None:
        """Note that an action of the client's was done."""
        if client_seq:
            while len(self._done) >= MOST_ENTRIES:
                del self._done[next(iter(self._done))]
            self._done[channel, client_seq] = without_filled_in(action)

    def adopt(self, others: ResentActions) -> None:
        """Take over what was noted elsewhere."""
        self._done |= others._done

    def is_done(self, channel: str, client_seq: int, action: Action) -> bool:
        """Say whether this action was done before; it is asked for once."""
        key = (channel, client_seq)
        if self._unlogged is not None and self._unlogged.take(channel, client_seq, action):
            return True
        if self._done.get(key) != without_filled_in(action):
            return False
        del self._done[key]
        return True


def without_filled_in(action: Action) -> Action:
    """Return what of an action is its sender's own, by which it is known again."""
    return {key: value for key, value in action.items() if key not in _FILLED_IN}


async def done_since(
    store: Store,
    client_id: str,
    channels: Collection[str],
    last_seen: int,
    unlogged: UnloggedActions | None = None,
) -> ResentActions:
    """Return what a client has done in these channels since what it saw last."""
    try:
        entries = await store.read_after(last_seen, channels, MOST_ENTRIES)
    except StoreDamaged as error:
        # The client can come back all the same; what it sends again is done again.
        log.error("what %s has done is not known: %s", ascii(client_id), error)
        return ResentActions(unlogged=unlogged)
    return ResentActions(client_id, entries, unlogged)
