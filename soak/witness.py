"""A client that remembers every change it saw, so that somebody can ask for it afterwards.

Owns what was seen and by whom. Does not judge it: ``audit`` does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

from agenthost.protocol import SUPPORTED_VERSIONS
from tests.wire.client import WireClient, promised

__all__ = ["NEWEST", "Seen", "Witness", "open_witness"]

NEWEST = SUPPORTED_VERSIONS[0]


@dataclass(frozen=True, slots=True)
class Seen:
    """One change that a client was told of and applied."""

    channel: str
    seq: int
    action_type: str
    version: str


class Witness(WireClient):
    """A wire client that keeps the changes it saw since they were last audited."""

    def __init__(self, socket: ClientConnection, client_id: str, version: str) -> None:
        self.seen: list[Seen] = []
        super().__init__(socket, client_id, version)

    def inherit(self, former: WireClient) -> None:
        """Hold what an earlier connection of the same client held and saw."""
        super().inherit(former)
        if isinstance(former, Witness):
            self.seen = former.seen

    async def resume(self, former: WireClient) -> dict[str, Any]:
        """Reconnect where an earlier connection ended; what cannot be resumed is let go."""
        result = await super().resume(former)
        if result["type"] == "replay":
            gone = set(result["missing"])
        else:
            gone = set(self.states) - {snapshot["resource"] for snapshot in result["snapshots"]}
        for channel in gone:
            self.forget(channel)
        return result

    def forget(self, channel: str) -> None:
        """Stop holding a channel."""
        self.states.pop(channel, None)
        self.kinds.pop(channel, None)
        self.envelopes.pop(channel, None)

    def forget_disposed(self) -> None:
        """Stop holding the sessions that this client was told are gone."""
        for message in self.received:
            if message.get("method") == "root/sessionRemoved":
                session = message["params"]["session"]
                chats = self.states.get(session, {}).get("chats", ())
                for channel in (session, f"{session}/annotations"):
                    self.forget(channel)
                for chat in chats:
                    self.forget(chat["resource"])

    def take_envelope(self, envelope: dict[str, Any]) -> None:
        """Apply an envelope, and note it if it changed anything."""
        channel = envelope["channel"]
        before = self.states.get(channel)
        super().take_envelope(envelope)
        if before is None or "rejectionReason" in envelope or self._is_hollow(envelope, before):
            return
        action_type = envelope["action"]["type"]
        self.seen.append(Seen(channel, envelope["serverSeq"], action_type, self.version))

    def _is_hollow(self, envelope: dict[str, Any], before: dict[str, Any]) -> bool:
        # An action that changes nothing goes back to its sender and is not logged.
        if envelope.get("origin", {}).get("clientId") != self.client_id:
            return False
        return bool(promised(before) == promised(self.states[envelope["channel"]]))


async def open_witness(url: str, client_id: str, version: str) -> Witness:
    """Connect a witness; the caller closes it."""
    socket = await connect(url, max_size=None, compression=None)
    return Witness(socket, client_id, version)
