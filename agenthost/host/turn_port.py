"""A running turn: the port through which its agent acts on the chat, and waits for people."""

from __future__ import annotations

import asyncio
import hashlib
import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from agenthost.agents.api import AgentError
from agenthost.agents.port import Interactivity, Worker
from agenthost.host.attached import given_message
from agenthost.host.channel import Channel
from agenthost.host.store import PutBlob
from agenthost.protocol.uris import content_uri

if TYPE_CHECKING:
    from agenthost.host.turns import Starter, TurnRunner

__all__ = ["RunningTurn"]

_T = TypeVar("_T")

# Log entries under way at which a producer waits for the disk.
MOST_UNSTORED = 512
# Workers that start workers end somewhere.
DEEPEST_WORKER = 4


class RunningTurn:
    """One active turn and its task."""

    def __init__(
        self,
        runner: TurnRunner,
        channel: Channel,
        session: Channel,
        *,
        turn_id: str,
        starter: Starter,
    ) -> None:
        self._runner = runner
        self.channel = channel
        self.session = session
        self.turn_id = turn_id
        self.starter = starter
        self.started = runner.clock.monotonic()
        self.task: asyncio.Task[None] | None = None

    @property
    def duration(self) -> int:
        """Milliseconds since the turn started, by this host's own clock."""
        return max(0, round((self._runner.clock.monotonic() - self.started) * 1000))

    @property
    def state(self) -> Mapping[str, Any]:
        """The chat's current state."""
        return self.channel.state

    @property
    def session_state(self) -> Mapping[str, Any]:
        """The current state of the session that the chat belongs to."""
        return self.session.state

    @property
    def locale(self) -> str | None:
        """The language of the client that started the turn."""
        return self.starter.locale

    @property
    def client(self) -> str | None:
        """The id of the client that started the turn."""
        return self.starter.client_id

    @property
    def prompt_timeout(self) -> float | None:
        """Seconds after which a question that nobody answers is given up."""
        return self._runner.prompt_timeout

    @property
    def can_show_reviews(self) -> bool:
        """Whether somebody could be shown a result and asked; who comes later may be able to."""
        attached = self.channel.subscriptions
        return not attached or any(connection.can_show_reviews for connection in attached)

    def emit(self, action: dict[str, Any]) -> None:
        """Apply an action to the chat; a turn that is over can do nothing any more."""
        if self._runner.is_active(self):
            self._runner.writer.apply(self.channel, action)

    def show_activity(self, activity: str | None) -> None:
        """Say what the turn is doing, in a few words; None for nothing in particular."""
        shown = {"activity": activity} if activity is not None else {}
        self.emit({"type": "chat/activityChanged", **shown})

    async def flow(self) -> None:
        """Wait while the store is behind; there is no going on in a turn that is over."""
        if not self._runner.is_active(self):
            raise asyncio.CancelledError("the turn is over")
        ledger = self._runner.writer.ledger
        if ledger.backlog >= MOST_UNSTORED:
            await ledger.settle()

    async def wait_for(self, look: Callable[[Mapping[str, Any]], _T | None]) -> _T:
        """Wait until looking at the chat's state finds something."""

        def look_while_active(state: Mapping[str, Any]) -> tuple[_T | None] | None:
            if not self._runner.is_active(self):
                return (None,)
            seen = look(state)
            return (seen,) if seen is not None else None

        (found,) = await self._runner.wait_for(self.channel, look_while_active)
        if found is None:
            raise asyncio.CancelledError("the turn is over")
        return found

    async def next_steering(self) -> Mapping[str, Any]:
        """Wait for a steering message, take it off the chat, and return it."""
        pending = await self.wait_for(lambda state: state.get("steeringMessage"))
        removed = {"type": "chat/pendingMessageRemoved", "kind": "steering", "id": pending["id"]}
        self.emit(removed)
        return given_message(self.channel, pending["id"], pending["message"], pending=True)

    def new_id(self, prefix: str) -> str:
        """Return an id that is unique in this chat."""
        return f"{prefix}-{uuid.uuid4().hex[:12]}"

    async def store_content(self, data: bytes, content_type: str | None) -> dict[str, Any]:
        """Keep content outside of the state and return a ContentRef to it."""
        uri = content_uri(str(uuid.uuid4()))
        ledger = self._runner.writer.ledger
        ledger.write(PutBlob(uri, self.session.uri, content_type, data))
        # Whoever reads the reference must find the content.
        await ledger.settle()
        nonce = hashlib.sha256(data).hexdigest()[:16]
        ref: dict[str, Any] = {"uri": uri, "sizeHint": len(data), "nonce": nonce}
        return ref if content_type is None else {**ref, "contentType": content_type}

    async def run_worker(
        self,
        text: str,
        *,
        title: str,
        tool_call_id: str,
        interactivity: Interactivity,
        announce: Callable[[str], None],
    ) -> Worker:
        """Let the same agent answer ``text`` in a chat of its own; ``announce`` gets its URI."""
        if self.starter.depth >= DEEPEST_WORKER:
            raise AgentError("workers may not start workers any deeper", "tooDeep")
        origin = {"kind": "tool", "chat": self.channel.uri, "toolCallId": tool_call_id}
        chat = self._runner.open_worker(self.session, origin, title, interactivity)
        announce(chat.uri)
        message = {"text": text, "origin": {"kind": "tool"}}
        starter = replace(self.starter, depth=self.starter.depth + 1)
        self._runner.begin_turn(chat, message, starter)
        try:
            # Its last state is all there is when the chat is removed over its turn.
            state = await self._runner.wait_for(
                chat, lambda state: None if self._runner.works_on(chat) else state
            )
        finally:
            if self._runner.works_on(chat):
                self._runner.cancel(chat)
        return _outcome(chat.uri, state)

    def is_allowed(self, tool: str) -> bool:
        """Say whether somebody allowed this tool for the whole session."""
        return self._runner.permissions.is_allowed(self.session.uri, tool)

    def allow(self, tool: str) -> None:
        """Remember that this tool is allowed in the whole session."""
        self._runner.permissions.allow(self.session.uri, tool)

    def credential(self, resource: str) -> str | None:
        """Return the token that a client brought for a protected resource."""
        return self._runner.credentials.get(self.starter.principal, resource)

    def reject_credential(self, resource: str) -> None:
        """Forget a token that no longer works, and ask whoever brought it for another."""
        principal = self.starter.principal
        self._runner.credentials.drop(principal, resource)
        theirs = frozenset(c for c in self.channel.subscriptions if c.principal.name == principal)
        params = {"resource": resource, "reason": "expired"}
        self._runner.writer.notify(self.channel, "auth/required", params, only=theirs)


def _outcome(chat: str, state: Mapping[str, Any]) -> Worker:
    """Say how a worker's only turn ended; people may have taken it away instead."""
    if state.get("activeTurn") is not None or not state["turns"]:
        return Worker(chat, "", "cancelled", "the worker's turn was removed")
    turn = state["turns"][-1]
    error = (turn.get("error") or {}).get("message")
    return Worker(chat, _written(turn), turn["state"], error)


def _written(turn: Mapping[str, Any]) -> str:
    parts = turn["responseParts"]
    return "".join(part["content"] for part in parts if part.get("kind") == "markdown")
