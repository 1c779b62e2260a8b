"""Settings laid out for people: all of them as a table, one with what it means."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from agenthost.cli.format.customization_format import MOST_NAME, cell
from agenthost.cli.format.terminal_text import Ink, Style, table
from agenthost.cli.interactive.commands.settings import can_change

Json = Mapping[str, Any]

# Columns of a terminal on which there is room for what a setting means.
_WIDE = 140
# Columns of one that has room for a name and a value only.
_NARROW = 60


def settings_table(
    config: Json, width: int | None, ink: Ink, *, of_session: bool = False
) -> list[str]:
    """Lay out settings: what each is, and what it means."""
    properties, values = config["schema"]["properties"], config["values"]
    rows: list[Sequence[str]] = [("KEY", "VALUE", "WHAT IT IS")]
    styles: list[Sequence[Style | None]] = [("dim",) * 3]
    for key in (*properties, *(key for key in values if key not in properties)):
        schema = properties.get(key) or {}
        is_set = key in values and values[key] != schema.get("default")
        title = title_of(schema, short=width is not None and width < _WIDE)
        if of_session and schema and not schema.get("readOnly") and not can_change(schema):
            title += _FIXED
        rows.append((cell(key, MOST_NAME), value_text(config, key), title))
        styles.append((None, "bold" if is_set else "dim", "dim" if not schema else None))
    if width is not None and width < _NARROW:
        rows, styles = [row[:2] for row in rows], [row[:2] for row in styles]
        return table(rows, width=width, flexible=1, styles=styles, ink=ink)
    return table(rows, width=width, flexible=2, styles=styles, ink=ink)


_FIXED = " (decided at the start)"


def title_of(schema: Json, *, short: bool = False) -> str:
    """Return what a setting is, in its agent's words."""
    title = str(schema.get("title") or "")
    described = "" if short and title else str(schema.get("description") or "")
    told = f"{title}: {described}" if title and described else title or described
    return cell(told) + (_FIXED if schema.get("readOnly") else "")


def value_text(config: Json, key: str) -> str:
    """Return the value of a setting, or what it is where nobody has said."""
    schema = config["schema"]["properties"].get(key) or {}
    value = config["values"].get(key, schema.get("default"))
    if value is None or value == "":
        return "-"
    return cell(value if isinstance(value, str) else json.dumps(value), MOST_NAME)


def meaning_of(schema: Json) -> list[str]:
    """Return what a setting means, and its choices, a line each."""
    lines = [title_of(schema)] if schema else []
    labels = schema.get("enumLabels") or ()
    for index, choice in enumerate(schema.get("enum") or ()):
        label = labels[index] if index < len(labels) else ""
        lines.append(f"{cell(str(choice), MOST_NAME)}  {cell(str(label))}".rstrip())
    return lines
