"""What a message may carry: who speaks in it, what it attaches, and where that comes from."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.wire.client import open_client, user_message
from tests.wire.hosting import ServedHost
from tests.wire.talking import OLDEST, Chat, at_chat

pytestmark = pytest.mark.asyncio(loop_scope="module")

Json = dict[str, Any]

TEXT = "see 🙂 this\nand that"


def extent(*places: int) -> Json:
    """Return a range from line and character to line and character."""
    from_line, from_character, to_line, to_character = places
    return {
        "start": {"line": from_line, "character": from_character},
        "end": {"line": to_line, "character": to_character},
    }


def simple(**more: Any) -> Json:
    return {"type": "simple", "label": "note", **more}


def embedded(data: str) -> Json:
    return {"type": "embeddedResource", "label": "dot", "contentType": "image/png", "data": data}


def notes(resource: str, **more: Any) -> Json:
    return {"type": "annotations", "label": "notes", "resource": resource, **more}


REFUSED: dict[str, tuple[Json, str]] = {
    "words for nobody": (
        simple(),
        "the attachment note has no modelRepresentation: nobody could read it",
    ),
    "with nothing completed": (simple(_meta={}), "no modelRepresentation"),
    "data that is no base64": (
        embedded("&&&&"),
        "the data of the attachment dot is not valid base64",
    ),
    "data that is cut off": (embedded("YWJj" + "YQ"), "not valid base64"),
    "a selection from behind": (
        {
            "type": "resource",
            "label": "lines",
            "uri": "file:///a.py",
            "selection": {"range": extent(9, 0, 3, 0)},
        },
        "the selection of the attachment lines is no range",
    ),
    "annotations of nobody": (
        notes("ahp-session:/nobody/annotations"),
        "there are no annotations ahp-session:/nobody/annotations",
    ),
    "annotations that are a session": (notes("ahp-session:/carrying"), "there are no annotations"),
    **{
        name: (
            simple(modelRepresentation="x", range=range),
            "the range of the attachment note lies outside the message's text",
        )
        for name, range in {
            "behind the last line": extent(0, 0, 2, 0),
            "behind the end of a line": extent(0, 0, 0, 12),
            "before the beginning": extent(0, -1, 0, 3),
            "from behind": extent(1, 0, 0, 3),
        }.items()
    },
}
READ: dict[str, Json] = {
    "words": simple(modelRepresentation=""),
    "what the host completed": simple(_meta={"command": "edit"}),
    "data": embedded("YWJjYQ=="),
    "no data": embedded(""),
    "all annotations": notes("ahp-session:/carrying/annotations"),
    "annotations that are gone": notes("ahp-session:/carrying/annotations", annotationIds=["x"]),
    # A smile is two code units.
    "a mention up to the end of a line": simple(modelRepresentation="x", range=extent(0, 4, 0, 11)),
    "a mention of everything": simple(modelRepresentation="x", range=extent(0, 0, 1, 8)),
    "of a kind that is not known yet": {"type": "hologram", "label": "later"},
}


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def chat(shared_host: ServedHost) -> AsyncIterator[Chat]:
    """A chat, and two clients at it that speak the newest version and the oldest."""
    async with at_chat(shared_host.url, "carrying", OLDEST) as chat:
        yield chat


def carrying(attachment: Json) -> Json:
    return user_message(TEXT, attachments=[attachment])


@pytest.mark.parametrize("name", REFUSED)
async def test_what_cannot_be_read_is_refused_however_it_is_sent(chat: Chat, name: str) -> None:
    attachment, reason = REFUSED[name]
    pending = {"type": "chat/pendingMessageSet", "id": "p", "message": carrying(attachment)}
    for client in chat.clients:
        started = {**client.turn_started("t", ""), "message": carrying(attachment)}
        for action in (started, *({**pending, "kind": kind} for kind in ("queued", "steering"))):
            assert reason in await client.rejected(chat.uri, action)
        failure = await client.refusal(
            "createChat",
            channel=chat.session,
            chat="c:/never",
            initialMessage=carrying(attachment),
        )
        assert (failure.code, failure.data) == (-32602, {"path": "initialMessage"})
        assert reason in failure.message
    await chat.assert_at_rest()


@pytest.mark.parametrize("name", READ)
async def test_what_can_be_read_is_taken(chat: Chat, name: str) -> None:
    started = chat.client.turn_started(name, "")
    await chat.answer({**started, "message": carrying(READ[name])})
    assert (await chat.end(name))["message"] == carrying(READ[name])


async def test_nobody_waits_while_a_place_is_looked_for_in_a_long_text(chat: Chat) -> None:
    mention = simple(modelRepresentation="x", range=extent(0, 0, 9_999_999, 0))
    message = {**carrying(mention), "text": "\n" * 200_000}
    await chat.answer({**chat.client.turn_started("long", ""), "message": message})
    await chat.end("long")


@pytest.mark.parametrize("name", REFUSED)
async def test_what_is_not_sent_yet_may_be_wrong(chat: Chat, name: str) -> None:
    await chat.answer({"type": "chat/draftChanged", "draft": carrying(REFUSED[name][0])})


async def test_turns_and_messages_that_wait_need_ids(chat: Chat) -> None:
    pending = {"type": "chat/pendingMessageSet", "id": "", "message": user_message("x")}
    for client in chat.clients:
        reason = await client.rejected(chat.uri, client.turn_started("", "hello"))
        assert reason == "a turn needs an id"
        for kind in ("queued", "steering"):
            reason = await client.rejected(chat.uri, {**pending, "kind": kind})
            assert reason == "a message that waits needs an id"


async def test_no_client_takes_a_message_off_the_queue_by_a_turn_of_its_own(
    shared_host: ServedHost,
) -> None:
    async with (
        at_chat(shared_host.url, "consumed") as chat,
        open_client(shared_host.url, "thief", OLDEST) as thief,
    ):
        await thief.initialize()
        await chat.start("t1", "/slow 60")
        queued = {"type": "chat/pendingMessageSet", "kind": "queued", "id": "q"}
        await chat.answer({**queued, "message": user_message("mine")})
        await chat.cancel("t1")
        await chat.end("t1")
        before = chat.state["queuedMessages"]
        started = {**thief.turn_started("t2", "theirs"), "queuedMessageId": "q"}
        reason = "only the host starts queued messages"
        assert await thief.rejected(chat.uri, started) == reason
        assert chat.state["queuedMessages"] == before
        # Who names none starts a turn like any other.
        await chat.answer({**chat.client.turn_started("t3", "hello"), "queuedMessageId": ""})
