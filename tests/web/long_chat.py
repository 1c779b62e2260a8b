"""A chat of thousands of turns, written into a host's store while no host runs."""

from __future__ import annotations

from pathlib import Path

import orjson

from agenthost.cli.data_dir import STORE_FILE
from agenthost.host.store import SaveSnapshot, SqliteStore

__all__ = ["prolong"]


async def prolong(data_dir: Path, chat: str, turns: int) -> None:
    """Give a chat as many turns, numbered, in place of those it has."""
    async with SqliteStore(data_dir / STORE_FILE) as store:
        stored = await store.load_channel(chat)
        assert stored is not None
        assert not stored.tail, "the host was not stopped in order"
        state = orjson.loads(stored.state)
        state["turns"] = [_turn(state["turns"][-1], number) for number in range(turns)]
        saved = SaveSnapshot(chat, stored.kind, stored.seq, orjson.dumps(state))
        await store.write(saved)
        await store.seal(store.last_seq)


def _turn(pattern: dict[str, object], number: int) -> dict[str, object]:
    """Return a turn like another, as long as real ones are: some short, some of many lines."""
    lines = [f"Answer {number}, line {line}: lorem ipsum dolor." for line in range(number % 7 + 1)]
    part = {"kind": "markdown", "id": f"p{number}", "content": "\n\n".join(lines)}
    message = {"text": f"Question {number}", "origin": {"kind": "user"}}
    return {**pattern, "id": f"turn-{number}", "message": message, "responseParts": [part]}
