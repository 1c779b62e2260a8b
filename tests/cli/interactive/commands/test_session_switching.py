"""Sessions and chats, in a conversation with a real host: /new, /rename, /open."""

from __future__ import annotations

import pytest

from agenthost.agents.demo import Demo
from agenthost.cli.interactive.commands.registry import COMMANDS
from agenthost.cli.interactive.outcome import StartSession
from tests.cli.interactive.commands.test_retry_and_undo import Counter, hinted, shown
from tests.cli.interactive.test_conversation import talking


@pytest.mark.parametrize(("typed", "agent"), [("/new", None), ("/new counter", "counter")])
async def test_a_new_session_is_started_with_an_agent_that_there_is(
    typed: str, agent: str | None
) -> None:
    async with talking(Demo(), Counter()) as talk:
        assert list(COMMANDS["new"].words(talk.at)) == ["demo", "counter"]
        await hinted(talk, "/new nobody", "there is no agent nobody; there are demo, counter")
        talk.at.on_submit(typed)
        assert await talk.end() == StartSession(agent)


async def test_a_session_is_renamed() -> None:
    async with talking() as talk:
        await hinted(talk, "/rename", "/rename TITLE: give the title")
        talk.at.on_submit("/rename  Quite \x1b[2J another\tone")
        await talk.until(lambda: talk.at.session.channel.confirmed["title"].startswith("Quite"))
        await shown(talk, "this session is called Quite another one now")


async def test_what_cannot_be_gone_to_is_told() -> None:
    async with talking() as talk:
        await hinted(talk, "/open", "/open SESSION: its id or title")
        await hinted(talk, "/chat 99", "/chat N: a number of /chats")
