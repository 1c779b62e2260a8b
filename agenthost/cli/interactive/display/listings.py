"""Output of slash commands: chats, terminals, models, queue, reasoning, tool calls.

Pure: what is listed and the present moment are handed in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from agenthost.cli.format.customization_format import MOST_NAME, cell
from agenthost.cli.format.state_format import activity_word, age, is_archived
from agenthost.cli.format.terminal_text import one_line, table
from agenthost.cli.interactive.display.markdown import MarkdownText
from agenthost.cli.interactive.display.status_lines import short_count
from agenthost.cli.interactive.display.styled_text import EMPTY, StyledLine, line

Json = Mapping[str, Any]

MOST_MODELS = 20
"""Models that a list on half a screen can hold."""


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


def terminals_lines(terminals: Sequence[Json], width: int) -> list[StyledLine]:
    """Return the terminals of a session, numbered for ``/terminal``."""
    if not terminals:
        return [line(("dim", "· this session has no terminals; /terminal new opens one"))]
    rows = [
        (f" {number:>2}", one_line(item["title"]) or "(no title)", _lifecycle(item["lifecycle"]))
        for number, item in enumerate(terminals, 1)
    ]
    return _listed(rows, width, "/terminal N or new works in one")


def _lifecycle(state: Json) -> str:
    if state.get("status") != "exited":
        return "running"
    code = state.get("exitCode")
    return "ended" if code is None else f"ended with exit code {code}"


def models_lines(models: Sequence[Json], chosen: str | None, width: int) -> list[StyledLine]:
    """Return the models of an agent, the one that the next message asks for marked."""
    if not models:
        told = "· the agent names no models; /model ID asks for one all the same"
        return [line(("dim", told))]
    rows = [
        (
            f" {'*' if model['id'] == chosen else ' '}{cell(str(model['id']), MOST_NAME)}",
            cell(str(model.get("name") or ""), MOST_NAME),
            _window(model),
        )
        for model in models[:MOST_MODELS]
    ]
    lines = [line(text) for text in table(rows, width=width, flexible=1)]
    more = len(models) - MOST_MODELS
    lines += [line(("dim", f"   and {more} more"))] if more > 0 else []
    return [EMPTY, *lines, line(("dim", "   /model ID chooses, default goes back"))]


def _window(model: Json) -> str:
    window = model.get("maxContextWindow")
    return f"{short_count(window)} tokens" if isinstance(window, int) and window > 0 else ""


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
