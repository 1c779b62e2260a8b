"""Hiding what a server was given in confidence in what it says: its log is read by others."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agenthost.mcp.types import ServerDeclaration

_HIDDEN = b"***"
# A shorter value would blot out ordinary words.
_SHORTEST = 6
_SECRET_NAME = re.compile(r"key|token|secret|passw|credential|auth(?!or)|cookie", re.IGNORECASE)


class GivenSecrets:
    """Knows the secrets that one server was given: declared ones, and tokens."""

    def __init__(self, declaration: ServerDeclaration, token: str | None) -> None:
        self._values = {value.encode() for value in _declared(declaration)}
        self._pattern: re.Pattern[bytes] | None = None
        self._compile()
        if token is not None:
            self.add(token)

    def add(self, secret: str) -> None:
        """Know one more."""
        if len(secret) >= _SHORTEST:
            self._values.add(secret.encode())
            self._compile()

    def hidden(self, data: bytes) -> bytes:
        """Return what was said without them."""
        return data if self._pattern is None else self._pattern.sub(_HIDDEN, data)

    def hidden_text(self, text: str) -> str:
        """Return a text without them."""
        return self.hidden(text.encode(errors="replace")).decode()

    def _compile(self) -> None:
        # Longest first: one secret may begin with another.
        values = sorted(self._values, key=len, reverse=True)
        self._pattern = re.compile(b"|".join(map(re.escape, values))) if values else None


def _declared(declaration: ServerDeclaration) -> Iterator[str]:
    for name, value in (*declaration.env.items(), *declaration.headers.items()):
        # "Bearer" and what comes after it may be told apart from each other.
        for part in (value, value.rpartition(" ")[2]):
            if _SECRET_NAME.search(name) and len(part) >= _SHORTEST:
                yield part
    if declaration.oauth_client is not None:
        secret = declaration.oauth_client[1] or ""
        if len(secret) >= _SHORTEST:
            yield secret
