"""Chats that move: within their session, to another one, and to one of their own."""

from __future__ import annotations

import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from agenthost.agents import Agent, AgentError, Turn
from agenthost.host import Host, SqliteStore
from agenthost.protocol import SUPPORTED_VERSIONS
from agenthost.protocol.status import IS_ARCHIVED
from agenthost.protocol.uris import default_chat_uri
from agenthost.tokens import BOOK_FILE, Role, TokenBook
from tests.wire.agents import Plain, Puppet
from tests.wire.bringing import tree
from tests.wire.client import ROOT, WireClient, WireFailure, open_client, user_message
from tests.wire.hosting import ServedHost, embed
from tests.wire.mirrors import assert_mirrors, texts
from tests.wire.moving import (
    BEFORE,
    BUSY,
    DENIED,
    INVALID,
    NOT_FOUND,
    UNKNOWN_METHOD,
    entry_of,
    everywhere,
    happened,
    listed,
    make,
    move,
    newest,
    refused,
    workers,
)
from tests.wire.schemas import complaints_about, needs_schemas
from tests.wire.talking import calls_of

pytestmark = pytest.mark.asyncio(loop_scope="module")

Json = dict[str, Any]


async def test_which_chats_can_be_moved_is_said_in_the_chat_and_in_its_session() -> None:
    async with embed() as url, newest(url) as client:
        await client.initialize(ROOT)
        default = await make(client, "s:/1", "c:/1")
        await client.run_turn("c:/1", "t1", "/subagent hello")
        await client.ping()
        (worker,) = set(listed(client, "s:/1")) - {default, "c:/1"}
        await client.subscribe(worker)
        fork = {"kind": "fork", "chat": "c:/1", "turnId": "t1"}
        await client.request("createChat", channel="s:/1", chat="c:/fork", source=fork)
        await client.subscribe("c:/fork")
        await client.ping()
        for chat, movable in ((default, False), ("c:/1", True), (worker, False), ("c:/fork", True)):
            assert client.states[chat].get("movable", False) is movable
            assert entry_of(client, "s:/1", chat).get("movable", False) is movable


async def test_a_chat_changes_its_place_in_its_session_and_nothing_else() -> None:
    async with embed() as url, newest(url) as client, open_client(url, "old", BEFORE) as old:
        for each in (client, old):
            await each.initialize(ROOT)
        default = await make(client, "s:/1", "c:/1", "c:/2")
        await old.subscribe("s:/1")
        assert await move(client, "c:/2", "s:/1") == "s:/1"
        await client.ping()
        assert listed(client, "s:/1") == ["c:/2", default, "c:/1"]
        assert await move(client, "c:/2", "s:/1", after="c:/1") == "s:/1"
        await client.ping()
        assert listed(client, "s:/1") == [default, "c:/1", "c:/2"]
        assert client.states["s:/1"]["defaultChat"] == default
        assert happened(client, "s:/1")[-2:] == ["session/chatsReordered"] * 2
        # Where it is already it need not go.
        assert await move(client, "c:/2", "s:/1", after="c:/1") == "s:/1"
        await client.ping()
        assert happened(client, "s:/1").count("session/chatsReordered") == 2
        await move(client, "c:/2", "s:/1", after=default)
        await assert_mirrors(client)
        await old.ping()
        assert sorted(listed(old, "s:/1")) == sorted([default, "c:/1", "c:/2"])


