"""What a session changed, on a real host in a real repository, as the client shows it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from agenthost.agents import Agent, Turn
from agenthost.client import (
    ChangesFailed,
    ChangesView,
    Chat,
    NotText,
    Rejected,
    Session,
    Unsupported,
)
from agenthost.client.changes import expanded
from agenthost.errors import InvalidParams, NotFound
from tests.client.scripted import SESSION, ScriptedHost, snapshot
from tests.client.world import World
from tests.workspace.git.repositories import commit, git, repository

# A busy machine and a program that is started many times.
PATIENCE = 60


class Worker(Agent):
    """Does to files what a test tells it to."""

    provider, display_name = "worker", "Worker"

    def __init__(self) -> None:
        self.job: Callable[[], object] = lambda: None

    async def run(self, turn: Turn) -> None:
        self.job()
        await turn.write("done")


class Workplace:
    """A host with a session in a repository, and what is done there."""

    def __init__(self, world: World, worker: Worker, session: Session, folder: Path) -> None:
        self.world, self.session, self.folder = world, session, folder
        self._worker = worker

    async def turn(self, chat: Chat, job: Callable[[], object]) -> str:
        """Run a turn that does something; return its id."""
        self._worker.job = job
        await chat.ask("work")
        return chat.state["turns"][-1]["id"]

    async def open(self, kind: str | None = None, **which: Any) -> ChangesView:
        """Follow changes once they are listed and known."""
        async with asyncio.timeout(PATIENCE):
            view = await self.session.changes.open(kind, **which)
            await view.ready()
        return view


@pytest.fixture(autouse=True)
def _real_repositories(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("GIT_DIR")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setattr("agenthost.client.changes.LISTING_PATIENCE", PATIENCE)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = repository(tmp_path / "repository")
    (made / "a.txt").write_text("one\ntwo\n")
    (made / "b.txt").write_text("bee\n")
    commit(made, "second")
    return made


@pytest.fixture
async def place(folder: Path) -> AsyncIterator[Workplace]:
    worker = Worker()
    async with asyncio.timeout(240), World(worker, default_directory=folder) as world:
        client = await world.join("me")
        async with await client.sessions.create(directories=[folder.as_uri()]) as session:
            yield Workplace(world, worker, session, folder)


def edit(folder: Path, number: int = 3) -> None:
    (folder / "a.txt").write_text(f"one\n{number}\n")
    (folder / "new.bin").write_bytes(b"\xff\x00\x01")
    (folder / "b.txt").unlink(missing_ok=True)


async def test_what_was_changed_is_shown_with_its_texts(place: Workplace) -> None:
    edit(place.folder)
    async with await place.open("uncommitted") as view:
        assert len(view.files) == 3
        assert await view.texts("a.txt") == ("one\ntwo\n", "one\n3\n")
        assert await view.texts(view.file("b.txt")) == ("bee\n", None)
        assert await view.contents("new.bin") == (None, b"\xff\x00\x01")
        with pytest.raises(NotText):
            await view.texts("new.bin")
        with pytest.raises(LookupError):
            await view.texts("missing")
        assert view.counts == (1, 2)
        assert view.entry["changeKind"] == "uncommitted"


async def test_each_turn_has_its_own_changes_and_two_are_compared(place: Workplace) -> None:
    async with await place.session.chat() as chat:
        first = await place.turn(chat, lambda: (place.folder / "a.txt").write_text("1\n"))
        second = await place.turn(chat, lambda: (place.folder / "a.txt").write_text("2\n"))
        async with await place.open(turn=second) as view:
            assert await view.texts("a.txt") == ("1\n", "2\n")
        async with await place.open(compare=(first, second)) as view:
            assert await view.texts("a.txt") == ("1\n", "2\n")
        async with await place.open() as view:
            assert await view.texts("a.txt") == ("one\ntwo\n", "2\n")
        async with asyncio.timeout(PATIENCE):
            async with await chat.changes.open(turn=first) as view:
                await view.ready()
                assert await view.texts("a.txt") == ("one\ntwo\n", "1\n")


async def test_what_is_not_there_is_refused(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with await place.session.chat() as chat:
        await place.turn(chat, lambda: edit(place.folder))
    await place.open()
    monkeypatch.setattr("agenthost.client.changes.LISTING_PATIENCE", 0.01)
    with pytest.raises(NotFound, match="of the kind nonsense"):
        await place.open("nonsense")
    with pytest.raises(ChangesFailed):
        await place.open(turn="no such turn")
    with pytest.raises(ValueError, match="either"):
        await place.open(turn="a", compare=("a", "b"))


async def test_the_changes_stay_current_also_after_a_drop(place: Workplace) -> None:
    edit(place.folder)
    async with await place.open("uncommitted") as view, asyncio.timeout(PATIENCE):
        place.world.wire("me").cut(0, 0)
        (place.folder / "c.txt").write_text("sea\n")
        async with await place.session.chat() as chat:
            await place.turn(chat, lambda: None)
        await view.channel.until(
            lambda state: any(file["id"].endswith("/c.txt") for file in state["files"])
        )


async def test_files_are_reviewed_where_that_is_possible(place: Workplace) -> None:
    async with await place.session.chat() as chat:
        turn = await place.turn(chat, lambda: edit(place.folder))
    async with await place.open("uncommitted") as view:
        await view.review("a.txt")
        assert view.file("a.txt").get("reviewed") is True
        await view.review(reviewed=True)
        assert all(file.get("reviewed") for file in view.files)
        await view.review("a.txt", reviewed=False)
        assert view.file("a.txt").get("reviewed") is False
    async with await place.open(turn=turn) as view:
        with pytest.raises(Rejected):
            await view.review("a.txt")


async def test_an_operation_is_carried_out(place: Workplace) -> None:
    async with await place.session.chat() as chat:
        await place.turn(chat, lambda: edit(place.folder))
    async with await place.open("uncommitted") as view:
        async with asyncio.timeout(PATIENCE):
            await view.channel.until(lambda _: view.operations)
        with pytest.raises(InvalidParams):
            await view.invoke("nonsense")
        await view.invoke("stage", "a.txt")
        assert git(place.folder, "diff", "--cached", "--name-only") == "a.txt"
        await view.invoke("discard-changes", "b.txt")
        assert (place.folder / "b.txt").read_text() == "bee\n"
        async with asyncio.timeout(PATIENCE):
            await view.channel.until(lambda state: len(state["files"]) == 2)


async def test_an_older_version_sees_changes_and_cannot_review(place: Workplace) -> None:
    edit(place.folder)
    await place.open("uncommitted")
    old = await place.world.join("old", "0.5.0")
    async with (
        await old.sessions.get(place.session.uri) as session,
        await session.changes.open("uncommitted") as view,
    ):
        await view.ready()
        assert await view.texts("a.txt") == ("one\ntwo\n", "one\n3\n")
        with pytest.raises(Unsupported):
            view.review("a.txt")


async def test_a_host_that_lists_no_changes_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agenthost.client.changes.LISTING_PATIENCE", 0.01)
    host = ScriptedHost()
    client = host.client()
    side = await host.welcome(client)
    try:
        opening = asyncio.create_task(client.sessions.get(SESSION))
        await side.subscribed(snapshot(SESSION, 2))
        session = await opening
        assert session.changes.catalogue == []
        with pytest.raises(Unsupported, match="lists no changes"):
            await session.changes.open()
    finally:
        await client.aclose()


@pytest.mark.parametrize(
    ("template", "values", "uri"),
    [
        ("s/session", {}, "s/session"),
        ("s/turn/{turnId}", {"turnId": "a/b c~"}, "s/turn/a%2Fb%20c~"),
        ("s/turn/{turnId}", {}, None),
        ("s/{turnId}/{other}", {"turnId": "a"}, None),
        ("s/session", {"turnId": "a"}, None),
    ],
)
def test_a_template_is_filled_in_where_all_of_it_is_known(
    template: str, values: dict[str, str], uri: str | None
) -> None:
    assert expanded(template, values) == uri
