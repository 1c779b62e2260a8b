"""The chat's room: what is particular to chat channels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agenthost.host.channels.chat.consequences import (
    ChatChanged,
    DropSteering,
    KeepAttachments,
    QueueSteering,
    RememberAuthor,
    StartNextQueued,
    StartTurn,
    StopTurn,
    TitleFromFirstMessage,
)
from agenthost.host.channels.chat.effects import Effect, chat_effects
from agenthost.host.channels.chat.encoded_turns import ChatEncoder
from agenthost.host.channels.chat.extra import (
    ATTACHED,
    CONTEXTS,
    ChatChannel,
    ChatExtra,
    extra_of,
    turn_sizes,
)
from agenthost.host.channels.chat.fork import title_of
from agenthost.host.channels.chat.names import find_named_chat
from agenthost.host.channels.chat.session_updates import session_actions
from agenthost.host.channels.chat.window import cursor_before, first_shown, page_start
from agenthost.host.channels.session.kind import RefreshGit
from agenthost.host.log.channel import AnyChannel
from agenthost.host.log.effects import Apply, Consequence
from agenthost.host.log.kind import Applied, ChannelKind, Find
from agenthost.host.log.stored_values import stored_value
from agenthost.protocol.chat.state import ChatState

if TYPE_CHECKING:
    from agenthost.host.store import WholeChannel


# Actions that bring a message, which may attach something.
_HAS_MESSAGE = frozenset({"chat/turnStarted", "chat/pendingMessageSet"})


class ChatKind(ChannelKind[ChatState]):
    """Chat channels."""

    name = "chat"
    cuts = frozenset({"chat/truncated"})
    buckets = (CONTEXTS, ATTACHED)

    def extra(self) -> ChatExtra:
        """Make what a chat keeps besides its state."""
        return ChatExtra()

    def restore(self, channel: ChatChannel, whole: WholeChannel) -> None:
        """Take up what a chat's agent knows and the chat does not show."""
        extra = extra_of(channel)
        context = whole.records.get(CONTEXTS)
        if context is not None:
            extra.context = stored_value(context, channel.uri)
        attached = whole.records.get(ATTACHED)
        if attached is not None:
            extra.attached = stored_value(attached, channel.uri)

    async def find_alias(self, uri: str, find: Find) -> AnyChannel | None:
        """Return the chat that a name made up by an editor describes."""
        return await find_named_chat(uri, find)

    def encoder(self) -> ChatEncoder:
        """Make what writes a chat, each of its turns once."""
        return ChatEncoder()

    def snapshot(self, channel: ChatChannel, owner: AnyChannel | None, window: int) -> ChatState:
        """Add the title, which only the session keeps true, and the way to older turns."""
        state = channel.state
        if owner is not None:
            state = {**state, "title": title_of(channel, owner)}
        if window:
            state = {**state, "turnsNextCursor": cursor_before(state["turns"], window)}
        return state

    def follow(
        self, applied: Applied[ChatState], owner: AnyChannel | None
    ) -> Sequence[Consequence]:
        """Keep session, catalogue and turns in step with a chat."""
        return _follow(applied, owner) if owner is not None else ()

    def window(self, state: ChatState, view: Mapping[str, Any]) -> int:
        """Return where the newest turns begin that a subscriber asks for."""
        return first_shown(state["turns"], view.get("turns"))

    def clamp(self, window: int, state: ChatState) -> int:
        """Return a window that does not begin behind the last turn."""
        return min(window, len(state["turns"]))

    def window_resumed(self, channel: ChatChannel, window: int, page: int) -> int:
        """Show the last page of a chat that was cut below the turns that were shown."""
        turns = channel.state["turns"]
        if window < len(turns):
            return window
        return page_start(turn_sizes(channel), len(turns), page)


CHAT = ChatKind()


def _follow(applied: Applied[ChatState], session: AnyChannel) -> Sequence[Consequence]:
    chat, action, before, after = applied.channel, applied.action, applied.before, applied.after
    by_client = applied.dispatch is not None
    follows: list[Consequence] = []
    if action["type"] == "chat/pendingMessageSet" and applied.dispatch is not None:
        author = applied.dispatch.connection.starter
        follows.append(RememberAuthor(chat, action["id"], author))
    if action["type"] in _HAS_MESSAGE:
        follows.append(KeepAttachments(chat, action))
    follows += [Apply(session, each) for each in session_actions(action, after, session.state)]
    for effect in chat_effects(action, before, after, by_client=by_client):
        follows += _carrying_out(effect, applied, session)
    follows.append(ChatChanged(chat))
    if "activeTurn" in before and "activeTurn" not in after:
        follows.append(RefreshGit(session))
    return follows


def _carrying_out(
    effect: Effect, applied: Applied[ChatState], session: AnyChannel
) -> Sequence[Consequence]:
    chat, dispatch = applied.channel, applied.dispatch
    match effect:
        case Effect.START_TURN:
            starter = dispatch.connection.starter if dispatch is not None else applied.starter
            return (TitleFromFirstMessage(chat, session), StartTurn(chat, session, starter))
        case Effect.STOP_TURN:
            return (StopTurn(chat),)
        case Effect.CLEAR_ACTIVITY:
            return (Apply(chat, {"type": "chat/activityChanged"}),)
        case Effect.DROP_STEERING:
            return (DropSteering(chat),)
        case Effect.QUEUE_STEERING:
            return (QueueSteering(chat),)
        case Effect.NEXT_IN_QUEUE:
            return (StartNextQueued(chat),)
