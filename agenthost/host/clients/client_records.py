"""Clients as the host remembers them: who they are, what they speak, where they take part.

A client outlives its connections. Owns the records that survive a restart, and the one live
connection of each client.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec import Struct, field

from agenthost.errors import InvalidParams, PermissionDenied
from agenthost.host.clients.resent_actions import UnloggedActions
from agenthost.host.log.ledger import Ledger
from agenthost.host.log.stored_values import stored_value
from agenthost.host.store import DropRecord, PutRecord, Store
from agenthost.host.trust import MAX_CLIENT_ID, ClientBindings, Principal
from agenthost.protocol.jsonrpc import dumps

if TYPE_CHECKING:
    from agenthost.host.clients.connection import Connection
    from agenthost.protocol.commands import ClientCapabilities

# The bucket of what is known of clients.
CLIENTS = "clients"
# How a client wants to see a channel: where its window begins, seconds of gathering allowed.
View = tuple[int, float | None]
# A channel seen whole, and at once.
EVERYTHING: View = (0, None)


def _no_capabilities() -> ClientCapabilities:
    return {}


class ClientRecord(Struct):
    """What a reconnecting client need not say again."""

    client_id: str
    principal: str
    # The rung spoken, and the spelling it was agreed in.
    version: str
    answer: str
    capabilities: ClientCapabilities = field(default_factory=_no_capabilities)
    locale: str | None = None
    # The name of the client's program, as it says.
    program: str = ""
    # Channel -> how the client wanted to see it, where that is not everything at once.
    views: dict[str, View] = field(default_factory=dict)
    # Where there are several nodes: how often it came, and to which it came last.
    arrivals: int = 0
    node: str = ""

    def encode(self) -> bytes:
        """Return the record as it is stored."""
        members: dict[str, object] = {
            "principal": self.principal,
            "version": self.version,
            "answer": self.answer,
            "capabilities": dict(self.capabilities),
            "locale": self.locale,
            "program": self.program,
            "views": self.views,
        }
        if self.node:
            members |= {"arrivals": self.arrivals, "node": self.node}
        return dumps(members)


def _decode(client_id: str, stored: bytes) -> ClientRecord:
    record = ClientRecord(client_id=client_id, **stored_value(stored, client_id))
    record.views = {uri: (first, latency) for uri, (first, latency) in record.views.items()}
    return record


def _came_later(one: Connection, other: Connection) -> bool:
    """Say whether a client came over one connection after it had come over the other."""
    if one.hears_logs_elsewhere and one.arrival != other.arrival:
        return one.arrival > other.arrival
    return one.accepted_at > other.accepted_at


class Clients:
    """All clients the host has met."""

    def __init__(self, store: Store, ledger: Ledger) -> None:
        self._store = store
        self._ledger = ledger
        self._records: dict[str, ClientRecord] = {}
        self._live: dict[str, Connection] = {}
        self._unlogged: dict[str, UnloggedActions] = {}
        self._bindings = ClientBindings(on_forgotten=self._forget)
        # The name of this node, where clients may come to others too.
        self.node = ""

    async def open(self) -> None:
        """Take up what is stored."""
        for client_id, stored in (await self._store.records(CLIENTS)).items():
            # What was heard meanwhile is newer.
            self._records.setdefault(client_id, _decode(client_id, stored))
        self._bindings.load({id: record.principal for id, record in self._records.items()})

    def claim(self, client_id: str, principal: Principal) -> None:
        """Bind a client id to its principal, or refuse another's."""
        if len(client_id) > MAX_CLIENT_ID:
            raise InvalidParams(f"longer than {MAX_CLIENT_ID} characters", path="clientId")
        refusal = self._bindings.claim(client_id, principal)
        if refusal is not None:
            raise PermissionDenied(refusal)

    def unlogged(self, client_id: str) -> UnloggedActions:
        """Return what a client has done of late that no log tells of."""
        return self._unlogged.setdefault(client_id, UnloggedActions())

    def recall(self, client_id: str) -> ClientRecord | None:
        """Return what is known of a client, if it ever initialized here."""
        return self._records.get(client_id)

    def remember(self, record: ClientRecord) -> None:
        """Keep what a client said when it initialized."""
        self._records[record.client_id] = record
        self._ledger.write(PutRecord(CLIENTS, record.client_id, record.encode()))

    def came(self, record: ClientRecord) -> None:
        """Keep what a client said that initialized here just now."""
        known = self._records.get(record.client_id)
        if self.node:
            record.arrivals = (known.arrivals if known is not None else 0) + 1
            record.node = self.node
        self.remember(record)

    def returned(self, record: ClientRecord) -> None:
        """Note that a client resumes here, where it may have left another node."""
        if self.node:
            self.came(record)

    def heard(self, client_id: str, stored: bytes | None) -> Connection | None:
        """Take up what another node keeps of a client, or that it has forgotten it.

        Return the client's connection here if it has gone there since. Of two nodes that it came
        to at the same time, both take the same one for the later.
        """
        if stored is None:
            if client_id not in self._live:
                self._records.pop(client_id, None)
            return None
        told, known = _decode(client_id, stored), self._records.get(client_id)
        if known is not None:
            is_older = (told.arrivals, told.node) < (known.arrivals, known.node)
            is_own_echo = told.node == self.node and told.arrivals == known.arrivals
            if is_older or is_own_echo:
                return None
        self._records[client_id] = told
        self._bindings.load({client_id: told.principal})
        return self._live.get(client_id) if told.node != self.node else None

    def note_view(self, client_id: str, uri: str, view: View) -> None:
        """Remember how a client sees a channel, because ``reconnect`` does not say."""
        record, live = self._records.get(client_id), self._live.get(client_id)
        if record is None:
            return
        followed = {channel.uri for channel in live.subscriptions} if live is not None else set()
        # A channel that was disposed meanwhile would be remembered for ever.
        views = {known: seen for known, seen in record.views.items() if known in followed}
        views.pop(uri, None)
        if view != EVERYTHING:
            views[uri] = view
        if views != record.views:
            record.views = views
            self.remember(record)

    def arrived(self, connection: Connection) -> Connection | None:
        """Make this the client's live connection; return the one that must end.

        That is the one accepted earlier, even if its handshake took longer: a link that was cut
        may still be answered when its successor is up already. Where nodes speak for clients, it
        is the one of the node that the client has left.
        """
        other = self._live.get(connection.client_id)
        if other is not None and _came_later(other, connection):
            return connection
        self._live[connection.client_id] = connection
        return other if other is not connection else None

    def is_live(self, connection: Connection) -> bool:
        """Say whether this is the connection that speaks for its client."""
        return self._live.get(connection.client_id) is connection

    def connection(self, client_id: str) -> Connection | None:
        """Return the connection that speaks for a client, if it is here."""
        return self._live.get(client_id)

    def is_here(self, client_id: str) -> bool:
        """Say whether a client is connected."""
        return client_id in self._live

    def live(self) -> Iterable[Connection]:
        """Return the connections that speak for the clients which are here."""
        return self._live.values()

    def left(self, connection: Connection) -> bool:
        """Note that a connection is gone; say whether its client is gone with it."""
        is_gone = self.is_live(connection)
        if is_gone:
            del self._live[connection.client_id]
        return is_gone

    def _forget(self, client_id: str) -> None:
        self._unlogged.pop(client_id, None)
        if self._records.pop(client_id, None) is not None:
            self._ledger.write(DropRecord(CLIENTS, client_id))
