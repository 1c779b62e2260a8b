"""Pages that agents show: seen by those who look on, and written down nowhere."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from agenthost.protocol.versions import NEWEST
from agenthost.tokens import BOOK_FILE, Role, TokenBook
from tests.wire.client import WireClient, open_client
from tests.wire.hosting import ServedHost, serve
from tests.wire.painting import BAD_PAGES, MARK, PAGE

Json = dict[str, Any]

SESSION = "ahp-session:/painted"
REPOSITORY = Path(__file__).parent.parent.parent


def painted(tmp_path: Path) -> Any:
    options = ("--agent", "tests.wire.painting:Painter", "-v", "--wire-log", f"{tmp_path}/wire.log")
    return serve(tmp_path / "data", *options, cwd=REPOSITORY)


async def at_painter(client: WireClient) -> str:
    """Make a session with the agent and return its chat."""
    await client.initialize("ahp-root://")
    chat = await client.ready_session(SESSION)
    await client.subscribe(chat)
    return chat


def listed(client: WireClient, chat: str) -> list[str]:
    return [each["resource"] for each in client.states[chat].get("canvases", ())]


def assert_unwritten(tmp_path: Path, host: ServedHost) -> None:
    """No file of the host holds an address, and neither does what it printed."""
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(path.stat().st_size > 10_000 for path in files)
    assert [str(path) for path in files if MARK.encode() in path.read_bytes()] == []
    assert MARK not in host.output


async def test_an_address_is_told_to_those_who_look_and_written_down_nowhere(
    tmp_path: Path,
) -> None:
    async with painted(tmp_path) as host:
        async with open_client(host.url, "visitor", NEWEST) as client:
            chat = await at_painter(client)
            await client.run_turn(chat, "t1", "open")
            (uri,) = listed(client, chat)
            assert (await client.subscribe(uri))["url"] == PAGE
            for number, text in enumerate(
                ("status one", "clear", "reopen mine", "crash", "fail", "close")
            ):
                await client.run_turn(chat, f"c{number}", text)
            for page in BAD_PAGES:
                await client.run_turn(chat, f"b-{page}", f"bad {page}")
            await client.run_turn(chat, "m", "many 40")
            # Whoever tries to set one is refused, and that is not written down either.
            forged = {**client.states[uri], "url": PAGE}
            action = {"type": "canvas/stateChanged", "canvas": forged}
            assert await client.rejected(uri, action)
            await client.request("disposeSession", channel=SESSION)
        assert_unwritten(tmp_path, host)
        log = (tmp_path / "wire.log").read_text()
        assert '"type":"canvas/stateChanged"' in log
        assert '"url":"[redacted]"' in log
        assert await host.stop() == 0
        assert_unwritten(tmp_path, host)


@pytest.mark.parametrize("end", ["stop", "kill"])
async def test_after_a_restart_a_canvas_opens_without_its_page(tmp_path: Path, end: str) -> None:
    async with painted(tmp_path) as host:
        async with open_client(host.url, "visitor", NEWEST) as client:
            chat = await at_painter(client)
            await client.run_turn(chat, "t1", "reopen mine")
            await client.run_turn(chat, "t2", "status shown")
            (uri,) = listed(client, chat)
            before = await client.subscribe(uri)
            assert before["url"] == PAGE
        await getattr(host, end)()
        assert_unwritten(tmp_path, host)
        await host.start()
        async with open_client(host.url, "visitor", NEWEST) as client:
            await client.initialize(chat, uri)
            assert listed(client, chat) == [uri]
            assert client.states[uri] == {k: v for k, v in before.items() if k != "url"}
            # Its agent, new as the host, finds it by the id that it gave it.
            await client.run_turn(chat, "t3", "reopen mine")
            assert listed(client, chat) == [uri]
            await client.ping()
            assert client.states[uri]["url"] == PAGE
            await client.run_turn(chat, "t4", "close")
            assert listed(client, chat) == []
        assert_unwritten(tmp_path, host)


async def test_a_viewer_looks_on_and_changes_nothing(tmp_path: Path) -> None:
    async with painted(tmp_path) as host:
        book = TokenBook(host.data_dir / BOOK_FILE)
        made = book.create("onlooker", Role.VIEWER, expires=None, now=time.time())
        async with (
            open_client(host.url, "visitor", NEWEST) as client,
            open_client(f"ws://{host.address}/?tkn={made.secret}", "viewer", NEWEST) as viewer,
        ):
            chat = await at_painter(client)
            await client.run_turn(chat, "t1", "open")
            (uri,) = listed(client, chat)
            await viewer.initialize(chat, uri)
            assert viewer.states[uri]["url"] == PAGE
            action = {"type": "canvas/stateChanged", "canvas": {**viewer.states[uri], "title": "x"}}
            assert await viewer.rejected(uri, action)
            await client.run_turn(chat, "t2", "clear")
            await viewer.action(uri, "canvas/stateChanged")
            assert "url" not in viewer.states[uri]
