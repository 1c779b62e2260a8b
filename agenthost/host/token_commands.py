"""Named tokens by the wire: owners make, list and revoke them while the host runs.

Owns the three methods. The book's format and rules are ``agenthost.tokens``'; that somebody whose
token was revoked is sent away is the host's own doing, within seconds.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar

from agenthost.errors import AgentHostError, AlreadyExists, InternalError, InvalidParams, NotFound
from agenthost.host.channels.timestamps import read_instant
from agenthost.host.clients.methods import handles
from agenthost.tokens import NewToken, Role, TokenBook, TokenEntry, TokenError, check_name
from agenthost.tokens.files import TokenFileError

if TYPE_CHECKING:
    from agenthost.host.clients.connection import Connection
    from agenthost.protocol.common import JsonObject
    from agenthost.protocol.own_commands import CreateTokenResult, ListTokensResult, TokenInfo

_T = TypeVar("_T")


class NamedTokens:
    """The book of named tokens, edited beside the event loop."""

    def __init__(self, book: TokenBook | None) -> None:
        # None where the host lets people in by other means, or without any.
        self._book = book
        # The book is for one thread at a time.
        self._editing = asyncio.Lock()
        # Awaited after an edit, where others have such a book too.
        self.on_edited: Callable[[], Awaitable[None]] | None = None

    async def create(self, name: str, role: Role, expires: datetime | None) -> NewToken:
        """Make a token; raise InvalidParams or AlreadyExists where that cannot be."""
        now = time.time()
        try:
            check_name(name)
        except TokenError as error:
            raise InvalidParams(str(error), path="name") from error
        if expires is not None and expires.timestamp() <= now:
            raise InvalidParams("the expiry lies in the past", path="expires")
        try:
            made = await self._edit(lambda book: book.create(name, role, expires=expires, now=now))
        except TokenError as error:
            # Of what the book refuses nothing else is left.
            raise AlreadyExists(str(error)) from error
        await self._edited()
        return made

    async def entries(self) -> list[TokenEntry]:
        """Return all named tokens, expired ones too."""
        return list(await self._edit(lambda book: book.list()))

    async def revoke(self, name: str) -> None:
        """Withdraw a token; raise NotFound where there is none of that name."""
        try:
            await self._edit(lambda book: book.revoke(name))
        except TokenError as error:
            raise NotFound(str(error)) from error
        await self._edited()

    async def _edit(self, edit: Callable[[TokenBook], _T]) -> _T:
        if self._book is None:
            raise NotFound("this host keeps no named tokens")
        async with self._editing:
            try:
                # Another process may hold the book for a while.
                return await asyncio.to_thread(edit, self._book)
            except TokenFileError as error:
                raise InternalError(str(error)) from error

    async def _edited(self) -> None:
        if self.on_edited is not None:
            try:
                await self.on_edited()
            except (AgentHostError, TimeoutError) as error:
                raise InternalError(f"done here; the other machines are late: {error}") from error


@handles("agenthost/createToken")
async def create_token(connection: Connection, params: JsonObject) -> CreateTokenResult:
    """Make a named token, and tell its secret."""
    expires = _instant(params["expires"]) if "expires" in params else None
    made = await connection.core.access.create(params["name"], Role(params["role"]), expires)
    return {"secret": made.secret, "token": _shown(made.entry, time.time())}


@handles("agenthost/listTokens")
async def list_tokens(connection: Connection, params: JsonObject) -> ListTokensResult:
    """List the named tokens, without their secrets."""
    now = time.time()
    return {"items": [_shown(entry, now) for entry in await connection.core.access.entries()]}


@handles("agenthost/revokeToken")
async def revoke_token(connection: Connection, params: JsonObject) -> None:
    """Withdraw a named token."""
    await connection.core.access.revoke(params["name"])


def _instant(text: str) -> datetime:
    moment = read_instant(text)
    if moment is None:
        told = f"{text[:40]!r} is no instant such as 2027-01-01T00:00:00Z"
        raise InvalidParams(told, path="expires")
    return moment


def _shown(entry: TokenEntry, now: float) -> TokenInfo:
    info: TokenInfo = {
        "name": entry.name,
        "role": entry.role.value,
        "createdAt": _text(entry.created),
        "expired": entry.expired(now),
    }
    if entry.expires is not None:
        info["expiresAt"] = _text(entry.expires)
    return info


def _text(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
