"""Values of front matter and JSON as what they are meant to be: a text, words, a yes or no.

People write the same thing in several ways (``tools: a, b``, ``tools: [a, b]``), so all of them
are read; what cannot be meant is refused with the field's name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from agenthost.errors import AgentHostError

LONGEST_NAME = 100
LONGEST_DESCRIPTION = 2_000
LONGEST_WORD = 500
MOST_WORDS = 256

_YES = frozenset({"true", "yes", "on", "1"})
_NO = frozenset({"false", "no", "off", "0"})
# Controls, and what turns the direction of writing round or breaks lines.
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]+")


class BadField(AgentHostError):
    """A value cannot be what its field is for; says which field, and why."""


def plain(text: str, longest: int) -> str:
    """Return a text in one line, without what nobody sees, and no longer than it may be."""
    # Cut before it is searched too: what is cut off costs nothing.
    seen = " ".join(_UNSEEN.sub(" ", text[: 4 * longest]).split())
    return seen if len(seen) <= longest else seen[: longest - 1] + "…"


def name_from(fields: Mapping[str, object], otherwise: str) -> str:
    """Return the name that the fields give, or else the one that the file has."""
    given = fields.get("name")
    if given is None or given == "":
        return plain(otherwise, LONGEST_NAME)
    if not isinstance(given, str):
        raise BadField("`name` is no text")
    if len(given.strip()) > LONGEST_NAME:
        raise BadField(f"`name` has more than {LONGEST_NAME} characters")
    if not (name := plain(given, LONGEST_NAME)):
        raise BadField("`name` has nothing that could be seen")
    return name


def text_from(fields: Mapping[str, object], key: str, longest: int = LONGEST_DESCRIPTION) -> str:
    """Return a text in one line; empty if the field is missing."""
    given = fields.get(key)
    if given is None:
        return ""
    if not isinstance(given, str):
        raise BadField(f"`{key}` is no text")
    return plain(given, longest)


def flag_from(fields: Mapping[str, object], key: str, otherwise: bool) -> bool:
    """Return a yes or no."""
    given = fields.get(key)
    if given is None or given == "":
        return otherwise
    if isinstance(given, bool):
        return given
    word = given.strip().lower() if isinstance(given, str) else ""
    if word in _YES:
        return True
    if word in _NO:
        return False
    raise BadField(f"`{key}` is neither true nor false")


def words_from(fields: Mapping[str, object], key: str) -> tuple[str, ...]:
    """Return a list, or the parts between the commas of a text; empty if the field is missing."""
    given = fields.get(key)
    if given is None:
        return ()
    parts = list(_between_commas(given)) if isinstance(given, str) else given
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise BadField(f"`{key}` is no list of texts")
    words = tuple(word for part in parts if (word := part.strip()))
    if len(words) > MOST_WORDS:
        raise BadField(f"`{key}` lists more than {MOST_WORDS}")
    if any(len(word) > LONGEST_WORD or _UNSEEN.search(word) for word in words):
        raise BadField(f"`{key}` lists something too long, or something that cannot be seen")
    return words


def _between_commas(text: str) -> Iterator[str]:
    """Split at commas outside of brackets: ``**/*.{ts,tsx}`` and ``Bash(a:*, b:*)`` are one."""
    depth = begun = 0
    for place, letter in enumerate(text):
        if letter in "({[":
            depth += 1
        elif letter in ")}]":
            depth = max(0, depth - 1)
        elif letter == "," and depth == 0:
            yield text[begun:place]
            begun = place + 1
    yield text[begun:]
