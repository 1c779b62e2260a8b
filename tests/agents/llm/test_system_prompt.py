"""The system prompt: who the model is, where it works, what people brought, and no more."""

from __future__ import annotations

from agenthost.agents.llm.system_prompt import MOST_TEXT, PLANNING, system_prompt
from agenthost.agents.turn_customizations import CustomAgent, GlobRule
from tests.agents.brought import BroughtCustomizations, a_skill


def test_without_anything_it_is_that_of_a_coding_agent() -> None:
    prompt = system_prompt(["/r"], BroughtCustomizations())
    assert prompt.startswith("You are a coding agent.")
    assert prompt.endswith("in the first:\n- /r")


def test_the_mode_has_the_last_word() -> None:
    given = BroughtCustomizations(instructions="Always edit.")
    assert system_prompt(["/r"], given, mode=PLANNING).endswith(PLANNING)


def test_an_agent_without_a_text_changes_nothing() -> None:
    agent = CustomAgent("c", "empty", "", "file:///r/e.md", " \n")
    prompt = system_prompt(["/r"], BroughtCustomizations(agent=agent))
    assert prompt.startswith("You are a coding agent.")


def test_it_stays_bounded_whatever_people_bring() -> None:
    agent = CustomAgent("c", "long", "", "file:///r/l.md", "x" * 1_000_000)
    rules = [
        GlobRule(f"c-{n}", "r", "d" * 5000, "file:///r", "/r/rule.md", ("*.py",))
        for n in range(1000)
    ]
    given = BroughtCustomizations(
        instructions="y" * 1_000_000,
        agent=agent,
        skills=[a_skill(f"skill-{n}", "z" * 5000) for n in range(1000)],
        rules=rules,
    )
    prompt = system_prompt(["/r"], given)
    assert len(prompt) < 2 * MOST_TEXT + 2 * 200 * 300 + 3000
    assert "(934464 characters left out)" in prompt
    assert prompt.count("- … (800 more)") == 2