async def test_who_follows_a_chat_that_moves_goes_on_as_if_nothing_had_been() -> None:
    async with embed() as url, newest(url) as client, open_client(url, "old", BEFORE) as old:
        for each in (client, old):
            await each.initialize(ROOT)
        await make(client, "s:/1", "c:/1", "c:/2")
        there = await make(client, "s:/2")
        for channel in ("s:/1", "s:/2", "c:/1"):
            await old.subscribe(channel)
        await client.run_turn("c:/1", "t1", "before")
        draft = {"type": "chat/draftChanged", "draft": user_message("not yet")}
        await client.accepted("c:/1", draft)
        before = await client.fresh("c:/1")
        assert await move(client, "c:/1", "s:/2", after=there) == "s:/2"
        assert await client.fresh("c:/1") == before
        for each in (old, client):
            await each.run_turn("c:/1", f"by {each.client_id}", "after")
        for each in (old, client):
            await each.turn_end("c:/1", f"by {client.client_id}")
            await each.ping()
            assert len(each.states["c:/1"]["turns"]) == 3
            assert "c:/1" not in listed(each, "s:/1")
            assert "c:/1" in listed(each, "s:/2")
            assert happened(each, "s:/1").count("session/chatRemoved") == 1
            assert "chat/movableChanged" not in happened(each, "c:/1")
            await assert_mirrors(each)
        for session in ("s:/1", "s:/2"):
            assert told_of(client, session)[-1] == listed(client, session)
            assert told_of(old, session) == []
        # It says in its new session what it does, and asks there.
        await client.start_turn("c:/1", "asks", "/run echo hello")
        await client.action("s:/2", "session/inputNeededSet")
        assert "inputNeeded" not in client.states["s:/1"]


def told_of(client: WireClient, session: str) -> list[list[str]]:
    """Return what the list of sessions was told of the chats of one, each time that it was."""
    news = [m["params"] for m in client.received if m.get("method") == "root/sessionSummaryChanged"]
    return [
        [chat["resource"] for chat in each["changes"]["chats"]]
        for each in news
        if each["session"] == session and "chats" in each["changes"]
    ]


async def test_clients_of_the_version_before_see_a_chat_go_and_come_and_cannot_move_one() -> None:
    async with embed() as url, newest(url) as client, open_client(url, "old", BEFORE) as old:
        for each in (client, old):
            await each.initialize(ROOT)
        await make(client, "s:/1", "c:/1")
        await make(client, "s:/2")
        for channel in ("s:/1", "s:/2", "c:/1"):
            await old.subscribe(channel)
        assert await refused(old, "c:/1", kind="session", session="s:/2") == UNKNOWN_METHOD
        await move(client, "c:/1", "s:/2")
        await old.ping()
        assert happened(old, "s:/1")[-1] == "session/chatRemoved"
        assert "session/chatAdded" in happened(old, "s:/2")
        assert not {"session/chatsReordered", "chat/movableChanged"} & {
            type for channel in old.envelopes for type in happened(old, channel)
        }
        assert "movable" not in str(old.received)
        assert happened(client, "s:/2")[-2:] == ["session/chatAdded", "session/chatsReordered"]


@needs_schemas
async def test_clients_of_every_version_see_a_move_in_words_of_their_own() -> None:
    async with embed() as url, AsyncExitStack() as stack:
        clients: list[WireClient] = []
        for version in SUPPORTED_VERSIONS:
            client = await stack.enter_async_context(open_client(url, version, version))
            await client.initialize(ROOT)
            clients.append(client)
        newest_one, *_, oldest = clients
        await make(newest_one, "s:/1", "c:/1", "c:/2")
        there = await make(newest_one, "s:/2")
        await newest_one.run_turn("c:/1", "t1", "/subagent hello")
        for client in clients:
            for channel in ("s:/1", "s:/2", "c:/1", "c:/2"):
                await client.subscribe(channel)
        # To the end, which is where older clients put what is added.
        await move(newest_one, "c:/1", "s:/2", after=there)
        session = await move(newest_one, "c:/2")
        await oldest.run_turn("c:/1", "t2", "I am still there")
        for client in clients:
            await client.turn_end("c:/1", "t2")
            await client.subscribe(session)
            await client.ping()
            assert len(client.states["c:/1"]["turns"]) == 2
            await assert_mirrors(client)
            assert complaints_about(client) == []


