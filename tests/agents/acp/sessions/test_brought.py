"""What an ACP agent is told of what people brought."""

from __future__ import annotations

from pathlib import Path

from agenthost.agents.acp.sessions.brought import brought_text, digest_of, introduced
from agenthost.agents.turn_customizations import CustomAgent, GlobRule
from tests.agents.brought import BroughtCustomizations, a_skill

FOLDER = Path("/r")


def test_nothing_is_told_where_nobody_brought_anything() -> None:
    assert brought_text(BroughtCustomizations(), [FOLDER]) == ""
    assert digest_of("") == ""


def test_what_the_agent_reads_by_itself_is_left_out() -> None:
    instructions = (
        "# /home/me/.agents/AGENTS.md\n\nMine.\n\n"
        "# /r/AGENTS.md\n\nTheirs.\n\n# A heading of theirs\n\nAlso theirs.\n\n"
        "# /r/.github/copilot-instructions.md\n\nOthers.\n\n"
        "# /r/sub/CLAUDE.md\n\nDeeper."
    )
    told = brought_text(BroughtCustomizations(instructions=instructions), [FOLDER])
    assert "Mine." in told
    assert "Others." in told
    assert "heirs" not in told
    assert "Deeper" not in told


def test_an_agent_rules_and_skills_are_told_with_where_they_are() -> None:
    agent = CustomAgent("c", "butler", "", "file:///r/b.md", "Serve tea.", tools=("read",))
    rule = GlobRule("c-r", "py", "Style", "file:///r/py.md", "/r/py.md", ("*.py", "*.pyi"))
    skills = [a_skill("brew", "Makes\ntea"), a_skill("own", model_may_invoke=False)]
    given = BroughtCustomizations(agent=agent, rules=[rule], skills=skills)
    told = brought_text(given, [FOLDER])
    assert told.startswith("You are butler. Work as this says:\n\nServe tea.")
    assert "Use these tools only: read" in told
    assert "- *.py, *.pyi: /r/py.md: Style" in told
    assert "- brew (/r/brew/SKILL.md): Makes tea" in told
    assert "own" not in told


def test_an_agent_is_told_when_it_does_not_apply_any_more() -> None:
    assert "does not apply any more" in introduced("")
    assert introduced("Be kind.").endswith("Be kind.")
