"""Completions of a message in the making: commands behind ``/``, things to attach behind ``@``.

Commands are those of the agent, and the skills and prompts that people brought.

``#`` is ``@`` to people who have learnt it from their editors.
Files and folders of the session, chats, and annotations are offered to those who take part in the
session. ``@chat:`` and ``@note:`` ask for one sort alone. Best effort: what takes too long is left
out, and is there for the next letter that is typed.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import quote
from weakref import WeakKeyDictionary

from agenthost.agents.api import SlashCommand
from agenthost.errors import InvalidParams, NotFound
from agenthost.host.channels.annotations_kind import ANNOTATIONS
from agenthost.host.channels.chat.kind import CHAT
from agenthost.host.channels.session.kind import SESSION, SessionChannel
from agenthost.host.channels.session.participants import takes_part
from agenthost.host.channels.session.shown_customizations import (
    ShownCustomization,
    offered_customizations,
)
from agenthost.host.clients.methods import handles
from agenthost.host.log.channel import AnyChannel
from agenthost.protocol.markdown import markdown_of
from agenthost.protocol.uris import annotations_uri
from agenthost.workspace import file_path
from agenthost.workspace.file_index import MOST_SEARCHES, FileIndexes, FoundPath
from agenthost.workspace.fuzzy import LONGEST_QUERY
from agenthost.workspace.roots import OutsideRoots

if TYPE_CHECKING:
    from agenthost.host.clients.connection import Connection
    from agenthost.protocol.annotations import Annotation
    from agenthost.protocol.chat.commands import CompletionItem, CompletionsResult
    from agenthost.protocol.chat.messages import MessageAttachment
    from agenthost.protocol.common import JsonObject
    from agenthost.workspace.files import Files

# How many chats, and annotations, are offered among files.
MOST_OTHERS = 10
MOST_NOTES = 500
LONGEST_LABEL = 60
# In the ``_meta`` of what is completed: the id of the skill or prompt that it names.
CUSTOMIZATION = "agenthost/customization"

# Makes an item of what is inserted for it and what comes with it.
_Make: TypeAlias = Callable[[str, "MessageAttachment"], "CompletionItem"]


class FileSearches:
    """Finds files for completions: one search at a time for each who types."""

    def __init__(self) -> None:
        self._indexes = FileIndexes()
        self._at_once = asyncio.Semaphore(MOST_SEARCHES)
        self._turns: WeakKeyDictionary[Connection, asyncio.Lock] = WeakKeyDictionary()

    async def search(
        self, connection: Connection, folder: Path, query: str, most: int
    ) -> list[FoundPath]:
        """Return what is in a folder that somebody may reach and has the letters of a query."""
        async with self._turns.setdefault(connection, asyncio.Lock()), self._at_once:
            files, who = connection.core.files, connection.principal
            try:
                with await files.work(who, lambda files: files.roots.walk(folder)) as place:
                    if place.leaf is None:
                        return []
                    found = await self._indexes.search(place, query, most)
                return await files.work(who, lambda files: _reachable(files, folder, found))
            except (OSError, OutsideRoots):
                # It is gone, or nobody's to be read.
                return []

    async def close(self) -> None:
        """Let go of all that is kept at hand."""
        await self._indexes.close()


def _reachable(files: Files, folder: Path, found: Sequence[FoundPath]) -> list[FoundPath]:
    """Leave out what is gone, or kept from everybody."""
    kept = []
    for each in found:
        with (
            contextlib.suppress(OSError, OutsideRoots),
            files.roots.walk(folder / each.path, follow=False) as place,
        ):
            if place.leaf is not None:
                kept.append(each)
    return kept


@handles("completions")
async def completions(connection: Connection, params: JsonObject) -> CompletionsResult:
    """Offer what a message in the making could go on with."""
    core = connection.core
    channel = await core.directory.find(params["channel"])
    # Some editors name the session, for it is the agent's commands that are completed.
    if channel is None or channel.kind not in (CHAT, SESSION):
        raise NotFound(f"there is no chat {params['channel']}")
    # Clients count in UTF-16 code units.
    typed, offset = params["text"].encode("utf-16-le"), params["offset"]
    if offset > len(typed) // 2:
        raise InvalidParams("the offset lies behind the text", path="offset")
    before = typed[: 2 * offset].decode("utf-16-le", "replace")
    session = channel if channel.kind is SESSION else core.directory.owner(channel)
    if session is None:
        return {"items": []}
    if before.startswith("/"):
        return {"items": _commands(connection, session, before, offset)}
    word = _word(before)
    if not word.startswith(("@", "#")) or not takes_part(session, connection.principal):
        return {"items": []}
    start = offset - len(word.encode("utf-16-le")) // 2

    def make(text: str, attachment: MessageAttachment) -> CompletionItem:
        return {
            "insertText": f"{word[0]}{text} ",
            "rangeStart": start,
            "rangeEnd": offset,
            "attachment": attachment,
        }

    return {"items": await _attachable(connection, channel, session, word[1:], make)}


def _word(before: str) -> str:
    """Return what was typed since the last white space; nothing if nobody types as much."""
    tail = before[-LONGEST_QUERY - 2 :]
    found = re.search(r"\S*\Z", tail)
    word = found[0] if found is not None else ""
    return word if len(word) < len(tail) or len(tail) == len(before) else ""


def _commands(
    connection: Connection, session: SessionChannel, before: str, offset: int
) -> list[CompletionItem]:
    """Offer the agent's own commands, then the skills and prompts of the session."""
    if any(map(str.isspace, before)):
        return []
    agent = connection.core.agents.get(session.state["provider"])
    offered = list(agent.slash_commands) if agent is not None else []
    typed = before[1:].lower()
    items = [_command(each, offset) for each in offered if each.name.startswith(before[1:])]
    taken = {command.name for command in offered}
    found = list(offered_customizations(session.state, "skill", "prompt"))
    # What begins as is typed before what only contains it, such as a part of a plugin.
    for is_meant in (str.startswith, _contains_later):
        for each in found:
            if each.name not in taken and is_meant(each.name.lower(), typed):
                taken.add(each.name)
                items.append(_customization(each, offset))
    return items[: connection.core.limits.max_completions]


