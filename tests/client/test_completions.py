"""What could be inserted into a message, asked for by chat or by its URI alone."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agenthost.client import Unsupported
from agenthost.protocol import SUPPORTED_VERSIONS
from tests.client.scripted import CHAT, ScriptedHost
from tests.client.world import World


@pytest.mark.parametrize("version", SUPPORTED_VERSIONS)
async def test_commands_and_files_are_found(world: World, tmp_path: Path, version: str) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "grün main.py").touch()
    client = await world.join("me", version)
    async with (
        await client.sessions.create(directories=[tmp_path.as_uri()]) as session,
        await session.chat() as chat,
    ):
        assert await client.complete(chat, "/") == await chat.completions("/") != []
        # Characters beyond the basic plane count twice on the wire, and once here.
        text = "𝔘 look @grma and on"
        (item,) = await client.complete(chat.uri, text, text.index(" and"))
        assert item["insertText"].startswith("@")
        start, end = item.get("rangeStart"), item.get("rangeEnd")
        assert start is not None
        assert end is not None
        units = text.encode("utf-16-le")
        assert units[2 * start : 2 * end].decode("utf-16-le") == "@grma"
        uri = (tmp_path / "src" / "grün main.py").as_uri()
        assert item["attachment"].get("uri") == uri


async def test_a_host_without_completions_says_so() -> None:
    host = ScriptedHost()
    client = host.client()
    side = await host.welcome(client)
    try:
        asking = asyncio.create_task(client.complete(CHAT, "𝔘@x"))
        request = await side.next("completions")
        assert request["params"]["channel"] == CHAT
        assert request["params"]["offset"] == 4
        side.refuse(request, -32601)
        with pytest.raises(Unsupported, match="this host has no completions"):
            await asking
    finally:
        await client.aclose()