async def test_workers_go_along_with_all_they_wrote() -> None:
    async with embed() as url, newest(url) as client:
        await client.initialize(ROOT)
        default = await make(client, "s:/1", "c:/1")
        await client.run_turn("c:/1", "t1", "/subagent hello")
        await client.run_turn(default, "t1", "/subagent hello too")
        await client.ping()
        theirs = {chat["origin"]["chat"]: chat for chat in workers(client, "s:/1")}
        worker = theirs["c:/1"]["resource"]
        before = await client.subscribe(worker)
        there = await make(client, "s:/2")
        await move(client, "c:/1", "s:/2", after=there)
        await client.ping()
        assert listed(client, "s:/2") == [there, "c:/1", worker]
        assert listed(client, "s:/1") == [default, theirs[default]["resource"]]
        assert await client.fresh(worker) == before
        # A turn of the chat points to it still.
        (call,) = calls_of(client.states["c:/1"]["turns"][0])
        assert call["content"][0]["resource"] == worker
        # And the next worker is its new session's.
        await client.run_turn("c:/1", "t2", "/subagent again")
        await client.ping()
        assert len(workers(client, "s:/2")) == 2
        await assert_mirrors(client)


async def test_a_chat_becomes_a_session_that_works_as_its_former_one_did() -> None:
    async with (
        embed(Puppet()) as url,
        newest(url) as client,
        open_client(url, "old", BEFORE) as old,
    ):
        for each in (client, old):
            await each.initialize(ROOT)
        folders = ["file:///a", "file:///b"]
        await make(client, "s:/1", "c:/1", workingDirectories=folders, config={"mode": "act"})
        await client.run_turn("c:/1", "t1", "first")
        session = await move(client, "c:/1")
        assert session.startswith("ahp-session:/")
        state = await client.subscribe(session)
        assert state["lifecycle"] == "ready"
        assert (state["defaultChat"], listed(client, session)) == ("c:/1", ["c:/1"])
        assert state["title"] == "first"
        assert state["workingDirectories"] == folders
        place = {"isolation": "folder", "directory": ""}
        assert state["config"]["values"] == {"mode": "act", "depth": 3, **place}
        assert "chat/movableChanged" in happened(client, "c:/1")
        assert client.states["c:/1"]["movable"] is False
        assert entry_of(client, session, "c:/1")["movable"] is False
        for each in (old, client):
            added = await each.notification(
                "root/sessionAdded", lambda p: p["summary"]["resource"] == session
            )
            assert added["summary"]["provider"] == "puppet"
        # Its agent knows what was said.
        await client.run_turn("c:/1", "t2", "second")
        await client.ping()
        assert texts(client.states["c:/1"]["turns"][1]) == "first"
        await assert_mirrors(client)
        # It went once, and who asks again is told so.
        assert await refused(client, "c:/1", kind="newSession") == DENIED
        assert await everywhere(client, "c:/1") == [session]
        assert [chat["resource"] for chat in added["summary"]["chats"]] == ["c:/1"]
        # Editors find it by the name that they make up.
        await client.request("createChat", channel=session, chat="c:/2")
        await move(client, "c:/2", session)
        assert await move(client, "c:/2", session, after=default_chat_uri(session)) == session
        await client.ping()
        assert listed(client, session) == ["c:/1", "c:/2"]


