"""What went over the wire in a run, read from the host's wire log, and what is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Sent", "WireLog"]

Json = dict[str, Any]

# Error answers that are right: method and code. The host serves no watches of stored content, and
# VS Code goes on without them.
EXPECTED_ERRORS = {("createResourceWatch", -32008)}
# Refused actions that are right to be refused, and what the reason says. VS Code approves by itself
# what a turn that has ended left open, and the calls of its own tools, which nobody asks about; and
# it notes an empty draft in every chat that it opens, in those of sub-agents too; and it tells its
# size to terminals that have ended, and what is chosen for a session that has not begun to the one
# that it throws away when the first message is sent.
EXPECTED_REJECTIONS = {
    ("chat/toolCallConfirmed", "no turn is running"),
    ("chat/toolCallConfirmed", "it is running"),
    ("chat/draftChanged", "this chat is read-only"),
    ("terminal/resized", "nothing runs in this terminal"),
    ("session/configChanged", "directory cannot be changed"),
}


@dataclass(frozen=True)
class Sent:
    """One message of the log."""

    connection: str
    inbound: bool
    message: Json

    @property
    def method(self) -> str:
        """What is asked for or told; empty for an answer."""
        return str(self.message.get("method", ""))

    @property
    def action(self) -> Json:
        """The action that is dispatched or told of, if it is one."""
        found = (self.message.get("params") or {}).get("action")
        return found if isinstance(found, dict) else {}


class WireLog:
    """The log, one file per start of the host, read as far as it is written."""

    def __init__(self) -> None:
        self.files: list[Path] = []
        self.entries: list[Sent] = []
        # Connections that ended with their host: what they asked is never answered.
        self._gone: set[str] = set()
        self._read: dict[Path, int] = {}

    def begin(self, file: Path) -> None:
        """Go on in a new file: the host was started anew."""
        self.refresh()
        self._gone |= {entry.connection for entry in self.entries}
        self.files.append(file)

    def refresh(self) -> None:
        """Take in what was written since."""
        for file in self.files:
            if not file.exists():
                continue
            with file.open("rb") as lines:
                lines.seek(self._read.get(file, 0))
                for line in lines:
                    if not line.endswith(b"\n"):
                        break
                    self._read[file] = self._read.get(file, 0) + len(line)
                    self._take(file.stem, json.loads(line))

    def _take(self, start: str, entry: Json) -> None:
        name = f"{start}/{entry['connection']}"
        message = entry.get("message")
        if isinstance(message, dict):
            self.entries.append(Sent(name, entry["direction"] == "in", message))

    def sent(self, method: str, since: int = 0) -> list[Json]:
        """Return the params of what VS Code asked or told by a method."""
        return [
            entry.message.get("params") or {}
            for entry in self.entries[since:]
            if entry.inbound and entry.method == method
        ]

    def dispatched(self, type: str, since: int = 0) -> list[Json]:
        """Return the actions of a type that VS Code sent."""
        return [
            e.action for e in self.entries[since:] if e.inbound and e.action.get("type") == type
        ]

    def told(self, type: str, since: int = 0) -> list[Json]:
        """Return the actions of a type that the host told of."""
        return [
            entry.action
            for entry in self.entries[since:]
            if not entry.inbound
            and entry.action.get("type") == type
            and "rejectionReason" not in entry.message["params"]
        ]

    def notified(self, method: str, title: str, since: int = 0) -> list[str]:
        """Return the sessions of a title that the host told of by a notification."""
        summaries = (
            (entry.message.get("params") or {}).get("summary") or {}
            for entry in self.entries[since:]
            if not entry.inbound and entry.method == method
        )
        return [summary["resource"] for summary in summaries if summary.get("title") == title]

    def unanswered(self) -> list[str]:
        """Name the requests of living connections that have no answer."""
        open: dict[tuple[str, bool, Any], str] = {}
        for entry in self.entries:
            id = entry.message.get("id")
            if id is None or entry.connection in self._gone:
                continue
            if entry.method:
                open[entry.connection, entry.inbound, id] = entry.method
            else:
                open.pop((entry.connection, not entry.inbound, id), None)
        return [f"{method} is not answered" for method in open.values()]

    def wrongs(self, since: int = 0) -> Iterator[str]:
        """Name the error answers and rejections that nobody expects."""
        asked: dict[tuple[str, bool, Any], str] = {}
        for number, entry in enumerate(self.entries):
            id, error = entry.message.get("id"), entry.message.get("error")
            if entry.method:
                asked[entry.connection, entry.inbound, id] = entry.method
            if number < since:
                continue
            if error is not None:
                method = asked.get((entry.connection, not entry.inbound, id), "?")
                if (method, error["code"]) not in EXPECTED_ERRORS:
                    yield f"{method}: {error['code']} {error['message']}"
            reason = (entry.message.get("params") or {}).get("rejectionReason")
            if reason is not None and not any(
                type == entry.action.get("type") and part in reason
                for type, part in EXPECTED_REJECTIONS
            ):
                yield f"{entry.action.get('type')} rejected: {reason}"
