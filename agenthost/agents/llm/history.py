"""Builds a model's message history from the turns of a chat.

The chat's state is the only memory: so forks, side chats, truncation and restarts need nothing of
their own. Reasoning is left out, as providers take back only reasoning that they have signed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.native_tools import NATIVE_TOOL_TYPES

from agenthost.agents.folders import Folders
from agenthost.agents.llm.attachments import prompt_of
from agenthost.agents.turn import Turn
from agenthost.protocol.markdown import markdown_of

Outcome = Literal["success", "failed", "denied", "interrupted"]

# Characters of earlier turns that a model is told: some hundred thousand tokens, which is about
# what models take. Without a bound a long chat would come to a point where no turn works any more.
MOST_HISTORY: Final = 400_000
# Of pictures and the like providers count no bytes, but about this much.
PER_FILE: Final = 4000
# Characters of one tool result that a model gets: some ten thousand tokens.
MOST_RESULT: Final = 32_000
LEFT_OUT: Final = "(The conversation began earlier; the beginning is left out.)"
# What a model is told that goes on with an answer which an error cut off.
CONTINUE: Final = (
    "(An error interrupted your answer, and it is over now. Go on where you stopped: what you wrote"
    " so far is shown to the user already, and calls that have a result are done.)"
)
# The parts of an answer that its model gets to see again.
_RETOLD: Final = ("markdown", "toolCall")
_ENDINGS: Final = {
    "cancelled": "(The user cancelled this answer before it was complete.)",
    "error": "(This answer ended early because of an error.)",
}


def messages_of(
    turns: Sequence[Mapping[str, Any]],
    folders: Folders,
    plain_inputs: Mapping[str, str] | None = None,
) -> list[ModelMessage]:
    """Return the turns as messages.

    ``plain_inputs`` names, for tools whose input is shown as plain text, the argument that it is.
    Of a very long conversation the newest turns are told.
    """
    told: list[list[ModelMessage]] = []
    room = MOST_HISTORY
    for turn in reversed(turns):
        messages = _turn_messages(turn, folders, plain_inputs or {})
        room -= sum(map(_size, messages))
        if room < 0 and told:
            told.append([ModelRequest(parts=[UserPromptPart(content=LEFT_OUT)])])
            break
        told.append(messages)
    return [message for messages in reversed(told) for message in messages]


def conversation_of(
    turn: Turn,
    folders: Folders,
    plain_inputs: Mapping[str, str] | None = None,
    message: Mapping[str, Any] | None = None,
) -> tuple[list[ModelMessage], str | Sequence[UserContent]]:
    """Return what a model is told for a turn: the messages before, and the newest one.

    A turn that goes on after a failure continues what it has of an answer, if there is any.
    ``message`` is the newest one where the model is to read another than was sent.
    """
    message = turn.message if message is None else message
    if any(part["kind"] in _RETOLD for part in turn.parts_so_far):
        parts = {"responseParts": turn.parts_so_far, "state": "interrupted"}
        history = [*turn.history, {"message": message, **parts}]
        return messages_of(history, folders, plain_inputs), CONTINUE
    return messages_of(turn.history, folders, plain_inputs), prompt_of(message, folders)


def _turn_messages(
    turn: Mapping[str, Any], folders: Folders, plain_inputs: Mapping[str, str]
) -> list[ModelMessage]:
    builder = _HistoryBuilder(plain_inputs)
    builder.add_user(prompt_of(turn["message"], folders))
    builder.add_parts(turn["responseParts"], was_cut_short=turn["state"] != "complete")
    # Once, however often it failed and was taken up again.
    ending = _ENDINGS.get(turn["state"])
    if ending is not None:
        builder.add_user(ending)
    builder.flush()
    return builder.messages


def _size(message: ModelMessage) -> int:
    """Return about how many characters a message is for its model."""
    return sum(
        len(str(part.args)) if isinstance(part, ToolCallPart) else _length(part.content)
        for part in message.parts
        if isinstance(part, UserPromptPart | TextPart | ToolCallPart | ToolReturnPart)
    )


def _length(content: Any) -> int:
    if isinstance(content, str):
        return len(content)
    return sum(len(item) if isinstance(item, str) else PER_FILE for item in content)


def denial(reason: str | None, suggestion: str | None) -> str:
    """Return what a model is told when people do not allow a tool call."""
    told = f" They said: {reason}" if reason else ""
    instead = f" They suggest: {suggestion}" if suggestion else ""
    return f"The user did not allow this.{told}{instead}"


def clipped(text: str, most: int = MOST_RESULT) -> str:
    """Return a text, or the beginning and the end of a longer one."""
    if len(text) <= most:
        return text
    head, tail = most // 4, most - most // 4
    left_out = len(text) - most
    return f"{text[:head]}\n… ({left_out} characters left out) …\n{text[-tail:]}"


class _HistoryBuilder:
    """Builds a message history from turn parts, one step of the model after the other."""

    def __init__(self, plain_inputs: Mapping[str, str]) -> None:
        self.messages: list[ModelMessage] = []
        self._plain_inputs = plain_inputs
        # What the model said and called in this step, and what its calls gave.
        self._answer: list[ModelResponsePart] = []
        self._results: list[ToolReturnPart] = []

    def add_user(self, content: str | Sequence[UserContent]) -> None:
        """Add a message of the user."""
        self.flush()
        self.messages.append(ModelRequest(parts=[UserPromptPart(content=content)]))

    def add_parts(self, parts: Sequence[Mapping[str, Any]], *, was_cut_short: bool) -> None:
        """Add the parts of an answer, which may have ended before its agent was done."""
        failures = [place for place, part in enumerate(parts) if part["kind"] == "error"]
        # What stands before a failure was cut short by it, though the turn was taken up again.
        cut_off = len(parts) if was_cut_short else max(failures, default=0)
        for place, part in enumerate(parts):
            self._add_part(part, was_cut_short=place < cut_off)

    def _add_part(self, part: Mapping[str, Any], *, was_cut_short: bool) -> None:
        match part["kind"]:
            case "markdown":
                self._add_text(part["content"])
            case "toolCall":
                self._add_call(part["toolCall"], was_cut_short)
            case "systemNotification":
                # What people said while the turn was running was shown as a notice.
                self.add_user(markdown_of(part["content"]))

    def flush(self) -> None:
        """Finish the current step."""
        if self._answer:
            self.messages.append(ModelResponse(parts=self._answer))
        if self._results:
            self.messages.append(ModelRequest(parts=self._results))
        self._answer, self._results = [], []

    def _add_text(self, text: str) -> None:
        if self._results:
            # Text behind results is the next step; calls in a row are told as parallel ones.
            self.flush()
        self._answer.append(TextPart(content=text))

    def _add_call(self, call: Mapping[str, Any], was_cut_short: bool) -> None:
        name, id = call["toolName"], call["toolCallId"]
        outcome, result = _result(call, was_cut_short)
        if name in NATIVE_TOOL_TYPES:
            # The provider ran it itself, and takes back only what it has written itself.
            self._add_text(f"({name}: {result})")
            return
        args = _arguments(call, self._plain_inputs.get(name))
        self._answer.append(ToolCallPart(tool_name=name, args=args, tool_call_id=id))
        self._results.append(
            ToolReturnPart(tool_name=name, content=result, tool_call_id=id, outcome=outcome)
        )


def _arguments(call: Mapping[str, Any], plain: str | None) -> dict[str, Any]:
    given = call.get("toolInput")
    if not isinstance(given, str):
        return {}
    if plain is not None:
        return {plain: given}
    try:
        args = json.loads(given)
    except ValueError:
        args = None
    # Arguments that never were an object are told as they were written.
    return args if isinstance(args, dict) else {"input": given}


def _result(call: Mapping[str, Any], was_cut_short: bool) -> tuple[Outcome, str]:
    if call["status"] == "cancelled":
        if call.get("reason") == "skipped":
            return "interrupted", _interruption(call, was_cut_short)
        suggestion = (call.get("userSuggestion") or {}).get("text")
        return "denied", denial(markdown_of(call.get("reasonMessage")), suggestion)
    told = (_block(block) for block in call.get("content") or ())
    text = "\n".join(each for each in told if each)
    if call.get("success"):
        return "success", text or markdown_of(call.get("pastTenseMessage"))
    why = (call.get("error") or {}).get("message", "it failed")
    return "failed", f"{text}\n{why}" if text else why


def _interruption(call: Mapping[str, Any], was_cut_short: bool) -> str:
    # A call that its turn's end has ended does not say how far it was; one that was skipped while
    # it waited for people says why, and belongs to a turn that went on.
    if call.get("reasonMessage") or not was_cut_short:
        return "This was not run: nobody answered, or it was skipped."
    return "This did not finish; it may have run in part."


def _block(block: Mapping[str, Any]) -> str:
    if block["type"] == "text":
        return clipped(str(block["text"]))
    if block["type"] == "fileEdit":
        side = block.get("after") or block.get("before") or {}
        return f"(the file {side.get('uri', '')} was changed)"
    if block["type"] == "terminal":
        # What a command printed by its end stands beside it as text.
        return "" if "result" in block else f"({block['title']} ran on in the background)"
    return f"({block['type']} is not repeated here)"
