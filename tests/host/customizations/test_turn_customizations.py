"""What a turn is given: instructions in one text, lists that are not endless, texts on demand."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from msgspec import structs

from agenthost.agents.api import AgentError
from agenthost.customizations import UnreadableCustomization
from agenthost.customizations.types import CustomizationSource, FoundCustomization, Kind, Origin
from agenthost.host.customizations.tree import BroughtSource, TreeItem
from agenthost.host.customizations.turn_customizations import (
    MOST_INSTRUCTIONS,
    MOST_LISTED,
    turn_customizations,
)


def saying(text: str) -> Callable[[], Awaitable[str]]:
    async def body() -> str:
        if text == "gone":
            raise UnreadableCustomization("it is not there")
        return text

    return body


def item(
    kind: Kind, name: str, text: str = "", origin: Origin = "workspace", **fields: object
) -> TreeItem:
    found = FoundCustomization(kind, name, f"{name}.md", body=saying(text))
    found = replace(found, **fields)  # type: ignore[arg-type]
    source = CustomizationSource("k", "directory", f"file:///{origin}", "n", kind, False, origin)
    return TreeItem(f"c-{name}", BroughtSource(source), found, True)


async def test_instructions_are_one_text_and_the_nearest_have_the_last_word() -> None:
    given = await turn_customizations(
        [
            item("rule", "a", "Work so.\n", always=True),
            item("rule", "b", "Be kind.\n", "user", always=True),
            item("rule", "same", "Be kind.", always=True),
            item("rule", "unreadable", "gone", always=True),
            item("rule", "empty", "\n", always=True),
            item("rule", "some", "Only here.", globs=("*.py",)),
            structs.replace(item("rule", "off", "Never.", always=True), enabled=False),
        ],
        None,
    )
    assert given.instructions == "# /user/b.md\n\nBe kind.\n\n# /workspace/a.md\n\nWork so."
    [some] = given.rules
    assert (some.path, some.globs) == ("/workspace/some.md", ("*.py",))
    assert await given.load(some) == "Only here."


async def test_instructions_that_are_too_long_are_left_out_and_that_is_told() -> None:
    half = "x" * (MOST_INSTRUCTIONS * 2 // 3)
    rules = [item("rule", str(n), f"{n}{half}", always=True) for n in range(3)]
    given = await turn_customizations(rules, None)
    assert len(given.instructions) < MOST_INSTRUCTIONS
    assert "# /workspace/1.md\n\n(left out" in given.instructions
    assert "2.md" not in given.instructions


async def test_what_a_client_brings_crowds_out_nobodys_own_and_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(f"{turn_customizations.__module__}.CLIENT_SECONDS", 0.01)

    async def never() -> str:
        await asyncio.Event().wait()
        return ""

    given = await turn_customizations(
        [
            item("rule", "long", "x" * MOST_INSTRUCTIONS, "client", always=True),
            item("rule", "silent", "", "client", always=True, body=never),
            item("rule", "mine", "Work so.", always=True),
        ],
        None,
    )
    left_out = "(left out: the instructions are longer than fits in here)"
    assert given.instructions == (
        f"# /client/long.md\n\n{left_out}\n\n# /workspace/mine.md\n\nWork so."
    )
    silent = item("rule", "silent", "", "client", always=True, body=never)
    assert (await turn_customizations([silent], None)).instructions == ""


async def test_lists_are_not_endless() -> None:
    skills = [item("skill", str(n)) for n in range(2 * MOST_LISTED)]
    assert len((await turn_customizations(skills, None)).skills) == MOST_LISTED
    brought = [item("skill", f"brought {n}", origin="client") for n in range(MOST_LISTED)]
    listed = (await turn_customizations([*brought, *skills[:3]], None)).skills
    assert len(listed) == MOST_LISTED
    assert [each.name for each in listed[-3:]] == ["0", "1", "2"]


async def test_what_cannot_be_read_any_more_is_an_error_with_its_name() -> None:
    given = await turn_customizations([item("skill", "s", "gone"), item("prompt", "p", "x")], None)
    [skill], [prompt] = given.skills, given.prompts
    with pytest.raises(AgentError, match="s cannot be read: it is not there"):
        await given.load(skill)
    with pytest.raises(AgentError, match="p has no other files"):
        await given.load(prompt, "more.md")
    with pytest.raises(AgentError, match="there is no other here"):
        await given.load(replace(skill, id="c-0", name="other"))


async def test_the_agent_that_is_asked_for_must_be_there() -> None:
    items = [item("agent", "a", "You plan.", model="opus", tools=("read",))]
    given = await turn_customizations(items, "file:///workspace/a.md")
    assert given.agent is not None
    assert (given.agent.instructions, given.agent.tools) == ("You plan.", ("read",))
    with pytest.raises(AgentError, match="there is no agent file:///x"):
        await turn_customizations(items, "file:///x")
