"""The one writer: what it logs, and when that is worth a snapshot."""

from __future__ import annotations

from typing import Any, cast

import pytest

from agenthost.host import Host
from agenthost.host.channels.chat.kind import CHAT as CHAT_KIND
from agenthost.host.log import writer as writer_module
from agenthost.host.log.directory import SMALLEST_TAIL

CHAT = "ahp-chat:/1"
Json = dict[str, Any]


def streaming() -> Json:
    active = {
        "id": "t",
        "startedAt": "2026-01-01T00:00:00.000Z",
        "message": {"text": "Hello", "origin": {"kind": "user"}},
        "responseParts": [{"kind": "markdown", "id": "p", "content": ""}],
    }
    base = {"resource": CHAT, "title": "T", "status": 8, "modifiedAt": "2026", "turns": []}
    return {**base, "activeTurn": active}


def text_of(state: Json) -> str:
    text: str = state["activeTurn"]["responseParts"][0]["content"]
    return text


async def test_a_long_run_of_text_is_stored_as_a_state_every_now_and_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(writer_module, "LONG_TAIL", SMALLEST_TAIL)
    pieces = [f"{number:9},".ljust(100) for number in range(2_000)]
    async with Host() as host:
        core = host.core
        chat = core.directory.create(CHAT, CHAT_KIND, cast(Any, streaming()))
        for piece in pieces:
            action = {"type": "chat/delta", "turnId": "t", "partId": "p", "content": piece}
            assert core.writer.apply(chat, action)
        await core.writer.ledger.settle()
        stored = await core.store.load_channel(CHAT)
        assert stored is not None
        assert 0 < len(stored.tail) < len(pieces) // 2
        # Nobody can tell where the snapshots were taken, in memory or after a restart.
        assert text_of(chat.state) == "".join(pieces)
        core.directory.sweep(-1)
        again = await core.directory.find(CHAT)
        assert again is not None
        assert again is not chat
        assert text_of(again.state) == "".join(pieces)
