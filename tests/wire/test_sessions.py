"""Sessions on the wire: created step by step, put away."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from agenthost.agents import AgentError
from agenthost.host.channels.session import commands as session_handlers
from agenthost.host.turns import agent_starts
from agenthost.protocol.uris import default_chat_uri
from agenthost.tokens import BOOK_FILE, Role, TokenBook
from tests.flags import eventually
from tests.wire.agents import Puppet
from tests.wire.client import WireClient, open_client, user_message
from tests.wire.hosting import ServedHost, embed, serve
from tests.wire.wording import annotated_by, failure_told, forked_from

pytestmark = pytest.mark.asyncio(loop_scope="module")

ROOT = "ahp-root://"
INVALID, NO_SESSION, NO_PROVIDER, TAKEN, NOT_FOUND = -32602, -32001, -32002, -32003, -32008

Json = dict[str, Any]
# What the host adds to the settings of every session, where there is no repository.
PLACE = {"isolation": "folder", "directory": ""}


def types(client: WireClient, channel: str) -> list[str]:
    return [envelope["action"]["type"] for envelope in client.envelopes[channel]]


def told(client: WireClient, method: str, session: str) -> list[Json]:
    """Return the catalogue notifications of one session, in the order they came."""
    found = []
    for message in client.received:
        params = message.get("params", {})
        about = params.get("session") or params.get("summary", {}).get("resource")
        if message.get("method") == method and about == session:
            found.append(params)
    return found


async def test_a_session_and_its_chat_are_there_as_soon_as_the_creation_is_answered() -> None:
    puppet = Puppet()
    puppet.may_start.clear()
    async with embed(puppet) as url, open_client(url) as client:
        await client.initialize(ROOT)
        created, state, chat = await asyncio.gather(
            client.request("createSession", channel="s:/1", config={"mode": "ask"}),
            client.subscribe("s:/1"),
            client.subscribe(default_chat_uri("s:/1")),
        )
        assert created is None
        assert state["lifecycle"] == "ready"
        assert [chat["resource"] for chat in state["chats"]] == [state["defaultChat"]]
        assert chat["resource"] == state["defaultChat"] == "ahp-chat://default/czovMQ"
        (added,) = told(client, "root/sessionAdded", "s:/1")
        assert added["summary"]["provider"] == "puppet"


async def test_a_turn_waits_until_its_agent_has_started_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(agent_starts, "WORTH_TELLING", 0.0)
    puppet = Puppet()
    puppet.may_start.clear()
    async with embed(puppet) as url, open_client(url) as client:
        await client.initialize(ROOT)
        chat = await client.ready_session("s:/1", config={"mode": "ask"})
        await client.subscribe(chat)
        await client.request("createChat", channel="s:/1", chat="c:/2")
        await client.subscribe("c:/2")
        # Creating starts nothing.
        assert puppet.log == []
        await client.start_turn(chat, "t1", "hello")
        told = await client.action(chat, "chat/activityChanged")
        assert told["activity"] == "Starting Puppet"
        await client.start_turn("c:/2", "t2", "hello")
        puppet.may_start.set()
        await client.action(chat, "chat/turnComplete")
        await client.action("c:/2", "chat/turnComplete")
        assert "activity" not in client.states[chat]
        # Both turns needed it, and so does a third; it is started once.
        await client.run_turn(chat, "t3", "again")
        assert puppet.log == ["started s:/1"]


@pytest.mark.parametrize("trouble", [AgentError("no licence", "noLicence"), RuntimeError("bug")])
async def test_a_turn_whose_agent_cannot_start_says_so_and_the_next_one_tries_again(
    trouble: Exception,
) -> None:
    puppet = Puppet()
    puppet.trouble = trouble
    async with embed(puppet) as url, open_client(url) as client:
        await client.initialize(ROOT)
        chat = await client.ready_session("s:/1", config={"mode": "ask"})
        await client.subscribe(chat)
        await client.start_turn(chat, "t1", "hello")
        failed = await client.action(chat, "chat/error")
        assert failure_told(failed)["errorType"] == getattr(trouble, "error_type", "RuntimeError")
        # What a bug says is for the log, not for people.
        assert ("no licence" in failure_told(failed)["message"]) == isinstance(trouble, AgentError)
        puppet.trouble = None
        await client.run_turn(chat, "t2", "hello")
        assert puppet.log == ["started s:/1"]


@pytest.mark.parametrize("patience", [0.0, 60.0])
async def test_a_creation_that_takes_long_tells_who_asked_alone(
    monkeypatch: pytest.MonkeyPatch, patience: float
) -> None:
    monkeypatch.setattr(session_handlers, "WORTH_TELLING", patience)
    async with (
        embed(Puppet()) as url,
        open_client(url, "asks") as client,
        open_client(url, "looks on") as bystander,
    ):
        for each in (client, bystander):
            await each.initialize(ROOT)
        await client.request(
            "createSession", channel="s:/1", config={"mode": "ask"}, progressToken="p"
        )
        for each in (client, bystander):
            await each.ping()
        told = [m["params"] for m in client.received if m.get("method") == "root/progress"]
        assert [step["progress"] for step in told] == ([] if patience else [1, 2])
        assert all(step["progressToken"] == "p" and step["total"] == 2 for step in told)
        assert not any(m.get("method") == "root/progress" for m in bystander.received)


async def test_an_agent_lets_go_of_a_session_that_is_disposed_while_it_starts() -> None:
    puppet = Puppet()
    puppet.may_start.clear()
    async with embed(puppet) as url, open_client(url) as client:
        await client.initialize(ROOT)
        chat = await client.ready_session("s:/1", config={"mode": "ask"})
        await client.subscribe(chat)
        await client.start_turn(chat, "t1", "hello")
        await client.request("disposeSession", channel="s:/1")
        await eventually(lambda: puppet.log == ["end s:/1"])


async def test_an_agent_hears_nothing_of_a_session_that_nobody_used() -> None:
    puppet = Puppet()
    async with embed(puppet) as url, open_client(url) as client:
        await client.initialize(ROOT)
        await client.request("createSession", channel="s:/1", config={"mode": "ask"})
        await client.request("disposeSession", channel="s:/1")
        assert (await client.request("listSessions"))["items"] == []
        # The name is free again.
        await client.ready_session("s:/1", config={"mode": "ask"})
        assert puppet.log == []


async def test_an_agent_that_never_starts_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(agent_starts, "START_PATIENCE", 0.0)
    puppet = Puppet()
    puppet.may_start.clear()
    async with embed(puppet) as url, open_client(url) as client:
        await client.initialize()
        chat = await client.ready_session("s:/1", config={"mode": "ask"})
        await client.subscribe(chat)
        await client.start_turn(chat, "t1", "hello")
        failed = await client.action(chat, "chat/error")
        error = {"errorType": "timeout", "message": "the agent did not start in time"}
        assert failure_told(failed) == error


async def test_uris_in_use_and_unknown_agents_are_refused(shared_host: ServedHost) -> None:
    async with open_client(shared_host.url, "refused") as client:
        await client.initialize()
        session = "ahp-session:/taken"
        chat = await client.ready_session(session)
        await client.accepted(session, {"type": "session/titleChanged", "title": "used"})
        for uri in (session, chat, f"{session}/annotations", ROOT, "ahp-root:"):
            assert (await client.refusal("createSession", channel=uri)).code == TAKEN
        failure = await client.refusal("createSession", channel="x:/y", provider="nobody")
        assert failure.code == NO_PROVIDER
        # What was refused left nothing behind.
        assert (await client.refusal("disposeSession", channel="x:/y")).code == NO_SESSION


async def test_names_that_would_drive_a_terminal_are_refused(shared_host: ServedHost) -> None:
    async with open_client(shared_host.url, "names") as client:
        await client.initialize()
        evil = "ahp-session:/evil\x1b[2J"
        failure = await client.refusal("createSession", channel=evil)
        assert (failure.code, failure.data) == (INVALID, {"path": "channel"})
        await client.ready_session("ahp-session:/names")
        failure = await client.refusal("createChat", channel="ahp-session:/names", chat=evil)
        assert (failure.code, failure.data) == (INVALID, {"path": "chat"})


async def test_settings_are_checked_completed_and_changed_only_where_they_may_be() -> None:
    async with embed(Puppet()) as url, open_client(url) as client:
        await client.initialize()
        resolved = await client.request("resolveSessionConfig", config={"mode": "act"})
        assert resolved["values"] == {"mode": "act", "depth": 3, **PLACE}
        wrong: list[Json] = [{}, {"mode": "dream"}, {"mode": 7}]
        for config in wrong:
            # What must be chosen, and has no default, is asked for.
            failure = await client.refusal("createSession", channel="s:/1", config=config)
            assert failure.code == INVALID
        lenient: list[Json] = [{"depth": "deep"}, {"depth": True}, {"unknown": 1}]
        for number, config in enumerate(lenient):
            # Editors send what they remember of other hosts.
            uri = f"s:/lenient-{number}"
            await client.ready_session(uri, config={"mode": "ask", **config})
            assert client.states[uri]["config"]["values"] == {"mode": "ask", "depth": 3, **PLACE}
        await client.ready_session("s:/1", config={"mode": "ask"})
        config = client.states["s:/1"]["config"]
        assert config["values"] == {"mode": "ask", "depth": 3, **PLACE}

        def changed(values: Json, **more: Any) -> Json:
            return {"type": "session/configChanged", "config": values, **more}

        await client.accepted("s:/1", changed({"depth": 5}))
        for refused in (
            changed({"mode": "act"}),
            changed({"depth": "five"}),
            changed({"unknown": 1}),
            changed({"depth": 6, **PLACE}, replace=True),
            changed({"mode": "ask"}, replace=True),
        ):
            await client.rejected("s:/1", refused)
        await client.accepted("s:/1", changed({"mode": "ask", **PLACE}, replace=True))
        assert client.states["s:/1"]["config"]["values"] == {"mode": "ask", **PLACE}
        fork_source = client.states["s:/1"]["defaultChat"]
        await client.subscribe(fork_source)
        await client.run_turn(fork_source, "t1", "hello")
        fork = forked_from(client.version, "s:/1", "t1")
        await client.ready_session("s:/2", **fork, config={"depth": 9})
        values = {"mode": "ask", "depth": 9, **PLACE}
        assert client.states["s:/2"]["config"]["values"] == values


async def test_an_agent_without_settings_takes_only_those_of_the_host(
    shared_host: ServedHost,
) -> None:
    async with open_client(shared_host.url, "no settings") as client:
        await client.initialize()
        await client.ready_session("n:/1", config={"mode": "ask"})
        assert client.states["n:/1"]["config"]["values"] == PLACE
        reason = await client.rejected(
            "n:/1", {"type": "session/configChanged", "config": {"mode": "ask"}}
        )
        assert reason


async def test_only_agents_with_the_capability_get_several_directories(
    shared_host: ServedHost,
) -> None:
    directories = ["file:///a", "file:///b"]
    async with open_client(shared_host.url, "directories") as client:
        await client.initialize()
        await client.ready_session("d:/1", workingDirectories=directories)
        assert client.states["d:/1"]["workingDirectories"] == directories[:1]
        for kind in ("Set", "Removed"):
            action = {"type": f"session/workingDirectory{kind}", "directory": "file:///a"}
            await client.rejected("d:/1", action)
    async with embed(Puppet()) as url, open_client(url) as client:
        await client.initialize()
        await client.ready_session("d:/1", workingDirectories=directories, config={"mode": "ask"})
        added = {"type": "session/workingDirectorySet", "directory": "file:///c"}
        await client.accepted("d:/1", added)
        removed = {"type": "session/workingDirectoryRemoved", "directory": "file:///b"}
        await client.accepted("d:/1", removed)
        await client.rejected("d:/1", {**removed, "directory": "file:///a"})
        assert client.states["d:/1"]["workingDirectories"] == ["file:///a", "file:///c"]


async def test_an_operator_works_inside_the_hosts_roots_and_an_owner_where_it_likes(
    tmp_path: Path,
) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    for folder in (root / "inner", outside):
        folder.mkdir(parents=True)
    (root / "link").symlink_to(outside)
    elsewhere = [outside.as_uri(), (root / "link").as_uri(), f"{root.as_uri()}/../outside"]
    elsewhere += ["file:///", f"{root.as_uri()}er", "virtual:///root", "file://other/root", "x"]
    # Folded before the link is followed these would be the root itself.
    elsewhere += [f"{root.as_uri()}/link/..", f"{root.as_uri()}/link%2f.."]
    async with serve(tmp_path / "data", "--root", str(root)) as host:
        book = TokenBook(host.data_dir / BOOK_FILE)
        made = book.create("helper", Role.OPERATOR, expires=None, now=time.time())
        async with open_client(host.url, "owner") as owner:
            await owner.initialize()
            await owner.ready_session("o:/1", workingDirectories=elsewhere[:1])
        async with open_client(f"ws://{host.address}/?tkn={made.secret}", "helper") as operator:
            await operator.initialize()
            for directory in elsewhere:
                failure = await operator.refusal(
                    "createSession", channel="d:/no", workingDirectories=[root.as_uri(), directory]
                )
                assert failure.code == -32009
                assert directory in failure.message
            for number, directories in enumerate(([], [root.as_uri()], [f"{root.as_uri()}/inner"])):
                session = f"d:/{number}"
                await operator.ready_session(session, workingDirectories=directories)
                named = directories or [root.as_uri()]
                assert operator.states[session]["workingDirectories"] == named


async def test_names_have_a_length_and_who_exceeds_it_is_told(shared_host: ServedHost) -> None:
    async with (
        open_client(shared_host.url, "wordy") as client,
        open_client(shared_host.url, "other") as other,
    ):
        await client.initialize()
        await other.initialize()
        folders = [f"file:///{number}" for number in range(101)]
        for params in ({"workingDirectories": folders}, {"provider": "x" * 10_000}):
            failure = await client.refusal("createSession", channel="l:/no", **params)
            assert failure.code == INVALID
        await client.ready_session("l:/1")
        await other.subscribe("l:/1")
        long = {"type": "session/titleChanged", "title": "x" * 1_000_000}
        reason = await client.rejected("l:/1", long)
        assert "title is longer than" in reason
        await client.accepted("l:/1", {**long, "title": "short"})
        # The others hear of what was accepted alone.
        assert (await other.action("l:/1", "session/titleChanged"))["title"] == "short"


async def test_a_creator_may_announce_itself_as_active_and_nobody_else(
    shared_host: ServedHost,
) -> None:
    async with open_client(shared_host.url, "announcer") as client:
        await client.initialize()
        mine = {"clientId": "announcer", "tools": [], "displayName": "Me"}
        failure = await client.refusal(
            "createSession", channel="a:/1", activeClient={**mine, "clientId": "other"}
        )
        assert failure.code == INVALID
        await client.ready_session("a:/1", activeClient=mine)
        assert client.states["a:/1"]["activeClients"] == [mine]


async def test_disposing_a_session_without_turns_destroys_it(shared_host: ServedHost) -> None:
    async with (
        open_client(shared_host.url, "disposes") as client,
        open_client(shared_host.url, "watches") as watcher,
    ):
        for each in (client, watcher):
            await each.initialize(ROOT)
        session = "ahp-session:/empty"
        chat = await client.ready_session(session)
        await client.subscribe(chat)
        assert await client.request("disposeSession", channel=session) is None
        for each in (client, watcher):
            await each.ping()
            assert len(told(each, "root/sessionAdded", session)) == 1
            (removed,) = told(each, "root/sessionRemoved", session)
            assert removed["channel"] == ROOT
        assert (await client.refusal("subscribe", channel=session)).code == NO_SESSION
        for channel in (chat, f"{session}/annotations"):
            assert (await client.refusal("subscribe", channel=channel)).code == NOT_FOUND
        assert (await client.refusal("disposeSession", channel=session)).code == NO_SESSION
        listed = await client.request("listSessions")
        assert session not in [item["resource"] for item in listed["items"]]


@pytest.mark.parametrize("uri", ["ahp-session:/never", ROOT, "", "not a uri"])
async def test_disposing_what_is_no_session_is_refused(shared_host: ServedHost, uri: str) -> None:
    async with open_client(shared_host.url, "wrong target") as client:
        await client.initialize()
        failure = await client.refusal("disposeSession", channel=uri)
        assert failure.code in (NO_SESSION, INVALID)


async def test_uris_of_any_scheme_work_as_the_client_spells_them(
    shared_host: ServedHost,
) -> None:
    session = "copilot:/0b5e3c62-7a2d-4d0f-9a3c-0d8f0f3f5a11"
    chat = "ahp-chat://0b5e3c62/Y29waWxvdDovMGI1ZTNjNjItN2EyZC00ZDBm"
    async with open_client(shared_host.url, "vs code") as client:
        result = await client.initialize("ahp-root:", "ahp-session:/unknown", chat)
        assert [snapshot["resource"] for snapshot in result["snapshots"]] == ["ahp-root:"]
        await client.ready_session(session)
        await client.request("createChat", channel=session, chat=chat)
        await client.subscribe(chat)
        await client.run_turn(chat, "t1", "hello")
        for channel in (session, chat, f"{session}/annotations"):
            await client.subscribe(channel)
            mirrored, fresh = await client.compared(channel)
            assert mirrored == fresh
        changed = {"type": "root/configChanged", "config": {"welcome": "as I spell it"}}
        assert (await client.accepted("ahp-root:", changed))["channel"] == "ahp-root:"
        assert (await client.request("subscribe", channel="ahp-root:///"))["snapshot"]
        methods = {m["method"] for m in client.received if "method" in m} - {"action"}
        assert methods >= {"root/sessionAdded", "root/sessionSummaryChanged"}
        channels = {m["params"]["channel"] for m in client.received if m.get("method") in methods}
        assert channels == {"ahp-root:"}


async def test_a_second_connection_of_a_client_supersedes_the_first(
    shared_host: ServedHost,
) -> None:
    async with (
        open_client(shared_host.url, "twice") as older,
        open_client(shared_host.url, "twice") as newer,
    ):
        await older.initialize(ROOT)
        await newer.initialize(ROOT)
        code, reason = await older.closed
        assert (code, "superseded" in reason) == (1008, True)
        await newer.ready_session("twice:/1")


async def test_a_message_with_everything_in_it_keeps_its_metadata(
    shared_host: ServedHost,
) -> None:
    meta = {"vendor": {"nested": [1, None, {"deep": None}]}, "null": None}
    async with open_client(shared_host.url, "meta") as client:
        await client.initialize()
        mine = {"clientId": "meta", "tools": [], "displayName": "Me", "_meta": meta}
        chat = await client.ready_session("meta:/1", activeClient=mine)
        await client.subscribe(chat)
        attachment = {
            "type": "simple",
            "label": "note",
            "modelRepresentation": "a note",
            "_meta": meta,
        }
        message = user_message("hello", attachments=[attachment], _meta=meta)
        action = {
            "type": "chat/turnStarted",
            "turnId": "t1",
            "startedAt": "2026-01-01T00:00:00.000Z",
            "message": message,
            "_meta": meta,
        }
        await client.accepted(chat, action)
        await client.turn_end(chat, "t1")
        (turn,) = (await client.fresh(chat))["turns"]
        assert turn["message"] == message
        await client.accepted(chat, {"type": "chat/draftChanged", "draft": message})
        notes = "meta:/1/annotations"
        await client.subscribe(notes)
        annotation = {
            "id": "n1",
            **annotated_by(client.version, "meta:/1", chat, "t1"),
            "resource": "file:///a",
            "resolved": False,
            "entries": [{"id": "e1", "text": "x", "_meta": meta}],
            "_meta": meta,
        }
        await client.accepted(notes, {"type": "annotations/set", "annotation": annotation})
        assert (await client.fresh(chat))["draft"] == message
        assert (await client.fresh(notes))["annotations"] == [annotation]
        assert (await client.fresh("meta:/1"))["activeClients"][0] == mine


async def test_leaving_a_channel_that_does_not_exist_is_ignored(
    shared_host: ServedHost,
) -> None:
    async with open_client(shared_host.url, "unknown-channel") as client:
        await client.initialize()
        seen = len(client.received)
        await client.send({"method": "unsubscribe", "params": {"channel": "ahp-session:/nowhere"}})
        await client.ping()
        # The answer to the ping, and nothing else.
        assert len(client.received) == seen + 1


async def test_requests_of_one_connection_are_served_in_order(shared_host: ServedHost) -> None:
    async with open_client(shared_host.url, "pipeline") as client:
        await client.initialize()
        session, chat = "ahp-session:/pipeline", "c:/pipeline"
        await asyncio.gather(
            client.request("createSession", channel=session),
            client.request("createChat", channel=session, chat=chat),
            client.subscribe(chat),
            client.start_turn(chat, "t1", "in one go"),
        )
        await client.turn_end(chat, "t1")
        assert client.states[chat]["turns"][0]["state"] == "complete"
