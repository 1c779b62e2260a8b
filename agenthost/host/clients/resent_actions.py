"""Actions that a client sends again after a reconnect, because it saw no answer to them.

They keep their ``clientSeq``. Some were done before the connection was lost, and must not be done
twice: a queued message would run a second time. Owns which ones those are, as the log tells, also
after a restart. Number 0 is never compared: editors give it to everything that they do not track.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from agenthost.host.log.stored_values import stored_value
from agenthost.host.store import Append, Store, StoreDamaged

if TYPE_CHECKING:
    from agenthost.protocol.common import Action

log = logging.getLogger(__name__)

# Log entries that are looked through; a client that missed more starts from a snapshot anyway.
MOST_ENTRIES = 20_000
# What the host fills in for clients that do not send it.
_FILLED_IN = ("duration", "startedAt")


class ResentActions:
    """A client's own actions that were done and that it has not seen."""

    def __init__(self, client_id: str = "", entries: Iterable[Append] = ()) -> None:
        self._done: dict[tuple[str, int], Action] = {}
        for entry in entries:
            if entry.origin is not None:
                origin = stored_value(entry.origin, entry.channel)
                if origin["clientId"] == client_id and origin["clientSeq"]:
                    action = stored_value(entry.action, entry.channel)
                    self._done[entry.channel, origin["clientSeq"]] = _compared(action)

    def is_done(self, channel: str, client_seq: int, action: Action) -> bool:
        """Say whether this action was done before; it is asked for once."""
        key = (channel, client_seq)
        if self._done.get(key) != _compared(action):
            return False
        del self._done[key]
        return True


def _compared(action: Action) -> Action:
    return {key: value for key, value in action.items() if key not in _FILLED_IN}


async def done_since(
    store: Store, client_id: str, channels: Collection[str], last_seen: int
) -> ResentActions:
    """Return what a client has done in these channels since what it saw last."""
    try:
        entries = await store.read_after(last_seen, channels, MOST_ENTRIES)
    except StoreDamaged as error:
        # The client can come back all the same; what it sends again is done again.
        log.error("what %s has done is not known: %s", ascii(client_id), error)
        return ResentActions()
    return ResentActions(client_id, entries)
