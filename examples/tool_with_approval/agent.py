"""A tool that asks first: people see the command, may change it, and see it run."""

from __future__ import annotations

import shlex

from agenthost.agents import Agent, Turn


class Archivist(Agent):
    """Packs the files whose names one gives it."""

    provider, display_name = "archivist", "Archivist"
    description = "Packs files into an archive, after asking"
    tools = ({"name": "pack", "description": "Runs tar in the session's folder"},)

    async def run(self, turn: Turn) -> None:
        """Ask for a name, propose a command, and run it if people agree."""
        name = await turn.ask("What should the archive be called?", default="archive")
        if name is None:
            await turn.write("Then I leave everything as it is.")
            return
        command = shlex.join(["tar", "-czf", f"{name}.tar.gz", "--", *shlex.split(turn.text)])
        async with turn.tool("pack", input=command, display_name="Pack files") as call:
            answer = await call.confirm("Run this?", invocation=f"Pack {name}", editable=True)
            if not answer:
                await turn.write(f"Not packed. {answer.reason_message or ''}".strip())
                return
            # What people approved, as they may have changed it.
            result = await call.run_in_terminal(answer.input or command, timeout=600)
        done = f"`{name}.tar.gz` is there." if result.exit_code == 0 else "That went wrong."
        await turn.write(done)
