"""The one writer: reduce, number, log, and queue for everybody who is owed it.

Every change of every channel goes through ``apply``, wherever it comes from. What must follow a
change (catalogue, prompts, turns) the channel's kind says; whoever carries it out may call
``apply`` again, and is through with it before the next consequence.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from agenthost.clock import Clock
from agenthost.host.log.channel import AnyChannel, Change
from agenthost.host.log.deliveries import Broadcast, Direct, Notice, Reply
from agenthost.host.log.directory import Directory
from agenthost.host.log.effects import Apply, Effects
from agenthost.host.log.kind import Applied
from agenthost.host.log.ledger import Ledger
from agenthost.host.store import Append
from agenthost.protocol.jsonrpc import dumps
from agenthost.protocol.versions import changes_nothing, sequence_numbers_needed
from agenthost.transport import Encoded

if TYPE_CHECKING:
    from agenthost.host.log.receiver import Receiver
    from agenthost.host.trust.principals import Starter
    from agenthost.protocol.common import Action, JsonObject
    from agenthost.protocol.envelopes import ActionOrigin

# Bytes that a log entry costs besides its action.
ENTRY_OVERHEAD = 96
# Bytes of log after which streamed text is worth a snapshot in its middle. Read back in a tenth of
# a second; far more than what a client that was away for a moment is replayed.
LONG_TAIL = 4 * 1024 * 1024


class ClientAction(Struct, frozen=True):
    """A client's action as it arrived, to be echoed in the client's own words."""

    connection: Receiver
    client_seq: int
    # The channel's URI in the client's spelling.
    uri: str
    as_sent: Action
    # Whether the host made something else of it, so that its sender must be told what.
    rewritten: bool = False

    @property
    def origin(self) -> ActionOrigin:
        """The envelope's ``origin``."""
        return {"clientId": self.connection.client_id, "clientSeq": self.client_seq}


class Writer:
    """Applies actions to channels and sends them on their way."""

    def __init__(
        self,
        ledger: Ledger,
        directory: Directory,
        effects: Effects,
        clock: Clock,
    ) -> None:
        self.ledger = ledger
        self._directory = directory
        self._effects = effects
        self._clock = clock
        effects.on(Apply, self._follow_up)

    def apply(
        self,
        channel: AnyChannel,
        action: Action,
        dispatch: ClientAction | None = None,
        starter: Starter | None = None,
    ) -> bool:
        """Apply an action; False when it changed nothing (then only its sender hears of it).

        ``starter`` is on whose behalf the host does it, where that is somebody's and not its own.
        """
        now = self._clock.now()
        change = channel.apply(action, now)
        if change is None:
            if action["type"] not in channel.kind.events:
                if dispatch is not None:
                    self._answer(dispatch, _void_reason(dispatch, channel))
                return False
            change = Change((channel.state, channel.state))
        # Nothing is decided between them, so nobody's snapshot falls into the middle.
        seq = self.ledger.take_seq(
            1 if change.states is None else sequence_numbers_needed(action, *change.states)
        )
        channel.seq = seq
        action_json = dumps(action)
        origin = dispatch.origin if dispatch is not None else None
        if channel.is_logged:
            channel.tail_bytes += len(action_json) + ENTRY_OVERHEAD
            self.ledger.write(
                Append(seq, channel.uri, now, action_json, dumps(origin) if origin else None)
            )
        broadcast = Broadcast(channel, seq, action, action_json, change, origin)
        if dispatch is not None:
            broadcast.sender = dispatch.connection if not dispatch.rewritten else None
            broadcast.as_sent = dispatch.as_sent
        self.ledger.deliver(broadcast)
        if change.states is not None:
            applied = Applied(channel, action, *change.states, dispatch, starter)
            for consequence in channel.kind.follow(applied, self._directory.owner(channel)):
                self._effects.carry_out(consequence)
            self._directory.save_if_due(channel)
        elif channel.tail_bytes > LONG_TAIL:
            self._directory.save_if_due(channel)
        return True

    def _follow_up(self, effect: Apply) -> None:
        self.apply(effect.channel, effect.action)

    def reject(self, dispatch: ClientAction, reason: str) -> None:
        """Send a refused action back to its origin alone, with the reason."""
        self._answer(dispatch, reason)

    def acknowledge(self, dispatch: ClientAction) -> None:
        """Tell the origin of an action alone that it is done."""
        self._answer(dispatch, None)

    def notify(
        self,
        channel: AnyChannel,
        method: str,
        params: JsonObject,
        only: frozenset[Receiver] | None = None,
    ) -> None:
        """Send a notification to the channel's subscribers, in order with everything else."""
        self.ledger.deliver(Notice(channel, method, params, only))

    def send(self, connection: Receiver, messages: Sequence[Encoded]) -> None:
        """Send messages to one connection, in order with everything else."""
        self.ledger.deliver(Direct(connection, messages))

    def _answer(self, dispatch: ClientAction, reason: str | None) -> None:
        seq, origin = self.ledger.take_seq(), dispatch.origin
        self.ledger.deliver(
            Reply(dispatch.connection, dispatch.uri, dispatch.as_sent, seq, origin, reason)
        )


def _void_reason(dispatch: ClientAction, channel: AnyChannel) -> str | None:
    """Say why an action is refused that changes nothing here but something for its sender."""
    version = dispatch.connection.version
    if changes_nothing(version, channel.kind.name, dispatch.as_sent, channel.state):
        return None
    return f"{dispatch.as_sent['type']} has no effect here"
