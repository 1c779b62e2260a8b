"""What is told, to whom and when, by a clock that a test moves."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agenthost.host.push.book import PushBook, PushSubscription
from agenthost.host.push.keys import MOST_PLAIN_BYTES, VapidKeys
from agenthost.host.push.sender import Delivery, PushNote
from agenthost.host.push.watch import PushWatch, Reason, note_of
from agenthost.tasks import Tasks
from tests.client.scripted import ManualClock

Json = dict[str, Any]

IDLE, ERROR, WORKING, WAITING, READ = 1, 2, 8, 24, 32
S, CHAT, WORKER = "ahp-session:/s", "ahp-chat:/main", "ahp-chat:/worker"
ANA, BOB = "https://p.example/ana", "https://p.example/bob"


class Sent:
    """Takes messages instead of sending them."""

    def __init__(self) -> None:
        self.notes: list[tuple[str, Json]] = []
        self.outcome = Delivery.SENT
        self.stills: list[Callable[[], bool]] = []

    async def send(
        self,
        keys: VapidKeys,
        to: PushSubscription,
        note: PushNote,
        still: Callable[[], bool] = lambda: True,
    ) -> Delivery:
        self.stills.append(still)
        if still():
            self.notes.append((to.endpoint, json.loads(note.body)))
        return self.outcome

    @property
    def kinds(self) -> list[tuple[str, str]]:
        return [(to.rpartition("/")[2], note["kind"]) for to, note in self.notes]


class World:
    """A watch over one session, and the person's windows."""

    def __init__(self, book: PushBook, *, is_open: bool = True) -> None:
        self.book, self.clock, self.sent = book, ManualClock(), Sent()
        self.visible: set[str] = set()
        self.revoked: set[str] = set()
        self.tasks = Tasks()
        self.watch = PushWatch(
            book,
            self.sent,
            self.tasks,
            self.clock,
            is_seen=lambda name: name in self.visible,
            counts=lambda each: each.name not in self.revoked,
        )
        if is_open:
            self.watch.open()
        self._summary = self._summarize({CHAT: IDLE}, 0)
        self.asked: list[Json] = []

    async def becomes(
        self, activity: int = WORKING, *asked: str, chat: str = CHAT, read: bool = False
    ) -> None:
        """Let the session become something: a chat's activity, and what waits for a person."""
        before = self._summary
        chats = {each["resource"]: each["status"] for each in before["chats"]} | {chat: activity}
        after = self._summary = self._summarize(chats, READ if read else 0)
        self.asked = [prompt(text) for text in asked]
        state: Any = {"inputNeeded": self.asked} if asked else {}
        self.watch.changed(S, state, before, after)  # type: ignore[arg-type]
        await settle()

    async def loses(self, chat: str) -> None:
        """Let the session lose a chat."""
        before = self._summary
        left = {each["resource"]: each["status"] for each in before["chats"]}
        del left[chat]
        after = self._summary = self._summarize(left, 0)
        self.watch.changed(S, {}, before, after)  # type: ignore[arg-type, typeddict-item]
        await settle()

    async def passes(self, seconds: float) -> None:
        """Let time pass."""
        self.clock.advance(seconds)
        await settle()

    async def tasks_end(self) -> None:
        """Wait until what was begun is done; nobody may be waiting for the clock."""
        others = asyncio.all_tasks() - {asyncio.current_task()}
        async with asyncio.timeout(60):
            await asyncio.gather(*(task for task in others if task.get_name() == "push"))

    def _summarize(self, chats: dict[str, int], flags: int) -> Json:
        listed = [
            {
                "resource": uri,
                "status": status,
                **({"origin": {"kind": "tool"}} if uri == WORKER else {}),
            }
            for uri, status in chats.items()
        ]
        return {"title": "Fix login", "status": IDLE | flags, "chats": listed}


def prompt(text: str, kind: str = "toolConfirmation") -> Json:
    call = {"toolCallId": text, "confirmationTitle": "Run this command?", "toolInput": text}
    return {"id": f"{CHAT}#{text}", "chat": CHAT, "kind": kind, "toolCall": call}


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def wants(endpoint: str, *kinds: str, with_text: bool = False) -> PushSubscription:
    name = endpoint.rpartition("/")[2]
    return PushSubscription(
        name, None, endpoint, "k", "a", kinds or ("needsInput", "failed"), with_text
    )


@asynccontextmanager
async def watching(
    path: Path, *subscriptions: PushSubscription, is_open: bool = True
) -> AsyncIterator[World]:
    book = PushBook(path / "push.json")
    for each in subscriptions:
        await book.add(each)
    world = World(book, is_open=is_open)
    try:
        yield world
    finally:
        await world.tasks.close()


async def test_what_waits_is_told_after_five_seconds_and_not_before(tmp_path: Path) -> None:
    async with watching(tmp_path, wants(ANA)) as world:
        await world.becomes(WAITING, "npm test")
        await world.passes(4.9)
        assert not world.sent.notes
        await world.passes(0.1)
        told = {"kind": "needsInput", "session": S, "chat": CHAT, "title": "Fix login"}
        assert world.sent.notes == [(ANA, told)]
        # Once.
        await world.becomes(WAITING, "npm test")
        await world.passes(60)
        assert len(world.sent.notes) == 1


