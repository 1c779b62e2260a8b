"""Removes secrets from texts and JSON before they are logged, by the names they go under.

The library under the WebSocket transport logs request lines and headers at debug level, so a
filter on the handlers is the only place that sees everything. Knows names and shapes, not secrets.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

REDACTED = "[redacted]"
"""What stands in a secret's place."""

# How names of secrets end. A plural is none: numbers of tokens are told everywhere.
_NAME = (
    r"(?:access[_-]?key|api[_-]?key|authorization|cookie|credentials?|passphrase|passwd|password"
    r"|private[_-]?key|secret|tkn|token)"
)
# The protocol's own: it names a request whose progress is told, and a log is read to follow that.
_PUBLIC = ("progress", "progress_")
_SECRET_NAME = re.compile(_NAME + r"\Z", re.IGNORECASE)
# The members by which the state of a canvas is known; its page may let in whoever knows where.
_CANVAS = frozenset({"instanceId", "canvasId"})
# The members by which a browser's push subscription is known; who knows it could push and read.
_PUSH_KEYS = frozenset({"p256dh", "auth"})
# A longer name is none.
LONGEST_NAME = 100

# Secrets in a text that is in lower case, in a group what comes before one. One pattern, so that a
# text is gone through once, and none of its parts begins with something that repeats: that would
# take the square of the length of a hostile text.
_SECRETS = rf"""
    # Assigned in a query, a form or a shell; it ends where those would, or a quoted text.
    (?P<assigned> {_NAME} (?: = | %3d ) ["']? ) [^&\#\s"'<>]+
    # A member of an object, however often that was quoted; also one that is cut off.
    | (?P<member> {_NAME} (?P<quote> \\* ["'] ) \s* : \s* (?P=quote) )
      (?: (?! (?P=quote) ) (?: \\. | [^\\] ) )+
    | (?P<header> (?: authorization | api-key | cookie ) : \s* (?: \w+ \s+ )? ) [^\s"',;<>]+
    | (?P<bearer> bearer \s+ ) [^\s"',;<>]+
    # The subprotocol by which browsers give it.
    | (?P<offered> \b tkn \. ) [\w-]+
    # The password of a URL.
    | (?P<login> :// [^/\s:@"']{{0,256}} : ) [^/\s@"']{{1,1024}} (?= @ )
    """.encode()
_KINDS = ("assigned", "member", "header", "bearer", "offered", "login")


@cache
def _secrets() -> re.Pattern[bytes]:
    # Once there is something to look through: to compile it takes longer than all of this package.
    return re.compile(_SECRETS, re.VERBOSE | re.DOTALL)


def redact(text: str, is_secret: Callable[[str, bytes], bool] | None = None) -> str:
    """Return the text without what is named as a secret in it; the same one if there is nothing.

    ``is_secret`` has the last word on what goes by such a name, given how it is named and it.
    """
    # As bytes, because lower case is as long as the text was only there.
    data = text.encode(errors="surrogatepass")
    pieces: list[bytes] = []
    start = 0
    for found in _secrets().finditer(data.lower()):
        if _is_public(data, found.start()):
            continue
        name = next(kind for kind in _KINDS if found[kind] is not None)
        if is_secret is not None and not is_secret(name, data[found.end(name) : found.end()]):
            continue
        pieces += (data[start : found.end(name)], REDACTED.encode())
        start = found.end()
    if not pieces:
        return text
    return b"".join((*pieces, data[start:])).decode(errors="surrogatepass")


def redact_value(value: Any) -> Any:
    """Return a JSON value that is fit for a log; the same object when nothing in it is secret."""
    match value:
        case str():
            return redact(value)
        case dict():
            clean: Any = {key: _redact_member(value, key, held) for key, held in value.items()}
            same = all(clean[key] is held for key, held in value.items())
        case list():
            clean = [redact_value(item) for item in value]
            same = all(new is old for new, old in zip(clean, value, strict=True))
        case _:
            return value
    return value if same else clean


def _redact_member(members: dict[str, object], key: str, value: Any) -> Any:
    # Headers and variables often come as pairs of a name and a value.
    name = members.get("name") if key == "value" else key
    if isinstance(name, str) and _names_secret(name[-LONGEST_NAME:]):
        # What is no text says how much, or whether there is any.
        is_harmless = value is None or isinstance(value, int | float) or value in ("", REDACTED)
        return value if is_harmless else REDACTED
    if key == "url" and members.keys() >= _CANVAS:
        return REDACTED
    if (key in _PUSH_KEYS and members.keys() >= _PUSH_KEYS) or _is_push_endpoint(members, key):
        return REDACTED
    return redact_value(value)


def _is_push_endpoint(members: dict[str, object], key: str) -> bool:
    # Alone in the params of a request, or beside the keys.
    return key == "endpoint" and ("keys" in members or members.keys() <= {"channel", key, "_meta"})


@lru_cache(maxsize=4096)
def _names_secret(name: str) -> bool:
    found = _SECRET_NAME.search(name)
    return found is not None and not name[: found.start()].lower().endswith(_PUBLIC)


def _is_public(text: bytes, start: int) -> bool:
    return text[max(0, start - 9) : start].lower().endswith(tuple(p.encode() for p in _PUBLIC))


class RedactTokens(logging.Filter):
    """A filter for log *handlers*: every record that passes leaves its secrets behind."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Redact the record's message and traceback; never drops a record."""
        try:
            message = record.getMessage()
        except (TypeError, ValueError, KeyError):
            # Arguments that do not fit their format: what they hold is unknown, so nothing is kept.
            record.msg, record.args = f"{REDACTED} (badly formatted log message)", ()
            message = record.msg
        clean = redact(message)
        if clean != message:
            record.msg, record.args = clean, ()
        if record.exc_info:
            _redact_traceback(record)
        return True


def _redact_traceback(record: logging.LogRecord) -> None:
    if record.exc_info is None:
        return
    trace = record.exc_text or logging.Formatter().formatException(record.exc_info)
    clean = redact(trace)
    if clean != trace:
        # Formatters print this text in place of formatting the exception themselves.
        record.exc_text = clean
