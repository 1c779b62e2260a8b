"""The session picker beside a real host: what keys do to its sessions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput

from agenthost.cli.interactive.display.styled_text import text_of
from agenthost.cli.interactive.outcome import ConversationOutcome, Leave, StartSession, SwitchTo
from agenthost.cli.interactive.picker.session_picker import SessionPicker
from agenthost.cli.interactive.picker.view import MOST_QUERY
from agenthost.client import Client, Reconnecting, connect
from tests.wire.hosting import embed

PATIENCE = 60.0
POLL = 0.01
DOWN, ESCAPE, ENTER, NEW, TRASH, BACK = "\x1b[B", "\x1b", "\r", "\x0e", "\x18", "\x1a"


class Picking:
    """A picker under way."""

    def __init__(
        self, picker: SessionPicker, keys: PipeInput, running: asyncio.Task[ConversationOutcome]
    ) -> None:
        self.at = picker
        self._keys = keys
        self._running = running

    @property
    def titles(self) -> list[str]:
        return [row.title for row in self.at.model.rows]

    @property
    def message(self) -> str:
        return text_of(self.at.view.message)

    def press(self, keys: str) -> None:
        self._keys.send_text(keys)

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while True:
                if holds():
                    return
                await asyncio.sleep(POLL)

    async def outcome(self) -> ConversationOutcome:
        async with asyncio.timeout(PATIENCE):
            return await self._running


@asynccontextmanager
async def picking(client: Client, **options: Any) -> AsyncIterator[Picking]:
    """Run a picker whose list is there."""
    with create_pipe_input() as keys:
        picker = SessionPicker(client, input=keys, output=DummyOutput(), **options)
        running = asyncio.create_task(picker.run())
        made = Picking(picker, keys, running)
        try:
            await made.until(lambda: picker.model.is_known)
            yield made
        finally:
            picker.on_leave()
            await running


@asynccontextmanager
async def hosted(*titles: str) -> AsyncIterator[tuple[Client, list[str]]]:
    """Run a host with sessions in which something was said; give their URIs."""
    async with embed() as url, connect(url) as client:
        uris = []
        for title in titles:
            session = await client.sessions.create()
            await (await session.chat()).ask("hello")
            await session.rename(title)
            uris.append(session.uri)
        yield client, uris


async def test_a_session_is_opened_or_a_new_one_begun() -> None:
    async with hosted("First", "Second") as (client, (first, _)):
        async with picking(client) as at:
            at.press("first" + ENTER)
            assert await at.outcome() == SwitchTo(first)
        async with picking(client) as at:
            at.press(ENTER)
            assert await at.outcome() == StartSession()
        async with picking(client, query="second") as at:
            assert at.titles == ["Second"]
            at.press(NEW)
            assert await at.outcome() == StartSession()
        async with picking(client, current=first) as at:
            at.press(ESCAPE)
            assert await at.outcome() == Leave()


async def test_what_was_moved_to_the_trash_comes_back() -> None:
    async with hosted("Keep", "Throw away") as (client, _):
        async with picking(client) as at:
            at.press("throw" + TRASH)
            await at.until(lambda: "moved to the trash: Throw away" in at.message)
            await at.until(lambda: not at.titles)
            at.press(BACK)
            await at.until(lambda: at.titles == ["Throw away"])
            await at.until(lambda: "back from the trash" in at.message)
            at.press(BACK)
            await at.until(lambda: "nothing was moved" in at.message)
        assert len(await client.sessions.list()) == 2


async def test_leaving_at_once_does_not_keep_a_session_from_the_trash() -> None:
    async with hosted("Throw away") as (client, _):
        async with picking(client) as at:
            at.press(DOWN + TRASH + ESCAPE)
            await at.outcome()
        assert [entry["title"] for entry in await client.sessions.trash()] == ["Throw away"]


async def test_a_session_at_work_goes_only_after_a_second_word() -> None:
    async with hosted("Busy") as (client, (uri,)):
        session = await client.sessions.get(uri)
        await (await session.chat()).send("/run echo hi").accepted()
        async with picking(client) as at:
            await at.until(lambda: at.at.model.rows[0].is_working)
            at.press(DOWN + TRASH)
            await at.until(lambda: "at work" in at.message)
            assert at.titles == ["Busy"]
            at.press(TRASH)
            await at.until(lambda: not at.titles)


async def test_the_session_that_one_is_in_stays() -> None:
    async with hosted("Mine") as (client, (uri,)):
        async with picking(client, current=uri) as at:
            at.press(TRASH)
            await at.until(lambda: "you are in this session" in at.message)
        assert len(await client.sessions.list()) == 1


async def test_who_may_only_look_can_open_but_change_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    me = property(lambda _: {"name": "eve", "role": "viewer"})
    async with hosted("Theirs") as (client, (uri,)):
        monkeypatch.setattr(Client, "me", me)
        async with picking(client) as at:
            for key in (NEW, TRASH, BACK):
                at.press(key)
            await at.until(lambda: bool(at.message))
            assert at.titles == ["Theirs"]
            at.press(ENTER)
            assert await at.outcome() == SwitchTo(uri)


async def test_the_list_is_live() -> None:
    async with hosted("First") as (client, _), picking(client) as at:
        session = await client.sessions.create()
        await session.rename("\x1b[31mAnother\n")
        await at.until(lambda: "Another" in at.titles)


async def test_while_the_host_is_away_the_list_stays_and_nothing_is_opened() -> None:
    async with hosted("First") as (client, (uri,)), picking(client) as at:
        state = client.connection.state
        client.connection.change_to(Reconnecting("ConnectionResetError", 1, 1))
        assert "connection lost (the connection was reset)" in at.message
        for keys in (DOWN + ENTER, TRASH, NEW):
            at.press(keys)
        await at.until(lambda: "no connection" in at.message)
        assert at.titles == ["First"]
        client.connection.change_to(state)
        assert "connected again" in at.message
        at.press(ENTER)
        assert await at.outcome() == SwitchTo(uri)


async def test_a_pasted_page_is_cut_and_stays_one_line() -> None:
    async with hosted("First") as (client, _), picking(client) as at:
        at.press(f"\x1b[200~a\nb\x1b[31m{'c' * 20_000}\x1b[201~")
        await at.until(lambda: bool(at.at.model.query))
        assert at.at.model.query == "a b" + "c" * (MOST_QUERY - 3)
