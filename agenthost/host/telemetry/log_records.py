"""The host's own log as telemetry: every record without secrets, from any thread.

Whoever wants to hear more than the host prints does not make it print more.
"""

from __future__ import annotations

import logging
import threading
import traceback
from typing import TYPE_CHECKING

from opentelemetry._logs import LogRecord, SeverityNumber

if TYPE_CHECKING:
    from opentelemetry._logs import Logger
    from opentelemetry.util.types import AttributeValue

    from agenthost.host.telemetry.masking import Masker

LOGGER = "agenthost"
# What this package says of itself would be told for ever.
_OWN = "agenthost.host.telemetry"
_AGENTS = "agenthost.agents."
# Characters of a message and of the places of a traceback.
LONGEST_MESSAGE = 4096
LONGEST_TRACE = 8192
# Python's level -> the severity of OTLP, and what that is called.
_SEVERITIES = (
    (logging.CRITICAL, SeverityNumber.FATAL, "FATAL"),
    (logging.ERROR, SeverityNumber.ERROR, "ERROR"),
    (logging.WARNING, SeverityNumber.WARN, "WARN"),
    (logging.INFO, SeverityNumber.INFO, "INFO"),
    (logging.DEBUG, SeverityNumber.DEBUG, "DEBUG"),
    (0, SeverityNumber.TRACE, "TRACE"),
)


def python_level(severity: int) -> int:
    """Return the level from which records of the host have at least an OTLP severity."""
    enough = [level for level, number, _ in _SEVERITIES if number.value >= severity]
    # Below debug there is nothing.
    return max(logging.DEBUG, min(enough, default=logging.CRITICAL))


class TelemetryLogHandler(logging.Handler):
    """Hands records of the host's log to OpenTelemetry."""

    def __init__(self, logger: Logger, masker: Masker) -> None:
        super().__init__()
        self._logger = logger
        self._masker = masker

    def emit(self, record: logging.LogRecord) -> None:
        """Hand over one record; never raises."""
        if record.name.startswith(_OWN) or _quotes(record):
            return
        try:
            self._logger.emit(self._translated(record))
        except Exception:
            # A record that cannot be told is none that anybody is to fail for.
            self.handleError(record)

    def _translated(self, record: logging.LogRecord) -> LogRecord:
        found = next(each for each in _SEVERITIES if record.levelno >= each[0])
        attributes: dict[str, AttributeValue] = {
            "code.namespace": record.name,
            "thread.name": record.threadName or "",
        }
        if record.exc_info and record.exc_info[0] is not None:
            kind, _, trace = record.exc_info
            attributes["exception.type"] = kind.__qualname__
            # Where it happened, and not what it says: that quotes what people wrote.
            places = "".join(traceback.format_tb(trace)) if trace is not None else ""
            attributes["exception.places"] = self._masker.text(places[-LONGEST_TRACE:])
        return LogRecord(
            timestamp=int(record.created * 1e9),
            observed_timestamp=int(record.created * 1e9),
            severity_number=found[1],
            severity_text=found[2],
            body=self._masker.text(_message(record)[:LONGEST_MESSAGE]),
            attributes=attributes,
        )


class _AsBefore(logging.Filter):
    """Keeps a handler to what it printed before anybody wanted to hear more."""

    def __init__(self, level: int) -> None:
        super().__init__()
        self._level = level

    def filter(self, record: logging.LogRecord) -> bool:
        """Let others' records pass, and those of the host from its own level on."""
        is_ours = record.name == LOGGER or record.name.startswith(f"{LOGGER}.")
        return not is_ours or record.levelno >= self._level


class _Tap:
    """Who listens to the host's log in this process, and what it was like before."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listeners: dict[logging.Handler, int] = {}
        self._former = logging.NOTSET
        self._kept: list[tuple[logging.Handler, _AsBefore]] = []

    def listen(self, handler: logging.Handler, level: int | None) -> None:
        """Let a handler listen from a level on, or with None no more."""
        logger = logging.getLogger(LOGGER)
        with self._lock:
            if self._listeners:
                self._restore(logger)
            logger.removeHandler(handler)
            self._listeners.pop(handler, None)
            if level is not None:
                handler.setLevel(level)
                self._listeners[handler] = level
                logger.addHandler(handler)
            if self._listeners:
                self._lower(logger, min(self._listeners.values()))

    def _lower(self, logger: logging.Logger, level: int) -> None:
        self._former = logger.level
        before = logger.getEffectiveLevel()
        if level >= before:
            return
        for handler in (*logger.handlers, *logging.getLogger().handlers):
            if handler not in self._listeners:
                as_before = _AsBefore(before)
                handler.addFilter(as_before)
                self._kept.append((handler, as_before))
        logger.setLevel(level)

    def _restore(self, logger: logging.Logger) -> None:
        logger.setLevel(self._former)
        for handler, as_before in self._kept:
            handler.removeFilter(as_before)
        self._kept.clear()


_TAP = _Tap()


def listen(handler: TelemetryLogHandler, level: int | None) -> None:
    """Hand the host's records from a level on to a handler, or with None no more of them."""
    _TAP.listen(handler, level)


def _quotes(record: logging.LogRecord) -> bool:
    """Say whether a record repeats what an agent's program prints, which may be anything."""
    return record.levelno < logging.INFO and record.name.startswith(_AGENTS)


def _message(record: logging.LogRecord) -> str:
    """Return the first line of a message; what follows are tracebacks that quote anything."""
    try:
        return record.getMessage().partition("\n")[0]
    except (TypeError, ValueError, KeyError):
        return "(badly formatted log message)"
