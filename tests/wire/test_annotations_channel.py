"""Annotations on the wire: conversations about a session's files, edited by anybody."""

from __future__ import annotations

from typing import Any

import pytest

from tests.wire.client import open_client
from tests.wire.hosting import ServedHost
from tests.wire.talking import NEWEST
from tests.wire.wording import annotated_by

pytestmark = pytest.mark.asyncio(loop_scope="module")

Json = dict[str, Any]

RANGE = {"start": {"line": 0, "character": 1}, "end": {"line": 2, "character": 3}}

INVERTED = {"start": RANGE["end"], "end": RANGE["start"]}
BEFORE = {**RANGE, "start": {"line": -1, "character": 0}}


def annotation(session: str, id: str, *entries: str, turn: str = "t1", **fields: Any) -> Json:
    return {
        "id": id,
        **annotated_by(NEWEST, session, turn_id=turn),
        "resource": "file:///srv/a.py",
        "resolved": False,
        "entries": [{"id": entry, "text": f"text of {entry}"} for entry in entries],
        **fields,
    }


def set_to(value: Json) -> Json:
    return {"type": "annotations/set", "annotation": value}


async def test_annotations_are_set_edited_and_removed(shared_host: ServedHost) -> None:
    session = "ahp-session:/notes"
    notes = f"{session}/annotations"
    async with (
        open_client(shared_host.url, "writes") as client,
        open_client(shared_host.url, "reads") as reader,
    ):
        for each in (client, reader):
            await each.initialize()
        chat = await client.used_session(session)
        await client.run_turn(chat, "t2", "hello again")
        for each in (client, reader):
            # A channel of its own, although its URI begins like the session's.
            assert await each.subscribe(notes) == {"annotations": []}

        first, second = (
            annotation(session, "n1", "e1"),
            annotation(session, "n2", "e1", "e2", range=RANGE),
        )
        await client.accepted(notes, set_to(first))
        await reader.accepted(notes, set_to(second))
        await client.ping()
        assert client.states[notes]["annotations"] == [first, second]
        replaced = annotation(session, "n1", "e5", resolved=True)
        await client.accepted(notes, set_to(replaced))
        assert client.states[notes]["annotations"] == [replaced, second]

        updated = {"type": "annotations/updated", "annotationId": "n2"}
        origin = annotated_by(NEWEST, session, chat, "t2")
        await client.accepted(notes, {**updated, "resolved": True, **origin})
        expected = {**second, "resolved": True, **origin}
        assert client.states[notes]["annotations"][1] == expected

        entry = {"id": "e2", "text": "edited", "_meta": {"by": "me"}}
        change = {"type": "annotations/entrySet", "annotationId": "n2", "entry": entry}
        await reader.accepted(notes, change)
        gone = {"type": "annotations/entryRemoved", "annotationId": "n2", "entryId": "e1"}
        await reader.accepted(notes, gone)
        await client.ping()
        assert client.states[notes]["annotations"][1]["entries"] == [entry]

        await client.accepted(notes, {"type": "annotations/removed", "annotationId": "n1"})
        for each in (client, reader):
            await each.ping()
            assert [item["id"] for item in each.states[notes]["annotations"]] == ["n2"]
            mirrored, fresh = await each.compared(notes)
            assert mirrored == fresh


