"""A host in this process with named people: owners, operators and viewers with tokens of their own.

The wire clients that ``People.client`` opens come in by those tokens, as anybody would.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from agenthost.host import Gate, Host
from agenthost.host.trust import HostTokens
from agenthost.tokens import BOOK_FILE, OWNER_NAME, Role, TokenBook
from tests.wire.client import WireClient, open_client

__all__ = ["People", "peopled"]

_OWNER_SECRET = "the-owners-token-of-this-test-host"


class People:
    """Who comes to one host, each by a name; somebody not seen before gets a token."""

    def __init__(self, host: Host, url: str, book: TokenBook) -> None:
        self.host = host
        self._url = url
        self._book = book
        self._secrets = {OWNER_NAME: _OWNER_SECRET}

    def url(self, name: str, role: Role = Role.OPERATOR) -> str:
        """Return the URL by which somebody of that name comes in; ``owner`` is the owner."""
        if name not in self._secrets:
            self._secrets[name] = self._book.create(
                name, role, expires=None, now=time.time()
            ).secret
        return f"{self._url}/?tkn={self._secrets[name]}"

    @asynccontextmanager
    async def client(
        self, name: str, role: Role = Role.OPERATOR, *subscriptions: str, version: str = "1.0.0"
    ) -> AsyncIterator[WireClient]:
        """Let somebody in, with the client id ``<name>-client``."""
        async with open_client(self.url(name, role), f"{name}-client", version) as client:
            await client.initialize(*subscriptions)
            yield client


@asynccontextmanager
async def peopled(folder: Path, **options: Any) -> AsyncIterator[People]:
    """Run a host that keeps its tokens in a folder, which is made."""
    book = TokenBook(folder / BOOK_FILE)
    async with Host(**options) as host:
        url = await host.listen(port=0, gate=Gate(HostTokens(_OWNER_SECRET, book)))
        yield People(host, url, book)
