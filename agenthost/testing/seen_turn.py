"""A turn as clients see it, in a form that is easy to assert on.

Made of the chat's state and of what that refers to; the state itself is there for all the rest.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

from agenthost.client import Client
from agenthost.protocol.chat.parts import error_of

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SeenCall:
    """One tool call."""

    # The tool's name.
    name: str
    # Where it stands: in a turn that is over, "completed" or "cancelled".
    status: str
    # The parameters: read where they are a JSON object, otherwise the text.
    input: Any
    # The text of the result, or of what was shown so far.
    output: str
    # Every change to a file in it, as a unified diff; "" if there is none.
    diff: str
    # The whole call, as the chat's state has it.
    state: Json

    @property
    def succeeded(self) -> bool:
        """Whether the call ran, and to a good end."""
        return self.status == "completed" and bool(self.state.get("success"))

    @property
    def error(self) -> str | None:
        """Why the call failed, if it did."""
        error = self.state.get("error")
        return None if error is None else str(error["message"])


class SeenCalls(Sequence[SeenCall]):
    """The tool calls of a turn, by number, or by name where there is one of that name."""

    def __init__(self, calls: Iterable[SeenCall]) -> None:
        self._calls = tuple(calls)

    def __len__(self) -> int:
        return len(self._calls)

    def __iter__(self) -> Iterator[SeenCall]:
        return iter(self._calls)

    @overload
    def __getitem__(self, key: int | str) -> SeenCall: ...
    @overload
    def __getitem__(self, key: slice) -> Sequence[SeenCall]: ...
    def __getitem__(self, key: int | str | slice) -> SeenCall | Sequence[SeenCall]:
        if not isinstance(key, str):
            return self._calls[key]
        found = self.named(key)
        if len(found) != 1:
            names = ", ".join(call.name for call in self._calls) or "none"
            raise LookupError(f"there are {len(found)} calls of {key}; the calls are: {names}")
        return found[0]

    def named(self, name: str) -> list[SeenCall]:
        """Return all calls of one tool."""
        return [call for call in self._calls if call.name == name]

    def __repr__(self) -> str:
        return f"SeenCalls({list(self._calls)!r})"


@dataclass(frozen=True, slots=True)
class SeenTurn:
    """One turn that is over."""

    # How it ended: "complete", "cancelled" or "error".
    state: str
    # The answer's markdown, and what the agent thought aloud.
    text: str
    reasoning: str
    calls: SeenCalls
    # The words of everything that the agent asked, in order.
    questions: tuple[str, ...]
    # The notices of the system in the answer.
    notices: tuple[str, ...]
    # Why it failed, in the words that people are shown, and in a program's.
    error: str | None
    error_type: str | None
    # What it used, as it was last reported.
    usage: Json
    # The whole turn, as the chat's state has it.
    turn: Json


async def see_turn(client: Client, turn: Json, questions: Iterable[str]) -> SeenTurn:
    """Read a completed turn, with everything that it refers to."""
    parts: Sequence[Json] = turn["responseParts"]
    failure: Json = error_of(turn) or {}  # type: ignore[arg-type]
    return SeenTurn(
        state=turn["state"],
        text=_joined(parts, "markdown"),
        reasoning=_joined(parts, "reasoning"),
        calls=SeenCalls(
            [await see_call(client, part["toolCall"]) for part in _of_kind(parts, "toolCall")]
        ),
        questions=tuple(questions),
        notices=tuple(_words(part["content"]) for part in _of_kind(parts, "systemNotification")),
        error=failure.get("message"),
        error_type=failure.get("errorType"),
        usage=turn.get("usage") or {},
        turn=turn,
    )


async def see_call(client: Client, call: Json) -> SeenCall:
    """Read a tool call, under way or ended, with everything that it refers to."""
    blocks: Sequence[Json] = call.get("content") or ()
    # Before it runs, what it is about to do to files is in what people are asked.
    asked: Sequence[Json] = (call.get("edits") or {}).get("items") or ()
    edits = [*_of_kind(blocks, "fileEdit", "type"), *asked]
    return SeenCall(
        name=call["toolName"],
        status=call["status"],
        input=_parsed(await _input(client, call.get("toolInput"))),
        output="\n".join(block["text"] for block in _of_kind(blocks, "text", "type")),
        diff="".join([await _diff(client, edit) for edit in edits]),
        state=call,
    )


def _of_kind(entries: Sequence[Json], kind: str, field: str = "kind") -> list[Json]:
    return [entry for entry in entries if entry.get(field) == kind]


def _joined(parts: Sequence[Json], kind: str) -> str:
    return "".join(part["content"] for part in _of_kind(parts, kind))


def _words(content: Any) -> str:
    return str(content["markdown"] if isinstance(content, Mapping) else content)


async def _input(client: Client, given: Any) -> Any:
    """Return a call's input, which is a reference where it is long."""
    if isinstance(given, Mapping):
        return await client.files.read_text(given["uri"])
    return given


def _parsed(text: str | None) -> Any:
    try:
        value = json.loads(text or "")
    except ValueError:
        return text
    return value if isinstance(value, dict) else text


async def _diff(client: Client, edit: Json) -> str:
    """Return an edit as a unified diff, with the file's name on both sides."""
    old_name, old = await _side(client, edit.get("before"))
    new_name, new = await _side(client, edit.get("after"))
    lines = difflib.unified_diff(old, new, old_name, new_name, lineterm="")
    return "".join(f"{line}\n" for line in lines)


async def _side(client: Client, file: Json | None) -> tuple[str, list[str]]:
    """Return the name and the lines of a file; that which is not there is called as in git."""
    if file is None:
        return "/dev/null", []
    text = await client.files.read_text(file["content"]["uri"])
    return file["uri"].rpartition("/")[2], text.splitlines()
