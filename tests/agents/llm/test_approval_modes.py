"""The approval modes of a session, as the coding agent's tools keep to them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agenthost.testing import SeenCall, talk
from tests.agents.llm.offline import agent_on
from tests.agents.llm.openai_server import Say, ToolUse, model_server

EDIT = ToolUse("edit_file", '{"path": "a.txt", "new_text": "hello"}')
HOOK = ToolUse("edit_file", '{"path": ".git/hooks/pre-commit", "new_text": "rm -rf"}')
COMMAND = ToolUse("run_command", '{"command": "true"}')


@pytest.mark.parametrize(
    ("approvals", "use", "needed"),
    [
        ("default", EDIT, "edits"),
        ("edits", EDIT, None),
        ("edits", HOOK, "everything"),
        ("edits", COMMAND, "everything"),
        ("autoApprove", COMMAND, None),
        ("autoApprove", HOOK, None),
    ],
)
async def test_a_tool_asks_unless_the_mode_covers_it(
    tmp_path: Path, approvals: str, use: ToolUse, needed: Any
) -> None:
    asked = []

    def deny(call: SeenCall) -> bool:
        asked.append(call.state["_meta"]["agenthost/neededMode"])
        return False

    config = {"autoApprove": approvals}
    async with model_server() as server:
        server.will(Say(use), Say("Done."))
        async with talk(agent_on(server), folder=tmp_path, config=config) as chat:
            (call,) = (await chat.say("go", approve=deny)).calls
    assert (asked, call.succeeded) == ([needed] if needed else [], needed is None)
