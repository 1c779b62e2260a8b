"""One session as ``agenthost sessions show`` lays it out. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from agenthost.cli.format.customization_format import far_text, servers_text
from agenthost.cli.format.diff_format import change_counts
from agenthost.cli.format.state_format import (
    age,
    directory_text,
    error_text,
    question_line,
    short_chat_id,
    status_style,
    status_words,
    tool_line,
)
from agenthost.cli.format.terminal_text import Ink, one_line, table

if TYPE_CHECKING:
    from agenthost.protocol.session.state import SessionInputRequest, SessionState


def session_page(
    state: SessionState,
    summary: Mapping[str, Any],
    needed: Sequence[SessionInputRequest],
    now: datetime,
    ink: Ink,
) -> list[str]:
    """Lay out one session: what it is, its chats, and what it waits for."""
    lines = [ink("bold", one_line(state["title"]) or "(no title)")]
    facts = _facts(state, summary, now, ink)
    lines += [f"  {ink('dim', name.ljust(10))} {text}" for name, text in facts if text]
    lines += ["", ink("bold", "Chats")]
    rows = [
        (
            str(number),
            short_chat_id(chat["resource"]),
            one_line(chat["title"]) or "(no title)",
            ", ".join(status_words(chat["status"])),
            age(chat["modifiedAt"], now),
        )
        for number, chat in enumerate(state["chats"], 1)
    ]
    lines += [f"  {line}" for line in table(rows)] or ["  none"]
    waiting = [line for entry in needed for line in _waiting(entry)]
    if waiting:
        lines += ["", ink("yellow", "Waits for"), *(f"  {line}" for line in waiting)]
    return lines


def _facts(
    state: SessionState, summary: Mapping[str, Any], now: datetime, ink: Ink
) -> Iterator[tuple[str, str]]:
    status: int = summary["status"]
    yield "session", one_line(summary["resource"])
    if state["lifecycle"] != "ready":
        yield "lifecycle", _lifecycle(state)
    yield "status", ink(status_style(status), ", ".join(status_words(status)))
    yield "doing", one_line(summary.get("activity") or "")
    yield "agent", one_line(state["provider"])
    yield "runs at", far_text(state)
    yield "servers", servers_text(state)
    yield "lines", change_counts(summary.get("changes"))
    for uri in state.get("workingDirectories") or ():
        yield "directory", one_line(directory_text(uri))
    for what, key in (("created", "createdAt"), ("changed", "modifiedAt")):
        if key in summary:
            yield what, age(summary[key], now)
    for key, value in session_settings(state).items():
        yield one_line(key), one_line(json.dumps(value))
    for client in state["activeClients"]:
        yield "client", one_line(client["clientId"])


def _lifecycle(state: SessionState) -> str:
    if state["lifecycle"] == "failed":
        return f"could not be created: {error_text(state.get('creationError'))}"
    return "being created"


def session_settings(state: SessionState) -> Mapping[str, Any]:
    """Return the values of a session's settings."""
    config = state.get("config")
    return {} if config is None else config["values"]


def _waiting(entry: Mapping[str, Any]) -> list[str]:
    match entry["kind"]:
        case "chatInput":
            return [question_line(question) for question in entry["request"].get("questions") or ()]
        case "toolConfirmation":
            return [f"approval of {tool_line(entry['toolCall'])}"]
        case "toolAuthentication":
            return [f"a sign-in for {tool_line(entry['toolCall'])}"]
        case "toolClientExecution":
            return [f"{one_line(entry['clientId'])} to run {tool_line(entry['toolCall'])}"]
    return [one_line(str(entry["kind"]))]
