"""What is on its way to clients, as data: decided here, written out by ``delivery``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

if TYPE_CHECKING:
    from agenthost.host.log.channel import AnyChange, AnyChannel
    from agenthost.host.log.receiver import Receiver
    from agenthost.protocol.common import Action, JsonObject
    from agenthost.protocol.envelopes import ActionOrigin
    from agenthost.transport import Encoded


class Broadcast(Struct):
    """One accepted action on its way to the channel's subscribers."""

    channel: AnyChannel
    # Its own number; those before it may have been taken for versions that need several actions.
    seq: int
    action: Action
    # The action's JSON, as the log has it.
    action_json: bytes
    change: AnyChange
    origin: ActionOrigin | None = None
    # Who dispatched it, and in which words: it gets its own action back as it sent it.
    sender: Receiver | None = None
    as_sent: Action | None = None


class Notice(Struct):
    """A notification on its way to the channel's subscribers; never logged, never replayed."""

    channel: AnyChannel
    method: str
    params: JsonObject
    # Only these connections, where a notification is not for everybody.
    only: frozenset[Receiver] | None = None


class Direct(Struct):
    """Messages on their way to one connection."""

    receiver: Receiver
    messages: Sequence[Encoded]


class Reply(Struct):
    """The answer to a client's action that nobody else hears of: done already, or refused."""

    receiver: Receiver
    # The channel's URI in the client's spelling, and the action in its words.
    uri: str
    action: Action
    seq: int
    origin: ActionOrigin
    reason: str | None


# Whatever leaves once it is safe; a callable is for what the host itself does at that point.
Delivery: TypeAlias = Broadcast | Notice | Direct | Reply | Callable[[], object]
