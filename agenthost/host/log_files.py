"""The host's log: JSON lines in a file that is rotated, and lines for people on standard error.

What a line holds is formatted where it is logged, and freed from secrets there; a thread of its own
writes it, so that a slow disk holds up no client. A disk that is full loses lines of the log and
nothing else.

Knows nothing of what is logged, but the names of the fields that say what it is about: whoever logs
gives those in ``extra``.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import queue
import sys
import traceback
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from io import TextIOWrapper
from logging.handlers import QueueHandler, QueueListener, RotatingFileHandler
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Literal, TypeAlias

from agenthost.host.trust.redaction import RedactTokens, redact

LogFormat: TypeAlias = Literal["text", "json"]
"""How lines on standard error look."""

FIELDS: Final = ("session", "chat", "turn", "agent", "client", "server")
"""What a line can be about: attributes of a record, by ``extra``, and members of the line."""

FAILURE: Final = "failure"
"""The attribute of a record, by ``extra``, with an error that ``describe_error`` has described."""

LARGEST_FILE = 5 * 1024 * 1024
OLDER_FILES = 5
"""So a log takes 30 MB at most, and tells of weeks of an ordinary host."""

LONGEST_TEXT = 32 * 1024
"""Characters of a message or a traceback that are kept; more of them is an agent's whole output."""

WAITING_LINES = 10_000
"""Lines that wait for the disk; more of them are counted and dropped, never waited for."""

TEXT_LINE = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class TextLineFormatter(logging.Formatter):
    """Makes lines for people at a terminal, which obeys nothing in them.

    What is logged may be somebody else's words: controls and hidden marks are spelled out, and only
    the first line of a record begins at the margin, so that none can pass for another's.
    """

    def __init__(self) -> None:
        super().__init__(TEXT_LINE)

    def format(self, record: logging.LogRecord) -> str:
        """Return the lines, without the last one's end."""
        first, *rest = super().format(record).split("\n")
        return "\n".join([_spelled(first), *(f"  {_spelled(row)}" for row in rest)])


def _spelled(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(
        sign if sign.isprintable() or sign == "\t" else sign.encode("unicode_escape").decode()
        for sign in text
    )


class JsonLineFormatter(logging.Formatter):
    """Makes one JSON object of a record, on one line, without secrets."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, without its end."""
        failure = getattr(record, FAILURE, None)
        message = record.getMessage()
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            # What comes below it is the traceback, for people.
            "message": _kept(message if failure is None else message.partition("\n")[0]),
        }
        for name in FIELDS:
            value = getattr(record, name, None)
            if value is not None:
                line[name] = _kept(str(value))
        if failure is not None:
            line["error"] = failure
        elif record.exc_info and record.exc_info[1] is not None:
            line["error"] = describe_error(record.exc_info[1])
        return json.dumps(line)


def describe_error(error: BaseException, mask: Callable[[str], str] = str) -> dict[str, str]:
    """Return what an exception is, what it says, where it was raised, and how it came there.

    ``mask`` takes out what the caller alone knows to be secret.
    """
    trace = mask("".join(traceback.format_exception(error)))
    told = {"type": type(error).__name__, "message": _kept(mask(_words_of(error)))}
    if where := _origin(error.__traceback__):
        told["where"] = where
    # Its end says what was raised, which matters more than how it began.
    return {**told, "traceback": redact(trace[-LONGEST_TEXT:])}


def _words_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        # An agent's own class, which may not know how.
        return ""


def _origin(found: TracebackType | None) -> str | None:
    if found is None:
        return None
    while found.tb_next is not None:
        found = found.tb_next
    return f"{found.tb_frame.f_code.co_filename}:{found.tb_lineno}"


def _kept(text: str) -> str:
    clean = redact(text[:LONGEST_TEXT])
    return clean if len(text) <= LONGEST_TEXT else f"{clean} … ({len(text):,} characters)"


