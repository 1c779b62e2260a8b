"""The llm agent in a folder with a custom agent, a skill and an MCP server: the whole way."""

from __future__ import annotations

import json
from pathlib import Path

from agenthost.agents.llm import LlmAgent
from tests.agents.llm.offline import names_of, system_of
from tests.agents.llm.openai_server import Say, ToolUse, model_server
from tests.wire.client import user_message
from tests.wire.hosting import embed
from tests.wire.serving_tools import allow, answer_trust, declare, entry_of, listed, program
from tests.wire.talking import OLDEST, at_chat, call_in, calls_of, said

BUTLER = """\
---
name: butler
description: Serves
model: big
tools: ['read', 'db/*']
---
You are a butler."""


def bring(folder: Path) -> None:
    """Put into a folder what people bring."""
    declare(folder, db=program())
    (folder / "AGENTS.md").write_text("Use tabs.")
    agents = folder / ".agents" / "agents"
    agents.mkdir(parents=True)
    (agents / "butler.md").write_text(BUTLER)
    skill = folder / ".agents" / "skills" / "brew"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: brew\ndescription: Makes tea\n---\nBoil water.")
    (skill / "pots.md").write_text("Use the blue pot.")


async def test_what_people_bring_to_a_folder_reaches_the_model_and_another_client_approves(
    tmp_path: Path,
) -> None:
    bring(tmp_path)
    async with model_server() as server:
        agent = LlmAgent(["openai:tiny", "openai:big"], base_url=server.base_url, api_key="k")
        server.will(
            Say(
                ToolUse("load_skill", '{"name": "brew", "file": "pots.md"}', "call_1"),
                ToolUse("db__echo", '{"q": 1}', "call_2"),
            ),
            Say("Tea is served."),
        )
        async with (
            embed(agent, default_directory=tmp_path) as url,
            at_chat(url, "brought", OLDEST) as chat,
        ):
            await listed(chat.client, chat.session, "db")
            uri = (tmp_path / ".agents" / "agents" / "butler.md").as_uri()
            action = chat.client.turn_started("t1", "tea")
            action["message"] = user_message("tea", agent={"uri": uri})
            await chat.answer(action)
            await answer_trust(chat, "start")
            call = await call_in(chat.clients[1], chat.uri, "pending-confirmation")
            id = entry_of(chat.client, chat.session, "db")["id"]
            assert call["contributor"] == {"kind": "mcp", "customizationId": id}
            await allow(chat, "t1", call, chat.clients[1])
            turn = await chat.end("t1")
    assert said(turn) == "Tea is served."
    assert [call["displayName"] for call in calls_of(turn)] == ["Read skill", "echo"]
    first, second = server.requests
    assert (first["model"], system_of(first)[:17]) == ("big", "You are a butler.")
    assert "Use tabs." in system_of(first)
    assert "- brew: Makes tea" in system_of(first)
    assert sorted(names_of(first)) == ["db__echo", "list_files", "load_skill", "read_file"]
    results = [m["content"] for m in second["messages"] if m["role"] == "tool"]
    assert results == ["Use the blue pot.", json.dumps({"q": 1})]
