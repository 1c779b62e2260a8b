"""Canvases as a client of the SDK follows them."""

from __future__ import annotations

from pathlib import Path

import pytest

from agenthost.client import Chat, Client
from agenthost.errors import NotFound
from tests.client.world import World
from tests.wire.painting import PAGE, Painter


async def begin(client: Client) -> Chat:
    session = await client.sessions.create("painter")
    return await session.chat()


async def show(chat: Chat, text: str) -> None:
    await chat.send(text).text()


async def test_a_client_follows_a_page_from_its_opening_to_its_end(tmp_path: Path) -> None:
    async with World(Painter(), default_directory=tmp_path) as world:
        client = await world.join("a")
        chat = await begin(client)
        await show(chat, "open My page")
        (reference,) = chat.state["canvases"]
        async with await client.canvas(reference["resource"]) as canvas:
            assert (canvas.title, canvas.status, canvas.url) == ("My page", None, PAGE)
            states = aiter(canvas)
            assert (await anext(states)).get("status") is None
            await show(chat, "status built")
            assert (await anext(states)).get("status") == "built"
            assert canvas.status == "built"
            await show(chat, "close")
            assert "url" not in await canvas.channel.until(lambda state: "url" not in state)
            assert canvas.url is None
        assert "canvases" not in chat.state
        with pytest.raises(NotFound):
            await client.canvas(reference["resource"])


async def test_a_client_that_was_cut_off_sees_the_page_as_it_is_now(tmp_path: Path) -> None:
    async with World(Painter(), default_directory=tmp_path) as world:
        client, other = await world.join("a"), await world.join("b")
        chat = await begin(client)
        await show(chat, "open")
        (reference,) = chat.state["canvases"]
        canvas = await client.canvas(reference["resource"])
        session = await other.sessions.get(next(s["resource"] for s in await other.sessions.list()))
        theirs = await session.chat(chat.uri)
        world.wire("a").cut(0, 0)
        await show(theirs, "status meanwhile")
        state = await canvas.channel.until(lambda state: state.get("status") == "meanwhile")
        assert state.get("url") == PAGE


async def test_after_a_restart_of_the_host_there_is_no_page(tmp_path: Path) -> None:
    async with World(Painter(), default_directory=tmp_path) as world:
        client = await world.join("a")
        chat = await begin(client)
        await show(chat, "open")
        (reference,) = chat.state["canvases"]
        canvas = await client.canvas(reference["resource"])
        assert canvas.url == PAGE
        await world.kill()
        await world.start()
        assert "url" not in await canvas.channel.until(lambda state: "url" not in state)
        assert canvas.title == "Preview"


async def test_an_older_host_has_no_canvases(tmp_path: Path) -> None:
    async with World(Painter(), default_directory=tmp_path) as world:
        newest, older = await world.join("a"), await world.join("b", "0.9.0")
        chat = await begin(newest)
        await show(chat, "open")
        (reference,) = chat.state["canvases"]
        with pytest.raises(NotFound):
            await older.canvas(reference["resource"])
