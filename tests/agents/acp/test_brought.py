"""What people brought, at a real ACP agent: servers and client tools over bridges, and texts."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from agenthost.host import Host
from tests.agents.acp.stage import acp_agent
from tests.host.telemetry.collecting import recording
from tests.mcp.signing_in import locked_in
from tests.wire.serving_tools import entry_of, program, state_of, told_to, working_with
from tests.wire.talking import Chat, at_chat, call_in, calls_of, completed, said

pytestmark = pytest.mark.asyncio(loop_scope="module")

Json = dict[str, Any]

LARGE = "def call(number, name, arguments, meta): send(id=number, result=text('x' * 3_000_000))"
FAILING = "def call(number, name, a, meta): send(id=number, result={**text('no'), 'isError': True})"
NOTING = "def call(number, name, a, meta): send(id=number, result=text(json.dumps(meta or {})))"


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def host(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Host]:
    """One host for all of these tests."""
    folder = tmp_path_factory.mktemp("host")
    async with Host([acp_agent()], default_directory=folder, roots=[folder]) as running:
        yield running


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def url(host: Host) -> str:
    return await host.listen(port=0)


async def test_an_agents_program_uses_a_server_of_the_host_and_its_call_says_whose_it_is(
    url: str, tmp_path: Path
) -> None:
    async with working_with(url, tmp_path, {"db": program()}) as chat:
        turn = await chat.run("t1", '/use db echo {"q": 1}')
        assert said(turn) == 'False 8 {"q": 1}'
        (call,) = calls_of(turn)
        id = entry_of(chat.client, chat.session, "db")["id"]
        assert call["contributor"] == {"kind": "mcp", "customizationId": id}
        assert call["_meta"]["mcpServerName"] == "db"
        assert call["success"] is True
        # The host's server, which is the only one, and not another one of the agent's.
        assert len((tmp_path / "it-ran").read_text().split()) == 1
        turn = await chat.run("t2", "/tools db")
        assert [tool["name"] for tool in json.loads(said(turn))] == ["echo"]


async def test_a_call_that_the_agent_does_not_show_is_shown_all_the_same(
    url: str, tmp_path: Path
) -> None:
    servers = {"db": program(), "bad": program(FAILING), "big": program(LARGE)}
    async with working_with(url, tmp_path, servers) as chat:
        turn = await chat.run("t1", '/use_unseen db echo {"q": 2}')
        (call,) = calls_of(turn)
        assert (call["toolName"], call["confirmed"]) == ("db__echo", "not-needed")
        assert call["content"] == [{"type": "text", "text": '{"q": 2}'}]
        assert call["contributor"]["kind"] == "mcp"
        turn = await chat.run("t2", "/use_unseen bad echo {}")
        assert said(turn) == "True 2 no"
        assert calls_of(turn)[0]["error"]["message"] == "no"
        turn = await chat.run("t3", "/use big echo {}")
        assert said(turn).startswith("False 3000000 xxx")


async def test_a_tool_of_a_client_is_run_by_the_client(url: str, tmp_path: Path) -> None:
    directories = [tmp_path.as_uri()]
    async with at_chat(url, "client-tools", workingDirectories=directories) as chat:
        tools = [{"name": "look", "description": "Looks", "inputSchema": {"type": "object"}}]
        entry = {"clientId": chat.client.client_id, "tools": tools}
        action = {"type": "session/activeClientSet", "activeClient": entry}
        await chat.client.accepted(chat.session, action)
        assert json.loads(said(await chat.run("t1", "/servers")))["servers"] == ["client"]
        listed = json.loads(said(await chat.run("t2", "/tools client")))
        assert [(tool["name"], tool["description"]) for tool in listed] == [("look", "Looks")]
        await chat.start("t3", '/use_unseen client look {"at": 1}')
        call = await call_in(chat.client, chat.uri, "running")
        assert call["contributor"] == {"kind": "client", "clientId": chat.client.client_id}
        assert call["toolInput"] == '{"at": 1}'
        result = {"content": [{"type": "text", "text": "I see"}]}
        await chat.answer(completed("t3", call, result=result))
        assert said(await chat.end("t3")) == "False 5 I see"


async def test_a_server_that_comes_later_is_told_to_the_agent(url: str, tmp_path: Path) -> None:
    async with working_with(url, tmp_path, {"db": program()}) as chat:
        assert json.loads(said(await chat.run("t1", "/servers")))["servers"] == ["db"]
        servers = json.loads((tmp_path / ".mcp.json").read_text())["mcpServers"]
        both = {"mcpServers": {**servers, "new one": program()}}
        (tmp_path / ".mcp.json").write_text(json.dumps(both))
        await _trusted(chat, "new one")
        turn = await chat.run("t2", "/servers")
        assert json.loads(said(turn))["servers"] == ["db", "new_one"]
        turn = await chat.run("t3", '/use new_one echo {"q": 3}')
        assert said(turn) == 'False 8 {"q": 3}'
        # It was told again what was said before.
        assert "/servers" in said(await chat.run("t4", "/recall"))


async def test_a_server_that_is_stopped_fails_the_call_and_nothing_else(
    url: str, tmp_path: Path
) -> None:
    servers = {"db": program("def call(number, name, arguments, meta): pass")}
    async with working_with(url, tmp_path, servers) as chat:
        await chat.start("t1", "/use db echo {}")
        await call_in(chat.client, chat.uri, "running")
        await told_to(chat, "db", "Stop")
        turn = await chat.end("t1")
        assert said(turn).startswith("True ")
        assert turn["state"] == "complete"
        assert calls_of(turn)[0]["success"] is False


async def test_a_call_of_the_agent_waits_for_people_to_sign_in_and_goes_on(
    url: str, tmp_path: Path
) -> None:
    async with (
        locked_in(tmp_path) as locked,
        working_with(url, tmp_path / "work", {"locked": {"url": locked.url}}) as chat,
    ):
        await chat.run("t1", "/servers")
        await chat.client.request("authenticate", resource=locked.url, token="good")
        await state_of(chat.client, chat.session, "locked", "ready")
        locked.accept("next tools")
        await chat.start("t2", '/use locked add {"a": 1, "b": 2}')
        waiting = await call_in(chat.client, chat.uri, "auth-required")
        assert waiting["auth"]["reason"] == "expired"
        await chat.client.request("authenticate", resource=locked.url, token="next")
        turn = await chat.end("t2")
        assert said(turn) == "False 1 3"
        assert [call["success"] for call in calls_of(turn)] == [True]


async def test_a_turn_that_is_cancelled_in_a_call_leaves_the_server_for_the_next(
    url: str, tmp_path: Path
) -> None:
    code = (
        "def call(number, name, arguments, meta):\n"
        "    if arguments: send(id=number, result=text('at last'))"
    )
    async with working_with(url, tmp_path, {"db": program(code)}) as chat:
        await chat.start("t1", "/use db echo {}")
        await call_in(chat.client, chat.uri, "running")
        cancel = {"type": "chat/turnCancelled", "turnId": "t1", "duration": 1}
        await chat.answer(cancel)
        turn = await chat.run("t2", '/use db echo {"q": 1}')
        assert said(turn) == "False 7 at last"
        assert len((tmp_path / "it-ran").read_text().split()) == 1


async def test_instructions_and_skills_are_told_once_and_own_files_of_agents_never(
    url: str, tmp_path: Path
) -> None:
    (tmp_path / "AGENTS.md").write_text("Use tabs.")
    (tmp_path / ".github").mkdir()
    (tmp_path / ".github" / "copilot-instructions.md").write_text("Be brief.")
    skill = tmp_path / ".agents" / "skills" / "brew"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: brew\ndescription: Makes tea\n---\nBoil water.")
    directories = [tmp_path.as_uri()]
    async with at_chat(url, "texts", workingDirectories=directories) as chat:
        await chat.client.until(
            lambda: {} if "brew" in str(chat.client.states[chat.session]) else None
        )
        first = said(await chat.run("t1", "/recall all"))
        assert "Be brief." in first
        assert f"- brew ({skill / 'SKILL.md'}): Makes tea" in first
        assert "Use tabs." not in first
        assert "Boil water." not in first
        second = json.loads(said(await chat.run("t2", "/recall all")))[-1]
        assert second == "/recall all"
        await chat.run("t3", "/brew for two")
        third = json.loads(said(await chat.run("t4", "/recall")))[-1]
        assert third.startswith("The message below names brew, which says:\n\nBoil water.")
        assert third.endswith("\n/brew for two")


async def test_the_agent_is_told_its_place_in_the_trace(url: str, host: Host) -> None:
    async with at_chat(url, "traced") as chat:
        assert "traceparent" not in said(await chat.run("t1", "/servers"))
        assert await chat.client.request("subscribe", channel="ahp-otlp://traces") == {}
        await recording(host)
        told = json.loads(said(await chat.run("t2", "/servers")))["traceparent"]
        assert re.fullmatch(r"00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}", told)


async def _trusted(chat: Chat, name: str) -> None:
    """Wait until a server is listed, and trust it."""

    def listed() -> Json | None:
        return {} if f"'name': '{name}'" in str(chat.client.states[chat.session]) else None

    await chat.client.until(listed)
    ids = [entry_of(chat.client, chat.session, name)["id"]]
    await chat.client.request("agenthost/trustFolder", channel=chat.session, ids=ids)
