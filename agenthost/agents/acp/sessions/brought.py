"""What people brought, as an ACP agent is told it: in a block of text before a prompt.

ACP has no place for a system prompt. Files that such agents read by themselves are left out, and
what has not changed since it was told is not told again.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from agenthost.agents.one_line import one_line
from agenthost.agents.turn_customizations import CustomAgent, GlobRule, Skill, TurnCustomizations
from agenthost.workspace import file_path

# What agents read by themselves in the folders that they work in.
_OWN_FILES: Final = ("AGENTS.md", "CLAUDE.md")
# Instructions come in one text, each file's under its path.
_HEADING: Final = re.compile(r"^# (/.*|[a-z][a-z0-9+.-]*:.*)$", re.MULTILINE)
MOST_LISTED: Final = 200
_INTRODUCTION: Final = (
    "The user has set this up for the work here. It replaces what you were told of this kind"
    " before."
)
_NOTHING: Final = "What the user had set up for the work here does not apply any more."


def brought_text(given: TurnCustomizations, folders: Sequence[Path]) -> str:
    """Return what people brought for a turn, in words; nothing if they brought nothing."""
    return "\n\n".join(_pieces(given, folders))


def digest_of(text: str) -> str:
    """Return what a text is remembered by."""
    return hashlib.sha256(text.encode()).hexdigest()[:16] if text else ""


def introduced(text: str) -> str:
    """Return what an agent is told before a prompt; without a text, that nothing applies."""
    return f"{_INTRODUCTION}\n\n{text}" if text else _NOTHING


def _pieces(given: TurnCustomizations, folders: Sequence[Path]) -> Iterator[str]:
    if given.agent is not None:
        yield _agent(given.agent)
    instructions = _without_own_files(given.instructions, folders)
    if instructions:
        yield f"Instructions for all work here:\n\n{instructions}"
    if given.rules:
        lines = [_rule(rule) for rule in given.rules[:MOST_LISTED]]
        told = "Instructions for some files; read them before you work on a file that fits:"
        yield "\n".join([told, *lines])
    skills = [skill for skill in given.skills if skill.model_may_invoke][:MOST_LISTED]
    if skills:
        told = "Skills; when a task is one of these, read its file first and do as it says:"
        yield "\n".join([told, *(_skill(skill) for skill in skills)])


def _agent(agent: CustomAgent) -> str:
    tools = f"\n\nUse these tools only: {', '.join(agent.tools[:100])}" if agent.tools else ""
    return f"You are {agent.name}. Work as this says:\n\n{agent.instructions.strip()}{tools}"


def _without_own_files(instructions: str, folders: Sequence[Path]) -> str:
    """Leave out what the agent finds by itself in the session's folders."""
    starts = [match.start() for match in _HEADING.finditer(instructions)]
    if not starts:
        return instructions.strip()
    pieces = [instructions[: starts[0]]]
    for start, end in zip(starts, [*starts[1:], len(instructions)], strict=True):
        path = Path(instructions[start + 2 :].partition("\n")[0])
        is_own = path.name in _OWN_FILES and any(path.is_relative_to(each) for each in folders)
        if not is_own:
            pieces.append(instructions[start:end])
    return "".join(pieces).strip()


def _rule(rule: GlobRule) -> str:
    about = f": {one_line(rule.description)}" if rule.description else ""
    return f"- {one_line(', '.join(rule.globs[:20]))}: {one_line(rule.path, 1000)}{about}"


def _skill(skill: Skill) -> str:
    path = file_path(skill.uri)
    place = one_line(str(path or skill.uri), 1000)
    return f"- {one_line(skill.name)} ({place}): {one_line(skill.description)}"
