"""What typed words mean for settings: which one, and which value; refused before it is sent.

Pure, and without the terminal's library, because ``send`` and ``config`` read settings too. Names
and choices are an agent's words, so ``cell`` makes them safe before they are told.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from agenthost.cli.exit_codes import USAGE, CommandFailed
from agenthost.cli.format.customization_format import MOST_NAME, cell

Json = Mapping[str, Any]

# Names that fit into a message; the rest is counted.
_MOST_TOLD = 12

_LIKE = {
    "boolean": "true or false",
    "number": "a number",
    "array": 'a list such as ["a", "b"]',
    "object": 'an object such as {"a": 1}',
}
_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "boolean": bool,
    "number": (int, float),
    "array": list,
    "object": dict,
}


def settings_from(
    pairs: Iterable[tuple[str, str]], schema: Json | None, *, existing: bool = False
) -> dict[str, Any]:
    """Return the settings that pairs of a name and a typed value mean.

    Args:
        pairs: what was typed, as in ``--set KEY=VALUE``; of one that comes twice the last counts.
        schema: the settings that there are; None where there are none.
        existing: they are for a session that exists, where some can no longer be changed.

    Raises:
        CommandFailed: there is no such setting, or it cannot have that value.
    """
    properties = properties_of(schema)
    settings = {}
    for name, text in pairs:
        key = known_key(name, properties)
        if existing and not can_change(properties[key]):
            raise CommandFailed(f"{cell(key, MOST_NAME)} cannot be changed: {AT_THE_START}")
        if not existing and properties[key].get("readOnly"):
            only = properties[key].get("default")
            told = f": it can only be {cell(str(only))}" if only else ""
            raise CommandFailed(f"{cell(key, MOST_NAME)} cannot be chosen here{told}")
        settings[key] = setting_value(key, properties[key], text)
    return settings


AT_THE_START = "it was decided at the start"


def properties_of(schema: Json | None) -> Mapping[str, Json]:
    """Return the settings of a schema by name; none where there is no schema."""
    found: Mapping[str, Json] = (schema or {}).get("properties") or {}
    return found


def can_change(setting: Json) -> bool:
    """Return whether a setting of a session can be changed after its creation."""
    return bool(setting.get("sessionMutable")) and not setting.get("readOnly")


def known_key(name: str, known: Collection[str]) -> str:
    """Return the setting of a typed name, in whatever case.

    Raises:
        CommandFailed: there is none; the message names those that there are, or the closest.
    """
    if name in known:
        return name
    alike = [key for key in known if key.casefold() == name.casefold()]
    if alike:
        return alike[0]
    close = get_close_matches(name, sorted(known), 3)
    hint = f"did you mean {cell(', '.join(close))}?" if close else _all_of(known)
    raise CommandFailed(f"there is no setting {cell(name, MOST_NAME)!r}; {hint}", USAGE, "notFound")


def _all_of(known: Collection[str]) -> str:
    if not known:
        return "there are none here"
    names = [cell(key, MOST_NAME) for key in sorted(known)]
    more = f" and {len(names) - _MOST_TOLD} more" if len(names) > _MOST_TOLD else ""
    return f"there are {', '.join(names[:_MOST_TOLD])}{more}"


def setting_value(key: str, schema: Json, text: str) -> Any:
    """Return what a typed value means for a setting.

    Raises:
        CommandFailed: it cannot be a value of that setting.
    """
    name = cell(key, MOST_NAME)
    if schema.get("readOnly"):
        raise CommandFailed(f"{name} cannot be changed: {AT_THE_START}")
    choices = schema.get("enum")
    if choices and not schema.get("enumDynamic"):
        for choice in choices:
            if text in (choice, json.dumps(choice)):
                return choice
        raise CommandFailed(f"{name} is one of {cell(', '.join(map(str, choices)))}", USAGE)
    if schema.get("type") == "string":
        return text
    try:
        value = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        if (schema.get("items") or {}).get("type") == "string" and not text.startswith("["):
            return [word.strip() for word in text.split(",") if word.strip()]
        if not schema:
            # A setting of which nobody says what it may be.
            return text
        raise _unlike(name, schema, text) from None
    if not _is_of_type(value, str(schema.get("type"))):
        raise _unlike(name, schema, text)
    return value


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def _is_of_type(value: Any, kind: str) -> bool:
    """Return whether a value is of a type; all are of one that nobody knows."""
    # To Python a boolean is a number; to JSON it is not.
    if kind == "number" and isinstance(value, bool):
        return False
    return kind not in _TYPES or isinstance(value, _TYPES[kind])


def _unlike(name: str, schema: Json, text: str) -> CommandFailed:
    like = _LIKE.get(str(schema.get("type")), "JSON")
    return CommandFailed(f"{name} is {like}, not {cell(text, MOST_NAME)!r}", USAGE)
