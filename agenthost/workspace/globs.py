"""Globs as editors write them: ``**``, ``*``, ``?``, ``[a-z]`` and ``{a,b}``, on relative paths.

A pattern matches a path and everything below it: ``node_modules``, ``**/*.o``, ``src/**``. Matching
takes no longer than the lengths of pattern and path allow: the expression that a pattern becomes
never tries again what it has decided once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from agenthost.errors import AgentHostError

LONGEST_PATTERN = 1000
# A pattern with braces stands for several.
MOST_ALTERNATIVES = 100
MOST_PATTERNS = 200
# What all together stand for: the expression is made in some ten milliseconds.
MOST_EXPRESSIONS = 500
MOST_LETTERS = 8_000

_END = r"(?=/|\Z)"


class BadGlob(AgentHostError):
    """A pattern cannot be used."""


class Globs:
    """Several patterns; a path matches if one of them does."""

    def __init__(self, patterns: Iterable[str]) -> None:
        given = list(patterns)
        if len(given) > MOST_PATTERNS:
            raise BadGlob(f"these are more than {MOST_PATTERNS} patterns")
        expanded = [one for pattern in given for one in _expanded(pattern)]
        if len(expanded) > MOST_EXPRESSIONS or sum(map(len, expanded)) > MOST_LETTERS:
            raise BadGlob("these patterns stand for too many, or are too long together")
        expressions = [_expression(one) for one in expanded]
        self._matches = re.compile("|".join(expressions)).match if expressions else None

    def match(self, path: str) -> bool:
        """Say whether a relative path, or a folder above it, matches."""
        return self._matches is not None and self._matches(path) is not None


def _expanded(pattern: str) -> list[str]:
    """Return the patterns without braces that one with braces stands for."""
    if len(pattern) > LONGEST_PATTERN:
        raise BadGlob(f"a pattern has at most {LONGEST_PATTERN} characters")
    done: list[str] = []
    open_ones = [pattern]
    while open_ones:
        if len(open_ones) + len(done) > MOST_ALTERNATIVES:
            raise BadGlob(f"{pattern[:60]} stands for more than {MOST_ALTERNATIVES} patterns")
        one = open_ones.pop()
        braces = _first_braces(one)
        if braces is None:
            done.append(one)
            continue
        start, end, choices = braces
        open_ones += [one[:start] + choice + one[end:] for choice in reversed(choices)]
    return done


def _first_braces(pattern: str) -> tuple[int, int, list[str]] | None:
    """Return where the first braces start and end, and what they offer."""
    start = pattern.find("{")
    if start < 0:
        return None
    depth, begun = 0, start + 1
    choices: list[str] = []
    for place in range(start, len(pattern)):
        letter = pattern[place]
        if letter == "{":
            depth += 1
        elif letter == "}":
            depth -= 1
        if depth == 0 or (depth == 1 and letter == ","):
            choices.append(pattern[begun:place])
            begun = place + 1
        if depth == 0:
            return start, place + 1, choices
    # Braces that are never closed are letters.
    return None


def _expression(pattern: str) -> str:
    """Return the regular expression of a pattern without braces.

    Between two ``**`` stands a fixed number of names, so the first place where they fit is as good
    as any later one: the group around them is atomic, and nothing is tried twice.
    """
    parts = [part for part in pattern.split("/") if part not in ("", ".")]
    if parts and parts[-1] == "**" and len(parts) > 1:
        # Everything below is matched anyway, and so is the folder itself.
        parts.pop()
    if not parts or ".." in parts:
        return r"(?!)"
    chunks: list[list[str]] = [[]]
    for part in parts:
        if part == "**":
            chunks.append([])
        else:
            chunks[-1].append(_name(part))
    first, *others = ["/".join(chunk) for chunk in chunks]
    text = f"{first}{_END}" if first else ""
    for chunk in others:
        if chunk:
            slash = "/" if text else ""
            text += f"{slash}(?>(?:[^/]*/)*?{chunk}{_END})"
    # Nothing but ``**``.
    return text or "(?s:.)"


def _name(part: str) -> str:
    """Return the expression of one name; what stands between two stars has a fixed length."""
    pieces = [""]
    place = 0
    while place < len(part):
        letter = part[place]
        place += 1
        if letter == "*":
            pieces.append("")
        elif letter == "?":
            pieces[-1] += "[^/]"
        elif letter == "[" and (end := _end_of_set(part, place)) > 0:
            pieces[-1] += _set(part[place:end])
            place = end + 1
        else:
            pieces[-1] += re.escape(letter)
    if len(pieces) == 1:
        return pieces[0]
    first, *middle, last = pieces
    stars = "".join(f"(?>[^/]*?{piece})" for piece in middle if piece)
    return f"(?>{first}{stars}[^/]*{last}{_END})"


def _end_of_set(part: str, place: int) -> int:
    # A bracket right at the start of a set is one of its letters.
    after = place + (1 if part[place : place + 1] in ("!", "^") else 0)
    return part.find("]", after + 1)


def _set(letters: str) -> str:
    negated = letters[:1] in ("!", "^")
    letters = letters[1:] if negated else letters
    ranges: list[str] = []
    place = 0
    while place < len(letters):
        if letters[place + 1 : place + 2] == "-" and place + 2 < len(letters):
            low, high = letters[place], letters[place + 2]
            if low <= high:
                ranges.append(f"{re.escape(low)}-{re.escape(high)}")
            place += 3
        else:
            ranges.append(re.escape(letters[place]))
            place += 1
    inside = "".join(ranges)
    if not inside:
        return "[^/]" if negated else "(?!)"
    return f"(?!/)[{'^' if negated else ''}{inside}]"