@contextlib.contextmanager
def open_logs(
    file: Path | None, *, verbose: bool = False, log_format: LogFormat = "text"
) -> Iterator[None]:
    """Log to standard error, and to a file if one is named, for the length of a block.

    Standard error gets what goes wrong, or with ``verbose`` all; the file always gets all.
    """
    root = logging.getLogger()
    level, handlers = root.level, [_standard_error(verbose, log_format)]
    with contextlib.ExitStack() as stack:
        if file is not None:
            handlers.append(stack.enter_context(_file_handler(file)))
        root.setLevel(min(handler.level for handler in handlers))
        for handler in handlers:
            root.addHandler(handler)
        try:
            yield
        finally:
            for handler in handlers:
                root.removeHandler(handler)
            root.setLevel(level)


def _standard_error(verbose: bool, log_format: LogFormat) -> logging.Handler:
    handler = logging.StreamHandler(sys.stderr)
    handler.setLevel(logging.INFO if verbose else logging.WARNING)
    handler.addFilter(RedactTokens())
    is_json = log_format == "json"
    handler.setFormatter(JsonLineFormatter() if is_json else TextLineFormatter())
    return handler


@contextlib.contextmanager
def _file_handler(file: Path) -> Iterator[logging.Handler]:
    """Have a thread write to a file; what waits is written before the block ends."""
    waiting: queue.Queue[Any] = queue.Queue(WAITING_LINES)
    handler, target = LineQueue(waiting), PrivateLogFile(file)
    listener = QueueListener(waiting, target)
    listener.start()
    try:
        yield handler
    finally:
        listener.stop()
        handler.close()
        target.close()


def _make_private(folder: Path) -> None:
    # Not by ``parents``, which leaves those it makes open to others.
    if not folder.is_dir():
        _make_private(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


class LineQueue(QueueHandler):
    """Hands lines, ready as they are, to the thread that writes; drops them when it lags."""

    def __init__(self, waiting: queue.Queue[Any]) -> None:
        super().__init__(waiting)
        self.setLevel(logging.INFO)
        self.addFilter(RedactTokens())
        self._lines = JsonLineFormatter()
        # Lines that were dropped since one was last taken.
        self._dropped = 0

    def prepare(self, record: logging.LogRecord) -> logging.LogRecord:
        """Turn a record into its line: what it refers to may change, and holds memory."""
        return _as_record(self._lines.format(record), record)

    def enqueue(self, record: logging.LogRecord) -> None:
        """Add a line without waiting."""
        try:
            if self._dropped:
                self.queue.put_nowait(self._loss(record))
                self._dropped = 0
            self.queue.put_nowait(record)
        except queue.Full:
            self._dropped += 1

    def _loss(self, record: logging.LogRecord) -> logging.LogRecord:
        told = f"{self._dropped:,} lines were not logged: the disk is too slow"
        lost = logging.LogRecord(__name__, logging.WARNING, "", 0, told, (), None)
        lost.created = record.created
        return _as_record(self._lines.format(lost), lost)


def _as_record(line: str, record: logging.LogRecord) -> logging.LogRecord:
    made = logging.LogRecord(record.name, record.levelno, "", 0, line, None, None)
    made.created = record.created
    return made


class PrivateLogFile(RotatingFileHandler):
    """A rotated file of lines that its owner alone may read."""

    def __init__(
        self, file: Path, largest: int = LARGEST_FILE, older_files: int = OLDER_FILES
    ) -> None:
        # Whether somebody was told that lines are being lost.
        self._told = False
        super().__init__(
            file, maxBytes=largest, backupCount=older_files, encoding="utf-8", delay=True
        )

    def _open(self) -> TextIOWrapper:
        # Only with the first line: a host that is refused leaves nothing behind.
        _make_private(Path(self.baseFilename).parent)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        descriptor = os.open(self.baseFilename, flags, 0o600)
        return open(descriptor, "a", encoding="utf-8", errors="backslashreplace")

    def handleError(self, record: logging.LogRecord) -> None:
        """Say once that the log cannot be written; it must not stop the host."""
        if not self._told:
            self._told = True
            error = sys.exc_info()[1]
            print(f"agenthost: {self.baseFilename} cannot be written: {error}", file=sys.stderr)
