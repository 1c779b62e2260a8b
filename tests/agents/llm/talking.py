"""A host with one agent and a client in one chat of it: what most tests here need."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from agenthost.agents import Agent
from agenthost.host import Host, Store
from agenthost.protocol.versions import NEWEST
from tests.wire.client import WireClient, open_client, user_message

__all__ = ["SESSION", "Talk", "talk_to"]

Json = dict[str, Any]
SESSION = "ahp-session:/s1"


class Talk:
    """One chat, seen by one client."""

    def __init__(self, client: WireClient, chat: str) -> None:
        self.client = client
        self.chat = chat

    @property
    def state(self) -> Json:
        return self.client.states[self.chat]

    @property
    def last(self) -> Json:
        """The last completed turn."""
        turn: Json = self.state["turns"][-1]
        return turn

    async def start(self, turn_id: str, text: str, **more: Any) -> None:
        action = self.client.turn_started(turn_id, text)
        action["message"] = user_message(text, **more)
        await self.client.accepted(self.chat, action)

    async def say(self, turn_id: str, text: str, **more: Any) -> Json:
        """Run a turn to its end and return it."""
        await self.start(turn_id, text, **more)
        return await self.end(turn_id)

    async def end(self, turn_id: str) -> Json:
        await self.client.turn_end(self.chat, turn_id)
        assert self.last["id"] == turn_id
        return self.last

    async def resume(self, turn_id: str) -> Json:
        """Take a turn up again that failed, run it to its end and return it."""
        before = len(self.client.received)
        await self.client.accepted(self.chat, {"type": "chat/turnResume", "turnId": turn_id})
        endings = ("chat/turnComplete", "chat/turnCancelled", "chat/error")

        def ended() -> Json | None:
            messages = self.client.received[before:]
            actions = (m.get("params", {}).get("action", {}) for m in messages)
            return next((action for action in actions if action.get("type") in endings), None)

        await self.client.until(ended)
        return self.last

    async def cancel(self, turn_id: str) -> None:
        action = {"type": "chat/turnCancelled", "turnId": turn_id, "duration": 1}
        await self.client.accepted(self.chat, action)

    async def steer(self, text: str, **more: Any) -> None:
        set_ = {"type": "chat/pendingMessageSet", "kind": "steering", "id": "steer"}
        await self.client.accepted(self.chat, {**set_, "message": user_message(text, **more)})

    async def call(self, tool: str, status: str) -> Json:
        """Wait until a call of a tool has a status, and return it."""

        def find() -> Json | None:
            active = self.state.get("activeTurn") or {}
            for part in active.get("responseParts", ()):
                call: Json = part.get("toolCall", {})
                if call.get("toolName") == tool and call["status"] == status:
                    return call
            return None

        return await self.client.until(find)

    async def answer(self, turn_id: str, call: Json, approved: bool, **fields: Any) -> None:
        """Approve or deny a tool call."""
        target = {"turnId": turn_id, "toolCallId": call["toolCallId"], "approved": approved}
        reason = {"confirmed": "user-action"} if approved else {"reason": "denied"}
        action = {"type": "chat/toolCallConfirmed", **target, **reason, **fields}
        await self.client.accepted(self.chat, action)


def calls_of(turn: Json) -> list[Json]:
    return [part["toolCall"] for part in turn["responseParts"] if part["kind"] == "toolCall"]


def text_of(turn: Json) -> str:
    parts = turn["responseParts"]
    return "".join(part["content"] for part in parts if part["kind"] == "markdown")


@asynccontextmanager
async def talk_to(
    agent: Agent,
    folder: Path,
    *,
    store: Store | None = None,
    session: str = SESSION,
    **params: Any,
) -> AsyncIterator[Talk]:
    """Run a host for an agent and open a chat with it, in a folder."""
    async with Host([agent], store=store, default_directory=folder) as host:
        url = await host.listen(port=0)
        async with open_client(url, version=NEWEST) as client:
            await client.initialize()
            chat = await client.ready_session(session, provider=agent.provider, **params)
            await client.subscribe(chat)
            yield Talk(client, chat)
