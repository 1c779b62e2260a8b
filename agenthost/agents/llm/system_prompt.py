"""What a model is told before everything else: who it is, where it works, what people brought."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from agenthost.agents.one_line import one_line
from agenthost.agents.turn_customizations import CustomAgent, GlobRule, Skill, TurnCustomizations

# The tool by which a model reads a skill.
LOAD_SKILL: Final = "load_skill"
# Characters of a custom agent's text and of all instructions: some sixteen thousand tokens each.
MOST_TEXT: Final = 64 * 1024
# Entries of a list.
MOST_LISTED: Final = 200

_CODING: Final = """\
You are a coding agent. You work on the files in the user's working directory with your tools.
Look before you change: list, search and read what matters first. Make the smallest change that
does what was asked, in the style of the code around it, and check it by running what the project
has for that. The user may refuse an edit or a command and say why: take that as an instruction,
and do not try the same again. Tools refuse paths outside of the working directories.
Answer in short markdown: what you did, and what is left to do."""
_CUSTOM: Final = """\
Tools refuse paths outside of the working directories. The user may refuse what a tool is about to
do and say why: take that as an instruction, and do not try the same again."""
PLANNING: Final = """\
The user wants a plan now: change nothing. Read what you need, then answer with the plan: what to
change where, in which order, how to check it, and what is still to be decided."""
ALONE: Final = """\
Nobody is there to answer: work to the end by yourself, ask nothing, and where something is
undecided choose what is most sensible and say so in your answer."""
_INSTRUCTIONS: Final = "Instructions of the user for all work here:"
_RULES: Final = """\
Instructions for some files only. Before you work on a file that one of these patterns fits, read
its instructions first, with your tools:"""
_SKILLS: Final = f"""\
Skills: instructions for certain tasks, which you have not read yet. When a task is one of these,
call {LOAD_SKILL} with its name first, and do as it says:"""


def system_prompt(
    folders: Sequence[str], given: TurnCustomizations, *, mode: str | None = None
) -> str:
    """Return the system prompt of a turn, in one piece: some local servers take only one."""
    listed = "\n".join(f"- {path}" for path in folders) or "(none)"
    pieces = [
        *_role(given.agent),
        f"Working directories; relative paths start in the first:\n{listed}",
    ]
    if given.instructions.strip():
        pieces.append(f"{_INSTRUCTIONS}\n\n{_cut(given.instructions)}")
    if given.rules:
        pieces.append(f"{_RULES}\n{_listed(_rule(rule) for rule in given.rules)}")
    skills = model_skills(given.skills)
    if skills:
        pieces.append(f"{_SKILLS}\n<skills>\n{_listed(map(_skill, skills))}\n</skills>")
    return "\n\n".join([*pieces, mode] if mode is not None else pieces)


def model_skills(skills: Sequence[Skill]) -> list[Skill]:
    """Return the skills that a model may load by itself."""
    return [skill for skill in skills if skill.model_may_invoke]


def _role(agent: CustomAgent | None) -> list[str]:
    if agent is None or not agent.instructions.strip():
        return [_CODING]
    return [_cut(agent.instructions), _CUSTOM]


def _cut(text: str) -> str:
    text = text.strip()
    if len(text) <= MOST_TEXT:
        return text
    return f"{text[:MOST_TEXT]}\n… ({len(text) - MOST_TEXT} characters left out)"


def _listed(lines: Iterable[str]) -> str:
    told = list(lines)
    if len(told) > MOST_LISTED:
        told[MOST_LISTED:] = [f"- … ({len(told) - MOST_LISTED} more)"]
    return "\n".join(told)


def _rule(rule: GlobRule) -> str:
    about = f": {one_line(rule.description)}" if rule.description else ""
    return f"- {one_line(', '.join(rule.globs[:20]))}: {one_line(rule.path, 1000)}{about}"


def _skill(skill: Skill) -> str:
    return f"- {one_line(skill.name)}: {one_line(skill.description)}"
