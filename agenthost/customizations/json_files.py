"""Reads JSON as editors allow it: with comments and trailing commas; tells where entries stand.

Comments and commas become blanks, so every other character keeps its place, and a range in what was
parsed is one in the file.
"""

from __future__ import annotations

import bisect
import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from agenthost.customizations.types import TextRange
from agenthost.errors import AgentHostError

DEEPEST = 32
_LONGEST_REASON = 200

# What is skipped, a string, a bracket, a colon or comma, or a piece of anything else. Comments and
# strings that are never closed are taken to the end: looked for again and again, they would cost
# the square of the length.
_TOKEN = re.compile(
    r"(?P<blank>\s+|//[^\n]*|/\*.*?(?:\*/|\Z))"
    r'|(?P<string>"(?:[^"\\\n]|\\.)*+(?:"|(?=\n)|\Z))'
    r"|(?P<mark>[{}\[\]:,])"
    r'|(?P<other>[^\s{}\[\]:,"/]+|.)',
    re.DOTALL,
)


class BadJson(AgentHostError):
    """A text is no JSON, not even with comments; says why, with the line."""


def parse_json(text: str) -> dict[str, object]:
    """Return the object that a text with comments and trailing commas holds.

    Raises:
        BadJson: it is no JSON, nests too deep, or is something else than an object.
    """
    cleaned = _cleaned(text.removeprefix("\ufeff"))
    try:
        loaded: Any = orjson.loads(cleaned)
    except ValueError as error:
        # Which includes text that has no bytes.
        raise BadJson(f"no JSON: {_reason(error)}") from None
    if not isinstance(loaded, dict):
        raise BadJson("no JSON object: it has to begin with {")
    return loaded


def entry_ranges(text: str, path: Sequence[str], most: int = 1_000) -> Mapping[str, TextRange]:
    """Return where the first entries stand of the object that a path of names leads to.

    The text is one that could be parsed.
    """
    spans = _Spans(path)
    for token in _TOKEN.finditer(text):
        if token.lastgroup != "blank":
            spans.take(token)
    lines = _line_starts(text)
    return {
        name: (*_position(text, lines, start), *_position(text, lines, end))
        for name, (start, end) in itertools.islice(spans.found.items(), most)
    }


class _Spans:
    """Finds the entries of one object among the tokens of a text."""

    def __init__(self, path: Sequence[str]) -> None:
        self._path = list(path)
        # The name under which each open bracket stands.
        self._names: list[str | None] = []
        self._last: re.Match[str] | None = None
        self._name: str | None = None
        self._began = 0
        self.found: dict[str, tuple[int, int]] = {}

    def take(self, token: re.Match[str]) -> None:
        match token.group():
            case ":":
                self._begin_value()
            case "{" | "[":
                self._names.append(self._name)
                self._name = None
            case "}" | "]":
                self._end_entry()
                if self._names:
                    self._name = self._names.pop()
                    self._last = token
                return
            case ",":
                self._end_entry()
                self._name = None
        self._last = token

    def _is_inside(self) -> bool:
        return self._names[1:] == self._path

    def _begin_value(self) -> None:
        if self._last is None or self._last.lastgroup != "string":
            return
        try:
            self._name = str(orjson.loads(self._last.group()))
        except ValueError:
            self._name = None
        if self._is_inside():
            self._began = self._last.start()

    def _end_entry(self) -> None:
        if self._name is not None and self._last is not None and self._is_inside():
            self.found[self._name] = (self._began, self._last.end())


def _cleaned(text: str) -> str:
    pieces: list[str] = []
    depth = 0
    # Where the last comma is among the pieces, while nothing but blanks came behind it.
    comma: int | None = None
    for token in _TOKEN.finditer(text):
        piece = token.group()
        if token.lastgroup == "blank":
            pieces.append(re.sub(r"[^\n]", " ", piece))
            continue
        if piece in "{[":
            depth += 1
        elif piece in "}]":
            depth -= 1
            if comma is not None:
                pieces[comma] = " "
        if depth > DEEPEST:
            raise BadJson(f"this nests deeper than {DEEPEST} levels")
        comma = len(pieces) if piece == "," else None
        pieces.append(piece)
    return "".join(pieces)


def _line_starts(text: str) -> list[int]:
    return [0, *(found.end() for found in re.finditer("\n", text))]


def _position(text: str, lines: Sequence[int], offset: int) -> tuple[int, int]:
    line = bisect.bisect_right(lines, offset) - 1
    before = text[lines[line] : offset]
    return line, len(before.encode("utf-16-le", "surrogatepass")) // 2


def _reason(error: ValueError) -> str:
    # "unexpected character: line 3 column 5 (char 40)"
    return str(error).partition(" (char")[0][:_LONGEST_REASON]
