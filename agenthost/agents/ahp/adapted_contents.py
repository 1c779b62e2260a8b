"""Adapts parts of a remote host's turn to this one: contents, owners of calls, unknown kinds.

Pure. What a far host keeps beside its state cannot be read here, so it is fetched before and given
as ``contents``; its terminals and worker chats are channels of that host alone, so they are told in
words. Nothing of a far host is trusted: a part that is malformed is refused as a whole.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

from agenthost.errors import AgentHostError, InvalidParams
from agenthost.protocol.json_edits import without
from agenthost.protocol.schema.validation import validate_as

Json = Mapping[str, Any]
Contents: TypeAlias = Mapping[str, Json]

_TEXT = ("markdown", "reasoning")
_KNOWN = (*_TEXT, "toolCall", "inputRequest", "contentRef", "systemNotification", "error")
_STATUSES = (
    "streaming",
    "pending-confirmation",
    "running",
    "auth-required",
    "pending-result-confirmation",
    "completed",
    "cancelled",
)
_OVER = ("completed", "cancelled")
_BLOCKS = ("text", "embeddedResource", "resource", "fileEdit", "terminal", "subagent")
# Everybody reads these for themselves.
_READ_ELSEWHERE = ("http", "https")
# What a call tells programs about channels of its host.
_OF_ITS_HOST = ("subagentChatUri",)


class MalformedPart(AgentHostError):
    """A far host sent what is no part of a turn; the message says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class FarSurroundings:
    """What it takes to understand a far host's parts here."""

    # How people here call the far host.
    host: str
    # Whether its files are this machine's.
    shares_files: bool
    # The client here that runs a call which the far host wants us to run; None if there is none.
    owner_of: Callable[[Json], str | None]


def checked_part(part: Any) -> Json:
    """Return a part of a far turn if it is one; raise MalformedPart if not."""
    checked: Json = part
    match part:
        case {"kind": "markdown" | "reasoning", "id": str(), "content": str()}:
            return checked
        case {"kind": str(kind)} if kind not in _KNOWN:
            return checked
    try:
        checked = validate_as("ResponsePart", part)
    except (InvalidParams, RecursionError) as error:
        raise MalformedPart(f"a part of its answer is malformed: {error}") from error
    if checked["kind"] == "toolCall" and checked["toolCall"]["status"] not in _STATUSES:
        raise MalformedPart("a tool call has a status that this host does not know")
    return checked


def length_of(part: Any) -> int:
    """Return how many characters a part has that may be anything."""
    match part:
        case {"kind": "markdown" | "reasoning", "content": str(content)}:
            return len(content)
    return len(json.dumps(part))


def references(part: Json, around: FarSurroundings) -> Iterator[Json]:
    """Yield the references in a part whose content has to be fetched from the far host."""
    for reference in _references(part):
        scheme = urlsplit(reference["uri"]).scheme
        if scheme in _READ_ELSEWHERE or (scheme == "file" and around.shares_files):
            continue
        yield reference


def localized(part: Json, contents: Contents, around: FarSurroundings) -> Json:
    """Return a part as it is shown here; ``contents`` are references of ours by the far URI."""
    match part["kind"]:
        case "markdown" | "reasoning" | "error" | "inputRequest" | "systemNotification":
            return part
        case "contentRef":
            return _reference(part, contents)
        case "toolCall":
            return {**part, "toolCall": _call(part["toolCall"], contents, around)}
    said = f"{around.host} sent something that cannot be shown here ({str(part['kind'])[:40]})"
    return {"kind": "systemNotification", "content": said}


def _call(call: Json, contents: Contents, around: FarSurroundings) -> Json:
    made = dict(call)
    contributor = made.pop("contributor", None)
    owner = around.owner_of(call) if call["status"] not in _OVER else None
    if owner is not None:
        made["contributor"] = {"kind": "client", "clientId": owner}
    elif contributor is not None and contributor["kind"] != "client":
        # Other clients of the far host are none of this one, which would wait for them.
        made["contributor"] = contributor
    if isinstance(call.get("toolInput"), Mapping):
        made["toolInput"] = _reference(call["toolInput"], contents)
    if "edits" in call:
        items = [_edit(item, contents) for item in call["edits"]["items"]]
        made["edits"] = {**call["edits"], "items": items}
    if call.get("content") is not None:
        made["content"] = [_block(block, contents, around) for block in call["content"]]
    if call.get("_meta") is not None:
        made["_meta"] = without(call["_meta"], *_OF_ITS_HOST)
    if call["status"] == "auth-required":
        # A token given here would be the far host's, for everybody who uses it from here; and a
        # stranger does not get to ask people here to sign in somewhere.
        del made["auth"]
        waits = _told(f"Somebody has to sign in at {around.host} for this to go on.")
        made |= {"status": "running", "content": [*made.get("content", ()), waits]}
    return made


def _block(block: Json, contents: Contents, around: FarSurroundings) -> Json:
    match block["type"]:
        case "resource":
            return _reference(block, contents)
        case "fileEdit":
            return _edit(block, contents)
        case "terminal":
            return _told(f"Terminal at {around.host}: {block['title']}")
        case "subagent":
            return _told(f"Worker at {around.host}: {block['title']}")
        case known if known in _BLOCKS:
            return block
    return _told(f"{around.host} sent something that cannot be shown here")


def _told(text: str) -> Json:
    return {"type": "text", "text": text}


def _edit(edit: Json, contents: Contents) -> Json:
    sides: dict[str, Any] = {
        side: {**edit[side], "content": _reference(edit[side]["content"], contents)}
        for side in _sides(edit)
    }
    return {**edit, **sides}


def _reference(reference: Json, contents: Contents) -> Json:
    ours = contents.get(reference["uri"])
    return reference if ours is None else {**without(reference, "nonce", "sizeHint"), **ours}


def _references(part: Json) -> Iterator[Json]:
    if part["kind"] == "contentRef":
        yield part
    if part["kind"] != "toolCall":
        return
    call = part["toolCall"]
    if isinstance(call.get("toolInput"), Mapping):
        yield call["toolInput"]
    edits: Sequence[Json] = (call.get("edits") or {}).get("items", ())
    blocks: Sequence[Json] = call.get("content") or ()
    yield from (block for block in blocks if block["type"] == "resource")
    for edit in (*edits, *(block for block in blocks if block["type"] == "fileEdit")):
        yield from (edit[side]["content"] for side in _sides(edit))


def _sides(edit: Json) -> Iterator[Literal["before", "after"]]:
    if "before" in edit:
        yield "before"
    if "after" in edit:
        yield "after"
