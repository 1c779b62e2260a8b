"""What tool calls refer to, fetched from a real host: the whole of it, or why it cannot be seen."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agenthost.agents import Agent, Turn, content
from agenthost.cli.interactive.display import referenced_content as module
from agenthost.cli.interactive.display.referenced_content import ReferencedContent
from agenthost.client import connect
from tests.cli.interactive.samples import call, pending_call, shown
from tests.wire.hosting import embed

FILE = "file:///srv/a.txt"


class Keeper(Agent):
    """Keeps what its messages say, and shows where."""

    provider, display_name = "keeper", "Keeper"
    kept: dict[str, Any]

    async def run(self, turn: Turn) -> None:
        self.kept = await turn.store(turn.text.encode(), "text/plain")
        self.binary = await turn.store(b"\xff\xfe" * 300, "application/octet-stream")
        async with turn.tool("edit") as made:
            await made.start()
            await made.complete("Edited", [content.file_edit({"after": self.side})])

    @property
    def side(self) -> dict[str, Any]:
        return {"uri": FILE, "content": self.kept}


@asynccontextmanager
async def keeping(text: str) -> AsyncIterator[tuple[Keeper, ReferencedContent]]:
    """Run a host that keeps a text."""
    agent = Keeper()
    async with embed(agent) as url, connect(url) as client:
        session = await client.sessions.create()
        await (await session.chat()).ask(text)
        found = ReferencedContent(client, lambda: None)
        yield agent, found
        await found.close()


def edit_of(**sides: Any) -> dict[str, Any]:
    return pending_call(edits={"items": [sides]})


async def test_a_long_diff_is_known_whole() -> None:
    text = "".join(f"line {n}\n" for n in range(3000))
    async with keeping(text) as (agent, found):
        asked = edit_of(after=agent.side)
        (edit,) = asked["edits"]["items"]
        assert found.edit_lines(edit, 80) is None
        found.prefetch(asked)
        assert found.is_loading(asked)
        await found.fetch(asked)
        assert not found.is_loading(asked)
        rows = shown(found.preview_lines(asked, 80))
        assert rows[0] == "/srv/a.txt  new file  +3,000 −0"
        assert rows[2:] == [f"+line {n}" for n in range(3000)]
        short = shown(found.preview_lines(asked, 80, hint="v shows it", most=5))
        assert short[0] == "/srv/a.txt  new file  +3,000 −0 · v shows it"
        assert short[-2:] == ["+line 3", "… 2,996 more · /show"]
        # Names are whole, and words too, where both do not fit.
        narrow = shown(found.preview_lines(asked, 16, hint="v shows it", most=5))
        assert narrow[:3] == ["/srv/a.txt", "new file  +3,000", "−0"]
        moved = {"before": {**agent.side, "uri": "file:///srv/b.txt"}, "after": agent.side}
        await found.fetch(edit_of(**moved))
        assert shown(found.preview_lines(edit_of(**moved), 80)) == [
            "/srv/a.txt  moved from /srv/b.txt  +0 −0",
            "  (the content stays the same)",
        ]


async def test_an_input_that_is_kept_elsewhere_is_shown() -> None:
    async with keeping("echo one\necho two\x1b[8m") as (agent, found):
        asked = pending_call(toolInput=agent.kept)
        await found.fetch(asked)
        assert shown(found.input_lines(asked, 80) or []) == ["echo one", "echo two\\x1b[8m"]
        assert found.input_lines(call(), 80) is None


async def test_what_cannot_be_shown_is_said_in_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LARGEST", 1000)
    async with keeping("x" * 2000) as (agent, found):
        gone = {"uri": FILE, "content": {"uri": "ahp-content:/nowhere"}}
        binary = {"uri": FILE, "content": agent.binary}
        for side, told in (
            (agent.side, "too large to be shown here: 2,000 bytes"),
            (binary, "not text: 600 bytes"),
            (gone, "this cannot be shown: "),
        ):
            asked = edit_of(after=side)
            await found.fetch(asked)
            lines = shown(found.preview_lines(asked, 200))
            assert lines[0].startswith("/srv/a.txt")
            assert lines[1].startswith(told)
        # Once it is there, or the host is, it is looked for again.
        found.retry_failed()
        assert found.edit_lines({"after": gone}, 200) is None


async def test_no_more_is_kept_than_is_likely_to_be_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MOST_KEPT", 2)
    async with keeping("x") as (agent, found):
        edits = [{"after": {**agent.side, "uri": f"file:///{n}"}} for n in range(4)]
        for edit in edits:
            await found.fetch(edit_of(**edit))
        assert [found.edit_lines(edit, 80) is None for edit in edits] == [True, True, False, False]
        # What was let go is not fetched over and over, only when somebody asks for it.
        found.prefetch(edit_of(**edits[0]))
        assert not found.is_loading(edit_of(**edits[0]))
        await found.fetch(edit_of(**edits[0]))
        assert found.edit_lines(edits[0], 80) is not None


async def test_a_call_that_changes_hundreds_of_files_makes_no_more_lines_than_a_screen() -> None:
    async with keeping("one\ntwo\n") as (agent, found):
        sides = [{"after": {**agent.side, "uri": f"file:///{n}"}} for n in range(60)]
        asked = pending_call(edits={"items": sides})
        await found.fetch(asked)
        rows = shown(found.preview_lines(asked, 80, most=20))
        assert len(rows) < 40
        assert rows[0] == "/0  new file  +2 −0"
        assert rows[-1] == "… 54 more files · /show"
