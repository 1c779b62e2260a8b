"""What a chat channel has besides its state: what its agent knows, who wrote what."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct, field

from agenthost.host.channels.chat.encoded_turns import ChatEncoder
from agenthost.host.log.channel import LiveChannel

if TYPE_CHECKING:
    from agenthost.host.trust.principals import Starter
    from agenthost.protocol.chat.messages import MessageAttachment
    from agenthost.protocol.chat.state import ChatState, CompletedTurn

ChatChannel: TypeAlias = "LiveChannel[ChatState]"

# The record of what a side chat's agent knows beyond the chat's own turns.
CONTEXTS = "contexts"
# The record of what the messages of a chat attach, as its agent is given it.
ATTACHED = "attached"
# The record of who set the messages of a chat that wait.
AUTHORS = "authors"


def nothing_runs() -> int:
    """Return for how long a turn has been running that there is not."""
    return 0


class ChatExtra(Struct):
    """What is known of a chat besides its state; replaced, never changed in place."""

    # Turns that a side chat's agent knows of although the chat does not show them.
    context: list[CompletedTurn] = field(default_factory=list)
    # Turn or pending message -> its attachments as the agent is given them, where that differs.
    attached: dict[str, list[MessageAttachment]] = field(default_factory=dict)
    # Pending message -> who set it.
    authors: dict[str, Starter] = field(default_factory=dict)
    # Attached URI -> the clients that sent it, the last one first, since this host started.
    senders: dict[str, tuple[str, ...]] = field(default_factory=dict)
    # How many milliseconds its turn has been running.
    elapsed: Callable[[], int] = nothing_runs


def extra_of(chat: ChatChannel) -> ChatExtra:
    """Return what is known of a chat besides its state."""
    extra = chat.extra
    assert isinstance(extra, ChatExtra)
    return extra


def turn_sizes(chat: ChatChannel) -> list[int]:
    """Return how many bytes each completed turn of a chat takes on the wire."""
    encoder = chat.encoder
    assert isinstance(encoder, ChatEncoder)
    return encoder.sizes(chat.state["turns"])
