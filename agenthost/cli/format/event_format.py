"""Events of a chat as lines of text and as JSON objects. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agenthost.cli.format.state_format import (
    error_lines,
    only_question,
    question_line,
    tool_json,
    tool_line,
    tool_style,
    tool_word,
    usage_line,
)
from agenthost.cli.format.terminal_text import Style, one_line, text_lines
from agenthost.client import (
    ChatEvent,
    ConfirmationNeeded,
    PartAdded,
    Question,
    QuestionClosed,
    Reasoning,
    Redrawn,
    Text,
    ToolCallChanged,
    TurnEnded,
    TurnResumed,
    TurnStarted,
    UsageReported,
)
from agenthost.protocol.markdown import markdown_of

Json = Mapping[str, Any]

_END_STYLES: Mapping[str, Style] = {"complete": "green", "error": "red"}


@dataclass(frozen=True, slots=True)
class EventLine:
    """One event as text: a label, one or more lines, a style."""

    what: str
    text: str
    style: Style | None = None


def event_line(event: ChatEvent) -> EventLine | None:
    """Return an event as a printable line; None if it needs none.

    Text and reasoning are streamed in small pieces, which the caller collects to lines first.
    """
    match event:
        case TurnStarted(message=message):
            what = "prompt" if message["origin"]["kind"] == "user" else "task"
            return EventLine(what, one_line(message["text"]), "bold")
        case TurnResumed(message=message):
            return EventLine("resumed", one_line(message["text"]), "bold")
        case Text(text=text):
            return EventLine("answer", one_line(text))
        case ToolCallChanged(call=call, before=before):
            # That it waits is told by the event that says so.
            is_told = "waits for approval" in tool_word(call)
            return None if is_told else tool_change_line(call, before)
        case ConfirmationNeeded(call=call):
            return _tool(call)
        case Question(request=request):
            asked = [question_line(question) for question in request.get("questions") or ()]
            about = "" if only_question(request) else str(request.get("message") or "")
            text = one_line(" · ".join(filter(None, (about, *asked))))
            return EventLine("question", text or str(request.get("url", "")), "yellow")
        case QuestionClosed(response=response):
            return EventLine("answered", response or "the turn ended over it", "dim")
        case PartAdded(part=part):
            return _part(part)
        case UsageReported(usage=usage) if usage_line(usage):
            return EventLine("usage", usage_line(usage), "dim")
        case Redrawn():
            return EventLine("changed", "the turn was rewritten", "yellow")
        case TurnEnded(state=state):
            text = "\n".join(error_lines(event.error)) if event.error is not None else ""
            return EventLine(state, text, _END_STYLES.get(state, "yellow"))
    return None


def tool_change_line(call: Json, before: Json | None) -> EventLine | None:
    """Return a tool call's new status as a line; None if people would read the same as before."""
    word = tool_word(call)
    if word == "preparing" or (before is not None and word == tool_word(before)):
        return None
    return _tool(call)


def _tool(call: Json) -> EventLine:
    return EventLine("tool", f"{tool_line(call)} - {tool_word(call)}", tool_style(call))


def _part(part: Json) -> EventLine | None:
    if part["kind"] == "systemNotification":
        return EventLine("notice", "\n".join(text_lines(markdown_of(part["content"]))), "yellow")
    if part["kind"] == "error":
        # Of a turn that went on after it.
        return EventLine("error", "\n".join(error_lines(part.get("error"))), "red")
    return EventLine(part["kind"], one_line(str(part.get("uri", ""))), "dim")


def event_json(event: ChatEvent) -> dict[str, Any]:
    """Return an event as an object; ``event`` says which one it is."""
    told: dict[str, Any] = {"event": _NAMES[type(event)], "turn": event.turn_id}
    match event:
        case TurnStarted(message=message) | TurnResumed(message=message):
            return {**told, "message": message}
        case Text(part_id=part_id, text=text) | Reasoning(part_id=part_id, text=text):
            return {**told, "part": part_id, "text": text}
        case ToolCallChanged(call=call) | ConfirmationNeeded(call=call):
            return {**told, "toolCallId": call["toolCallId"], "toolCall": tool_json(call)}
        case Question(request=request):
            return {**told, "requestId": request["id"], "request": request}
        case QuestionClosed(request=request, response=response):
            about = {"requestId": request["id"], "request": request}
            return {**told, **about, "response": response}
        case PartAdded(part=part):
            return {**told, "part": part}
        case UsageReported(usage=usage):
            return {**told, "usage": usage}
        case Redrawn(parts=parts):
            return {**told, "parts": list(parts)}
        case TurnEnded(state=state):
            told |= {"state": state, "error": event.error}
            return {**told, "resumable": True} if event.resumable else told


_NAMES: Mapping[type[Any], str] = {
    TurnStarted: "turnStarted",
    TurnResumed: "turnResumed",
    Text: "text",
    Reasoning: "reasoning",
    ToolCallChanged: "toolCall",
    ConfirmationNeeded: "confirmationNeeded",
    Question: "question",
    QuestionClosed: "questionClosed",
    PartAdded: "part",
    UsageReported: "usage",
    Redrawn: "redrawn",
    TurnEnded: "turnEnded",
}
