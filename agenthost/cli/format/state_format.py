"""Sessions, tool calls and questions as text and as ``--json`` objects.

Pure: no clock, no terminal, no connection. Whatever makes a line here has made it safe to print.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import unquote, urlsplit

from agenthost.cli.format.terminal_text import Style, one_line, safe_text, text_lines, visible
from agenthost.protocol.chat.parts import error_of
from agenthost.protocol.markdown import markdown_of
from agenthost.protocol.status import (
    ACTIVITY_MASK,
    ERROR,
    IDLE,
    IN_PROGRESS,
    INPUT_NEEDED,
    IS_ARCHIVED,
    IS_READ,
)

if TYPE_CHECKING:
    from agenthost.protocol.chat.state import CompletedTurn

Json = Mapping[str, Any]
MOST_ASKED = 20_000
"""Characters of a question that are shown; no screen has room for more."""

SHORT_ID = 8
"""Characters of a random id that tell it from others."""


def age(moment: str, now: datetime) -> str:
    """Return how long ago a time was, in words; a text that is no time stays as it is."""
    try:
        then = datetime.fromisoformat(moment)
    except ValueError:
        return one_line(moment)
    then = then if then.tzinfo is not None else then.replace(tzinfo=UTC)
    seconds = (now - then).total_seconds()
    for limit, unit, name in ((3600, 60, "min"), (86_400, 3600, "h"), (7 * 86_400, 86_400, "d")):
        if seconds < 60:
            return "just now"
        if seconds < limit:
            return f"{int(seconds // unit)} {name} ago"
    return then.astimezone(now.tzinfo).strftime("%Y-%m-%d")


def error_text(error: Json | None) -> str:
    """Return an error's message as one line."""
    return one_line(str((error or {}).get("message") or "no reason given"))


def error_lines(error: Json | None) -> list[str]:
    """Return an error's message as lines."""
    return text_lines(str((error or {}).get("message") or "")) or [error_text(error)]


def turn_error(turn: Json) -> Json | None:
    """Return why a turn failed; None for one that did not, does not say, or is under way."""
    return error_of(cast("CompletedTurn", turn)) if "state" in turn else None


# Sessions.

_ACTIVITIES: Mapping[int, tuple[str, Style | None]] = {
    IDLE: ("idle", None),
    ERROR: ("error", "red"),
    IN_PROGRESS: ("running", "green"),
    INPUT_NEEDED: ("needs input", "yellow"),
}


def activity_word(status: int) -> str:
    """Return what a session or chat is doing: idle, running, needs input or error."""
    return _ACTIVITIES.get(status & ACTIVITY_MASK, ("idle", None))[0]


def status_style(status: int) -> Style | None:
    """Return the colour of an activity."""
    if is_archived(status):
        return "dim"
    return _ACTIVITIES.get(status & ACTIVITY_MASK, ("idle", None))[1]


def status_words(status: int) -> tuple[str, ...]:
    """Return a status as words: the activity, then archived and unread where they hold."""
    words = [activity_word(status)]
    words += ["archived"] if is_archived(status) else []
    words += ["unread"] if is_unread(status) else []
    return tuple(words)


def is_archived(status: int) -> bool:
    """Return whether a session is archived."""
    return bool(status & IS_ARCHIVED)


def is_unread(status: int) -> bool:
    """Return whether a session has activity that nobody has seen."""
    return not status & IS_READ


def session_id(uri: str) -> str:
    """Return the part of a session's or chat's URI that people type."""
    return uri.rpartition("/")[2] or uri


def short_id(uri: str) -> str:
    """Return the first characters of a random id; ids that people chose are kept whole."""
    return _short(session_id(uri))


def chat_id(uri: str) -> str:
    """Return the part of a chat's URI that tells it from the others of its session."""
    scheme, _, rest = uri.partition("://")
    name, _, session = rest.partition("/")
    # Agenthost's chats say last in which session they began; workers of a turn are all of one name.
    is_named_first = scheme == "ahp-chat" and session and name not in ("", "subagent")
    return name if is_named_first else session_id(uri)


def short_chat_id(uri: str) -> str:
    """Return the first characters of a chat's id, as ``short_id`` does a session's."""
    return _short(chat_id(uri))


def _short(id: str) -> str:
    id = one_line(id)
    return id[:SHORT_ID] if len(id) >= 32 else id


def directory_text(uri: str) -> str:
    """Return a directory's path, or its URI if it is not a local file."""
    parts = urlsplit(uri)
    return unquote(parts.path) if parts.scheme == "file" and parts.path else uri


