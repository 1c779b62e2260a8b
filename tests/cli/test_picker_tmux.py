"""The session picker as people see it: in a real terminal, against a real host."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio

from agenthost.client import connect
from tests.cli.interactive.terminal import TMUX, terminal
from tests.wire.hosting import ServedHost, serve

pytestmark = [
    pytest.mark.skipif(TMUX is None, reason="tmux is not installed"),
    pytest.mark.asyncio(loop_scope="module"),
]

READY = "/help"
HOSTILE = "\x1b[31mRelease\x1b]0;evil\x07 日本語 " + "z" * 200


@dataclass(frozen=True)
class Place:
    """A host with two sessions, and where its data and its work are."""

    host: ServedHost
    work: Path

    @property
    def found(self) -> tuple[str, str]:
        return "--data-dir", str(self.host.data_dir)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def place(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Place]:
    folder = tmp_path_factory.mktemp("picker")
    work = folder / "work"
    work.mkdir()
    async with serve(folder / "data", "--root", str(work)) as host:
        async with connect(host.address, token=host.token) as client:
            for title in ("Release the parser", HOSTILE):
                session = await client.sessions.create()
                await (await session.chat()).ask("hello")
                await session.rename(title)
        yield Place(host, work)


@pytest.mark.parametrize("columns", [120, 40])
async def test_a_session_is_found_opened_and_left_for_another(place: Place, columns: int) -> None:
    async with terminal(columns, 30) as tty:
        await tty.chat(*place.found, cwd=place.work)
        screen = await tty.see(
            "2 sessions", "+ new session", "Release the parser", "Release 日本語"
        )
        assert "evil" not in screen
        assert await tty.flag("alternate_on") == "1"
        if columns == 120:
            assert "demo" in screen
            assert "Ctrl-X trash" in screen
        await tty.type("parser")
        await tty.see("1 of 2 sessions", gone="日本語")
        await tty.key("Enter")
        screen = await tty.see("You said hello.", READY)
        assert await tty.flag("alternate_on") == "0"
        assert "2 sessions" not in screen
        # From within a chat, and back to it.
        await tty.enter("/sessions")
        await tty.see("2 sessions", "› ")
        await tty.key("Escape")
        await tty.see("You said hello.", READY)
        await tty.enter("/sessions")
        await tty.see("2 sessions")
        await tty.key("C-n")
        await tty.see("new session ·", READY, gone="2 sessions")
        await tty.key("C-d")
        await tty.see("exit code 0")


async def test_an_ambiguous_name_opens_the_list_of_what_it_could_mean(place: Place) -> None:
    async with terminal(100, 30) as tty:
        await tty.chat("release", *place.found, cwd=place.work)
        await tty.see("search release", "Release the parser", "Release 日本語")
        await tty.key("Escape")
        await tty.see("exit code 0", gone="search release")


async def test_where_there_are_no_sessions_a_new_one_begins_at_once(tmp_path: Path) -> None:
    async with serve(tmp_path / "data") as host, terminal(100, 30) as tty:
        await tty.chat("--data-dir", str(host.data_dir), cwd=tmp_path)
        await tty.see("new session ·", READY)
