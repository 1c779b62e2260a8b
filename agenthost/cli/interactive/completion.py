"""What could be inserted where the cursor is: our commands, what the host offers, files.

Pure. What the host offers are the agent's commands, skills, prompts, and what may be attached.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agenthost.cli.interactive.completion_menu import MenuItem

Json = Mapping[str, Any]

MOST_ITEMS = 100
"""Items of a menu; whoever wants another one types on."""

_MENTION = re.compile(r"(?<!\S)@(\S*)\Z")


@dataclass(frozen=True, slots=True)
class Completion:
    """What stands before the cursor after completing, and what could be inserted then."""

    before: str
    # What was inserted because there was nothing else.
    taken: MenuItem | None = None
    # What there is to choose from.
    items: Sequence[MenuItem] = ()


def complete(before: str, items: Sequence[MenuItem]) -> Completion:
    """Complete a text: insert what it can only mean, as far as that goes."""
    if not items:
        return Completion(before)
    if len(items) == 1:
        return Completion(items[0].text, taken=items[0])
    common = _common_start([item.text for item in items])
    return Completion(common if common.startswith(before) else before, items=items)


def joined(*found: Iterable[MenuItem]) -> list[MenuItem]:
    """Return items one after the other, each text once."""
    items: dict[str, MenuItem] = {}
    for several in found:
        for item in several:
            items.setdefault(item.text, item)
    return list(items.values())[:MOST_ITEMS]


def command_items(
    before: str, commands: Iterable[tuple[str, str, Sequence[str]]]
) -> list[MenuItem]:
    """Return our commands, or what may follow one, that begin as the text does.

    Args:
        before: the text before the cursor.
        commands: the name of each, what it does, and what may follow it, each as a whole.
    """
    if not before.startswith("/"):
        return []
    word, space, _ = before.partition(" ")
    items = []
    for name, about, words in commands:
        if not space:
            items.append(MenuItem(f"/{name} ", f"/{name}", about))
        elif word == f"/{name}":
            items += [MenuItem(f"/{name} {follows}", follows) for follows in words]
    return [item for item in items if item.text.startswith(before) and item.text != before]


def offered_items(before: str, offered: Sequence[Json], ours: Iterable[str] = ()) -> list[MenuItem]:
    """Return what a host offers to insert; commands named as ours get a second slash."""
    names = {f"/{name}" for name in ours}
    found = (_offered(before, item, names) for item in offered)
    return [item for item in found if item is not None and item.text != before]


def _offered(before: str, item: Json, ours: set[str]) -> MenuItem | None:
    text = _inserted(before, item)
    if text is None:
        return None
    word = str(item["insertText"]).strip()
    attachment = item.get("attachment")
    attachment = attachment if isinstance(attachment, Mapping) else None
    about = _about(attachment or {})
    attached = (word, attachment) if attachment is not None else None
    if word in ours and text.startswith(word):
        return MenuItem(f"/{text}", f"/{word}", f"the agent's: {about}", attached)
    return MenuItem(text, word, about, attached)


def _inserted(before: str, item: Json) -> str | None:
    """Return the text with an item in it; None where it would replace what stands behind."""
    insert = item.get("insertText")
    # Neither what moves a cursor nor what nobody sees gets into a message this way.
    if not isinstance(insert, str) or not insert.isprintable():
        return None
    units = before.encode("utf-16-le", "surrogatepass")
    start, end = item.get("rangeStart"), item.get("rangeEnd")
    if start is None:
        return before + insert
    if not isinstance(start, int) or not 0 <= start * 2 <= len(units):
        return None
    if end is not None and (not isinstance(end, int) or end * 2 < len(units)):
        return None
    return units[: start * 2].decode("utf-16-le", "surrogatepass") + insert


def _about(attachment: Json) -> str:
    meta = attachment.get("_meta")
    told = meta.get("description") if isinstance(meta, Mapping) else None
    return str(told or attachment.get("displayKind") or "")[:200]


def mentioned_path(before: str) -> str | None:
    """Return the path that is being typed behind an ``@``; None where there is none."""
    found = _MENTION.search(before)
    return None if found is None else found[1]


def file_items(before: str, folder: str, entries: Iterable[Json]) -> list[MenuItem]:
    """Return what is in a folder as things to mention, as far as it begins as is typed.

    Args:
        before: the text before the cursor, which ends with an ``@`` and a path.
        folder: the part of that path up to its last slash.
        entries: what is there, as a host lists it.
    """
    path = mentioned_path(before) or ""
    start = before[: len(before) - len(path)]
    items = []
    for entry in entries:
        name, is_folder = entry.get("name"), entry.get("type") == "directory"
        if not isinstance(name, str) or not name.isprintable() or " " in name:
            continue
        if f"{folder}{name}".startswith(path):
            end = "/" if is_folder else " "
            about = "folder" if is_folder else "file"
            items.append(MenuItem(f"{start}{folder}{name}{end}", f"@{folder}{name}", about))
    return sorted(items, key=lambda item: item.text)


def session_items(before: str, command: str, sessions: Iterable[Json]) -> list[MenuItem]:
    """Return sessions whose id or title has what is typed behind a command."""
    typed = before[len(command) :].strip().casefold()
    items = []
    for session in sessions:
        id, title = session["id"], session["title"]
        if id.casefold().startswith(typed) or typed in title.casefold():
            items.append(MenuItem(f"{command}{id}", title or id, session["about"]))
    return items


def _common_start(texts: Sequence[str]) -> str:
    first, last = min(texts), max(texts)
    differs = (
        index for index, pair in enumerate(zip(first, last, strict=False)) if len({*pair}) > 1
    )
    return first[: next(differs, min(len(first), len(last)))]


def attachments_in(text: str, inserted: Mapping[str, Json]) -> list[Json]:
    """Return the attachments of what was inserted and still stands in a message."""
    return [attachment for word, attachment in inserted.items() if word in text]