def session_json(summary: Json) -> dict[str, Any]:
    """Return a session's summary as a ``--json`` object."""
    status: int = summary["status"]
    shown = {
        "session": summary["resource"],
        "id": session_id(summary["resource"]),
        "title": summary["title"],
        "status": activity_word(status),
        "archived": is_archived(status),
        "unread": is_unread(status),
        "agent": summary["provider"],
        "createdAt": summary.get("createdAt"),
        "modifiedAt": summary.get("modifiedAt"),
        "directories": [directory_text(uri) for uri in summary.get("workingDirectories") or ()],
    }
    found = ("activity", "origin", "project", "changes")
    more = {key: summary[key] for key in found if key in summary}
    return {**shown, **more}


# Tool calls.


def tool_word(call: Json) -> str:
    """Return a tool call's status in words."""
    match call["status"]:
        case "streaming":
            return "preparing"
        case "pending-confirmation":
            return "waits for approval"
        case "running":
            return "running"
        case "auth-required":
            return "waits for a sign-in"
        case "pending-result-confirmation":
            return "its result waits for approval"
        case "completed":
            return "done" if call.get("success") else "failed"
        case "cancelled":
            return _cancelled_word(call)
    return one_line(str(call["status"]))


def _cancelled_word(call: Json) -> str:
    """Return why a tool call did not run: denied, skipped, cancelled.

    The protocol also says "skipped", without a message, when the turn ended before the call ran.
    """
    reason = str(call.get("reason", "skipped"))
    if reason == "skipped":
        return reason if call.get("reasonMessage") or call.get("selectedOption") else "cancelled"
    return "result denied" if reason == "result-denied" else reason


def tool_style(call: Json) -> Style | None:
    """Return the colour of a tool call's status."""
    match tool_word(call):
        case "done":
            return "green"
        case "failed" | "denied" | "result denied":
            return "red"
        case "skipped" | "cancelled":
            return "dim"
        case "running" | "preparing":
            return "cyan"
    return "yellow"


def tool_line(call: Json) -> str:
    """Return a tool call as one line, without its status: name and message."""
    name = one_line(str(call.get("displayName") or call["toolName"]))
    said = one_line(markdown_of(call.get("pastTenseMessage") or call.get("invocationMessage")))
    return f"{name}: {said}" if said and said != name else name


def tool_input(call: Json) -> str:
    """Return a tool call's input as text; empty while there is none."""
    given = call.get("toolInput", call.get("partialInput"))
    if isinstance(given, Mapping):
        return f"[{given.get('uri', 'input kept elsewhere')}]"
    return "" if given is None else str(given)


def tool_output(call: Json) -> str:
    """Return a tool call's output as text."""
    texts = [content_text(block) for block in shown_content(call)]
    if call.get("error"):
        texts.append(error_text(call["error"]))
    return "\n".join(text.rstrip("\n") for text in texts if text)


def shown_content(call: Json) -> list[Json]:
    """Return the blocks of a tool call's content, with what a terminal printed only once.

    Most hosts tell it twice: as the terminal's own and, for those who know no terminals, as text.
    """
    content: list[Json] = list(call.get("content") or ())
    texts = [_plain_output(block["text"]) for block in content if block["type"] == "text"]
    shown: list[Json] = []
    ended: list[Json] = []
    for block in content:
        preview = _plain_output((block.get("result") or {}).get("preview") or "")
        if block["type"] == "terminal" and preview and any(map(_ends_with(preview), texts)):
            result = {key: told for key, told in block["result"].items() if key != "preview"}
            code = result.get("exitCode", 0)
            # That all went well needs no saying, and what went wrong none twice.
            if code != 0 and error_text(call.get("error")) != f"exit code {code}":
                ended.append({**block, "result": result})
        else:
            shown.append(block)
    # How it ended belongs behind what it printed.
    return [*shown, *ended]


def _plain_output(text: str) -> str:
    return safe_text(text, overwrite=True).strip()


def _ends_with(end: str) -> Callable[[str], bool]:
    return lambda text: text.endswith(end)


def running_terminals(call: Json) -> list[str]:
    """Return the URIs of the terminals in which a tool call runs."""
    if call["status"] != "running":
        return []
    blocks = [block for block in call.get("content") or () if block["type"] == "terminal"]
    return [block["resource"] for block in blocks if "result" not in block]


def content_text(block: Json) -> str:
    """Return one block of a tool's content as text."""
    match block.get("type"):
        case "text":
            return str(block["text"])
        case "terminal":
            result = block.get("result") or {}
            ended = f"[exit code {result['exitCode']}]" if "exitCode" in result else ""
            return "\n".join(filter(None, (str(result.get("preview") or ""), ended)))
        case "fileEdit":
            return _edit_text(block)
        case "subagent":
            return f"[worker {block['title']}: {block['resource']}]"
        case "embeddedResource":
            return f"[{block['contentType']}, {len(block['data']) * 3 // 4} bytes]"
        case "resource":
            return f"[{block['uri']}]"
    return f"[{block.get('type', 'something')} that this version does not know]"


