"""What a client holds, held against the truth: fresh snapshots, and the order it was told in."""

from __future__ import annotations

from typing import Any

from tests.wire.client import WireClient

__all__ = ["assert_ascending", "assert_mirrors", "idle", "texts"]

Json = dict[str, Any]


async def assert_mirrors(client: WireClient) -> None:
    """Check that everything a client mirrors equals a fresh snapshot in its own version."""
    for channel in list(client.states):
        held, fresh = await client.compared(channel)
        assert held == fresh, channel


def assert_ascending(client: WireClient) -> None:
    """Check that no envelope of a connection has a number at or below an earlier one's."""
    numbers: list[int] = []
    for message in client.received:
        if message.get("method") == "action":
            numbers.append(message["params"]["serverSeq"])
        elif "result" in message and isinstance(message["result"], dict):
            numbers += [envelope["serverSeq"] for envelope in message["result"].get("actions", ())]
    assert numbers == sorted(set(numbers))


def texts(turn: Json) -> str:
    """Return the markdown of a turn."""
    return "".join(part["content"] for part in turn["responseParts"] if part["kind"] == "markdown")


async def idle(client: WireClient, chat: str) -> Json:
    """Wait until a chat's turn is over, however the client learns of it; return its state."""

    def over() -> Json | None:
        state = client.states[chat]
        return None if "activeTurn" in state else state

    return await client.until(over)
