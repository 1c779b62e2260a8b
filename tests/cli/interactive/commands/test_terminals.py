"""The terminals of a session, in a conversation with a real host: /terminal."""

from __future__ import annotations

import pytest

from agenthost.cli.attach import raw_tty
from tests.cli.interactive.commands.test_retry_and_undo import hinted, shown
from tests.cli.interactive.test_conversation import talking


async def test_terminals_are_listed_and_only_those_that_there_are_can_be_worked_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with talking() as talk:
        talk.at.on_submit("/terminal")
        await shown(talk, "this session has no terminals; /terminal new opens one")
        await hinted(talk, "/terminal new", "this needs a terminal of your own")
        monkeypatch.setattr(raw_tty, "has_terminal", lambda: True)
        await hinted(talk, "/terminal 1", "/terminal N: a number of /terminal")
        async with await talk.at.session.terminals.create(name="the shell") as shell:
            talk.at.on_submit("/terminal")
            await shown(talk, "the shell  running")
            await shell.dispose()
        talk.at.on_submit("/terminal 1")
        await shown(talk, "no terminal: it is not there any more")
