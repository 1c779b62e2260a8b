"""Which checkpoints belong to which turn, also when one was never taken."""

from __future__ import annotations

import asyncio
from pathlib import Path

from agenthost.host.channels.changeset import checkpoint_book
from agenthost.host.channels.changeset.checkpoint_book import CheckpointBook, Page
from agenthost.host.log.ledger import Ledger
from agenthost.host.store import MemoryStore
from agenthost.workspace.git.checkpoints import Checkpoints
from agenthost.workspace.git.program import GitProgram


def page() -> Page:
    return Page(Checkpoints(GitProgram(), Path("/nonexistent")))


def test_a_session_starts_where_its_first_turn_does_in_each_repository() -> None:
    known = page()
    known.begin("c", "1", {"/a": "a1"})
    known.begin("c", "2", {"/a": "a2", "/b": "b2"})
    assert known.start == {"/a": "a1", "/b": "b2"}


def test_a_turn_whose_end_nobody_saw_ends_where_the_next_begins() -> None:
    known = page()
    known.begin("c", "1", {"/a": "a1"})
    first = known.find("1")
    assert first is not None
    assert known.after(first) is None
    known.begin("c", "2", {"/a": "a2"})
    assert known.after(first) == {"/a": "a2"}
    known.end("c", "1", {"/a": "late"})
    assert known.after(first) == {"/a": "late"}


def test_a_turn_that_is_taken_up_again_began_when_it_did() -> None:
    known = page()
    known.begin("c", "1", {"/a": "a1"})
    known.end("c", "1", {"/a": "a2"})
    known.begin("c", "1", {"/a": "a2"})
    (trees,) = known.turns
    assert (trees.before, trees.after) == ({"/a": "a1"}, None)


def test_of_turns_with_one_name_the_last_counts() -> None:
    known = page()
    known.begin("c", "1", {"/a": "a1"})
    known.begin("d", "1", {"/a": "a2"})
    last = known.find("1")
    assert last is not None
    assert last.chat == "d"
    known.end("c", "1", {"/a": "end of c"})
    assert last.after is None


def test_only_so_many_turns_are_remembered() -> None:
    known = page()
    for number in range(checkpoint_book.MOST_TURNS + 5):
        known.begin("c", str(number), {"/a": str(number)})
    assert len(known.turns) == checkpoint_book.MOST_TURNS
    assert known.find("0") is None
    assert known.start == {"/a": "0"}
    other = page()
    other.restore(known.as_record())
    assert other.turns == known.turns
    assert other.start == known.start


class SlowStore(MemoryStore):
    """Answers when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()
        self.may_answer = asyncio.Event()

    async def record(self, bucket: str, key: str) -> bytes | None:
        found = await super().record(bucket, key)
        self.asked.set()
        await self.may_answer.wait()
        return found


async def test_what_was_read_while_a_session_left_is_not_what_it_comes_back_with(
    tmp_path: Path,
) -> None:
    async with SlowStore() as store:
        ledger: Ledger = Ledger(store, release=lambda _: None, on_failure=lambda _: None)
        await ledger.open()
        book = CheckpointBook(store, ledger, GitProgram(), tmp_path)
        late = asyncio.create_task(book.page("s"))
        await store.asked.wait()
        book.leave("s")
        store.may_answer.set()
        stale = await late
        stale.begin("c", "1", {"/a": "a1"})
        book.save("s", stale)
        assert await book.page("s") is not stale
        assert (await book.page("s")).turns == []
        await ledger.close()