async def test_what_came_up_before_anybody_is_let_in_is_told_then_however_late(
    tmp_path: Path,
) -> None:
    async with watching(tmp_path, wants(ANA), wants(BOB), is_open=False) as world:
        # No token counts as long as nobody knows which there are.
        world.revoked = {"ana", "bob"}
        await world.becomes(WAITING, "npm test")
        await world.becomes(WAITING, "npm test", "npm start")
        await world.passes(60)
        assert not world.sent.notes
        world.revoked = {"bob"}
        world.watch.open()
        await settle()
        await world.passes(5)
        assert world.sent.kinds == [("ana", "needsInput")]


async def test_the_command_is_told_to_those_alone_who_want_it(tmp_path: Path) -> None:
    async with watching(tmp_path, wants(ANA, with_text=True), wants(BOB)) as world:
        await world.becomes(WAITING, "npm test")
        await world.passes(5)
        texts = {to: note.get("text") for to, note in world.sent.notes}
        assert texts == {ANA: "Run this command?\nnpm test", BOB: None}


async def test_what_is_answered_in_time_is_not_told(tmp_path: Path) -> None:
    async with watching(tmp_path, wants(ANA)) as world:
        await world.becomes(WAITING, "npm test")
        await world.passes(4)
        await world.becomes(WORKING)
        await world.passes(60)
        assert not world.sent.notes


async def test_a_token_with_a_visible_window_is_not_told_and_another_is(tmp_path: Path) -> None:
    async with watching(tmp_path, wants(ANA), wants(BOB)) as world:
        await world.becomes(WAITING, "npm test")
        world.visible.add("ana")
        await world.passes(5)
        assert world.sent.kinds == [("bob", "needsInput")]
        # What was shown nowhere is taken back nowhere.
        await world.becomes(WORKING)
        assert world.sent.kinds[1:] == [("bob", "withdraw")]


async def test_what_is_answered_later_is_taken_back_where_it_is_shown(tmp_path: Path) -> None:
    async with watching(tmp_path, wants(ANA), wants(BOB, "failed")) as world:
        await world.becomes(WAITING, "npm test", "npm publish")
        await world.passes(5)
        # One for both.
        assert world.sent.kinds == [("ana", "needsInput")]
        await world.becomes(WAITING, "npm publish")
        assert len(world.sent.notes) == 1
        await world.becomes(WORKING)
        assert world.sent.notes[1:] == [(ANA, {"kind": "withdraw", "session": S})]
        await world.becomes(WORKING)
        await world.passes(60)
        assert len(world.sent.notes) == 2


async def test_the_next_thing_that_waits_is_told_as_well(tmp_path: Path) -> None:
    async with watching(tmp_path, wants(ANA)) as world:
        await world.becomes(WAITING, "one")
        await world.passes(5)
        await world.becomes(WAITING, "two")
        await world.passes(5)
        kinds = [kind for _, kind in world.sent.kinds]
        assert kinds == ["needsInput", "withdraw", "needsInput"]


async def test_a_browser_that_must_show_something_gets_nothing_taken_back(tmp_path: Path) -> None:
    apple = "https://web.push.apple.com/ana"
    async with watching(tmp_path, wants(apple)) as world:
        await world.becomes(WAITING, "npm test")
        await world.passes(5)
        await world.becomes(WORKING)
        assert world.sent.kinds == [("ana", "needsInput")]


async def test_a_tool_that_a_client_runs_waits_for_nobody(tmp_path: Path) -> None:
    async with watching(tmp_path, wants(ANA)) as world:
        before: Any = world._summary
        state: Any = {"inputNeeded": [prompt("x", "toolClientExecution")]}
        world.watch.changed(S, state, before, before)
        await settle()
        await world.passes(60)
        assert not world.sent.notes


async def test_a_failed_turn_is_told_and_taken_back_by_the_next_one(tmp_path: Path) -> None:
    async with watching(tmp_path, wants(ANA), wants(BOB, "needsInput", "finished")) as world:
        await world.becomes(WORKING)
        await world.becomes(ERROR)
        await world.passes(5)
        assert world.sent.kinds == [("ana", "failed")]
        await world.becomes(WORKING)
        assert world.sent.kinds[1:] == [("ana", "withdraw")]


async def test_a_turn_that_took_long_is_told_to_those_who_want_it(tmp_path: Path) -> None:
    everything = wants(ANA, "needsInput", "failed", "finished")
    async with watching(tmp_path, everything, wants(BOB)) as world:
        for seconds in (59, 61):
            await world.becomes(WORKING)
            await world.passes(seconds / 2)
            # Asking in between is no end.
            await world.becomes(WAITING)
            await world.passes(seconds / 2)
            await world.becomes(IDLE)
            await world.passes(5)
        assert world.sent.kinds == [("ana", "finished")]


