"""Names and lists that clients send: as long as anybody needs, and not longer."""

from __future__ import annotations

from typing import Any

import pytest

from agenthost.host.channels.rule_context import RuleContext
from agenthost.host.channels.ruled_kind import check
from agenthost.host.trust.message_bounds import (
    LONGEST_DESCRIPTION,
    LONGEST_ID,
    LONGEST_NAME,
    LONGEST_TOKEN,
    LONGEST_URI,
    MOST_ANNOTATIONS,
    MOST_DIRECTORIES,
    MOST_ENTRIES,
    MOST_PARTS,
    MOST_QUEUED,
    check_lengths,
)

State = Any
CHAT: State = {"turns": [], "activeTurn": None}


def refusal(state: State, action: State) -> str | None:
    session: State = {}
    capabilities: State = {"multipleWorkingDirectories": {}}
    context = RuleContext("me", session, capabilities)
    return check(state, action, context)


@pytest.mark.parametrize(
    ("member", "longest"),
    [
        ("title", LONGEST_NAME),
        ("token", LONGEST_TOKEN),
        ("replacement", LONGEST_URI),
        ("displayName", LONGEST_NAME),
        ("description", LONGEST_DESCRIPTION),
        ("id", LONGEST_ID),
        ("turnId", LONGEST_ID),
        ("somethingNewId", LONGEST_ID),
        ("resource", LONGEST_URI),
    ],
)
def test_what_has_a_length_has_it_everywhere(member: str, longest: int) -> None:
    def action(text: str) -> State:
        return {"type": "session/titleChanged", "list": [{"deep": {member: text}}], member: "x"}

    assert refusal({}, action("x" * longest)) is None
    assert refusal({}, action("x" * (longest + 1))) == (
        f"{member} is longer than {longest:,} characters"
    )
    told = refusal({}, action("x" * 5_000_000))
    assert told is not None
    assert len(told) < 100


@pytest.mark.parametrize(
    "action",
    [
        {"text": "x" * 1_000_000},
        {"_meta": {"title": "x" * 100_000}},
        {"tools": [{"inputSchema": {"properties": {"id": {"title": "x" * 100_000}}}}]},
        {"resource": "data:image/png;base64," + "x" * 100_000},
        {"content": [{"type": "text", "text": "x" * 1_000_000}] * 1000},
        {"title": None, "id": 7, "description": ["x" * 100_000]},
    ],
)
def test_what_is_content_or_belongs_to_others_has_no_length(action: State) -> None:
    assert check_lengths(action) is None


def test_a_message_of_many_parts_is_not_looked_through_to_its_end() -> None:
    assert check_lengths({"content": [[]] * (MOST_PARTS - 1)}) is None
    refused = check_lengths({"content": [[[]] * 1000] * 1000})
    assert refused == f"it has more than {MOST_PARTS:,} parts"


def test_a_queue_has_an_end_and_what_is_in_it_can_be_changed() -> None:
    message = {"text": "x", "origin": {"kind": "user"}}

    def queue(id: str, kind: str = "queued") -> State:
        return {"type": "chat/pendingMessageSet", "kind": kind, "id": id, "message": message}

    queued = [{"id": str(n), "message": message} for n in range(MOST_QUEUED)]
    full = {**CHAT, "queuedMessages": queued}
    assert refusal({**CHAT, "queuedMessages": queued[1:]}, queue("new")) is None
    assert refusal(full, queue("new")) == f"at most {MOST_QUEUED} messages are waiting at once"
    assert refusal(full, queue("7")) is None
    assert refusal(full, queue("new", "steering")) is None


def test_annotations_and_their_entries_have_an_end() -> None:
    entries = [{"id": str(n)} for n in range(MOST_ENTRIES)]
    one = {"id": "a", "entries": entries}
    few, full = {"annotations": [one]}, {"annotations": [one] * MOST_ANNOTATIONS}

    def put(id: str, entries: list[State]) -> State:
        annotation = {"id": id, "entries": entries, "resolved": False}
        return {"type": "annotations/set", "annotation": annotation}

    def add(id: str) -> State:
        return {"type": "annotations/entrySet", "annotationId": "a", "entry": {"id": id}}

    assert refusal(few, put("b", entries)) is None
    assert "entries" in (refusal(few, put("b", [*entries, {"id": "x"}])) or "")
    assert "annotations" in (refusal(full, put("b", entries)) or "")
    assert refusal(full, put("a", entries)) is None
    assert refusal(few, add("7")) is None
    assert "entries" in (refusal(few, add("new")) or "")


def test_working_directories_have_an_end() -> None:
    folders = [f"file:///{n}" for n in range(MOST_DIRECTORIES)]

    def add(folder: str) -> State:
        return {"type": "session/workingDirectorySet", "directory": folder}

    state = {"workingDirectories": folders}
    assert refusal({"workingDirectories": folders[1:]}, add("file:///new")) is None
    assert "working directories" in (refusal(state, add("file:///new")) or "")
    assert refusal(state, add("file:///7")) is None
    assert check_lengths(state) is None
    assert check_lengths({"workingDirectories": [*folders, "file:///new"]}) is not None
    assert check_lengths({"workingDirectories": ["file:///" + "x" * LONGEST_URI]}) is not None
