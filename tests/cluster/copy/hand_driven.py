"""A realm in memory, driven by hand."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from agenthost.cluster.commits import Commit, Own, RealmWrite, encode_commit
from agenthost.cluster.copy.source import CopyFailed, LogState
from agenthost.host.store import Append, PutRecord, SaveSnapshot

NOW = "2026-01-01T00:00:00.000Z"


@dataclass
class Message:
    seq: int
    body: bytes


class HandDrivenRealm:
    """A log, and bases; stands in for the source of a copy."""

    def __init__(self, folder: Path, first: int = 1) -> None:
        self._folder = folder
        self.first = self.began = first
        self.identity = "log made on Monday"
        self.messages: dict[int, bytes] = {}
        self.last = first - 1
        self._more = asyncio.Event()
        self._ids = count()
        # For how many seconds the log has not been heard.
        self.silence = 0.0
        # Runs once, when somebody has asked where the log stands, or has fetched a base.
        self.when_asked: Callable[[], Awaitable[None]] | None = None
        self.when_fetched: Callable[[], Awaitable[None]] | None = None

    def append(self, unit: str, *writes: RealmWrite, node: str = "a") -> int:
        """Append a commit; returns its last message."""
        for body in encode_commit(Commit(f"c{next(self._ids)}", unit, node, writes)):
            self.append_body(body)
        return self.last

    def append_body(self, body: bytes) -> int:
        self.last += 1
        self.messages[self.last] = body
        more, self._more = self._more, asyncio.Event()
        more.set()
        return self.last

    # What the copy asks.

    def feed(self, after: int) -> HandDrivenFeed:
        return HandDrivenFeed(self, after)

    async def state(self) -> LogState:
        size = 100 * len(self.messages)
        state = LogState(self.first, self.last, self.identity, self.began, size)
        meanwhile, self.when_asked = self.when_asked, None
        if meanwhile is not None:
            await meanwhile()
        return state

    async def purge_before(self, message: int) -> None:
        for seq in range(self.first, message):
            del self.messages[seq]
        self.first = message

    async def put_base(self, name: str, file: Path) -> None:
        assert not (self._folder / name).exists()
        shutil.copy(file, self._folder / name)

    async def base_names(self) -> list[str]:
        return [file.name for file in self._folder.glob("base-*")]

    async def fetch_base(self, name: str, file: Path) -> None:
        try:
            shutil.copy(self._folder / name, file)
        except FileNotFoundError:
            raise CopyFailed("it is gone") from None
        meanwhile, self.when_fetched = self.when_fetched, None
        if meanwhile is not None:
            await meanwhile()

    async def drop_base(self, name: str) -> None:
        (self._folder / name).unlink()


class HandDrivenFeed:
    def __init__(self, realm: HandDrivenRealm, after: int) -> None:
        self._realm, self._after = realm, after

    @property
    def heard_at(self) -> float:
        return time.monotonic() - self._realm.silence

    async def close(self) -> None:
        pass

    async def __aiter__(self) -> AsyncIterator[Message]:
        while True:
            while self._after >= self._realm.last:
                await self._realm._more.wait()
            self._after = max(self._after + 1, self._realm.first)
            yield Message(self._after, self._realm.messages[self._after])


def created(session: str, chat: str, node: str = "a") -> tuple[RealmWrite, ...]:
    """What the beginning of a session with a chat looks like."""
    return (
        Own(node),
        SaveSnapshot(session, "session", 0, b'{"chats":[]}'),
        SaveSnapshot(chat, "chat", 0, EMPTY_CHAT),
        PutRecord("owners", chat, session.encode()),
    )


EMPTY_CHAT = b'{"resource":"chat:/1","title":"t","status":1,"modifiedAt":"x","turns":[]}'


def said(channel: str, text: str) -> Append:
    """An entry of a chat's log: its title becomes a text."""
    action = b'{"type":"chat/draftChanged","draft":{"text":"%s"}}' % text.encode()
    return Append(0, channel, NOW, action)
