"""Splits a Markdown file into its YAML front matter and the text behind it.

The YAML comes from whoever wrote the file, so its events are looked at before anything is made of
them: what would grow (aliases), stand for something else (tags) or nest deep is refused. All values
are texts, lists and mappings: ``version: 1.10``, ``on`` and dates stay what somebody wrote.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from agenthost.errors import AgentHostError

MOST_FRONT_MATTER = 64 * 1024
DEEPEST = 8
# Names, values, and beginnings and ends of lists: more would take tens of milliseconds a file.
MOST_EVENTS = 2_000
# Front matter of more lines is not mended: each line costs a parser.
MOST_MENDED_LINES = 200
_LONGEST_REASON = 200

_FENCE = "---"
_OPENING = re.compile(r"\ufeff?---[ \t]*(?:\r?\n|\Z)")
_CLOSING = re.compile(r"^---[ \t]*\r?$", re.MULTILINE)
_NAME = re.compile(r"[A-Za-z_][\w.-]*:(?:\s|\Z)")
_ENTRY = re.compile(r"([A-Za-z_][\w.-]*):[ \t]+(\S.*)")


class BadFrontMatter(AgentHostError):
    """The front matter of a file cannot be read; says why, with the line."""


def parse_front_matter(text: str) -> tuple[dict[str, object], str]:
    """Return the front matter of a text, empty if it has none, and what is behind it.

    What many people write although YAML refuses it (``globs: *.py``, ``description: use when: it
    rains``) is read as they mean it.

    Raises:
        BadFrontMatter: it is never closed, too long, no YAML, or YAML of a kind that is refused.
    """
    front, body = split_front_matter(text)
    if not front.strip():
        return {}, body
    try:
        return _load(front), body
    except _NoYaml as error:
        mended = _mended(front)
        if mended == front:
            raise BadFrontMatter(str(error)) from None
    try:
        return _load(mended), body
    except _NoYaml as error:
        raise BadFrontMatter(str(error)) from None


def split_front_matter(text: str) -> tuple[str, str]:
    """Return the YAML of a text that has front matter, and what is behind it, neither parsed.

    Raises:
        BadFrontMatter: it is never closed, or too long.
    """
    opening = _OPENING.match(text)
    if opening is None:
        return "", text.removeprefix("\ufeff")
    closing = _CLOSING.search(text, opening.end())
    if closing is None:
        raise BadFrontMatter(f"the front matter that begins in line 1 has no {_FENCE} at its end")
    if closing.start() - opening.end() > MOST_FRONT_MATTER:
        raise BadFrontMatter(f"the front matter has more than {MOST_FRONT_MATTER} characters")
    behind = text[closing.end() :]
    return text[opening.end() : closing.start()], behind.removeprefix("\n")


class _NoYaml(Exception):
    """Something that YAML itself refuses, which may be mended; what we refuse may not."""


@cache
def _yaml() -> Any:
    # Not until there is something to read: it takes a while to load.
    import yaml

    return yaml


@cache
def _loader() -> Any:
    # Makes texts of all scalars, and of tags nothing. The one in C is there in every wheel.
    return getattr(_yaml(), "CBaseLoader", None) or _yaml().BaseLoader


def _load(front: str) -> dict[str, object]:
    yaml = _yaml()
    try:
        _check_events(front)
        loaded = yaml.load(front, Loader=_loader())
    except yaml.YAMLError as error:
        raise _NoYaml(_reason(error)) from None
    except ValueError:
        # Text that has no bytes: half of a surrogate pair.
        raise BadFrontMatter("the front matter is no proper Unicode") from None
    if loaded is None or loaded == "":
        return {}
    if not isinstance(loaded, dict):
        raise BadFrontMatter("the front matter has no `name: value` lines")
    if not all(isinstance(key, str) for key in loaded):
        raise BadFrontMatter("a name in the front matter is no text")
    return loaded


def _check_events(front: str) -> None:
    yaml = _yaml()
    depth = 0
    for count, event in enumerate(yaml.parse(front, Loader=_loader())):
        line = event.start_mark.line + 2
        if count > MOST_EVENTS:
            raise BadFrontMatter(f"line {line}: the front matter has too many values")
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise BadFrontMatter(f"line {line}: anchors and aliases (&, *) are not read; quote it")
        if getattr(event, "tag", None):
            raise BadFrontMatter(f"line {line}: tags (!) are not read; quote it")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > DEEPEST:
            raise BadFrontMatter(f"line {line}: this nests deeper than {DEEPEST} levels")


def _reason(error: Exception) -> str:
    """Return what the YAML library says, with the line as an editor counts it."""
    mark = getattr(error, "problem_mark", None)
    said = getattr(error, "problem", None) or getattr(error, "reason", None) or "no YAML"
    where = f"line {mark.line + 2}: " if mark is not None else ""
    return f"{where}{said}"[:_LONGEST_REASON]


def _mended(front: str) -> str:
    """Return front matter in which values that YAML refuses by themselves are quoted."""
    lines = front.split("\n")
    if len(lines) > MOST_MENDED_LINES:
        return front
    following = [*lines[1:], ""]
    return "\n".join(
        _mended_line(line) if _stands_alone(after) else line
        for line, after in zip(lines, following, strict=True)
    )


def _stands_alone(after: str) -> bool:
    """Say whether a line is a whole entry, from the line behind it."""
    return not after.strip() or after.startswith("#") or _NAME.match(after) is not None


def _mended_line(line: str) -> str:
    entry = _ENTRY.fullmatch(line.rstrip("\r"))
    if entry is None:
        return line
    try:
        _load(line)
    except _NoYaml:
        name, value = entry.groups()
        quoted = value.rstrip().replace("'", "''")
        return f"{name}: '{quoted}'"
    except BadFrontMatter:
        # Refused for what it is, whatever stands around it.
        return line
    return line
