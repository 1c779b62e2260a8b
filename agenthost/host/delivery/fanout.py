"""Who receives what: one encoding per version, one write per client and commit.

Owns the translation of what was decided into what each subscriber is sent. Does not decide
anything and does not wait: slow readers are the outbox's business.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field

from agenthost.host.delivery.envelopes import Envelope, encode_envelope, numbered
from agenthost.host.log.channel import Subscription
from agenthost.host.log.deliveries import Broadcast, Delivery, Direct, Notice, Reply
from agenthost.protocol.jsonrpc import Notification, encode
from agenthost.protocol.versions import echo, translator
from agenthost.transport import Encoded

if TYPE_CHECKING:
    from agenthost.host.log.receiver import Receiver
    from agenthost.protocol.common import Action

log = logging.getLogger(__name__)

Encodings = dict[tuple[str, str], Sequence[Encoded]]


class Fanout(Struct):
    """Hands released deliveries to the outboxes of those who are owed them."""

    # Envelopes handed to outboxes, for the metrics.
    delivered: int = 0
    _touched: dict[Receiver, None] = field(default_factory=dict)

    def release(self, deliveries: Sequence[Delivery]) -> None:
        """Take what is durable now: ``deliveries``, and callables for everything else."""
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
            if isinstance(item, Direct):
                self._guarded(self._send, item.receiver, item.messages)
            elif isinstance(item, Reply):
                self._guarded(self._send_reply, item)
            elif isinstance(item, Notice):
                self._guarded(self._send_notice, item)
            else:
                self._guarded(item)
        if run:
            self._guarded(self._send_run, run)
        touched, self._touched = self._touched, {}
        for connection in touched:
            connection.outbox.flush()

    def _send(self, connection: Receiver, messages: Sequence[Encoded]) -> None:
        # They leave when the current release ends.
        connection.outbox.put(messages)
        self._touched[connection] = None

    def _guarded(self, deliver: Callable[..., object], *arguments: object) -> None:
        try:
            deliver(*arguments)
        except Exception:
            # One receiver's trouble must not keep the others from what they are owed.
            log.exception("a delivery failed")

    def _send_run(self, run: list[Broadcast]) -> None:
        channel, first, last = run[0].channel, run[0].seq, run[-1].seq
        # Once for all: with a thousand subscribers, to look at each action for each takes long.
        senders = {broadcast.sender for broadcast in run}
        made: Encodings = {}
        for subscription in list(channel.subscriptions.values()):
            from_seq, connection = subscription.from_seq, subscription.connection
            if subscription.is_quiet or from_seq >= last:
                continue
            if from_seq >= first or connection in senders:
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
        # Generators would take longer.
        if translator(version).is_identity:
            return tuple(
                [
                    encode_envelope(uri, b.action, b.seq, b.origin, action_json=b.action_json)
                    for b in run
                ]
            )
        return tuple([e for b in run for e in encode_broadcast(b, version, uri)])

    def _individually(self, run: list[Broadcast], to: Subscription) -> list[Envelope]:
        messages: list[Envelope] = []
        for broadcast in run:
            if broadcast.seq <= to.from_seq:
                continue
            if broadcast.sender is to.connection:
                messages.extend(_encode_echo(broadcast, to.connection.version, to.uri))
            else:
                messages.extend(encode_broadcast(broadcast, to.connection.version, to.uri))
        return messages

    def _send_reply(self, reply: Reply) -> None:
        envelope = encode_envelope(reply.uri, reply.action, reply.seq, reply.origin, reply.reason)
        self._send(reply.receiver, (envelope,))

    def _send_notice(self, notice: Notice) -> None:
        made: Encodings = {}
        for subscription in list(notice.channel.subscriptions.values()):
            connection = subscription.connection
            if subscription.is_quiet if notice.only is None else connection not in notice.only:
                continue
            key = (connection.version, subscription.uri)
            if key not in made:
                made[key] = _encode_notice(notice, *key)
            if made[key]:
                self._send(connection, made[key])


def encode_broadcast(broadcast: Broadcast, version: str, uri: str) -> list[Envelope]:
    """Encode an action for one version and one spelling of its channel's URI."""
    ladder = translator(version)
    states = broadcast.change.states
    if ladder.is_identity or states is None:
        envelope = encode_envelope(
            uri,
            broadcast.action,
            broadcast.seq,
            broadcast.origin,
            action_json=broadcast.action_json,
        )
        return [envelope]
    kind = broadcast.channel.kind
    before, after = states
    reviewable = kind.is_reviewable(broadcast.channel)
    actions = ladder.action_down(kind.name, before, broadcast.action, after, reviewable=reviewable)
    return _encode_each(broadcast, uri, actions)


def _encode_echo(broadcast: Broadcast, version: str, uri: str) -> list[Envelope]:
    """Encode an action for the client that sent it, in its own words where these are true."""
    words = broadcast.as_sent or broadcast.action
    if broadcast.change.states is None:
        return _encode_each(broadcast, uri, [words])
    kind, action = broadcast.channel.kind, broadcast.action
    before, after = broadcast.change.states
    reviewable = kind.is_reviewable(broadcast.channel)
    echoed = echo(version, kind.name, words, before, action, after, reviewable=reviewable)
    return _encode_each(broadcast, uri, echoed)


def _encode_each(broadcast: Broadcast, uri: str, actions: list[Action]) -> list[Envelope]:
    return [
        encode_envelope(uri, action, seq, broadcast.origin if is_last else None)
        for action, seq, is_last in numbered(actions, broadcast.seq)
    ]


def _encode_notice(notice: Notice, version: str, uri: str) -> list[Encoded]:
    params = translator(version).notification_down(notice.method, {**notice.params, "channel": uri})
    return [] if params is None else [Encoded(encode(Notification(notice.method, params)))]