def _contains_later(name: str, typed: str) -> bool:
    return typed in name[1:]


def _customization(shown: ShownCustomization, typed: int) -> CompletionItem:
    name = _joined(shown.name)
    meta = {"command": name, CUSTOMIZATION: shown.entry["id"]}
    description = shown.entry.get("description")
    if isinstance(description, str):
        meta["description"] = description
    return {
        "insertText": f"/{name} ",
        "rangeStart": 0,
        "rangeEnd": typed,
        "attachment": {"type": "simple", "label": f"/{name}", "_meta": meta},
    }


def _command(command: SlashCommand, typed: int) -> CompletionItem:
    described = {"description": command.description, "argumentHint": command.argument_hint}
    meta = {key: value for key, value in described.items() if value}
    return {
        "insertText": f"/{command.name} ",
        "rangeStart": 0,
        "rangeEnd": typed,
        "attachment": {
            "type": "simple",
            "label": f"/{command.name}",
            "_meta": {"command": command.name, **meta},
        },
    }


async def _attachable(
    connection: Connection, channel: AnyChannel, session: SessionChannel, query: str, make: _Make
) -> list[CompletionItem]:
    limits = connection.core.limits
    sort, colon, rest = query.partition(":")
    chats = _chats(connection, channel, session, make)
    notes = await _notes(connection, session, make)
    if colon and sort in ("chat", "note"):
        wanted = chats if sort == "chat" else notes
        return _matching(wanted, rest)[: limits.max_completions]
    others = _matching(chats, query)[:MOST_OTHERS] + _matching(notes, query)[:MOST_OTHERS]
    items: list[CompletionItem] = []
    # What was found until then is offered.
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(limits.completion_seconds):
            for folder in _folders(channel, session):
                most = limits.max_completions - len(others) - len(items)
                if most > 0:
                    search = connection.core.file_searches.search
                    found = await search(connection, folder, query, most)
                    items += [_file(folder, each, make) for each in found]
    return items + others


