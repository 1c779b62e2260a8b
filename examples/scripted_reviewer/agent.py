"""A reviewer without a model: reads what has changed, and leaves remarks at the lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agenthost.agents import Agent, AgentError, Turn
from agenthost.agents.processes import run_command

# What to look for in lines that were added, and what to say about it.
RULES = (
    (re.compile(r"\bprint\("), "Is this print meant to stay?"),
    (re.compile(r"\bTODO\b"), "This is not done yet."),
    (re.compile(r"except\s*:"), "This hides every error, also the ones you want to see."),
)
_HUNK = re.compile(r"@@ -\S+ \+(\d+)")


@dataclass(frozen=True)
class Remark:
    """What to say about one line."""

    file: str
    # From 0.
    line: int
    text: str


class Reviewer(Agent):
    """Reviews the changes in the session's folder that are not committed."""

    provider, display_name = "reviewer", "Reviewer"
    description = "Reviews what git says has changed, line by line"

    async def run(self, turn: Turn) -> None:
        """Leave a remark at each line that a rule finds, and say how many there are."""
        folder = turn.session.folder
        if folder is None:
            raise AgentError("there is no folder to review", "noFolder")
        async with turn.tool("diff", input="git diff", display_name="See what has changed") as call:
            await call.start()
            diff = await run_command(["git", "diff", "--no-color", "--no-ext-diff"], cwd=folder)
            if diff.exit_code != 0:
                raise AgentError("this folder is not a git repository", "noRepository")
            await call.write(diff.output)
        remarks = list(review(diff.output))
        for remark in remarks:
            start = {"line": remark.line, "character": 0}
            end = {"line": remark.line + 1, "character": 0}
            uri = Path(folder, remark.file).as_uri()
            await turn.annotate(uri, remark.text, range={"start": start, "end": end})
            await turn.write(f"- `{remark.file}:{remark.line + 1}` {remark.text}\n")
        if not remarks:
            await turn.write("I have no remarks.")


def review(diff: str) -> Iterator[Remark]:
    """Yield the remarks about a unified diff; plain text in, so it is easy to test."""
    file, line = "", 0
    for row in diff.splitlines():
        if row.startswith("+++ "):
            file = row.removeprefix("+++ ").removeprefix("b/")
        elif found := _HUNK.match(row):
            line = int(found[1]) - 1
        elif row.startswith("+"):
            yield from (Remark(file, line, text) for rule, text in RULES if rule.search(row))
            line += 1
        elif row.startswith(" "):
            line += 1
