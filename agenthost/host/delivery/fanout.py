"""Who receives what: one encoding per version, one write per client and commit.

Owns the translation of what was decided into what each subscriber is sent. Does not decide
anything and does not wait: slow readers are the outbox's business.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agenthost.host.delivery.envelopes import Envelope, encode_envelope, numbered
from agenthost.host.log.channel import AnyChannel, Change, Subscription
from agenthost.protocol.jsonrpc import Notification, encode
from agenthost.protocol.versions import echo, translator
from agenthost.transport import Encoded

if TYPE_CHECKING:
    from agenthost.host.clients.connection import Connection

log = logging.getLogger(__name__)

Encodings = dict[tuple[str, str], Sequence[Encoded]]


@dataclass(slots=True)
class Broadcast:
    """One accepted action on its way to the channel's subscribers."""

    channel: AnyChannel
    # Its own number; those before it may have been taken for versions that need several actions.
    seq: int
    action: dict[str, Any]
    # The action's JSON, as the log has it.
    action_json: bytes
    change: Change
    origin: dict[str, Any] | None = None
    # Who dispatched it, and in which words: it gets its own action back as it sent it.
    sender: Connection | None = None
    as_sent: dict[str, Any] | None = None

    def encode(self, version: str, uri: str) -> list[Envelope]:
        """Encode for one version and one spelling of the channel's URI."""
        ladder = translator(version)
        if ladder.is_identity or self.change.states is None:
            envelope = encode_envelope(
                uri, self.action, self.seq, self.origin, action_json=self.action_json
            )
            return [envelope]
        before, after = self.change.states
        channel = self.channel
        return self._encode(
            uri,
            ladder.action_down(
                channel.kind.name,
                before,
                self.action,
                after,
                reviewable=channel.kind.is_reviewable(channel),
            ),
        )

    def encode_echo(self, version: str, uri: str) -> list[Envelope]:
        """Encode for the client that sent it, in its own words where these tell the truth."""
        words = self.as_sent or self.action
        if self.change.states is None:
            return self._encode(uri, [words])
        before, after = self.change.states
        channel = self.channel
        return self._encode(
            uri,
            echo(
                version,
                channel.kind.name,
                words,
                before,
                self.action,
                after,
                reviewable=channel.kind.is_reviewable(channel),
            ),
        )

    def _encode(self, uri: str, actions: list[dict[str, Any]]) -> list[Envelope]:
        return [
            encode_envelope(uri, action, seq, self.origin if is_last else None)
            for action, seq, is_last in numbered(actions, self.seq)
        ]


@dataclass(slots=True)
class Notice:
    """A notification on its way to the channel's subscribers; never logged, never replayed."""

    channel: AnyChannel
    method: str
    params: dict[str, Any]
    # Only these connections, where a notification is not for everybody.
    only: frozenset[Connection] | None = None

    def encode(self, version: str, uri: str) -> list[Encoded]:
        """Encode for one version and one spelling of the channel's URI."""
        params = translator(version).notification_down(self.method, {**self.params, "channel": uri})
        return [] if params is None else [Encoded(encode(Notification(self.method, params)))]


@dataclass(slots=True)
class Fanout:
    """Hands released deliveries to the outboxes of those who are owed them."""

    # Envelopes handed to outboxes, for the metrics.
    delivered: int = 0
    _touched: dict[Connection, None] = field(default_factory=dict)

    def release(self, deliveries: Sequence[Any]) -> None:
        """Take what is durable now: broadcasts, notices, and callables for everything else."""
        run: list[Broadcast] = []
        for item in deliveries:
            if isinstance(item, Broadcast):
                if run and run[0].channel is not item.channel:
                    self._guarded(self._send_run, run)
                    run = []
                run.append(item)
                continue
            if run:
                self._guarded(self._send_run, run)
                run = []
            if isinstance(item, Notice):
                self._guarded(self._send_notice, item)
            else:
                self._guarded(item)
        if run:
            self._guarded(self._send_run, run)
        touched, self._touched = self._touched, {}
        for connection in touched:
            connection.outbox.flush()

    def send(self, connection: Connection, messages: Sequence[Encoded]) -> None:
        """Queue messages for one connection; they leave when the current release ends."""
        connection.outbox.put(messages)
        self._touched[connection] = None

    def _guarded(self, deliver: Callable[..., None], *arguments: Any) -> None:
        try:
            deliver(*arguments)
        except Exception:
            # One receiver's trouble must not keep the others from what they are owed.
            log.exception("a delivery failed")

    def _send_run(self, run: list[Broadcast]) -> None:
        channel = run[0].channel
        made: Encodings = {}
        for subscription in list(channel.subscriptions.values()):
            if subscription.from_seq >= run[-1].seq:
                continue
            connection = subscription.connection
            if subscription.from_seq >= run[0].seq or any(b.sender is connection for b in run):
                messages: Sequence[Encoded] = self._individually(run, subscription)
            else:
                key = (connection.version, subscription.uri)
                if key not in made:
                    made[key] = self._together(run, *key)
                messages = made[key]
            if messages:
                connection.outbox.put(messages, subscription.max_latency)
                self._touched[connection] = None
                self.delivered += len(run)

    def _together(self, run: list[Broadcast], version: str, uri: str) -> Sequence[Encoded]:
        return tuple(e for b in run for e in b.encode(version, uri))

    def _individually(self, run: list[Broadcast], to: Subscription) -> list[Envelope]:
        messages: list[Envelope] = []
        for broadcast in run:
            if broadcast.seq <= to.from_seq:
                continue
            if broadcast.sender is to.connection:
                messages.extend(broadcast.encode_echo(to.connection.version, to.uri))
            else:
                messages.extend(broadcast.encode(to.connection.version, to.uri))
        return messages

    def _send_notice(self, notice: Notice) -> None:
        made: Encodings = {}
        for subscription in list(notice.channel.subscriptions.values()):
            connection = subscription.connection
            if notice.only is not None and connection not in notice.only:
                continue
            key = (connection.version, subscription.uri)
            if key not in made:
                made[key] = notice.encode(*key)
            if made[key]:
                self.send(connection, made[key])
