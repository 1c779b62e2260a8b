"""Somebody at work beside a stranger who misbehaves: the worker must notice nothing of it."""

from __future__ import annotations

import itertools
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from agenthost.protocol import SUPPORTED_VERSIONS
from agenthost.protocol.reducer_registry import kind_of
from agenthost.protocol.schema.unions import tags_of
from tests.protocol.refusals import ACTIONS
from tests.protocol.wire_samples import Place, changed, places, removed
from tests.wire.client import WireClient, open_client
from tests.wire.hosting import ServedHost, serve

__all__ = [
    "NEWEST",
    "OLDEST",
    "ROOT",
    "Scene",
    "call",
    "error_of",
    "faults",
    "is_json",
    "numbers",
    "undisturbed",
    "unharmed",
]

ROOT = "ahp-root://"
NEWEST, OLDEST = SUPPORTED_VERSIONS[0], SUPPORTED_VERSIONS[-1]

Json = dict[str, Any]


@asynccontextmanager
async def unharmed(data_dir: Path) -> AsyncIterator[ServedHost]:
    """Run one talkative host, which must come through everything without a traceback."""
    async with serve(data_dir, "-v") as served:
        async with open_client(served.url, "first") as client:
            await client.initialize()
            await client.ready_session("ahp-session:/first")
        yield served
        await stops_unharmed(served)
        await served.start()
        await holds_what_it_held(served)
        await stops_unharmed(served)


async def stops_unharmed(host: ServedHost) -> None:
    assert await host.stop() == 0
    assert "Traceback" not in host.output, host.output[-4000:]
    assert " ERROR " not in host.output


async def holds_what_it_held(host: ServedHost) -> None:
    """See that nothing got into the store that cannot be read again."""
    async with open_client(host.url, "reader") as client:
        await client.initialize()
        sessions = (await client.request("listSessions"))["items"]
        assert sessions
        for summary in sessions:
            state = await client.subscribe(summary["resource"])
            for chat in state["chats"]:
                await client.subscribe(chat["resource"])


@dataclass
class Scene:
    """A stranger next to somebody at work."""

    host: ServedHost
    # Connected, and not initialized.
    stranger: WireClient
    witness: WireClient
    session: str
    chat: str

    @property
    def channels(self) -> dict[str, str]:
        """Where actions of each kind belong; what has no channel here is tried on the chat."""
        kinds = {kind_of(str(tags_of(action, "type")[0])) or "" for action in ACTIONS.values()}
        notes = f"{self.session}/annotations"
        own = {"root": ROOT, "session": self.session, "chat": self.chat, "annotations": notes}
        return {**dict.fromkeys(kinds, self.chat), **own}


numbers = itertools.count(1)


@asynccontextmanager
async def undisturbed(host: ServedHost, version: str = NEWEST) -> AsyncIterator[Scene]:
    """Give a scene, and see that its witness notices nothing and that all works afterwards."""
    number = next(numbers)
    # No name is a part of another.
    session = f"ahp-session:/bad-input-{number:05}"
    async with (
        open_client(host.url, f"witness {number}") as witness,
        open_client(host.url, f"stranger {number}", version) as stranger,
    ):
        await witness.initialize(ROOT)
        chat = await witness.ready_session(session)
        scene = Scene(host, stranger, witness, session, chat)
        for channel in (chat, scene.channels["annotations"]):
            await witness.subscribe(channel)
        await witness.run_turn(chat, "before", "hello")
        await witness.ping()
        seen = len(witness.received)
        yield scene
        await witness.ping()
        noticed = [message for message in witness.received[seen:] if concerns(message, session)]
        assert noticed[:-1] == []
        await works_as_before(scene, number)


def concerns(message: Json, session: str) -> bool:
    """Say whether a message is more than the news of another session, or of the host's settings."""
    action = message.get("params", {}).get("action", {})
    is_news = message.get("method", "").startswith("root/") or action.get("type") in (
        "root/activeSessionsChanged",
        "root/configChanged",
    )
    return not is_news or session in json.dumps(message)


async def works_as_before(scene: Scene, number: int) -> None:
    async with open_client(scene.host.url, f"friend {number}") as friend:
        await friend.initialize(scene.chat)
        await friend.run_turn(scene.chat, "after", "and again")
    witness = scene.witness
    await witness.turn_end(scene.chat, "after")
    mirrored, fresh = await witness.compared(scene.chat)
    assert mirrored == fresh
    assert [turn["id"] for turn in witness.states[scene.chat]["turns"]] == ["before", "after"]


def error_of(answer: Json) -> tuple[int, str]:
    assert "result" not in answer, answer
    return answer["error"]["code"], answer["error"]["message"]


def call(id: Any, method: str, params: Any) -> str:
    # Not orjson, which would not write what must not be sent.
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params})


def is_json(frame: str) -> bool:
    try:
        orjson.loads(frame)
    except orjson.JSONDecodeError:
        return False
    return True


def faults(params: Json, wire_type: Any, seen: set[tuple[str, str]]) -> Iterator[tuple[Place, Any]]:
    """Yield the params with each field wrong in each way, each field of each type once."""
    for place in places(params, wire_type):
        key = (place.path, str(place.wire_type))
        if key not in seen:
            seen.add(key)
            for bad in place.wrong:
                yield place, changed(params, place.location, bad)
            if place.is_required:
                yield place, removed(params, place.location)