async def test_a_move_is_refused_with_the_reason_and_changes_nothing() -> None:
    agents = (Puppet(), Plain({"multipleChats": {}}))
    async with embed(*agents) as url, newest(url) as client:
        await client.initialize(ROOT)
        ask = {"config": {"mode": "ask"}}
        default = await make(client, "s:/1", "c:/1", workingDirectories=["file:///a"], **ask)
        there = await make(client, "s:/2", workingDirectories=["file:///b"], **ask)
        await make(client, "s:/plain", provider="plain")
        chosen = {"workingDirectories": ["file:///a"]}
        await client.request("createChat", channel="s:/1", chat="c:/folder", **chosen)
        await client.subscribe("c:/folder")
        for session in ("s:/1", "s:/2", "s:/plain"):
            # What is found in its folder comes when it was looked for.
            await tree(client, session)
        channels = ("s:/1", "s:/2", "s:/plain", "c:/1", "c:/folder", ROOT)
        before = [await client.fresh(channel) for channel in channels]
        seen = len(client.received)
        to = {"kind": "session", "session": "s:/2"}
        for code, chat, destination in (
            (NOT_FOUND, "c:/none", to),
            (NOT_FOUND, "s:/1", to),
            (NOT_FOUND, "c:/1", {**to, "session": "s:/none"}),
            (NOT_FOUND, "c:/1", {**to, "session": "c:/1"}),
            (DENIED, default, to),
            (DENIED, default, {"kind": "newSession"}),
            (DENIED, "c:/1", {**to, "session": "s:/plain"}),
            (DENIED, "c:/folder", to),
            (INVALID, "c:/1", {**to, "after": default}),
            (INVALID, "c:/1", {**to, "after": "c:/none"}),
            (INVALID, "c:/1", {**to, "after": "c:/1"}),
            (INVALID, "c:/1", {"kind": "session", "session": "s:/1", "after": "c:/1"}),
            (INVALID, "c:/1", {"kind": "elsewhere"}),
            (INVALID, "c:/1", {}),
            (INVALID, "c:/1", {"kind": "session"}),
        ):
            assert await refused(client, chat, **destination) == code, (chat, destination)
        await client.start_turn("c:/1", "t1", "/wait")
        for destination in (to, {"kind": "newSession"}):
            assert await refused(client, "c:/1", **destination) == BUSY
        await client.accepted("c:/1", {"type": "chat/turnCancelled", "turnId": "t1", "duration": 0})
        assert there in listed(client, "s:/2")
        news = [m for m in client.received[seen:] if m.get("method", "").startswith("root/")]
        assert [m for m in news if m["method"] != "root/sessionSummaryChanged"] == []
        after = [await client.fresh(channel) for channel in channels]
        assert [after[n] for n in (1, 2, 4, 5)] == [before[n] for n in (1, 2, 4, 5)]
        assert listed(client, "s:/1") == [chat["resource"] for chat in before[0]["chats"]]


async def test_a_viewer_moves_nothing(own_host: ServedHost) -> None:
    book = TokenBook(own_host.data_dir / BOOK_FILE)

    def url(role: Role) -> str:
        made = book.create(role.value, role, expires=None, now=time.time())
        return f"ws://{own_host.address}/?tkn={made.secret}"

    async with (
        newest(url(Role.OPERATOR), "operator") as client,
        newest(url(Role.VIEWER), "viewer") as looker,
    ):
        await client.initialize(ROOT)
        await looker.initialize(ROOT)
        await make(client, "s:/1", "c:/1")
        assert await refused(looker, "c:/1", kind="newSession") == DENIED
        assert await everywhere(looker, "c:/1") == ["s:/1"]
        await move(client, "c:/1")


class Keeper(Agent):
    """Keeps what it is told outside of the chat."""

    provider, display_name = "keeper", "Keeper"

    async def run(self, turn: Turn) -> None:
        await turn.attach(turn.text.encode(), "text/plain")


def content(client: WireClient, chat: str) -> list[str]:
    turns = client.states[chat]["turns"]
    return [part["uri"] for turn in turns for part in turn["responseParts"]]


async def readable(client: WireClient, uri: str) -> bool:
    try:
        return bool(await client.request("resourceRead", uri=uri))
    except WireFailure as failure:
        if failure.code != NOT_FOUND:
            raise
        return False


@pytest.mark.parametrize("disposal", ["trash", "delete"])
async def test_a_chat_keeps_its_content_when_its_former_session_is_gone(disposal: str) -> None:
    async with embed(Keeper(), disposal=disposal) as url, newest(url) as client:
        await client.initialize(ROOT)
        default = await make(client, "s:/1", "c:/1")
        await client.run_turn("c:/1", "t1", "goes along")
        await client.run_turn(default, "t1", "stays")
        await client.ping()
        (mine,), (theirs,) = content(client, "c:/1"), content(client, default)
        session = await move(client, "c:/1")
        await client.request("disposeSession", channel="s:/1")
        if disposal == "trash":
            assert await readable(client, theirs)
            await client.request("agenthost/purgeSession", channel="s:/1")
        assert await readable(client, mine)
        assert not await readable(client, theirs)
        assert (await client.fresh("c:/1"))["turns"]
        await client.request("disposeSession", channel=session)
        if disposal == "trash":
            assert await readable(client, mine)
            await client.request("agenthost/restoreSession", channel=session)
            assert (await client.fresh("c:/1"))["turns"]
            await client.request("disposeSession", channel=session)
            await client.request("agenthost/purgeSession", channel=session)
        assert not await readable(client, mine)