def _edit_text(edit: Json) -> str:
    before, after = edit.get("before"), edit.get("after")
    side = after or before or {"uri": "a file"}
    verb = "edited" if before and after else "created" if after else "deleted"
    diff = edit.get("diff") or {}
    marks = {"added": "+", "removed": "-"}
    count = [f"{mark}{diff[key]}" for key, mark in marks.items() if key in diff]
    return " ".join([f"{verb} {directory_text(side['uri'])}", *count])


def tool_json(call: Json) -> dict[str, Any]:
    """Return a tool call as a ``--json`` object."""
    shown: dict[str, Any] = {
        "id": call["toolCallId"],
        "toolCallId": call["toolCallId"],
        "tool": call["toolName"],
        "name": call.get("displayName"),
        "status": call["status"],
        "input": call.get("toolInput"),
        "output": tool_output(call),
    }
    more = ("success", "reason", "confirmed", "error", "content", "structuredContent")
    return {**shown, **{key: call[key] for key in more if key in call}}


# Questions and usage.


def only_question(request: Json) -> Json | None:
    """Return a request's only question if its text equals the request's message."""
    match request.get("questions"):
        case [question] if one_line(question["message"]) == one_line(request.get("message") or ""):
            found: Json = question
            return found
    return None


def question_line(question: Json) -> str:
    """Return a question as one line: id, text, possible answers."""
    asked = one_line(str(question.get("message") or question.get("title") or ""))
    kinds = ", ".join(_answer_kinds(question))
    return f"{question['id']}: {asked}" + (f" ({kinds})" if kinds else "")


def question_lines(question: Json) -> list[str]:
    """Return a question as lines, as its text has them: the first with the id, answers behind."""
    text = str(question.get("message") or question.get("title") or "")
    first, *more = asked_lines(text)
    kinds = ", ".join(_answer_kinds(question))
    lines = [f"{question['id']}: {first}", *(f"  {row}" for row in more)]
    if kinds:
        lines = [*lines, f"  ({kinds})"] if more else [f"{lines[0]} ({kinds})"]
    return lines


def asked_lines(message: str) -> list[str]:
    """Return the text of a question as lines in which nothing hides; at least one.

    It may be about what a program would run, so that what a terminal obeys is spelled out.
    """
    rows = [" ".join(visible(row).split()) for row in message[:MOST_ASKED].split("\n")]
    return [row for row in rows if row] or ["?"]


def _answer_kinds(question: Json) -> Iterator[str]:
    match question["kind"]:
        case "boolean":
            yield "yes or no"
        case "single-select" | "multi-select":
            several = question["kind"] == "multi-select"
            labels = [one_line(str(option["label"])) for option in question["options"]]
            yield ("any of " if several else "one of ") + ", ".join(labels)
            if question.get("allowFreeformInput"):
                yield "or other text"
        case "number" | "integer" as kind:
            yield "a whole number" if kind == "integer" else "a number"
    if not question.get("required"):
        yield "optional"


def answer_text(question: Json, answer: Json | None) -> str:
    """Return an answer as text, with labels instead of option ids."""
    if answer is None:
        return "no answer"
    free = [str(value) for value in answer.get("freeformValues") or ()]
    value = answer.get("value")
    if answer.get("state") == "skipped" or value is None:
        return ", ".join(free) or "skipped"
    free += [str(text) for text in value.get("freeformValues") or ()]
    labels = {option["id"]: option["label"] for option in question.get("options") or ()}
    match value["kind"]:
        case "boolean":
            return "yes" if value["value"] else "no"
        case "selected":
            chosen = [value["value"]] if value["value"] else []
        case "selected-many":
            chosen = list(value["value"])
        case _:
            return str(value["value"])
    return ", ".join([*(str(labels.get(id, id)) for id in chosen), *free]) or "nothing"


def usage_line(usage: Json) -> str:
    """Return a turn's model and token counts as one line; empty if unknown."""
    counts = {
        "in": usage.get("inputTokens"),
        "cached": usage.get("cacheReadTokens"),
        "out": usage.get("outputTokens"),
    }
    told = [f"{count:,} {name}" for name, count in counts.items() if count is not None]
    model = [one_line(str(usage["model"]))] if usage.get("model") else []
    return " · ".join([*model, *([f"{', '.join(told)} tokens"] if told else [])])