async def test_edits_of_what_is_not_there_and_empty_annotations_are_refused(
    shared_host: ServedHost,
) -> None:
    session = "ahp-session:/refused-notes"
    notes = f"{session}/annotations"
    async with (
        open_client(shared_host.url, "tries") as client,
        open_client(shared_host.url, "sees nothing") as reader,
    ):
        for each in (client, reader):
            await each.initialize()
        await client.used_session(session)
        for each in (client, reader):
            await each.subscribe(notes)
        await client.accepted(notes, set_to(annotation(session, "n1", "e1")))
        await reader.ping()
        before, heard = client.states[notes], len(reader.envelopes[notes])
        of_unknown: list[Json] = [
            {"type": "annotations/updated", "resolved": True},
            {"type": "annotations/removed"},
            {"type": "annotations/entrySet", "entry": {"id": "e9", "text": "x"}},
            {"type": "annotations/entryRemoved", "entryId": "e1"},
        ]
        wrong: list[Json] = [{**action, "annotationId": "unknown"} for action in of_unknown]
        wrong += [
            {"type": "annotations/entryRemoved", "annotationId": "n1", "entryId": "unknown"},
            # The last entry goes with its annotation, or not at all.
            {"type": "annotations/entryRemoved", "annotationId": "n1", "entryId": "e1"},
            set_to(annotation(session, "n2")),
            # Entries have ids of their own, turns must be there, nothing is born resolved.
            set_to(annotation(session, "n2", "e1", "e1")),
            set_to(annotation(session, "n1", "e1", "e1")),
            set_to(annotation(session, "n2", "e1", turn="t9")),
            set_to(annotation(session, "n1", "e1", turn="t9")),
            {
                "type": "annotations/updated",
                "annotationId": "n1",
                **annotated_by(NEWEST, session, turn_id="t9"),
            },
            # Nothing is told of another session, or of a chat that is not one of this one's.
            set_to(annotation("ahp-session:/elsewhere", "n2", "e1")),
            set_to(
                {
                    **annotation(session, "n2", "e1"),
                    **annotated_by(NEWEST, session, "ahp-chat:/elsewhere", "t1"),
                }
            ),
            set_to(annotation(session, "n2", "e1", resolved=True)),
            {"type": "annotations/updated", "annotationId": "n1", "range": None},
            # An update does not touch the entries: who sends some wants something else.
            {"type": "annotations/updated", "annotationId": "n1", "entries": []},
            # What identifies is not empty, a file is named by a URI, a range has an order.
            set_to(annotation(session, "", "e1")),
            set_to(annotation(session, "n2", "")),
            {"type": "annotations/entrySet", "annotationId": "n1", "entry": {"id": "", "text": ""}},
            set_to(annotation(session, "n2", "e1", resource="")),
            set_to(annotation(session, "n2", "e1", resource="a.py")),
            {"type": "annotations/updated", "annotationId": "n1", "resource": "a.py"},
            set_to(annotation(session, "n2", "e1", range=INVERTED)),
            set_to(annotation(session, "n2", "e1", range=BEFORE)),
            {"type": "annotations/updated", "annotationId": "n1", "range": INVERTED},
            set_to({**annotation(session, "n2", "e1"), "resolved": "no"}),
            set_to({"id": "n2"}),
            {"type": "annotations/set"},
            {"type": "session/titleChanged", "title": "on the wrong channel"},
        ]
        for action in wrong:
            assert await client.rejected(notes, action), action
        assert client.states[notes] is before
        assert await client.fresh(notes) == before
        await reader.ping()
        assert len(reader.envelopes[notes]) == heard


async def test_editors_comment_on_files_as_they_are_and_comments_outlive_their_turns(
    shared_host: ServedHost,
) -> None:
    session = "ahp-session:/lasting-notes"
    notes = f"{session}/annotations"
    async with open_client(shared_host.url, "comments") as client:
        await client.initialize()
        chat = await client.used_session(session)
        await client.subscribe(notes)
        # As Visual Studio Code sends them: about no turn in particular.
        await client.accepted(notes, set_to(annotation(session, "n1", "n1:0", "n1:r0", turn="")))
        await client.accepted(notes, set_to(annotation(session, "n2", "e1")))
        await client.accepted(chat, {"type": "chat/truncated"})
        await client.accepted(notes, set_to(annotation(session, "n2", "e1", resolved=True)))
        updated = {"type": "annotations/updated", "annotationId": "n2", "resolved": False}
        await client.accepted(notes, {**updated, **annotated_by(NEWEST, session, turn_id="t1")})
        assert "no turn t1" in await client.rejected(notes, set_to(annotation(session, "n3", "e1")))


async def test_an_edit_that_changes_nothing_is_confirmed_to_its_sender_alone(
    shared_host: ServedHost,
) -> None:
    session = "ahp-session:/idle-notes"
    notes = f"{session}/annotations"
    async with (
        open_client(shared_host.url, "repeats") as client,
        open_client(shared_host.url, "hears once") as reader,
    ):
        for each in (client, reader):
            await each.initialize()
        await client.used_session(session)
        for each in (client, reader):
            await each.subscribe(notes)
        await client.accepted(notes, set_to(annotation(session, "n1", "e1")))
        for _ in range(3):
            await client.accepted(
                notes, {"type": "annotations/updated", "annotationId": "n1", "resolved": False}
            )
        await reader.ping()
        assert len(client.envelopes[notes]) == 4
        assert len(reader.envelopes[notes]) == 1
        for each in (client, reader):
            mirrored, fresh = await each.compared(notes)
            assert mirrored == fresh
