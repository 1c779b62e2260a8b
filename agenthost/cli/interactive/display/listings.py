"""Output of slash commands: help, sessions, chats, reasoning, tool calls.

Pure: what is listed and the present moment are handed in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from agenthost.cli.format.state_format import activity_word, age, is_archived, short_id
from agenthost.cli.format.terminal_text import one_line, table
from agenthost.cli.interactive.display.markdown import MarkdownText
from agenthost.cli.interactive.display.styled_text import EMPTY, StyledLine, indented, line, wrap
from agenthost.cli.interactive.typed_input import COMMANDS

Json = Mapping[str, Any]

LEAST_BESIDE = 24
"""Columns that an explanation needs to stand beside what it explains."""

_KEYS = (
    ("Enter", "send; while a turn runs, queue"),
    ("Alt-Enter", "another line"),
    ("!TEXT", "steer the running turn; between turns, run TEXT in a shell, if the host does"),
    ("//TEXT", "send /TEXT to the agent, though it looks like a command"),
    ("Ctrl-C", "cancel the turn; twice, leave"),
    ("Ctrl-D", "leave; a running turn goes on"),
)
_AGENT = "//help asks the agent what it understands."
_REST = (
    "These are the chat's own commands. All others with a slash are the agent's, unless they look "
    "like a slip."
)


def help_lines(width: int) -> list[StyledLine]:
    """Return the help: commands and keys."""
    rows = [(f"/{name} {usage}".strip(), about) for name, (usage, about) in COMMANDS.items()]
    size = max(len(left) for left, _ in (*rows, *_KEYS))
    listed = [item for left, right in rows for item in _explained(left, right, size, width)]
    keys = [item for left, right in _KEYS for item in _explained(left, right, size, width)]
    # First, because an agent that says "try /help" means its own.
    first = wrap(line(("key", _AGENT), ("dim", f" {_REST}")), width - 2)
    return [EMPTY, *indented(first, ("", "  ")), EMPTY, *listed, EMPTY, *keys]


def _explained(left: str, right: str, size: int, width: int) -> list[StyledLine]:
    """Return commands and their help: side by side, or one below the other."""
    beside = width - size - 4
    if beside < LEAST_BESIDE:
        return [line("  ", ("key", left)), *indented(wrap(line(right), width - 4), ("", "    "))]
    first, *more = indented(wrap(line(right), beside), ("key", f"{left:<{size}}  "))
    return [line("  ", *row) for row in (first, *more)]


def sessions_lines(
    summaries: Sequence[Json], current: str, now: datetime, width: int
) -> list[StyledLine]:
    """Return sessions, numbered for ``/open``."""
    rows = [
        (
            f"{'*' if summary['resource'] == current else ' '}{number:>2}",
            one_line(summary["title"]) or "(no title)",
            activity_word(summary["status"]),
            age(summary["modifiedAt"], now),
            short_id(summary["resource"]),
        )
        for number, summary in enumerate(summaries, 1)
    ]
    return _listed(rows, width, "/open N goes to one")


def chats_lines(session: Json, current: str, now: datetime, width: int) -> list[StyledLine]:
    """Return the chats of a session, numbered for ``/chat``."""
    rows = [
        (
            f"{'*' if chat['resource'] == current else ' '}{number:>2}",
            one_line(chat["title"]) or "(no title)",
            activity_word(chat["status"]),
            _origin(chat),
            age(chat["modifiedAt"], now),
        )
        for number, chat in enumerate(session["chats"], 1)
    ]
    return _listed(rows, width, "/chat N goes to one")


def queue_lines(chat: Json, width: int) -> list[StyledLine]:
    """Return the queued messages, numbered for ``/unqueue``."""
    queued = chat.get("queuedMessages") or ()
    if not queued:
        return [line(("dim", "· nothing is queued"))]
    rows = [
        (f" {number}", one_line(item["message"]["text"])) for number, item in enumerate(queued, 1)
    ]
    return _listed(rows, width, "/unqueue N takes one back")


def reasoning_lines(chat: Json, width: int) -> list[StyledLine]:
    """Return the reasoning of the last turn that has any."""
    for turn in _newest_first(chat):
        texts = [part["content"] for part in turn["responseParts"] if part["kind"] == "reasoning"]
        if texts:
            told = MarkdownText("dim").settle("\n\n".join(texts), width, whole=True)
            return [EMPTY, line(("dim", "∴ reasoning")), *told]
    return [line(("dim", "· no reasoning so far"))]


def nth_last_call(chat: Json, number: int) -> Json | None:
    """Return the Nth last tool call, counted from 1."""
    for turn in _newest_first(chat):
        calls = [part["toolCall"] for part in turn["responseParts"] if part["kind"] == "toolCall"]
        if number <= len(calls):
            found: Json = calls[-number]
            return found
        number -= len(calls)
    return None


def user_messages(chat: Json) -> list[str]:
    """Return the users' messages of a chat, oldest first."""
    return [
        turn["message"]["text"]
        for turn in reversed(list(_newest_first(chat)))
        if turn["message"]["origin"]["kind"] == "user"
    ]


def _listed(rows: Sequence[Sequence[str]], width: int, hint: str) -> list[StyledLine]:
    lines = [line(text) for text in table(rows, width=width, flexible=1)]
    return [EMPTY, *lines, line(("dim", f"   {hint}"))]


def _origin(chat: Json) -> str:
    kind = str((chat.get("origin") or {}).get("kind"))
    words = {"tool": "worker", "fork": "fork", "sideChat": "side chat"}
    told = [words.get(kind, "")]
    if chat.get("interactivity", "full") != "full":
        told.append(chat["interactivity"])
    if is_archived(chat["status"]):
        told.append("archived")
    return ", ".join(filter(None, told))


def _newest_first(chat: Json) -> Iterator[Json]:
    active = chat.get("activeTurn")
    if active is not None:
        yield active
    yield from reversed(chat["turns"])
