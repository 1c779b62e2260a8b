"""What follows from every change: the catalogue, the prompts, the turns.

The observer behind the writer. It decides nothing itself: ``upkeep``, ``effects`` and
``summaries`` plan, this carries out.
"""

from __future__ import annotations

from agenthost.host.channels.chat.effects import Effect, chat_effects
from agenthost.host.channels.chat.lifecycle import ChatRegistry
from agenthost.host.channels.chat.session_updates import session_actions
from agenthost.host.channels.session.active_clients import ActiveClients
from agenthost.host.channels.session.catalogue import SessionCatalogue
from agenthost.host.channels.session.git_metadata import GitMetadata
from agenthost.host.channels.session.summary import leading_chat
from agenthost.host.log.channel import AnyChannel
from agenthost.host.log.directory import Directory
from agenthost.host.log.writer import Applied, Writer
from agenthost.host.turns.runner import TurnRunner


class Reactions:
    """Keeps sessions, catalogue and turns in step with what was applied."""

    def __init__(
        self,
        writer: Writer,
        directory: Directory,
        catalogue: SessionCatalogue,
        chats: ChatRegistry,
        turns: TurnRunner,
        clients: ActiveClients,
        git: GitMetadata,
    ) -> None:
        self._writer = writer
        self._directory = directory
        self._catalogue = catalogue
        self._chats = chats
        self._turns = turns
        self._clients = clients
        self._git = git

    def __call__(self, applied: Applied) -> None:
        """React to one applied action."""
        channel = applied.channel
        owner = self._directory.owner(channel)
        if channel.kind.name == "session":
            self._follow_session(applied, channel)
            self._catalogue.refresh(channel)
            if applied.action["type"] == "session/activeClientRemoved":
                self._clients.fail_calls(applied.action["clientId"], channel)
        elif channel.kind.name == "annotations" and owner is not None:
            self._catalogue.count_annotations(applied, owner)
        elif channel.kind.name == "chat" and owner is not None:
            self._follow_chat(applied, channel, owner)
        self._directory.save_if_due(channel)

    def _follow_session(self, applied: Applied, session: AnyChannel) -> None:
        """Let a session say what the chat is doing that stands for it."""
        lead = leading_chat(applied.after)
        activity = (lead or {}).get("activity")
        if applied.after.get("activity") != activity:
            shown = {"activity": activity} if activity else {}
            self._writer.apply(session, {"type": "session/activityChanged", **shown})

    def _follow_chat(self, applied: Applied, chat: AnyChannel, session: AnyChannel) -> None:
        if applied.action["type"] == "chat/pendingMessageSet" and applied.dispatch is not None:
            author = applied.dispatch.connection.starter
            self._chats.note_author(chat, applied.action["id"], author)
        self._chats.pin(chat, applied.action)
        for action in session_actions(applied.action, applied.after, session.state):
            self._writer.apply(session, action)
        by_client = applied.dispatch is not None
        for effect in chat_effects(
            applied.action, applied.before, applied.after, by_client=by_client
        ):
            self._carry_out(effect, applied, session)
        self._turns.changed(chat)
        if "activeTurn" in applied.before and "activeTurn" not in applied.after:
            self._git.refresh(session)

    def _carry_out(self, effect: Effect, applied: Applied, session: AnyChannel) -> None:
        chat, dispatch = applied.channel, applied.dispatch
        match effect:
            case Effect.START_TURN:
                self._chats.name(chat, session)
                starter = dispatch.connection.starter if dispatch is not None else None
                self._turns.start(chat, session, starter)
            case Effect.STOP_TURN:
                self._turns.stop(chat.uri)
            case Effect.CLEAR_ACTIVITY:
                self._writer.apply(chat, {"type": "chat/activityChanged"})
            case Effect.DROP_STEERING:
                self._chats.drop_steering(chat)
            case Effect.QUEUE_STEERING:
                self._chats.queue_steering(chat)
            case Effect.NEXT_IN_QUEUE:
                self._chats.start_next(chat)
