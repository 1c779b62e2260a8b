"""What a session is brought, as the SDK shows it: found, told apart, switched on and off."""

from __future__ import annotations

import asyncio

import pytest

from agenthost.client import CustomizationItem
from tests.client.bringing import PLUGIN, SERVER, SKILLS, brought
from tests.client.scripted import CHAT, SESSION, snapshot


def names(items: list[CustomizationItem]) -> list[str]:
    return [item.name for item in items]


async def test_each_kind_is_listed_wherever_it_lies() -> None:
    async with brought() as (session, _):
        found = session.customizations
        assert names(found.skills()) == ["tidy", "broken"]
        assert names(found.agents()) == ["reviewer"]
        assert names(found.servers()) == ["time"]
        assert found.prompts() == found.rules() == []
        assert names(list(found))[0] == "Skills"
        assert found.skills()[0].description == "Tidies up"


async def test_what_cannot_be_used_says_why() -> None:
    async with brought() as (session, _):
        told = {item.name: item.problem for item in session.customizations.problems()}
        assert told == {
            "Skills": "1 of 2 cannot be used: broken/SKILL.md: line 3",
            "broken": "line 3: this is no YAML",
        }
        assert [item.invocable for item in session.customizations.skills()] == [True, False]


async def test_what_is_in_a_container_that_is_off_is_off() -> None:
    plugin = {**PLUGIN, "enablement": [{"kind": "session", "enabled": False}]}
    skills = {**SKILLS, "enabled": False}
    async with brought(plugin, skills) as (session, _):
        assert not session.customizations.agents()[0].enabled
        assert not session.customizations.skills()[0].enabled


async def test_toggling_keeps_what_was_decided_for_more() -> None:
    everywhere = {"kind": "global", "enabled": False}
    async with brought({**SERVER, "enablement": [everywhere]}) as (session, side):
        toggled = session.customizations.toggle("time", True)
        assert session.customizations.servers()[0].enabled
        sent = await side.next("dispatchAction")
        here = {"kind": "session", "enabled": True}
        assert sent["params"]["action"] == {
            "type": "session/customizationToggled",
            "id": "c-time",
            "enablement": [here, everywhere],
        }
        side.echo(sent, 3, "me")
        await toggled


async def test_an_unknown_name_is_refused_with_the_right_ones() -> None:
    async with brought() as (session, _):
        with pytest.raises(LookupError, match="no 'tady'; there are tidy, broken"):
            session.customizations.find("tady", "skill")
        with pytest.raises(LookupError, match="there is no 'x'; there are time"):
            session.mcp("x")
        assert session.customizations.find("TIDY").id == "c-tidy"


async def test_a_name_that_several_have_is_refused_with_their_ids() -> None:
    other = {**SERVER, "id": "c-other"}
    async with brought(SERVER, other) as (session, _):
        with pytest.raises(LookupError, match=r"several: .*c-time.*c-other"):
            session.mcp("time")
        assert session.mcp("c-other").id == "c-other"


async def test_kinds_of_later_versions_harm_nobody() -> None:
    odd = {"type": "oracle", "id": "c-odd"}
    async with brought(odd, SERVER) as (session, _):
        assert names(list(session.customizations)) == ["time"]


async def test_loaded_waits_for_what_is_being_read() -> None:
    loading = {**PLUGIN, "load": {"kind": "loading"}}
    async with brought(loading) as (session, side):
        waiting = asyncio.create_task(session.customizations.loaded())
        await asyncio.sleep(0)
        assert not waiting.done()
        action = {"type": "session/customizationUpdated", "customization": PLUGIN}
        side.action(SESSION, 3, action)
        await waiting
        assert session.customizations.is_read


async def test_a_message_is_handed_to_an_agent_by_its_name() -> None:
    async with brought() as (session, side):
        opening = asyncio.create_task(session.chat())
        await side.subscribed(snapshot(CHAT, 2))
        chat = await opening
        chat.send("Look at this", agent="reviewer")
        sent = await side.next("dispatchAction")
        uri = "file:///r/.agents/plugins/review/agents/reviewer.md"
        assert sent["params"]["action"]["message"]["agent"] == {"uri": uri}
        with pytest.raises(LookupError, match="there are reviewer"):
            chat.send("Look at this", agent="nobody")
        assert chat.queue("Later", agent="file:///elsewhere.md") is not None
