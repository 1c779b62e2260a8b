"""Clients as the host remembers them: who they are, what they speak, where they take part.

A client outlives its connections. Owns the records that survive a restart, the one live
connection of each client, and the grace after which an absent client stops counting as active.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agenthost.errors import InvalidParams, PermissionDenied
from agenthost.host.log.channel import LiveChannel
from agenthost.host.log.directory import Directory
from agenthost.host.log.stored_values import stored_value
from agenthost.host.log.writer import Writer
from agenthost.host.store import DropRecord, PutRecord, Store, WholeChannel
from agenthost.host.trust import MAX_CLIENT_ID, ClientBindings, Principal
from agenthost.protocol.jsonrpc import dumps
from agenthost.protocol.markdown import markdown_of

if TYPE_CHECKING:
    from agenthost.host.clients.connection import Connection

# The bucket of what is known of clients.
CLIENTS = "clients"
# Seconds that an active client may be away before its tools are taken off its sessions.
ACTIVE_GRACE = 30.0
# How a client wants to see a channel: first turn shown, seconds of gathering allowed.
View = tuple[int, float | None]
# A channel seen whole, and at once.
EVERYTHING: View = (0, None)
# Statuses in which a tool call still waits for its owner.
_UNFINISHED = ("streaming", "pending-confirmation", "running")


@dataclass(slots=True)
class ClientRecord:
    """What a reconnecting client need not say again."""

    client_id: str
    principal: str
    # The rung spoken, and the spelling it was agreed in.
    version: str
    answer: str
    capabilities: Mapping[str, Any] = field(default_factory=dict)
    locale: str | None = None
    # The name of the client's program, as it says.
    program: str = ""
    # Channel -> how the client wanted to see it, where that is not everything at once.
    views: dict[str, View] = field(default_factory=dict)

    def encode(self) -> bytes:
        """Return the record as it is stored."""
        return dumps(
            {
                "principal": self.principal,
                "version": self.version,
                "answer": self.answer,
                "capabilities": dict(self.capabilities),
                "locale": self.locale,
                "program": self.program,
                "views": self.views,
            }
        )


def _decode(client_id: str, stored: bytes) -> ClientRecord:
    record = ClientRecord(client_id=client_id, **stored_value(stored, client_id))
    record.views = {uri: (first, latency) for uri, (first, latency) in record.views.items()}
    return record


class Clients:
    """All clients the host has met."""

    def __init__(
        self, store: Store, writer: Writer, directory: Directory, grace: float = ACTIVE_GRACE
    ) -> None:
        self._store = store
        self._writer = writer
        self._directory = directory
        self._grace = grace
        self._records: dict[str, ClientRecord] = {}
        self._live: dict[str, Connection] = {}
        # Clients that are away and still count as active, until the timer fires.
        self._leaving: dict[str, asyncio.TimerHandle] = {}
        self._bindings = ClientBindings(on_forgotten=self._forget)

    async def open(self) -> None:
        """Take up what is stored."""
        for client_id, stored in (await self._store.records(CLIENTS)).items():
            self._records[client_id] = _decode(client_id, stored)
        self._bindings.load({id: record.principal for id, record in self._records.items()})

    def close(self) -> None:
        """Stop all timers."""
        for timer in self._leaving.values():
            timer.cancel()
        self._leaving.clear()

    def claim(self, client_id: str, principal: Principal) -> None:
        """Bind a client id to its principal, or refuse another's."""
        if len(client_id) > MAX_CLIENT_ID:
            raise InvalidParams(f"longer than {MAX_CLIENT_ID} characters", path="clientId")
        refusal = self._bindings.claim(client_id, principal)
        if refusal is not None:
            raise PermissionDenied(refusal)

    def recall(self, client_id: str) -> ClientRecord | None:
        """Return what is known of a client, if it ever initialized here."""
        return self._records.get(client_id)

    def remember(self, record: ClientRecord) -> None:
        """Keep what a client said when it initialized."""
        self._records[record.client_id] = record
        self._writer.ledger.write(PutRecord(CLIENTS, record.client_id, record.encode()))

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
        may still be answered when its successor is up already.
        """
        timer = self._leaving.pop(connection.client_id, None)
        if timer is not None:
            timer.cancel()
        other = self._live.get(connection.client_id)
        if other is not None and other.accepted_at > connection.accepted_at:
            return connection
        self._live[connection.client_id] = connection
        return other if other is not connection else None

    def is_live(self, connection: Connection) -> bool:
        """Say whether this is the connection that speaks for its client."""
        return self._live.get(connection.client_id) is connection

    def left(self, connection: Connection) -> None:
        """Note that a connection is gone; its client has some time to come back."""
        if self._live.get(connection.client_id) is connection:
            del self._live[connection.client_id]
            self._start_grace(connection.client_id)

    def restore(self, channel: LiveChannel, _: WholeChannel) -> None:
        """Give the active clients of a session that is being loaded time to show up."""
        if channel.kind == "session":
            for active in channel.state["activeClients"]:
                if active["clientId"] not in self._live:
                    self._start_grace(active["clientId"])

    def withdraw(self, client_id: str, session: LiveChannel) -> None:
        """Take a client off a session's active ones."""
        action = {"type": "session/activeClientRemoved", "clientId": client_id}
        self._writer.apply(session, action)

    def fail_calls(self, client_id: str, session: LiveChannel) -> None:
        """Fail what a client was to run in a session that it has left."""
        for chat in self._directory.loaded("chat"):
            if chat.session == session.uri:
                self._fail_calls(client_id, chat)

    def _start_grace(self, client_id: str) -> None:
        if client_id not in self._leaving:
            loop = asyncio.get_running_loop()
            self._leaving[client_id] = loop.call_later(self._grace, self._expire, client_id)

    def _expire(self, client_id: str) -> None:
        self._leaving.pop(client_id, None)
        if client_id not in self._live:
            for session in self._directory.loaded("session"):
                self.withdraw(client_id, session)

    def _fail_calls(self, client_id: str, chat: LiveChannel) -> None:
        active = chat.state.get("activeTurn")
        if active is None:
            return
        for part in active["responseParts"]:
            call = part.get("toolCall") or {}
            contributor = call.get("contributor") or {}
            if contributor.get("clientId") == client_id and call["status"] in _UNFINISHED:
                self.fail_call(chat, call, "the client that runs this tool left", "clientLeft")

    def fail_call(
        self, chat: LiveChannel, call: Mapping[str, Any], message: Any, code: str
    ) -> None:
        """End a tool call of the running turn that its client does not finish."""
        target = {"turnId": chat.state["activeTurn"]["id"], "toolCallId": call["toolCallId"]}
        if call["status"] == "streaming":
            # A call cannot be completed before it is ready.
            message = call.get("invocationMessage", call["displayName"])
            ready = {"type": "chat/toolCallReady", **target, "invocationMessage": message}
            self._writer.apply(chat, {**ready, "confirmed": "not-needed"})
        result = {
            "success": False,
            "pastTenseMessage": f"{call['displayName']} did not finish",
            "error": {"message": markdown_of(message), "code": code},
        }
        self._writer.apply(chat, {"type": "chat/toolCallComplete", **target, "result": result})

    def _forget(self, client_id: str) -> None:
        if self._records.pop(client_id, None) is not None:
            self._writer.ledger.write(DropRecord(CLIENTS, client_id))