async def test_workers_are_never_told_of_unless_they_ask(tmp_path: Path) -> None:
    async with watching(tmp_path, wants(ANA, "needsInput", "failed", "finished")) as world:
        for end in (IDLE, ERROR):
            await world.becomes(WORKING, chat=WORKER)
            await world.passes(100)
            await world.becomes(end, chat=WORKER)
            await world.passes(5)
        assert not world.sent.notes
        await world.becomes(WAITING, "from a worker", chat=WORKER)
        await world.passes(5)
        assert world.sent.kinds == [("ana", "needsInput")]


async def test_a_session_that_was_read_meanwhile_has_no_news(tmp_path: Path) -> None:
    async with watching(tmp_path, wants(ANA)) as world:
        await world.becomes(WORKING)
        await world.becomes(ERROR)
        await world.becomes(ERROR, read=True)
        await world.passes(5)
        assert not world.sent.notes
        await world.becomes(WORKING)
        await world.becomes(ERROR)
        await world.passes(5)
        await world.becomes(ERROR, read=True)
        assert [kind for _, kind in world.sent.kinds] == ["failed", "withdraw"]


async def test_a_session_that_is_gone_has_no_news_and_none_is_left_shown(tmp_path: Path) -> None:
    async with watching(tmp_path, wants(ANA)) as world:
        await world.becomes(WAITING, "npm test")
        world.watch.removed(S)
        await world.passes(5)
        assert not world.sent.notes
        await world.becomes(WAITING, "npm test")
        await world.passes(5)
        world.watch.removed(S)
        await settle()
        assert [kind for _, kind in world.sent.kinds] == ["needsInput", "withdraw"]


async def test_nobody_is_told_whose_token_does_not_count_any_more(tmp_path: Path) -> None:
    async with watching(tmp_path, wants(ANA), wants(BOB)) as world:
        await world.becomes(WAITING, "npm test")
        world.revoked.add("ana")
        await world.passes(5)
        assert world.sent.kinds == [("bob", "needsInput")]
        # Neither by a second try.
        world.revoked.add("bob")
        assert not world.sent.stills[0]()


async def test_a_browser_that_takes_no_more_is_forgotten(tmp_path: Path) -> None:
    async with watching(tmp_path, wants(ANA)) as world:
        world.sent.outcome = Delivery.GONE
        await world.becomes(WAITING, "npm test")
        await world.passes(5)
        await world.tasks_end()
        assert not world.book.subscriptions


async def test_without_subscriptions_nothing_is_kept(tmp_path: Path) -> None:
    async with watching(tmp_path) as world:
        await world.becomes(WAITING, "npm test")
        assert not world.clock.asked


async def test_a_session_that_cannot_be_looked_at_costs_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with watching(tmp_path, wants(ANA)) as world:
        broken: Any = {"inputNeeded": [7]}
        summary: Any = world._summary
        world.watch.changed(S, broken, summary, summary)
        assert "nobody is told" in caplog.text


def test_a_message_fits_into_a_push_whatever_it_is_about() -> None:
    long = "日" * 100_000
    note = note_of(S, long, Reason("needsInput", CHAT, "1", long), with_text=True)
    assert note is not None
    assert len(note.body) <= MOST_PLAIN_BYTES
    assert json.loads(note.body)["title"].endswith("…")
    assert len(note.topic) == 32
    narrow = note_of("s:" + "x" * 1500, "t", Reason("needsInput", CHAT, "1", long), with_text=True)
    assert narrow is not None
    assert note_of("s:" + "x" * 5000, "t", Reason("failed", CHAT), with_text=True) is None


def test_sessions_have_topics_of_their_own() -> None:
    notes = [note_of(uri, "t", Reason("failed", CHAT), with_text=False) for uri in (S, S, "s:/2")]
    topics = [note.topic for note in notes if note is not None]
    assert topics[0] == topics[1] != topics[2]


async def test_a_withdrawal_that_is_late_does_not_take_back_what_is_shown_by_then(
    tmp_path: Path,
) -> None:
    async with watching(tmp_path, wants(ANA)) as world:
        await world.becomes(WAITING, "npm test")
        await world.passes(5)
        await world.becomes(WORKING)
        withdrawal = world.sent.stills[-1]
        assert withdrawal()
        await world.becomes(WAITING, "rm -r build")
        await world.passes(5)
        assert [kind for _, kind in world.sent.kinds] == ["needsInput", "withdraw", "needsInput"]
        # The service was busy, and is asked again only now.
        assert not withdrawal()


@pytest.mark.parametrize("whole", [True, False], ids=["session", "chat"])
async def test_a_chat_that_went_while_it_worked_and_comes_back_begins_anew(
    tmp_path: Path, whole: bool
) -> None:
    async with watching(tmp_path, wants(ANA, "finished")) as world:
        await world.becomes(WORKING)
        if whole:
            world.watch.removed(S)
        else:
            await world.loses(CHAT)
        world._summary = world._summarize({CHAT: IDLE}, 0)
        await world.passes(100)
        await world.becomes(WORKING)
        await world.passes(1)
        await world.becomes(IDLE)
        await world.passes(10)
        assert not world.sent.notes
