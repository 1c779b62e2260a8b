"""Keeps tokens out of logs: in URLs, in Authorization headers, in ``authenticate`` params.

The library under the WebSocket transport logs request lines and headers at debug level, so a
filter on the handlers is the only place that sees everything. Knows shapes, not secrets.
"""

from __future__ import annotations

import logging
import re
from typing import Any

__all__ = ["REDACTED", "RedactTokens", "redact", "redact_frame", "redact_message"]

REDACTED = "[redacted]"
"""What stands in a token's place."""

# Where a query may hold a token. The value ends where a query, a header or a quoted text would.
_QUERY = re.compile(r"""(?i)\b((?:tkn|token)=)[^&#\s"'<>]+""")
_HEADER = re.compile(r"""(?i)\b(bearer\s+)[^\s"',;<>]+""")
_AUTHENTICATE = "authenticate"
# Without the closing quote, so that what was cut off in the middle goes as well.
_MEMBER = re.compile(r"""(?i)("token"\s*:\s*")(?:[^"\\]|\\.)*""")


def redact(text: str) -> str:
    """Return the text with every ``tkn=``, ``token=`` and Bearer value replaced."""
    return _HEADER.sub(rf"\1{REDACTED}", _QUERY.sub(rf"\1{REDACTED}", text))


def redact_message(message: dict[str, Any]) -> dict[str, Any]:
    """Return a JSON-RPC message that is fit for a log; the same object when nothing is secret."""
    params = message.get("params")
    if message.get("method") != _AUTHENTICATE or not isinstance(params, dict):
        return message
    if "token" not in params:
        return message
    return {**message, "params": {**params, "token": REDACTED}}


def redact_frame(text: str) -> str:
    """Return what is no message, and yet may have been meant as one, without its tokens."""
    return _MEMBER.sub(rf"\1{REDACTED}", redact(text))


class RedactTokens(logging.Filter):
    """A filter for log *handlers*: every record that passes leaves its tokens behind."""

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