@pytest.mark.parametrize("goes_first", ["the source's session", "the fork's session"])
async def test_a_fork_that_moved_and_its_source_have_their_content_each_as_long_as_they_live(
    goes_first: str, tmp_path: Path
) -> None:
    path = tmp_path / "host.db"
    async with (
        Host([Keeper()], store=SqliteStore(path), disposal="delete") as host,
        newest(await host.listen(port=0)) as client,
    ):
        await client.initialize(ROOT)
        default = await make(client, "s:/1")
        await client.run_turn(default, "t1", "common")
        fork = {"kind": "fork", "chat": default, "turnId": "t1"}
        await client.request("createChat", channel="s:/1", chat="c:/fork", source=fork)
        await client.subscribe("c:/fork")
        session = await move(client, "c:/fork")
        (uri,) = content(client, "c:/fork")
        assert content(client, default) == [uri]
    first, second = ("s:/1", session) if goes_first == "the source's session" else (session, "s:/1")
    async with (
        Host([Keeper()], store=SqliteStore(path), disposal="delete") as host,
        newest(await host.listen(port=0)) as client,
    ):
        await client.initialize(ROOT)
        await client.request("disposeSession", channel=first)
        assert await readable(client, uri)
        await client.request("disposeSession", channel=second)
        assert not await readable(client, uri)


async def test_an_archived_chat_is_archived_as_a_session_too() -> None:
    async with embed() as url, newest(url) as client:
        await client.initialize(ROOT)
        await make(client, "s:/1", "c:/1")
        await client.accepted("c:/1", {"type": "chat/isArchivedChanged", "isArchived": True})
        state = await client.subscribe(await move(client, "c:/1"))
        assert state["status"] & IS_ARCHIVED
        assert client.states["c:/1"]["status"] & IS_ARCHIVED


async def test_a_chat_whose_work_goes_on_in_the_background_stays_until_it_ends() -> None:
    async with embed() as url, newest(url) as client:
        await client.initialize(ROOT)
        await make(client, "s:/1", "c:/1")
        await client.run_turn("c:/1", "t1", "/background 600")
        assert client.states["c:/1"]["backgroundWork"]
        assert await refused(client, "c:/1", kind="newSession") == BUSY
        await client.run_turn("c:/1", "t2", "/background stop")
        await client.action("c:/1", "chat/backgroundWorkRemoved")
        session = await move(client, "c:/1")
        assert await everywhere(client, "c:/1") == [session]


class Faltering(Agent):
    """Fails once, then goes on where it was."""

    provider, display_name, resumable = "faltering", "Faltering", True

    async def run(self, turn: Turn) -> None:
        if not turn.is_resumed:
            raise AgentError("out of breath", resumable=True)
        await turn.write("Here I am again.")


async def test_a_turn_that_failed_goes_on_in_another_session() -> None:
    async with embed(Faltering()) as url, newest(url) as client:
        await client.initialize(ROOT)
        await make(client, "s:/1", "c:/1")
        await client.run_turn("c:/1", "t1", "go")
        await client.subscribe(await move(client, "c:/1"))
        await client.accepted("c:/1", {"type": "chat/turnResume", "turnId": "t1"})
        await client.action("c:/1", "chat/turnComplete")
        (turn,) = client.states["c:/1"]["turns"]
        assert (turn["state"], texts(turn)) == ("complete", "Here I am again.")
        await assert_mirrors(client)
