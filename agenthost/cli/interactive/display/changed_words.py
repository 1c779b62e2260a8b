"""Which words of a changed line differ from the line it replaces. Pure.

One stretch of a line, found from both its ends: time grows with the line's length and with
nothing else, whatever is in it.
"""

from __future__ import annotations

from itertools import takewhile
from typing import TypeAlias

Span: TypeAlias = tuple[int, int]
"""Where a stretch of a line begins and ends."""

LONGEST_LINE = 1_000
"""Characters of a line that is compared; nobody looks for words in a longer one."""


def changed_spans(old: str, new: str) -> tuple[Span | None, Span | None]:
    """Return the stretch of each line that the other has not; None where nothing is to be marked.

    Lines that have little in common are left alone: all of them is what changed.
    """
    if max(len(old), len(new)) > LONGEST_LINE or old == new:
        return None, None
    begin = _word_start(old, new, _common(old, new))
    room = min(len(old), len(new)) - begin
    same = _word_end(old, new, _common(old[::-1][:room], new[::-1][:room]))
    kept = len((old[:begin] + old[len(old) - same :]).replace(" ", ""))
    if kept * 3 < len(max(old, new, key=len).replace(" ", "")):
        return None, None
    return _span(old, begin, same), _span(new, begin, same)


def _common(old: str, new: str) -> int:
    """Return how many characters two texts begin with in common."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))


def _word_start(old: str, new: str, begin: int) -> int:
    """Return where the word begins in which two lines part."""
    while _inside_word(old, begin) or _inside_word(new, begin):
        begin -= 1
    return begin


def _word_end(old: str, new: str, same: int) -> int:
    """Return how much of the lines' ends is the same from a word's end on."""
    while same and (_inside_word(old, len(old) - same) or _inside_word(new, len(new) - same)):
        same -= 1
    return same


def _inside_word(text: str, place: int) -> bool:
    return 0 < place < len(text) and _is_word(text[place - 1]) and _is_word(text[place])


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _span(text: str, begin: int, same: int) -> Span | None:
    end = len(text) - same
    return (begin, end) if end > begin else None
