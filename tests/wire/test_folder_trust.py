"""No server starts from a folder that nobody has trusted: asked once, answered by who may, kept."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from agenthost.tokens import Role
from tests.wire.client import WireClient, open_client
from tests.wire.hosting import embed, serve
from tests.wire.people import People, peopled
from tests.wire.serving_tools import (
    MARKER,
    answer_trust,
    declare,
    entry_of,
    listed,
    program,
    state_of,
    told_to,
)
from tests.wire.talking import Chat, request_in, said

pytestmark = pytest.mark.asyncio(loop_scope="module")

Json = dict[str, Any]


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def people(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[People]:
    """One host, where everybody may work below one folder."""
    folder = tmp_path_factory.getbasetemp()
    tokens = tmp_path_factory.mktemp("tokens")
    async with peopled(tokens, roots=[folder], default_directory=folder) as people:
        yield people


@asynccontextmanager
async def session_of(
    people: People, name: str, folder: Path, role: Role = Role.OPERATOR, number: int = 1
) -> AsyncIterator[Chat]:
    """Somebody at a session of theirs in a folder that declares the server ``it``."""
    uri = f"ahp-session:/{folder.name}-{number}"
    async with people.client(name, role) as client:
        chat = await client.ready_session(uri, workingDirectories=[folder.as_uri()])
        await client.subscribe(chat)
        await listed(client, uri, "it")
        yield Chat(chat, uri, [client])


def ran(folder: Path) -> int:
    """Return how often a server was started in a folder."""
    marker = folder / MARKER
    return len(marker.read_text().split()) if marker.exists() else 0


def trust_of(client: WireClient, session: str) -> str:
    """Return whether a client is told that the server may start."""
    state: str = entry_of(client, session, "it")["_meta"]["agenthost/trust"]["state"]
    return state


async def test_nothing_runs_until_somebody_who_may_says_yes(people: People, tmp_path: Path) -> None:
    secret = {"KEY": "hush-hush", "TOKEN": "${HOME}"}
    declare(tmp_path, it=program("# api_key=sesame", env=secret))
    async with (
        session_of(people, "ada", tmp_path) as chat,
        people.client("vic", Role.VIEWER) as viewer,
    ):
        assert trust_of(chat.client, chat.session) == "untrusted"
        refused = await told_to(chat, "it", "Start")
        assert f"nobody has trusted {tmp_path}" in refused["rejectionReason"]
        await state_of(chat.client, chat.session, "it", "stopped")
        await chat.start("t1", "/mcp")
        request = await request_in(chat.client, chat.uri)
        assert request["message"] == f"Start an MCP server of {tmp_path}?"
        shown = request["questions"][0]["message"]
        assert (
            f"it: {entry_of(chat.client, chat.session, 'it')['_meta']['agenthost/runs']}" in shown
        )
        assert "with the variables KEY, TOKEN; takes HOME of this host's environment" in shown
        assert "hush-hush" not in str(chat.state)
        assert "sesame" not in str(chat.state)
        # Nobody else's word counts, and coming back changes nothing.
        await viewer.subscribe(chat.uri)
        action = {"type": "chat/inputCompleted", "requestId": request["id"], "response": "accept"}
        answers = {"trust": {"state": "submitted", "value": {"kind": "selected", "value": "start"}}}
        reason = await viewer.rejected(chat.uri, {**action, "answers": answers})
        assert "viewer" in reason
        async with open_client(people.url("ada"), "ada-client", "1.0.0") as again:
            await again.resume(chat.client)
            chat = Chat(chat.uri, chat.session, [again])
            assert ran(tmp_path) == 0
            # Denied, the turn goes on without, and the session does not ask again.
            await answer_trust(chat, "notHere")
            assert "it" in said(await chat.end("t1"))
            await chat.run("t2", "/mcp")
            assert trust_of(again, chat.session) == "refused"
            assert "somebody decided" in (await told_to(chat, "it", "Start"))["rejectionReason"]
            assert ran(tmp_path) == 0


async def test_an_operators_yes_counts_in_the_session_and_an_owners_in_the_folder(
    people: People, tmp_path: Path
) -> None:
    declare(tmp_path, it=program())
    async with session_of(people, "ada", tmp_path, number=1) as chat:
        await chat.start("t1", "/mcp")
        await answer_trust(chat, "start")
        await chat.end("t1")
        await state_of(chat.client, chat.session, "it", "ready")
        assert ran(tmp_path) == 1
        assert trust_of(chat.client, chat.session) == "session"
        await chat.run("t2", "/mcp")
    async with session_of(people, "owner", tmp_path, Role.OWNER, number=2) as chat:
        assert trust_of(chat.client, chat.session) == "untrusted"
        await chat.start("t1", "/mcp")
        await answer_trust(chat, "start")
        await chat.end("t1")
        assert trust_of(chat.client, chat.session) == "trusted"
    async with session_of(people, "ada", tmp_path, number=3) as chat:
        assert trust_of(chat.client, chat.session) == "trusted"
        await chat.run("t1", "/mcp")
        await state_of(chat.client, chat.session, "it", "ready")
        assert ran(tmp_path) == 3
        # What is declared otherwise is asked about anew, and the old one does not go on.
        declare(tmp_path, it=program("tools[0]['name'] = 'other'"))
        await chat.client.until(
            lambda: {} if trust_of(chat.client, chat.session) == "untrusted" else None
        )
        await chat.start("t2", "/mcp")
        await answer_trust(chat, "never")
        assert "other" not in said(await chat.end("t2"))
        await state_of(chat.client, chat.session, "it", "stopped")
        assert ran(tmp_path) == 3


async def test_chats_of_a_session_ask_once_and_go_on_together(
    people: People, tmp_path: Path
) -> None:
    declare(tmp_path, it=program())
    async with session_of(people, "ada", tmp_path) as chat:
        other = f"{chat.uri}-other"
        await chat.client.request("createChat", channel=chat.session, chat=other)
        await chat.client.subscribe(other)
        await chat.start("t1", "/mcp")
        await request_in(chat.client, chat.uri)
        await chat.client.start_turn(other, "t1", "/mcp")
        waits = "Waiting for an answer about MCP servers in another chat"
        await chat.client.until(
            lambda: {} if chat.client.states[other].get("activity") == waits else None
        )
        await answer_trust(chat, "start")
        await chat.end("t1")
        await chat.client.turn_end(other, "t1")
        kinds = [part["kind"] for part in chat.client.states[other]["turns"][0]["responseParts"]]
        assert "inputRequest" not in kinds
        await state_of(chat.client, chat.session, "it", "ready")
        assert ran(tmp_path) == 1


async def test_where_nobody_is_nobody_is_asked_and_nothing_starts(
    people: People, tmp_path: Path
) -> None:
    declare(tmp_path, it=program())
    catalogue = "ahp-automations://"
    async with people.client("owner", Role.OWNER, catalogue) as client:
        definition = {
            "title": "By night",
            "message": {"text": "/mcp", "origin": {"kind": "automation"}},
            "session": {"workingDirectories": [tmp_path.as_uri()]},
            "enabled": True,
            "triggers": [],
        }
        created = {"type": "automation/createRequested", "resource": "ahp-automation:/a1"}
        await client.accepted(catalogue, {**created, "definition": definition})
        await client.action(catalogue, "automation/set")
        await client.request(
            "runAutomation", channel=catalogue, automation="ahp-automation:/a1", requestId="r1"
        )

        def over() -> Json | None:
            runs: list[Json] = client.states[catalogue]["entries"][0]["runs"]
            done = [run for run in runs if run["lifecycle"]["status"] == "completed"]
            return next(iter(done), None)

        run = await client.until(over)
        session = await client.subscribe(run["primarySession"])
        chat = await client.subscribe(session["defaultChat"])
        first = chat["turns"][0]["responseParts"][0]
        assert first["kind"] == "systemNotification"
        assert first["content"] == "MCP servers that nobody has trusted were not started: it"
        assert ran(tmp_path) == 0


async def test_a_yes_that_was_given_is_not_asked_for_after_a_crash(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    declare(folder, it=program())
    async with serve(tmp_path / "data") as host:
        async with open_client(host.url, "c", "1.0.0") as client:
            await client.initialize()
            uri = await client.ready_session("ahp-session:/s", workingDirectories=[folder.as_uri()])
            await client.subscribe(uri)
            chat = Chat(uri, "ahp-session:/s", [client])
            await chat.start("t1", "/mcp")
            await answer_trust(chat, "start")
            # Whoever sees that it starts sees it after the yes was kept.
            await state_of(client, chat.session, "it", "starting")
            await host.kill()
        await host.start()
        async with open_client(host.url, "d", "1.0.0") as client:
            await client.initialize(chat.session, chat.uri)
            # The very first that is told does not speak of a process that is gone.
            first = entry_of(client, chat.session, "it")
            assert first["state"] == {"kind": "stopped"}
            assert "channel" not in first
            assert "agenthost/log" not in first["_meta"]
            assert trust_of(client, chat.session) == "trusted"
            await client.run_turn(chat.uri, "t2", "/mcp")
            assert client.states[chat.uri]["turns"][-1]["responseParts"][0]["kind"] == "markdown"
            await state_of(client, chat.session, "it", "ready")


async def test_what_an_agent_could_write_is_not_its_users_word(tmp_path: Path) -> None:
    work, elsewhere, users = tmp_path / "work", tmp_path / "elsewhere", tmp_path / "work" / ".mine"
    elsewhere.mkdir()
    declare(users, it=program())
    async with (
        embed(user_folders=[users]) as url,
        open_client(url, "c", "1.0.0") as client,
    ):
        await client.initialize()
        for folder in (work, elsewhere):
            session = f"ahp-session:/{folder.name}"
            chat = await client.ready_session(session, workingDirectories=[folder.as_uri()])
            await client.subscribe(chat)
            await listed(client, session, "it")
        assert trust_of(client, "ahp-session:/work") == "untrusted"
        reason = await told_to(Chat("", "ahp-session:/work", [client]), "it", "Start")
        assert "nobody has trusted" in reason["rejectionReason"]
        # Where agents work somewhere else it is.
        there = entry_of(client, "ahp-session:/elsewhere", "it")
        assert "agenthost/trust" not in there.get("_meta", {})
        assert ran(work) == 0


async def test_nobody_says_yes_by_an_answer_of_somebody_elses(
    people: People, tmp_path: Path
) -> None:
    declare(tmp_path, it=program())
    async with (
        session_of(people, "ada", tmp_path) as chat,
        people.client("owner", Role.OWNER) as owner,
    ):
        await owner.subscribe(chat.uri)
        await chat.start("t1", "/mcp")
        request = await request_in(owner, chat.uri)
        answer = {"state": "submitted", "value": {"kind": "selected", "value": "start"}}
        change = {"type": "chat/inputAnswerChanged", "requestId": request["id"]}
        await chat.client.accepted(chat.uri, {**change, "questionId": "trust", "answer": answer})
        action = {"type": "chat/inputCompleted", "requestId": request["id"], "response": "accept"}
        await owner.accepted(chat.uri, action)
        await chat.end("t1")
        assert trust_of(chat.client, chat.session) == "untrusted"
        assert ran(tmp_path) == 0
