"""The owner's ledger: what all who follow a channel are told travels in the log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from agenthost.cluster.commits import Tell
from agenthost.cluster.numbers import room_for
from agenthost.cluster.owner.routing import RoomIn, TellIn
from agenthost.cluster.units import REALM
from agenthost.host.log.deliveries import Notice
from agenthost.host.log.ledger import Ledger
from agenthost.host.store import Append
from agenthost.protocol.jsonrpc import dumps

if TYPE_CHECKING:
    from agenthost.host.store import Write
    from agenthost.protocol.common import JsonObject


class OwnerLedger(Ledger):
    """A ledger that writes down what fronts are to tell."""

    # The number handed out last, if it is for an action that fronts need room for, and how much.
    _roomy: tuple[int, int] = (-1, 0)

    def take_seq(self, count: int = 1) -> int:
        """Hand out the next number; as many as there are here, fronts must have too."""
        seq = super().take_seq(count)
        self._roomy = (seq, room_for(count))
        return seq

    def write(self, *writes: Write) -> None:
        """Add writes to this tick's commit."""
        seq, room = self._roomy
        if room and isinstance(writes[0], Append) and writes[0].seq == seq:
            # The store behind this ledger takes it as well.
            super().write(*cast("list[Write]", [RoomIn(writes[0].channel)] * room))
        super().write(*writes)

    def deliver(self, delivery: Any) -> None:
        """Hand a delivery on once it is safe; a notice to everybody becomes a write."""
        if isinstance(delivery, Notice) and delivery.only is None and delivery.channel.is_logged:
            channel = delivery.channel
            unit = channel.session or _session_in(delivery.params) or REALM
            tell = Tell(channel.uri, delivery.method, dumps(delivery.params))
            # The store behind this ledger takes it as well.
            self.write(cast("Write", TellIn(unit, tell)))
        else:
            super().deliver(delivery)


def _session_in(params: JsonObject) -> str | None:
    """Return the session that a notice on the root channel is about."""
    named = params.get("session") or (params.get("summary") or {}).get("resource")
    return named if isinstance(named, str) else None
