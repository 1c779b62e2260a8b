"""Modes, models and other options of an agent as settings of a session."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from acp.schema import SessionConfigOptionBoolean

from agenthost.agents.acp.sessions.choices import offered
from agenthost.agents.acp.settings import Choice, Setting, schema_of
from tests.agents.acp.stage import Json, Stage, acp_agent, staged, tell
from tests.agents.failures import failure
from tests.wire.talking import Chat, said


async def chosen(chat: Chat, turn_id: str, **message: Any) -> Json:
    answer: Json = json.loads(said(await tell(chat, turn_id, "/chosen", **message)))
    return answer


async def test_what_there_is_to_choose_is_offered_once_the_agent_has_run(tmp_path: Path) -> None:
    async with staged(acp_agent(), tmp_path) as stage:
        client = stage.default.client
        before = (await client.request("resolveSessionConfig", provider="tester"))["schema"]
        place = ["isolation", "directory"]
        assert list(before["properties"]) == ["autoApprove", "mode", "model", *place]
        assert all("enum" not in before["properties"][key] for key in ("mode", "model"))
        values = client.states[stage.default.session]["config"]["values"]
        assert values == {"autoApprove": "default", "isolation": "folder", "directory": ""}
        await stage.default.run("t1", "hello")
        schema = (await client.request("resolveSessionConfig", provider="tester"))["schema"]
        assert schema["properties"]["mode"]["enum"] == ["ask", "code"]
        assert schema["properties"]["mode"]["enumLabels"] == ["Ask first", "Write code"]
        assert schema["properties"]["model"]["enum"] == ["small", "big"]
        assert schema["properties"]["fast"]["type"] == "boolean"
        own = [item for key, item in schema["properties"].items() if key not in place]
        assert all(item["sessionMutable"] for item in own)
        query: Json = {"provider": "tester", "property": "mode", "query": "write"}
        offered = await client.request("sessionConfigCompletions", **query)
        assert offered["items"] == [{"value": "code", "label": "Write code"}]


async def test_what_people_choose_is_chosen_in_the_agent(tmp_path: Path) -> None:
    async with staged(acp_agent(), tmp_path, session={"config": {"mode": "nonsense"}}) as stage:
        chat, client = stage.default, stage.default.client
        turn = await chat.run("t1", "hello")
        assert failure(turn)["errorType"] == "unknownChoice"
        assert failure(turn)["message"] == "there is no mode 'nonsense'; there are: ask, code"
        await client.accepted(chat.session, configured(mode="code"))
        assert await chosen(chat, "t2") == {"mode": "code", "llm": "small", "fast": False}
        # What never reached the agent was told with what did.
        assert "User: hello" in said(await chat.run("t3", "/recall"))
        await client.accepted(chat.session, configured(model="big"))
        assert (await chosen(chat, "t4"))["llm"] == "big"
        # A message's own model counts for that message.
        assert (await chosen(chat, "t5", model={"id": "small"}))["llm"] == "small"
        assert (await chosen(chat, "t6"))["llm"] == "big"
        # A mode that the agent left by itself is not forced on it.
        await chat.run("t7", "/switch ask")
        assert (await chosen(chat, "t8"))["mode"] == "ask"
        # Another chat begins with what is chosen.
        assert (await chosen(await stage.chat(), "t9"))["mode"] == "code"


def configured(**values: str) -> Json:
    return {"type": "session/configChanged", "config": values}


@pytest.mark.asyncio(loop_scope="package")
async def test_a_model_that_is_not_there_is_refused_by_name(stage: Stage) -> None:
    chat = await stage.chat()
    turn = await tell(chat, "t1", "hello", model={"id": "huge"})
    assert failure(turn)["errorType"] == "unknownChoice"
    assert failure(turn)["message"] == "there is no model 'huge'; there are: small, big"


async def test_modes_are_understood_by_the_names_that_clients_know(tmp_path: Path) -> None:
    agent = acp_agent(env={"ACP_MODES": "default,plan,bypassPermissions"})
    async with staged(agent, tmp_path, session={"config": {"mode": "interactive"}}) as stage:
        chat, client = stage.default, stage.default.client
        assert (await chosen(chat, "t1"))["mode"] == "default"
        for number, (wanted, own) in enumerate(
            [("autopilot", "bypassPermissions"), ("plan", "plan"), ("interactive", "default")]
        ):
            await client.accepted(chat.session, configured(mode=wanted))
            assert (await chosen(chat, f"u{number}"))["mode"] == own


async def test_what_an_agent_cannot_do_is_not_pretended(tmp_path: Path) -> None:
    async with staged(acp_agent(), tmp_path, session={"config": {"mode": "plan"}}) as stage:
        turn = await stage.default.run("t1", "hello")
        assert failure(turn)["message"] == "there is no mode 'plan'; there are: ask, code"


async def test_an_agent_without_modes_is_interactive(tmp_path: Path) -> None:
    agent = acp_agent(env={"ACP_MODES": ""})
    async with staged(agent, tmp_path, session={"config": {"mode": "interactive"}}) as stage:
        assert (await stage.default.run("t1", "hello"))["state"] == "complete"


def test_an_agent_without_choices_has_no_settings_of_its_own() -> None:
    assert list(schema_of({})["properties"]) == ["autoApprove"]


def test_an_agent_s_own_option_never_answers_for_the_host() -> None:
    option = SessionConfigOptionBoolean(
        id="autoApprove", name="Yes to all", type="boolean", current_value=True
    )
    (setting,) = offered(None, [option]).values()
    assert (setting.key, setting.option) == ("agent.autoApprove", "autoApprove")
    (place,) = offered(None, [option.model_copy(update={"id": "branch"})]).values()
    assert (place.key, place.option) == ("agent.branch", "branch")


def test_a_switch_is_a_boolean_and_a_choice_a_word() -> None:
    choice = Setting("m", "M", "", (Choice("a", "A", "first"),), "a")
    switch = Setting("s", "S", "of some kind", (), False)
    properties = schema_of({"m": choice, "s": switch})["properties"]
    assert properties["m"]["enumDescriptions"] == ["first"]
    assert properties["s"] == {
        "type": "boolean",
        "title": "S",
        "description": "of some kind",
        "sessionMutable": True,
    }
