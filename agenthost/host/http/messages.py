"""HTTP requests and responses as values, and responses as bytes.

Owns the request seen by the gate and the pages, where a token may stand in it, and how a response
is written. Does no I/O and decides nothing: ``transports.upgrade`` asks, ``host`` answers.
"""

from __future__ import annotations

import base64
import binascii
import http
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from msgspec import Struct

# Where a URL may carry the token: as VS Code spells it, and in full.
_TOKEN_PARAMETERS = ("tkn", "token")

# How a browser gives the token, which can set no header on a WebSocket: as a subprotocol, in
# base64url. Unlike a URL, that reaches neither the console nor the log of a proxy.
_TOKEN_SUBPROTOCOL = "tkn."

# Where a page says by itself which origin it has.
_PAGE_ORIGIN = "Agenthost-Origin"

# More parameters than any page of ours takes; parsing more would only serve an attack.
_MAX_PARAMETERS = 100

# On every response: nothing of ours is to be sniffed, and no URL with a token to be passed on.
_SAFETY_HEADERS = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")


class Headers(Mapping[str, str]):
    """Header fields by name in any case; a field that is repeated is joined with commas."""

    __slots__ = ("_values",)

    def __init__(self, items: Iterable[tuple[str, str]] = ()) -> None:
        self._values: dict[str, str] = {}
        for name, value in items:
            key = name.lower()
            earlier = self._values.get(key)
            self._values[key] = value if earlier is None else f"{earlier}, {value}"

    def __getitem__(self, name: str) -> str:
        return self._values[name.lower()]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        # Values may hold tokens and cookies.
        return f"<Headers {', '.join(self._values)}>"


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request head; its text form shows neither query nor header values."""

    method: str
    # Percent-decoded, not normalised: it may contain `..`.
    path: str
    # The first value of each parameter.
    query: Mapping[str, str] = field(default_factory=dict, repr=False)
    headers: Headers = field(default_factory=Headers, repr=False)
    # Printable address of the client.
    peer: str = ""

    @property
    def token(self) -> str | None:
        """The bearer token: of the ``Authorization`` header, else a subprotocol, else the URL."""
        scheme, _, credentials = self.headers.get("Authorization", "").partition(" ")
        if scheme.lower() == "bearer" and credentials.strip():
            return credentials.strip()
        if offered := _offered_token(self.headers.get("Sec-WebSocket-Protocol", "")):
            return offered
        for name in _TOKEN_PARAMETERS:
            if value := self.query.get(name):
                return value
        return None

    @property
    def origin(self) -> str | None:
        """The ``Origin`` header, which browsers send and other clients mostly do not.

        They leave it out where a page asks the host that it came from, so that our own page, which
        wants to know whether it would be let in, says it by another name.
        """
        return self.headers.get("Origin", self.headers.get(_PAGE_ORIGIN))


@dataclass(frozen=True, slots=True)
class UpgradeRequest(HttpRequest):
    """A request to become a WebSocket, on whatever path."""


class HttpResponse(Struct, frozen=True):
    """An answer to a plain HTTP request."""

    status: int = 200
    body: bytes = b""
    content_type: str = "text/plain; charset=utf-8"
    cache_control: str = "no-store"
    headers: Mapping[str, str] = {}


def parse_target(target: str) -> tuple[str, dict[str, str]]:
    """Split a request target into decoded path and query parameters.

    Names count as they are spelled, so that a log can be cleared of tokens by their names. A plus
    stays one, unlike in forms: tokens may hold it, and none holds a space.

    Raises:
        ValueError: it is no origin-form or absolute-form target, or has too many parameters.
    """
    if target.startswith("/"):
        # Not for urlsplit, which would take `//name/` for a host.
        path, _, query = target.partition("#")[0].partition("?")
    else:
        url = urlsplit(target)
        if url.scheme not in ("http", "https", "ws", "wss"):
            raise ValueError("not a path and not a web address")
        path, query = url.path or "/", url.query
    fields = [field.partition("=") for field in query.split("&", _MAX_PARAMETERS) if field]
    if len(fields) > _MAX_PARAMETERS:
        raise ValueError("too many parameters")
    # Reversed, so that the first value of a repeated parameter wins.
    return unquote(path), {name: unquote(value) for name, _, value in reversed(fields)}


def _offered_token(subprotocols: str) -> str | None:
    for offered in subprotocols.split(","):
        name = offered.strip()
        if name.startswith(_TOKEN_SUBPROTOCOL):
            encoded = name.removeprefix(_TOKEN_SUBPROTOCOL)
            try:
                padded = encoded + "=" * (-len(encoded) % 4)
                return base64.b64decode(padded, b"-_", validate=True).decode()
            except (binascii.Error, ValueError):
                return None
    return None


def serialize_head(response: HttpResponse, *, date: str) -> bytes:
    """Return all of the response as bytes but its body, which follows it as it is.

    ``date`` is when it was made, in the words of RFC 9110 section 5.6.7.

    Raises:
        ValueError: a header would break the response apart.
    """
    headers = {
        "Date": date,
        "Content-Type": response.content_type,
        "Content-Length": str(len(response.body)),
        "Cache-Control": response.cache_control,
        **_SAFETY_HEADERS,
        **response.headers,
        "Connection": "close",
    }
    if response.status == http.HTTPStatus.NOT_MODIFIED:
        # They would describe the page that is not sent: RFC 9110 section 15.4.5.
        del headers["Content-Type"], headers["Content-Length"]
    lines = [f"HTTP/1.1 {response.status} {_phrase(response.status)}"]
    for name, value in headers.items():
        if not _HEADER_NAME.fullmatch(name) or not _HEADER_VALUE.fullmatch(value):
            raise ValueError(f"the header {name!r} cannot be sent")
        lines.append(f"{name}: {value}")
    return "\r\n".join((*lines, "", "")).encode("iso-8859-1")


def _phrase(status: int) -> str:
    try:
        return http.HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"


def format_peer(address: object) -> str:
    """Return a socket's peer name as ``host:port``, or a word where there is none."""
    if isinstance(address, tuple) and len(address) >= 2:
        host, port = str(address[0]), address[1]
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    return "local"
