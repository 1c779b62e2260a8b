"""The owner's ledger: what all who follow a channel are told travels in the log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from agenthost.cluster.commits import Tell
from agenthost.cluster.owner.routing import TellIn
from agenthost.cluster.units import REALM
from agenthost.host.log.deliveries import Notice
from agenthost.host.log.ledger import Ledger
from agenthost.protocol.jsonrpc import dumps

if TYPE_CHECKING:
    from agenthost.host.store import Write
    from agenthost.protocol.common import JsonObject


class OwnerLedger(Ledger):
    """A ledger that writes down what fronts are to tell."""

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