def _folders(channel: AnyChannel, session: SessionChannel) -> list[Path]:
    named = channel.state.get("workingDirectories") or session.state.get("workingDirectories", ())
    return [path for path in map(file_path, named) if path is not None]


def _file(folder: Path, found: FoundPath, make: _Make) -> CompletionItem:
    path = folder / found.path
    return make(
        f"{found.path}/" if found.is_folder else found.path,
        {
            "type": "resource",
            "uri": "file://" + quote(bytes(path)),
            "label": path.name,
            "displayKind": "directory" if found.is_folder else "file",
            "_meta": {"path": found.path},
        },
    )


def _chats(
    connection: Connection, channel: AnyChannel, session: SessionChannel, make: _Make
) -> list[CompletionItem]:
    """Offer the other chats of a session, and the other sessions that somebody takes part in."""
    items = []
    for chat in session.state["chats"]:
        if chat["resource"] != channel.uri:
            items.append(_chat(chat["resource"], chat["title"], session.uri, make))
    for other in connection.core.participants.sessions(connection.principal):
        if other is not session and "defaultChat" in other.state:
            items.append(_chat(other.state["defaultChat"], other.state["title"], other.uri, make))
    return items


def _chat(uri: str, title: str, session: str, make: _Make) -> CompletionItem:
    label = _shown(title)
    return make(
        f"chat:{_joined(label)}",
        {
            "type": "chat",
            "resource": uri,
            "label": label,
            "displayKind": "chat",
            "_meta": {"session": session},
        },
    )


async def _notes(
    connection: Connection, session: SessionChannel, make: _Make
) -> list[CompletionItem]:
    """Offer the annotations of a session: all together, and each."""
    uri = annotations_uri(session.uri)
    channel = await connection.core.directory.find(uri, ANNOTATIONS)
    annotations = channel.state["annotations"] if channel is not None else []
    if not annotations:
        return []
    every = make(
        "note:all",
        {
            "type": "annotations",
            "resource": uri,
            "label": f"All annotations ({len(annotations)})",
            "displayKind": "annotations",
        },
    )
    # The newest are what somebody has just written down.
    return [every, *(_note(uri, each, make) for each in annotations[: -MOST_NOTES - 1 : -1])]


def _note(uri: str, note: Annotation, make: _Make) -> CompletionItem:
    place = note["resource"].rstrip("/").rpartition("/")[2]
    if "range" in note:
        place += f":{note['range']['start']['line'] + 1}"
    said = markdown_of(note["entries"][0]["text"]) if note["entries"] else ""
    return make(
        f"note:{_joined(_shown(place))}",
        {
            "type": "annotations",
            "resource": uri,
            "annotationIds": [note["id"]],
            "label": _shown(f"{place}: {said}"),
            "displayKind": "annotations",
        },
    )


def _matching(items: list[CompletionItem], query: str) -> list[CompletionItem]:
    """Return the items that a query means: by what they are called, or by what is inserted."""
    wanted = query.lower()
    return [item for item in items if any(wanted in text.lower() for text in _texts(item))]


def _texts(item: CompletionItem) -> Iterator[str]:
    yield item["attachment"]["label"]
    yield item["insertText"]


def _shown(text: str) -> str:
    """Return the beginning of a text, on one line and without what moves a cursor."""
    plain = "".join(c if c.isprintable() else " " for c in text[: 4 * LONGEST_LABEL])
    words = " ".join(plain.split())
    return words if len(words) <= LONGEST_LABEL else words[: LONGEST_LABEL - 1] + "…"


def _joined(text: str) -> str:
    """Return a text as one word: what is typed behind it is looked for no further."""
    return "-".join(text.split())
