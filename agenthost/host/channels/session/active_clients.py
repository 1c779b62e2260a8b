"""Active clients: who runs tools in which session, and what becomes of them when one is away.

Owns the grace after which an absent client stops counting as active, and how the tool calls end
that it was to run.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from agenthost.host.channels.chat.consequences import FailCall
from agenthost.host.channels.chat.extra import ChatChannel
from agenthost.host.channels.chat.kind import CHAT
from agenthost.host.channels.session.consequences import AwaitClients, FailCallsOf
from agenthost.host.channels.session.kind import SESSION
from agenthost.host.clients.client_records import Clients
from agenthost.host.log.directory import Directory
from agenthost.host.log.effects import Effects
from agenthost.host.log.writer import Writer
from agenthost.protocol.chat.parts import tool_calls
from agenthost.protocol.markdown import markdown_of

if TYPE_CHECKING:
    from agenthost.protocol.chat.tool_state import ToolCallState
    from agenthost.protocol.common import StringOrMarkdown

# Seconds that an active client may be away before its tools are taken off its sessions.
ACTIVE_GRACE = 30.0
# Statuses in which a tool call still waits for its owner.
_UNFINISHED = ("streaming", "pending-confirmation", "running")


class ActiveClients:
    """Takes clients that stay away off the sessions that they were active in."""

    def __init__(
        self,
        clients: Clients,
        writer: Writer,
        directory: Directory,
        effects: Effects,
        grace: float = ACTIVE_GRACE,
    ) -> None:
        self._clients = clients
        self._writer = writer
        self._directory = directory
        self._grace = grace
        # Clients that are away and still count as active, until the timer fires.
        self._leaving: dict[str, asyncio.TimerHandle] = {}
        effects.on(AwaitClients, self._await)
        effects.on(FailCall, lambda e: self._fail_call(e.chat, e.call, e.message, e.code))
        effects.on(FailCallsOf, self._fail_calls_of)

    def close(self) -> None:
        """Stop all timers."""
        for timer in self._leaving.values():
            timer.cancel()
        self._leaving.clear()

    def arrived(self, client_id: str) -> None:
        """Note that a client is here."""
        timer = self._leaving.pop(client_id, None)
        if timer is not None:
            timer.cancel()

    def left(self, client_id: str) -> None:
        """Note that a client is gone; it has some time to come back."""
        if client_id not in self._leaving:
            loop = asyncio.get_running_loop()
            self._leaving[client_id] = loop.call_later(self._grace, self._expire, client_id)

    def _fail_calls_of(self, effect: FailCallsOf) -> None:
        for chat in self._directory.loaded(CHAT):
            if chat.session == effect.session.uri:
                self._fail_calls(effect.client_id, chat)

    def _fail_call(
        self, chat: ChatChannel, call: ToolCallState, message: StringOrMarkdown, code: str
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

    def _await(self, effect: AwaitClients) -> None:
        for client_id in effect.clients:
            if not self._clients.is_here(client_id):
                self.left(client_id)

    def _expire(self, client_id: str) -> None:
        self._leaving.pop(client_id, None)
        if not self._clients.is_here(client_id):
            for session in self._directory.loaded(SESSION):
                removed = {"type": "session/activeClientRemoved", "clientId": client_id}
                self._writer.apply(session, removed)

    def _fail_calls(self, client_id: str, chat: ChatChannel) -> None:
        for call in tool_calls(chat.state.get("activeTurn")):
            contributor = call.get("contributor")
            is_theirs = contributor is not None and contributor.get("clientId") == client_id
            if is_theirs and call["status"] in _UNFINISHED:
                self._fail_call(chat, call, "the client that runs this tool left", "clientLeft")
