"""The chat kind of channel: what is particular to chats."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from agenthost.host.channels.chat import question_answers
from agenthost.host.channels.chat.authors import read_authors
from agenthost.host.channels.chat.consequences import (
    FailCall,
    RenameChat,
    ShowAttached,
    ShowTurn,
    consequences,
)
from agenthost.host.channels.chat.encoded_turns import ChatEncoder
from agenthost.host.channels.chat.extra import (
    ATTACHED,
    AUTHORS,
    CONTEXTS,
    ChatChannel,
    ChatExtra,
    extra_of,
    turn_sizes,
)
from agenthost.host.channels.chat.rules import find_call
from agenthost.host.channels.chat.uri_aliases import find_named_chat
from agenthost.host.channels.chat.window import cursor_before, first_shown, page_start
from agenthost.host.channels.ruled_kind import Gathered, RuledKind
from agenthost.host.channels.session.kind import extra_of as session_extra
from agenthost.host.channels.timestamps import is_off
from agenthost.host.channels.titles import title_of
from agenthost.host.log.channel import AnyChannel, OwnerChannel
from agenthost.host.log.effects import Apply, Consequence
from agenthost.host.log.kind import Applied, Find, PreparedAction, Surroundings
from agenthost.host.log.stored_values import stored_value

if TYPE_CHECKING:
    from agenthost.host.store import WholeChannel
    from agenthost.protocol.chat.state import ChatState
    from agenthost.protocol.commands import SubscribeView
    from agenthost.protocol.common import Action


# The session's action by which editors rename a chat, on the chat's own channel.
RENAME = "session/titleChanged"
# How far a client's clock may be off the host's.
MOST_OFF = timedelta(minutes=5)
# Milliseconds that a client may find a turn to have taken longer than the host does.
MOST_TOO_LONG = 1000
# Seconds that a message waits for the custom agents of a session that was just opened.
AGENTS_SECONDS = 2.0


class ChatKind(RuledKind["ChatState"]):
    """Chat channels."""

    name = "chat"
    cuts = frozenset({"chat/truncated", "chat/turnResume"})
    buckets = (CONTEXTS, ATTACHED, AUTHORS)

    def extra(self) -> ChatExtra:
        """Make what a chat keeps besides its state."""
        return ChatExtra()

    def restore(self, channel: ChatChannel, whole: WholeChannel) -> None:
        """Take up what a chat's agent knows and the chat does not show, and who wrote what."""
        extra = extra_of(channel)
        context = whole.records.get(CONTEXTS)
        if context is not None:
            extra.context = stored_value(context, channel.uri)
        attached = whole.records.get(ATTACHED)
        if attached is not None:
            extra.attached = stored_value(attached, channel.uri)
        authors = whole.records.get(AUTHORS)
        if authors is not None:
            extra.authors = read_authors(stored_value(authors, channel.uri))

    def loaded(self, channel: ChatChannel) -> Sequence[Consequence]:
        """Take off the list what ran beside the chat: it ended with the host that ran it."""
        works = channel.state.get("backgroundWork") or ()
        removed = {"type": "chat/backgroundWorkRemoved"}
        return [Apply(channel, {**removed, "id": work["id"]}) for work in works]

    async def find_alias(self, uri: str, find: Find) -> AnyChannel | None:
        """Return the chat that a name made up by an editor describes."""
        return await find_named_chat(uri, find)

    def encoder(self) -> ChatEncoder:
        """Make what writes a chat, each of its turns once."""
        return ChatEncoder()

    def snapshot(self, channel: ChatChannel, owner: OwnerChannel | None, window: int) -> ChatState:
        """Add what only the session keeps true, and the way to older turns."""
        state = channel.state
        if owner is not None:
            state = {**state, "title": title_of(channel, owner)}
            for entry in owner.state["chats"]:
                if entry["resource"] == channel.uri and "changes" in entry:
                    state = {**state, "changes": entry["changes"]}
        if window:
            state = {**state, "turnsNextCursor": cursor_before(state["turns"], window)}
        return state

    def judged_on(self, channel: ChatChannel, owner: OwnerChannel | None, type: str) -> AnyChannel:
        """Let the session decide on its own action, by which editors rename a chat."""
        return owner if owner is not None and type == RENAME else channel

    async def gather(
        self,
        channel: ChatChannel,
        owner: OwnerChannel | None,
        action: Action,
        around: Surroundings,
    ) -> Gathered:
        """Gather what the rules need to know: which custom agents there are, for one."""
        if owner is not None and (action.get("message") or {}).get("agent") is not None:
            known = session_extra(owner).customizations_read
            # Whoever is so fast that they are not known is told that there are none.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(AGENTS_SECONDS):
                    await known.wait()
        return await super().gather(channel, owner, action, around)

    def needs_agent(self, action: Action) -> bool:
        """Say whether an action makes the agent work, now or as soon as it has time."""
        queues = action["type"] == "chat/pendingMessageSet" and action["kind"] == "queued"
        return bool(queues or action["type"] in ("chat/turnStarted", "chat/turnResume"))

    def why_no_agent(self, session: OwnerChannel) -> str | None:
        """Return why the agent of a session cannot work here, or None."""
        why = session_extra(session).why_no_turns
        return why() if why is not None else None

    def understood(self, state: ChatState, action: Action) -> Action:
        """Return an action with its answers as the questions mean them."""
        is_answered = action["type"] in question_answers.RULES
        return question_answers.read_answers(state, action) if is_answered else action

    def prepare(
        self,
        channel: ChatChannel,
        owner: OwnerChannel | None,
        action: Action,
        as_sent: Action,
        now: str,
    ) -> PreparedAction:
        """Make of a client's action what is to be applied to a chat."""
        if action["type"] == RENAME and owner is not None:
            return PreparedAction(None, (RenameChat(channel, owner, action["title"]),))
        first: list[Consequence] = []
        if action["type"] == "chat/truncated" and "turnId" in action:
            first.append(ShowTurn(channel, action["turnId"]))
        if action["type"] == "chat/turnResume":
            # Older versions are told to go back to the turn before, which they must hold.
            first += [ShowTurn(channel, turn["id"]) for turn in channel.state["turns"][-2:][:1]]
        if (action.get("message") or {}).get("attachments"):
            first.append(ShowAttached(action["message"]))
        if action["type"] == "chat/toolCallConfirmed" and not action["approved"]:
            call = find_call(channel.state, action)
            if call is not None and call["status"] == "running":
                # No denial changes a call that runs, so its owner's is carried out as a failure.
                reason = action.get("reasonMessage") or "the client does not run this tool"
                return PreparedAction(None, (*first, FailCall(channel, call, reason, "denied")))
        understood = _timed(channel, self.understood(channel.state, action), now)
        rewritten = understood is not action
        if action["type"] == "chat/turnCancelled" and "duration" not in as_sent:
            # Only the host can measure it for clients that do not send it.
            understood = {**understood, "duration": extra_of(channel).elapsed()}
        return PreparedAction(understood, first, rewritten=rewritten)

    def follow(
        self, applied: Applied[ChatState], owner: OwnerChannel | None
    ) -> Sequence[Consequence]:
        """Keep session, catalogue and turns in step with a chat."""
        return consequences(applied, owner) if owner is not None else ()

    def window(self, state: ChatState, view: SubscribeView) -> int:
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


def _timed(chat: ChatChannel, action: Action, now: str) -> Action:
    """Return a client's action with times that can be true: they say when the chat was modified."""
    if action["type"] == "chat/turnStarted" and is_off(action["startedAt"], now, MOST_OFF):
        return {**action, "startedAt": now}
    if action["type"] == "chat/turnCancelled":
        elapsed = extra_of(chat).elapsed()
        if action["duration"] > elapsed + MOST_TOO_LONG:
            return {**action, "duration": elapsed}
    return action
