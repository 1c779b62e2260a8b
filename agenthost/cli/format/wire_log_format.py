"""Messages of a wire log as readable lines.

Pure. Owns the reading of a log's entries and what is worth showing of a message. Where entries come
from is ``commands.inspect``'s.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Any, Literal

from agenthost.cli.format.terminal_text import Ink, Style, clip, columns, one_line, safe_text

Json = Mapping[str, Any]
Side = Literal["client", "host"]
Kind = Literal["request", "response", "error", "notification", "invalid"]

_UUID = re.compile(r"([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")

# Columns of a text within a summary.
_LONGEST_TEXT = 60
# Requests without an answer that are remembered, for each log.
_MOST_OPEN = 10_000


@dataclass(frozen=True, slots=True)
class WireMessage:
    """One message of a wire log, with the request it answers where known."""

    time: str = ""
    connection: str = ""
    sender: Side | None = None
    kind: Kind = "invalid"
    method: str = ""
    channel: str = ""
    id: Any = None
    summary: str = ""
    # The type of the action within, where there is one.
    action: str = ""
    is_error: bool = False
    # Milliseconds between a request and its answer.
    took: float | None = None
    # As it stood in the log.
    entry: Any = None


class WireLogReader:
    """Reads log entries in order and matches answers to their requests."""

    def __init__(self) -> None:
        # Requests without an answer, by connection, asking side and id.
        self._asked: dict[tuple[str, Side | None, str], WireMessage] = {}

    def read_line(self, line: str | bytes) -> WireMessage | None:
        """Read a line of a log; None for an empty one."""
        if not line.strip():
            return None
        try:
            return self.read(json.loads(line))
        except ValueError:
            text = line.decode(errors="replace") if isinstance(line, bytes) else line
            return WireMessage(summary=f"no JSON: {one_line(text)}", is_error=True)

    def read(self, entry: Any) -> WireMessage:
        """Read an entry: time, connection, direction as the host sees it, and the message."""
        if not isinstance(entry, dict) or entry.get("direction") not in ("in", "out"):
            text = f"no entry of a wire log: {one_line(json.dumps(entry))}"
            return WireMessage(summary=text, is_error=True, entry=entry)
        said = WireMessage(
            str(entry.get("time", "")),
            str(entry.get("connection", "")),
            "client" if entry["direction"] == "in" else "host",
            entry=entry,
        )
        message = entry.get("message")
        if isinstance(message, dict):
            spoken = isinstance(message.get("method"), str)
            return self._spoken(said, message) if spoken else self._answered(said, message)
        text = f"no message: {one_line(str(entry.get('raw', '')))}"
        return replace(said, summary=text, is_error=True)

    def _spoken(self, said: WireMessage, message: Json) -> WireMessage:
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        said = replace(
            said,
            kind="request" if "id" in message else "notification",
            method=message["method"],
            channel=str(params.get("channel", "")),
            id=message.get("id"),
        )
        if said.kind == "request" and len(self._asked) < _MOST_OPEN:
            self._asked[said.connection, said.sender, json.dumps(said.id)] = said
        action = params.get("action")
        if not isinstance(action, dict):
            return replace(said, summary=_fields(params))
        return replace(
            said,
            summary=_action_summary(params),
            action=str(action.get("type", "")),
            is_error=params.get("rejectionReason") is not None,
        )

    def _answered(self, said: WireMessage, message: Json) -> WireMessage:
        asker: Side = "host" if said.sender == "client" else "client"
        asked = self._asked.pop(
            (said.connection, asker, json.dumps(message.get("id"))), WireMessage()
        )
        said = replace(
            said,
            kind="response",
            method=asked.method,
            channel=asked.channel,
            id=message.get("id"),
            took=_between(asked.time, said.time),
        )
        if "error" not in message:
            return replace(said, summary=_compact(message.get("result")))
        error = message["error"] if isinstance(message["error"], dict) else {}
        summary = f"{error.get('code')} {one_line(str(error.get('message', '')))}"
        return replace(said, kind="error", summary=summary, is_error=True)


@dataclass(frozen=True, slots=True)
class Filter:
    """Decides which messages are shown: by channel, method, errors only."""

    # A part of the channel's URI.
    channel: str | None = None
    # A method or an action's type; may hold ``*``.
    method: str | None = None
    errors: bool = False

    def __call__(self, said: WireMessage) -> bool:
        """Return whether a message is shown."""
        if self.errors and not said.is_error:
            return False
        if self.channel is not None and self.channel not in said.channel:
            return False
        if self.method is None:
            return True
        return any(fnmatchcase(name, self.method) for name in (said.method, said.action) if name)


def message_line(said: WireMessage, width: int | None, ink: Ink) -> str:
    """Return a message as one line, cut to a width."""
    # The day is in the log for those who need it.
    time = said.time[11:23] if "T" in said.time else said.time
    arrow = {"client": "→", "host": "←", None: "?"}[said.sender]
    head = _flat(f"{time:<12} {said.connection:<4} {arrow} ")
    text = _flat(" ".join(filter(None, _texts(said))))
    shown = clip(text, None if width is None else max(width - columns(head), 20))
    return ink("dim", head) + ink(_style(said), shown)


def _flat(text: str) -> str:
    # What is in quotes keeps its spaces.
    return " ".join(safe_text(text).splitlines())


def _texts(said: WireMessage) -> Iterator[str]:
    match said.kind:
        case "request":
            yield f"{said.method} #{said.id}"
        case "response":
            yield f"= {said.method or 'an answer'} #{said.id}"
        case "error":
            yield f"! {said.method or 'an answer'} #{said.id}"
        case "notification":
            yield said.method
        case "invalid":
            yield "!"
    yield short_channel(said.channel)
    yield said.summary
    if said.took is not None:
        yield f"({said.took:.0f} ms)"


def _style(said: WireMessage) -> Style | None:
    if said.is_error:
        return "red"
    styles: dict[Kind, Style] = {"request": "cyan", "response": "dim"}
    return styles.get(said.kind)


def message_json(said: WireMessage) -> dict[str, Any]:
    """Return a message as a ``--json`` object."""
    told = {
        "time": said.time,
        "connection": said.connection,
        "from": said.sender,
        "kind": said.kind,
        "method": said.method,
        "channel": said.channel,
        "id": said.id,
        "action": said.action,
        "milliseconds": said.took,
    }
    shown = {key: value for key, value in told.items() if value not in (None, "")}
    message = said.entry.get("message") if isinstance(said.entry, dict) else None
    rest = {"message": message} if message is not None else {"summary": said.summary}
    return {**shown, "error": said.is_error, **rest}


def short_channel(uri: str) -> str:
    """Return a channel's URI with its random id shortened."""
    return one_line(_UUID.sub(r"\1", uri.removeprefix("ahp-")))


