"""An agent with settings, and folders that bring everything, to show the page's tools with."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agenthost.agents import Turn
from agenthost.agents.common_settings import COMMON_SETTINGS
from agenthost.agents.demo import Demo
from tests.mcp.servers import ANSWERING

__all__ = ["Tooled", "bring", "declare"]

_CLOCK = """
tools = [{"name": "now", "title": "Tell the time", "inputSchema": {"type": "object"}}]
def call(number, name, arguments, meta):
    send(id=number, result=text("It is noon in " + arguments["place"] + "."))
def ready(): print("the clock is wound up", file=sys.stderr, flush=True)
serve()
"""

_FILES = {
    "AGENTS.md": "Be brief.\n",
    ".agents/skills/release/SKILL.md": "---\nname: release\ndescription: Cuts a release.\n---\n",
    ".agents/skills/broken/SKILL.md": "---\nname: broken\n",
    ".github/agents/reviewer.md": "---\nname: reviewer\ndescription: Reads with care.\n---\nRead.",
    ".github/hooks/before.json": '{"hooks": {}}',
}


class Tooled(Demo):
    """The demo agent, with an approval mode that counts for what it sweeps."""

    provider = "tooled"
    display_name = "Tooled"

    def config_schema(
        self, values: Mapping[str, Any], working_directory: str | None
    ) -> Mapping[str, Any]:
        """Offer the modes that all agents share."""
        return {"type": "object", "properties": dict(COMMON_SETTINGS)}

    async def run(self, turn: Turn) -> None:
        """Sweep after asking, or do what the demo agent does."""
        if turn.text != "sweep":
            await super().run(turn)
            return
        async with turn.tool("sweep", display_name="Sweep", input="the floor") as call:
            answer = await call.confirm("Sweep the floor?", invocation="Sweep", mode="everything")
            await turn.write("Swept." if answer else "Not swept.")


def bring(folder: Path) -> None:
    """Put one of each kind into a folder, with one that is broken, and a server that works."""
    for name, text in _FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "clock.py").write_text(ANSWERING + _CLOCK)
    declare(folder, clock=["-I", "-S", "clock.py"])


def declare(folder: Path, **servers: list[str]) -> None:
    """Declare servers that are Python programs, by their arguments."""
    folder.mkdir(parents=True, exist_ok=True)
    told = {name: {"command": sys.executable, "args": args} for name, args in servers.items()}
    (folder / ".mcp.json").write_text(json.dumps({"mcpServers": told}, indent=2))
