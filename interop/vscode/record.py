"""Makes a script for tests out of a run: everything that VS Code sent, in order.

``python -m interop.vscode.record RUN > tests/wire/vscode/…``, where RUN is the folder that a run
has left. Each line is one message and what had come from the host before it was sent (``after``);
`tests/wire/replaying.py` plays them. What a run makes up is replaced, so that two recordings can be
compared: UUIDs by counted ones, the workspace and what the host names by ``${placeholders}``.
"""

from __future__ import annotations

import base64
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["Recording"]

Json = dict[str, Any]

# What VS Code waits for besides answers; others may come in other numbers another time.
AWAITED = {
    "chat/turnStarted", "chat/turnComplete", "chat/turnCancelled", "chat/error",
    "chat/toolCallReady", "chat/toolCallContentChanged", "chat/inputRequested", "session/chatAdded",
}  # fmt: skip
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
BASE64_SESSION = re.compile(r"(?<=/)[A-Za-z0-9_-]{40,}(?=$|/|#)")
# What the host names. `replaying` finds the names of another run in the same order.
NAMED = re.compile(r"(?:call|input)-[0-9a-f]{12}|ahp-(?:content|terminal):/[^\s\"]+")
# Longer descriptions of tools say nothing more to a test.
LONGEST_DESCRIPTION = 60
# A value of so many characters that comes again is written once.
WORTH_SHARING = 400


class Recording:
    """The lines of one script."""

    def __init__(self, workspace: str) -> None:
        self._workspace = workspace
        self._uuids: dict[str, str] = {}
        self._named: dict[str, str] = {}
        self._shared: dict[str, str] = {}
        self._connection: tuple[int, str] | None = None
        # What came from the host since VS Code sent something.
        self._answers: list[Any] = []
        self._events: Counter[str] = Counter()
        self._fresh: set[str] = set()
        # The chats that the host has told of.
        self._chats: set[str] = set()

    def lines(self, logs: list[Path]) -> Iterator[Json]:
        """Yield the script of what the logs hold, one per start of the host."""
        for number, log in enumerate(logs):
            if number:
                yield {**self._after(), "crash": True}
            with log.open() as entries:
                for line in entries:
                    entry = json.loads(line)
                    if entry["direction"] == "out":
                        self._take(entry["message"])
                    else:
                        yield from self._sent((number, entry["connection"]), entry["message"])

    def _sent(self, connection: tuple[int, str], message: Json) -> Iterator[Json]:
        if connection != self._connection:
            yield {**self._after(), "open": True}
            self._connection = connection
            self._events = Counter()
        after = self._after()
        message = self._told({key: message[key] for key in message if key != "jsonrpc"})
        yield from self._share(message)
        yield {**after, "send": self._sharing(message)}

    def _after(self) -> Json:
        """Return what came from the host since the line before, and begin anew."""
        after: Json = {}
        if self._answers:
            after["answers"] = self._answers
        if self._fresh:
            after["events"] = {name: self._events[name] for name in sorted(self._fresh)}
        self._answers, self._fresh = [], set()
        return {"after": after} if after else {}

    def _take(self, message: Json) -> None:
        # The order in which the host names things is the order in which they are found again.
        for name in NAMED.findall(json.dumps(message)):
            self._name(name)
        if "method" not in message:
            self._answers.append(message["id"])
            return
        params = message.get("params") or {}
        action = params.get("action") or {}
        type = action.get("type")
        if type == "session/chatAdded" and self._is_old_chat(action["summary"]["resource"]):
            return
        if type in AWAITED and "rejectionReason" not in params:
            name = f"{self._text(params['channel'])} {type}"
            self._events[name] += 1
            self._fresh.add(name)

    def _is_old_chat(self, chat: str) -> bool:
        """Say whether a chat was told of before: that it is added then says what has changed."""
        is_old = chat in self._chats or chat.startswith("ahp-chat://default/")
        self._chats.add(chat)
        return is_old

    def _name(self, name: str) -> str:
        kind = re.split(r"[-:]", name.removeprefix("ahp-"))[0]
        if name not in self._named:
            count = sum(known.startswith(f"${{{kind} ") for known in self._named.values())
            self._named[name] = f"${{{kind} {count + 1}}}"
        return self._named[name]

    def _told(self, value: Any) -> Any:
        """Return a message with everything replaced that another run would make up anew."""
        if isinstance(value, dict):
            told = {key: self._told(item) for key, item in value.items()}
            if "inputSchema" in told and len(told.get("description", "")) > LONGEST_DESCRIPTION:
                told["description"] = told["description"][:LONGEST_DESCRIPTION] + "…"
            if value.keys() >= {"clientId", "lastSeenServerSeq"}:
                told["lastSeenServerSeq"] = "${last seen}"
            return told
        if isinstance(value, list):
            return [self._told(item) for item in value]
        return self._text(value) if isinstance(value, str) else value

    def _text(self, text: str) -> str:
        text = NAMED.sub(lambda found: self._name(found[0]), text)
        text = text.replace(self._workspace, "${workspace}")
        text = BASE64_SESSION.sub(self._session, text)
        return UUID.sub(self._uuid, text)

    def _uuid(self, found: re.Match[str]) -> str:
        if found[0].startswith("00000000-"):
            return found[0]
        number = len(self._uuids) + 1
        return self._uuids.setdefault(found[0], f"00000000-0000-4000-8000-{number:012}")

    def _session(self, found: re.Match[str]) -> str:
        try:
            padded = found[0] + "=" * (-len(found[0]) % 4)
            session = base64.urlsafe_b64decode(padded).decode()
        except ValueError:
            return found[0]
        encoded = base64.urlsafe_b64encode(self._text(session).encode()).decode()
        return encoded.rstrip("=")

    def _share(self, value: Any) -> Iterator[Json]:
        """Yield what is worth being written once, the first time that it comes."""
        if isinstance(value, dict):
            for item in value.values():
                yield from self._share(item)
        elif isinstance(value, list) and (text := json.dumps(value)) not in self._shared:
            if len(text) < WORTH_SHARING:
                return
            self._shared[text] = f"${{shared {len(self._shared) + 1}}}"
            yield {"share": self._shared[text], "value": value}

    def _sharing(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self._sharing(item) for key, item in value.items()}
        return self._shared.get(json.dumps(value), value) if isinstance(value, list) else value


def main() -> int:
    """Print the script of a run."""
    run = Path(sys.argv[1]).resolve()
    recording = Recording(str(run / "workspace"))
    for line in recording.lines(sorted(run.glob("wire-*.jsonl"))):
        print(json.dumps(line, ensure_ascii=False, separators=(",", ":")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
