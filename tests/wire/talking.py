"""People at a chat: clients of several versions that see its prompts, and answer them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from agenthost.protocol import SUPPORTED_VERSIONS
from tests.wire.client import ACTIVITY, WireClient, open_client
from tests.wire.wording import turn_cancelled

__all__ = [
    "ACTIVITY",
    "ERROR",
    "IDLE",
    "INPUT_NEEDED",
    "IN_PROGRESS",
    "NEWEST",
    "OLDEST",
    "Chat",
    "at_chat",
    "call_in",
    "calls_of",
    "cancelled",
    "completed",
    "confirmed",
    "input_completed",
    "parts_of",
    "request_in",
    "result_confirmed",
    "said",
    "submitted",
]

NEWEST, OLDEST = SUPPORTED_VERSIONS[0], SUPPORTED_VERSIONS[-1]
IDLE, ERROR, IN_PROGRESS, INPUT_NEEDED = 1, 2, 8, 24

Json = dict[str, Any]


@dataclass
class Chat:
    """One chat of a session of its own, and the clients that follow both."""

    uri: str
    session: str
    clients: list[WireClient]

    @property
    def client(self) -> WireClient:
        """The client that made the session; it speaks the newest version."""
        return self.clients[0]

    @property
    def state(self) -> Json:
        return self.client.states[self.uri]

    @property
    def waiting(self) -> list[Json]:
        """What the session says that somebody must see to."""
        needed: list[Json] = self.client.states[self.session].get("inputNeeded", [])
        return needed

    async def start(self, turn_id: str, text: str) -> None:
        envelope = await self.client.start_turn(self.uri, turn_id, text)
        assert "rejectionReason" not in envelope, envelope["rejectionReason"]

    async def run(self, turn_id: str, text: str) -> Json:
        """Run a turn that needs nobody, and return it as the chat keeps it."""
        await self.start(turn_id, text)
        return await self.end(turn_id)

    async def end(self, turn_id: str) -> Json:
        """Wait until every client has seen a turn end; return it as the chat keeps it."""
        for client in self.clients:
            await client.turn_end(self.uri, turn_id)
        turn: Json = self.state["turns"][-1]
        assert turn["id"] == turn_id
        return turn

    async def cancel(self, turn_id: str, client: WireClient | None = None) -> None:
        client = client or self.client
        await client.accepted(self.uri, cancelled(client, turn_id))

    async def answer(self, action: Json, client: WireClient | None = None) -> Json:
        """Dispatch an action that must be accepted."""
        return await (client or self.client).accepted(self.uri, action)

    async def assert_at_rest(self) -> None:
        """Nothing is left over: no turn, no prompt, an idle session, and everybody agrees."""
        await self.client.ping()
        assert "activeTurn" not in self.state
        assert self.state["status"] & ACTIVITY == IDLE
        assert self.waiting == []
        assert await self.status() == IDLE
        assert (await self.client.fresh(self.session))["status"] & ACTIVITY == IDLE
        await self.assert_agreed()

    async def assert_agreed(self) -> None:
        """Every client holds what a fresh snapshot would give it."""
        for client in self.clients:
            mirrored, fresh = await client.compared(self.uri)
            assert mirrored == fresh
            mirrored, fresh = await client.compared(self.session)
            assert mirrored == fresh

    async def status(self) -> int:
        """Return what the catalogue says the session is doing."""
        items = (await self.client.request("listSessions"))["items"]
        summary = next(item for item in items if item["resource"] == self.session)
        return int(summary["status"]) & ACTIVITY


@asynccontextmanager
async def at_chat(
    url: str, name: str, *versions: str, locale: str | None = None, **session: Any
) -> AsyncIterator[Chat]:
    """Open a session, and clients that follow it: one of the newest version, and those named.

    ``session`` is what ``createSession`` is asked for besides.
    """
    uri = f"ahp-session:/{quote(name)}"
    async with AsyncExitStack() as stack:
        clients = [
            await stack.enter_async_context(open_client(url, f"{name} {number}", version))
            for number, version in enumerate((NEWEST, *versions))
        ]
        for client in clients:
            await client.initialize(**({"locale": locale} if locale is not None else {}))
        chat = await clients[0].ready_session(uri, **session)
        for client in clients:
            await client.subscribe(uri)
            await client.subscribe(chat)
        yield Chat(chat, uri, clients)


def parts_of(state: Json, kind: str) -> list[Json]:
    """Return the parts of the running turn that are of a kind."""
    active = state.get("activeTurn") or {"responseParts": []}
    return [part for part in active["responseParts"] if part["kind"] == kind]


def calls_of(turn: Json) -> list[Json]:
    """Return the tool calls of a turn."""
    return [part["toolCall"] for part in turn["responseParts"] if part["kind"] == "toolCall"]


def said(turn: Json) -> str:
    """Return the markdown of a turn."""
    return "".join(part["content"] for part in turn["responseParts"] if part["kind"] == "markdown")


async def call_in(client: WireClient, chat: str, status: str, **fields: Any) -> Json:
    """Wait until a client sees a tool call of the running turn in a status, with these fields."""
    wanted = {"status": status, **fields}

    def find() -> Json | None:
        calls = (part["toolCall"] for part in parts_of(client.states[chat], "toolCall"))
        return next((c for c in calls if {key: c.get(key) for key in wanted} == wanted), None)

    return await client.until(find)


async def request_in(client: WireClient, chat: str) -> Json:
    """Wait until a client sees an open input request, wherever its version keeps it."""

    def find() -> Json | None:
        state = client.states[chat]
        parts = parts_of(state, "inputRequest")
        live = [part["request"] for part in parts if "response" not in part]
        return next(iter([*live, *state.get("inputRequests", [])]), None)

    return await client.until(find)


def cancelled(client: WireClient, turn_id: str) -> Json:
    """Return the action that cancels a turn, as the client's version spells it."""
    return turn_cancelled(client.version, turn_id)


def _target(turn_id: str, call: Json) -> Json:
    return {"turnId": turn_id, "toolCallId": call["toolCallId"]}


def confirmed(turn_id: str, call: Json, approved: bool, **more: Any) -> Json:
    """Return the answer to a tool call that asks first."""
    said = {"confirmed": "user-action"} if approved else {"reason": "denied"}
    action = {"type": "chat/toolCallConfirmed", **_target(turn_id, call)}
    return {**action, "approved": approved, **said, **more}


def completed(turn_id: str, call: Json, success: bool = True, **more: Any) -> Json:
    """Return what ends a tool call that a client runs."""
    result: Json = {"success": success, "pastTenseMessage": "did it" if success else "failed"}
    if not success:
        result["error"] = {"message": "it did not work"}
    result |= more.pop("result", {})
    return {"type": "chat/toolCallComplete", **_target(turn_id, call), "result": result, **more}


def result_confirmed(turn_id: str, call: Json, approved: bool) -> Json:
    """Return the answer to a tool call whose result is reviewed."""
    return {
        "type": "chat/toolCallResultConfirmed",
        **_target(turn_id, call),
        "approved": approved,
    }


def input_completed(request: Json, answers: Json | None = None, response: str = "accept") -> Json:
    """Return what ends an input request."""
    action = {"type": "chat/inputCompleted", "requestId": request["id"], "response": response}
    return {**action, "answers": answers} if answers else action


def submitted(kind: str, value: Any, **more: Any) -> Json:
    """Return a submitted answer."""
    return {"state": "submitted", "value": {"kind": kind, "value": value, **more}}
