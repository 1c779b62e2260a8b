"""What a session is brought, in a conversation with a real host: /agent, /servers, Tab and more."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agenthost.agents import Agent
from agenthost.agents.common_settings import COMMON_SETTINGS
from agenthost.agents.turn import Turn
from agenthost.cli.interactive.outcome import Leave
from tests.cli.interactive.test_conversation import PATIENCE, POLL, Talk, talking


class Namer(Agent):
    """Says as whom it answers, and what was attached."""

    provider, display_name = "namer", "Namer"

    def config_schema(
        self, values: Mapping[str, Any], working_directory: str | None = None
    ) -> dict[str, Any]:
        """Have the approval modes."""
        return {"type": "object", "properties": dict(COMMON_SETTINGS)}

    async def run(self, turn: Turn) -> None:
        """Answer."""
        agent = turn.customizations.agent
        labels = [attached.get("label") for attached in turn.attachments]
        await turn.write(f"I am {agent.name if agent else 'myself'}, with {labels}.")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a custom agent, a skill and a server."""
    servers = {"clock": {"command": "/no/such/clock"}}
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))
    for name in ("agents/reviewer.md", "skills/tidy/SKILL.md"):
        path = tmp_path / ".agents" / name
        path.parent.mkdir(parents=True)
        path.write_text(f"---\nname: {name.split('/')[1].removesuffix('.md')}\n---\nText.")
    return tmp_path


async def shown(talk: Talk, *texts: str) -> None:
    await talk.until(lambda: all(text in talk.text for text in texts))


async def test_a_custom_agent_answers_until_another_one_is_chosen(folder: Path) -> None:
    async with talking(Namer(), folder=folder) as talk:
        talk.at.on_submit("/agent")
        await shown(talk, "/agent NAME chooses one")
        talk.at.on_submit("/agent revewer")
        await shown(talk, "no agent was chosen: there is no 'revewer'; there are reviewer")
        talk.at.on_submit("/agent reviewer")
        await shown(talk, "reviewer answers from now on", "Namer › reviewer")
        talk.at.on_submit("hello")
        await shown(talk, "I am reviewer, with []")
        await talk.until(lambda: talk.at.chat.active_turn is None)
        talk.at.on_submit("/agent none")
        talk.at.on_submit("and you?")
        await shown(talk, "I am myself")


async def test_servers_are_listed_and_a_refusal_says_what_to_do(folder: Path) -> None:
    async with talking(Namer(), folder=folder) as talk:
        talk.at.on_submit("/servers")
        await shown(talk, "clock", "stopped", "not trusted yet", "/servers start|stop|restart NAME")
        talk.at.on_submit("/servers start clock")
        await shown(talk, "no start: nobody has trusted")
        await talk.at.session.mcp("clock").trust()
        talk.at.on_submit("/servers start clock")
        await shown(talk, "the MCP server clock failed: ")
        talk.at.on_submit("/servers start nobody")
        await shown(talk, "there is no 'nobody'; there are clock")


async def test_tab_completes_a_skill_and_brings_it_along(folder: Path) -> None:
    async with talking(Namer(), folder=folder) as talk:
        talk.at.screen.text = "/ti"
        talk.at.on_complete()
        await talk.until(lambda: talk.at.screen.text == "/tidy ")
        talk.at.on_submit(talk.at.screen.text + "up")
        await shown(talk, "I am myself, with [")
        await talk.until(lambda: talk.at.chat.active_turn is None)
        turn = talk.at.chat.state["turns"][-1]
        assert [a["label"] for a in turn["message"].get("attachments", [])]
        talk.at.screen.text = "zzz"
        async with asyncio.timeout(PATIENCE):
            # The end of a turn, once it is drawn, takes a hint away.
            while talk.at.hinted != "nothing to complete here":
                talk.at.on_complete()
                await asyncio.sleep(POLL)
        talk.at.leave(Leave())
