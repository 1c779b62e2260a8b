"""A record of every message: JSON lines with direction, connection and time, without secrets.

What is typed into a terminal may be one, and nothing shows which: only its length is recorded.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import stat
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Literal, Self

from agenthost.clock import Clock
from agenthost.errors import ParseError
from agenthost.host.trust import exceeds_depth, redact, redact_value
from agenthost.protocol.jsonrpc import dumps, loads

if TYPE_CHECKING:
    from agenthost.protocol.common import JsonObject

log = logging.getLogger(__name__)

# Of a frame that is no message only this much is kept.
MOST_RAW = 4096
# Deeper than any message that is accepted; the encoder gives up at 254 levels.
DEEPEST = 200
_TYPING = "terminal/input"
# In what is no JSON, or almost.
_MAY_BE_TYPING = re.compile(rb"terminal.{0,8}input", re.DOTALL)


class WireLog:
    """Appends messages to a file that only its owner may read."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._file: IO[bytes] | None = None

    def __enter__(self) -> Self:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._file = open(self._path, "ab", opener=_open_private)
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def record(self, direction: Literal["in", "out"], connection: str, payload: bytes) -> None:
        """Write one message."""
        if self._file is None:
            return
        line = {
            "time": self._clock.now(),
            "connection": connection,
            "direction": direction,
            **_shown(payload),
        }
        try:
            self._file.write(dumps(line) + b"\n")
            self._file.flush()
        except OSError as error:
            log.error("the wire log cannot be written and ends here: %s", error)
            # Closing tries to write what is left, and fails as well.
            with contextlib.suppress(OSError):
                self._file.close()
            self._file = None


def _shown(payload: bytes) -> JsonObject:
    try:
        message = None if exceeds_depth(payload, DEEPEST) else loads(payload)
    except ParseError:
        message = None
    if isinstance(message, dict):
        return {"message": redact_value(_without_typing(message))}
    if message is not None:
        # By its names first: in JSON a name can be spelled so that no text shows it.
        payload = dumps(redact_value(_without_typing(message)))
    elif _MAY_BE_TYPING.search(payload):
        return {"raw": f"[{len(payload)} bytes]"}
    return {"raw": redact(payload[:MOST_RAW].decode(errors="replace"))}


def _without_typing(value: Any) -> Any:
    """Return a message with the length of what was typed in its place; the same where none was."""
    if isinstance(value, list):
        return [_without_typing(item) for item in value]
    if not isinstance(value, dict):
        return value
    typed = value.get("data")
    if value.get("type") == _TYPING and typed is not None:
        length = len(typed) if isinstance(typed, str) else 0
        return {**value, "data": f"[{length} characters]"}
    return {key: _without_typing(held) for key, held in value.items()}


def _open_private(path: str, flags: int) -> int:
    descriptor = os.open(path, flags, 0o600)
    # A file of an earlier run may be open to others; a device or a pipe is left alone.
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.fchmod(descriptor, 0o600)
    return descriptor
