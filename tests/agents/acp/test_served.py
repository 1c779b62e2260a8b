"""``agenthost serve --agent "acp:NAME=COMMAND"``, from the outside."""

from __future__ import annotations

import shlex
from pathlib import Path

from tests.agents.acp.stage import UNDER_TEST, spoken
from tests.children import gone
from tests.wire.hosting import serve
from tests.wire.talking import at_chat, said


async def test_an_agent_named_on_the_command_line_works_and_leaves_with_the_host(
    tmp_path: Path,
) -> None:
    spec = f"acp:tester={shlex.join(UNDER_TEST)}"
    async with serve(tmp_path / "data", "--agent", spec, cwd=tmp_path) as host:
        async with at_chat(host.url, "served", provider="tester") as chat:
            first = int(said(await chat.run("t1", "/pid")).split()[1])
        assert await host.stop() == 0
        await gone(first)
        await host.start()
        async with at_chat(host.url, "crashing", provider="tester") as chat:
            await chat.start("t1", "/wait")
            second = int(await spoken(chat, "waiting "))
            await host.kill()
        # Nobody is left to end it: its input ends, and so does it.
        await gone(second)