def _action_summary(params: Json) -> str:
    action = params["action"]
    fields = _fields({key: value for key, value in action.items() if key != "type"})
    texts = [f"{action.get('type')}", fields]
    if "serverSeq" in params:
        texts.insert(0, f"@{params['serverSeq']}")
    if params.get("rejectionReason") is not None:
        texts.append(f"REJECTED: {one_line(str(params['rejectionReason']))}")
    return " ".join(filter(None, texts))


def _fields(params: Json) -> str:
    shown = {key: value for key, value in params.items() if key != "channel"}
    return " ".join(f"{one_line(key)}={_compact(value, 1)}" for key, value in shown.items())


def _compact(value: Any, depth: int = 0) -> str:
    match value:
        case str():
            text = safe_text(json.dumps(_UUID.sub(r"\1", value), ensure_ascii=False))
            return clip(text, _LONGEST_TEXT)
        case dict() if depth < 2:
            inner = (f"{one_line(key)}={_compact(item, depth + 1)}" for key, item in value.items())
            return clip("{" + " ".join(inner) + "}", 2 * _LONGEST_TEXT)
        case dict():
            return "{…}" if value else "{}"
        case list():
            return f"[{len(value)}]"
    return json.dumps(value)


def _between(earlier: str, later: str) -> float | None:
    try:
        span = datetime.fromisoformat(later) - datetime.fromisoformat(earlier)
    except (ValueError, TypeError):
        return None
    return span.total_seconds() * 1000
