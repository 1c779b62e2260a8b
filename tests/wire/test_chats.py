"""Chats on the wire: made new, forked and beside others; what may be said in them, and unsaid."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.wire.agents import Plain, Puppet
from tests.wire.client import WireClient, open_client, user_message
from tests.wire.hosting import ServedHost, embed
from tests.wire.mirrors import assert_ascending
from tests.wire.wording import failure_of

pytestmark = pytest.mark.asyncio(loop_scope="module")

INVALID, NO_SESSION, NOT_FOUND, TAKEN = -32602, -32001, -32008, -32010
IDLE, ERROR = 1, 2

Json = dict[str, Any]


@asynccontextmanager
async def in_chat(host: ServedHost, name: str) -> AsyncIterator[tuple[WireClient, str, str]]:
    """A client that follows a new session and its default chat."""
    async with open_client(host.url, name) as client:
        await client.initialize()
        session = f"ahp-session:/{name}"
        chat = await client.ready_session(session)
        await client.subscribe(chat)
        yield client, session, chat


def started(turn: str, message: Json) -> Json:
    time = "2026-01-01T00:00:00.000Z"
    return {"type": "chat/turnStarted", "turnId": turn, "startedAt": time, "message": message}


def cancelled(turn: str) -> Json:
    return {"type": "chat/turnCancelled", "turnId": turn, "duration": 1}


def pending(id: str, text: str, kind: str = "queued") -> Json:
    message = user_message(text)
    return {"type": "chat/pendingMessageSet", "kind": kind, "id": id, "message": message}


def said(turn: Json) -> str:
    return "".join(part.get("content", "") for part in turn["responseParts"])


def turn_ids(client: WireClient, chat: str) -> list[str]:
    return [turn["id"] for turn in client.states[chat]["turns"]]


async def assert_unchanged(client: WireClient, chat: str, before: Json) -> None:
    """Neither what the client mirrors nor what the host holds has changed."""
    mirrored, fresh = await client.compared(chat)
    assert client.states[chat] is before
    assert mirrored == fresh


async def test_a_new_chat_is_in_the_catalogue_before_the_answer(shared_host: ServedHost) -> None:
    async with in_chat(shared_host, "new-chat") as (client, session, _):
        known: list[bool] = []

        def look() -> None:
            uris = [chat["resource"] for chat in client.states[session]["chats"]]
            known.append("c:/new" in uris)

        result = await client.request("createChat", channel=session, chat="c:/new", at_answer=look)
        assert result is None
        assert known == [True]
        state = await client.subscribe("c:/new")
        assert state["origin"] == {"kind": "user"}
        assert (state["turns"], state["status"]) == ([], IDLE)
        entry = client.states[session]["chats"][1]
        assert entry == {key: state[key] for key in entry}


async def test_an_initial_message_starts_the_first_turn_at_once(shared_host: ServedHost) -> None:
    async with in_chat(shared_host, "initial") as (client, session, _):
        message = user_message("from the start", model={"id": "demo"})
        chat = "c:/initial"
        await client.request("createChat", channel=session, chat=chat, initialMessage=message)
        await client.subscribe(chat)
        await client.until(lambda: next(iter(client.states[chat]["turns"]), None))
        (turn,) = client.states[chat]["turns"]
        assert turn["message"] == message
        assert said(turn).startswith("You said **from the start**")


async def test_a_fork_shows_the_source_through_its_turn(shared_host: ServedHost) -> None:
    async with in_chat(shared_host, "fork") as (client, session, chat):
        for turn in ("t1", "t2", "t3"):
            await client.run_turn(chat, turn, turn)
        source = {"kind": "fork", "chat": chat, "turnId": "t2"}
        await client.request("createChat", channel=session, chat="c:/fork", source=source)
        state = await client.subscribe("c:/fork")
        assert state["turns"] == client.states[chat]["turns"][:2]
        assert state["origin"] == source
        await client.run_turn("c:/fork", "t3", "its own")
        assert turn_ids(client, chat) == turn_ids(client, "c:/fork") == ["t1", "t2", "t3"]
        assert client.states[chat]["turns"][2]["message"]["text"] == "t3"


async def test_a_side_chat_shows_nothing_and_its_agent_knows_everything() -> None:
    async with embed(Puppet()) as url, open_client(url) as client:
        await client.initialize()
        chat = await client.ready_session("s:/1", config={"mode": "ask"})
        await client.subscribe(chat)
        for turn in ("t1", "t2", "t3"):
            await client.run_turn(chat, turn, f"said in {turn}")
        source = {
            "kind": "sideChat",
            "chat": chat,
            "turnId": "t2",
            "selection": {"text": "said", "responsePartId": "p"},
        }
        await client.request("createChat", channel="s:/1", chat="c:/side", source=source)
        state = await client.subscribe("c:/side")
        assert (state["turns"], state["origin"]) == ([], source)
        await client.run_turn("c:/side", "t9", "beside")
        (turn,) = client.states["c:/side"]["turns"]
        assert said(turn) == "said in t1 | said in t2"
        # What is forked off a side chat knows what the side chat knew.
        fork = {"kind": "fork", "chat": "c:/side", "turnId": "t9"}
        await client.request("createChat", channel="s:/1", chat="c:/fork", source=fork)
        await client.subscribe("c:/fork")
        await client.run_turn("c:/fork", "t10", "more")
        assert said(client.states["c:/fork"]["turns"][1]) == "said in t1 | said in t2 | beside"


async def test_a_side_chat_of_a_running_turn_keeps_what_had_been_said_by_then(
    shared_host: ServedHost,
) -> None:
    async with in_chat(shared_host, "side-active") as (client, session, chat):
        await client.start_turn(chat, "t1", "/slow 60")
        source = {"kind": "sideChat", "chat": chat, "turnId": "t1"}
        await client.request("createChat", channel=session, chat="c:/side", source=source)
        assert (await client.subscribe("c:/side"))["origin"] == source
        await client.run_turn("c:/side", "t2", "meanwhile")
        assert client.states[chat]["activeTurn"]["id"] == "t1"
        failure = await client.refusal(
            "createChat", channel=session, chat="c:/f", source={**source, "kind": "fork"}
        )
        assert failure.code == INVALID


async def test_sources_that_make_no_sense_are_refused_and_leave_nothing(
    shared_host: ServedHost,
) -> None:
    async with in_chat(shared_host, "sources") as (client, session, chat):
        await client.run_turn(chat, "t1", "hello")
        elsewhere = await client.ready_session("ahp-session:/sources-other")
        await client.subscribe(elsewhere)
        await client.run_turn(elsewhere, "t1", "hello")
        fork = {"kind": "fork", "chat": chat, "turnId": "t1"}
        side = {"kind": "sideChat", "chat": chat, "turnId": "t1"}
        wrong: list[Any] = [
            {"chat": chat, "turnId": "t1"},
            {**fork, "kind": "copy"},
            {**fork, "kind": None},
            {**fork, "chat": elsewhere},
            {**fork, "chat": "c:/unknown"},
            {**fork, "chat": session},
            {**fork, "chat": "c:/x"},
            {**fork, "turnId": "t2"},
            {**fork, "turnId": 1},
            {"kind": "fork", "chat": chat},
            {**side, "turnId": "t2"},
            {**side, "chat": elsewhere},
            {**side, "selection": {"text": ""}},
            {**side, "selection": {}},
            "fork",
        ]
        before = client.states[session]
        for source in wrong:
            failure = await client.refusal(
                "createChat", channel=session, chat="c:/x", source=source
            )
            assert failure.code == INVALID, source
        assert client.states[session] is before
        assert (await client.refusal("subscribe", channel="c:/x")).code == NOT_FOUND


async def test_chats_need_a_free_uri_a_session_and_a_message_of_a_user(
    shared_host: ServedHost,
) -> None:
    async with in_chat(shared_host, "needs") as (client, session, chat):
        for uri in (chat, session, f"{session}/annotations", "ahp-root://"):
            failure = await client.refusal("createChat", channel=session, chat=uri)
            assert failure.code == TAKEN
        for channel in ("ahp-session:/nowhere", chat, "ahp-root://"):
            failure = await client.refusal("createChat", channel=channel, chat="c:/y")
            assert failure.code == NO_SESSION
        for kind in ("agent", "tool", "systemNotification"):
            message = {"text": "I am not you", "origin": {"kind": kind}}
            failure = await client.refusal(
                "createChat", channel=session, chat="c:/y", initialMessage=message
            )
            assert failure.code == INVALID
        failure = await client.refusal(
            "createChat", channel=session, chat="c:/y", workingDirectories=["file:///outside"]
        )
        assert failure.code == INVALID
        await client.request("createChat", channel=session, chat="c:/y")


@pytest.mark.parametrize(
    ("capabilities", "refused"),
    [
        ({}, [None, "fork", "sideChat"]),
        ({"multipleChats": {}}, ["fork", "sideChat"]),
        ({"multipleChats": {"fork": True}}, ["sideChat"]),
        ({"multipleChats": {"sideChat": True}}, ["fork"]),
    ],
)
async def test_what_an_agent_does_not_support_is_refused(
    capabilities: Json, refused: list[str | None]
) -> None:
    async with embed(Plain(capabilities)) as url, open_client(url) as client:
        await client.initialize()
        chat = await client.ready_session("s:/1")
        await client.subscribe(chat)
        await client.run_turn(chat, "t1", "hello")
        for number, kind in enumerate((None, "fork", "sideChat")):
            source = {"kind": kind, "chat": chat, "turnId": "t1"}
            params: Json = {"channel": "s:/1", "chat": f"c:/{number}"}
            if kind is not None:
                params["source"] = source
            if kind in refused:
                assert (await client.refusal("createChat", **params)).code == INVALID
            else:
                await client.request("createChat", **params)


async def test_chats_work_in_some_of_the_sessions_directories() -> None:
    async with embed(Puppet()) as url, open_client(url) as client:
        await client.initialize()
        a, b, c = "file:///a", "file:///b", "file:///c"
        chat = await client.ready_session("s:/1", workingDirectories=[a, b], config={"mode": "ask"})
        assert "workingDirectories" not in await client.subscribe(chat)
        await client.request("createChat", channel="s:/1", chat="c:/1", workingDirectories=[b])
        assert (await client.subscribe("c:/1"))["workingDirectories"] == [b]
        failure = await client.refusal(
            "createChat", channel="s:/1", chat="c:/2", workingDirectories=[a, c]
        )
        assert failure.code == INVALID
        added = {"type": "chat/workingDirectorySet", "directory": a}
        await client.accepted("c:/1", added)
        await client.rejected("c:/1", {**added, "directory": c})
        for directory in (a, b):
            removed = {"type": "chat/workingDirectoryRemoved", "directory": directory}
            await client.accepted("c:/1", removed)
        assert client.states["c:/1"]["workingDirectories"] == []
        await client.ping()
        entries = {entry["resource"]: entry for entry in client.states["s:/1"]["chats"]}
        assert entries["c:/1"]["workingDirectories"] == []
        # A directory that leaves the session leaves its chats.
        await client.accepted("c:/1", {**added, "directory": b})
        gone = {"type": "session/workingDirectoryRemoved", "directory": b}
        await client.accepted("s:/1", gone)
        await client.ping()
        assert client.states["c:/1"]["workingDirectories"] == []
        # A fork works where its source works, whatever else it asks for.
        await client.run_turn("c:/1", "t1", "hello")
        source = {"kind": "fork", "chat": "c:/1", "turnId": "t1"}
        await client.request(
            "createChat", channel="s:/1", chat="c:/3", source=source, workingDirectories=[c]
        )
        assert (await client.subscribe("c:/3"))["workingDirectories"] == []


async def test_a_disposed_chat_is_gone_and_others_go_on(shared_host: ServedHost) -> None:
    async with in_chat(shared_host, "dispose") as (client, session, chat):
        other = "c:/disposed"
        await client.request("createChat", channel=session, chat=other)
        await client.subscribe(other)
        for channel in (chat, other):
            await client.start_turn(channel, "same id", "/slow 60")
        assert await client.request("disposeChat", channel=other) is None
        removed = {"type": "session/chatRemoved", "chat": other}
        assert removed in [envelope["action"] for envelope in client.envelopes[session]]
        assert [entry["resource"] for entry in client.states[session]["chats"]] == [chat]
        assert client.states[session]["defaultChat"] == chat
        for target in (other, session, "ahp-root://", "c:/never"):
            assert (await client.refusal("disposeChat", channel=target)).code == NOT_FOUND
        assert (await client.refusal("subscribe", channel=other)).code == NOT_FOUND
        await client.accepted(chat, cancelled("same id"))
        await client.request("disposeChat", channel=chat)
        assert client.states[session]["chats"] == []
        assert "defaultChat" not in client.states[session]
        # Its name is free, and nothing of it comes back.
        await client.request("createChat", channel=session, chat=other)
        assert (await client.subscribe(other))["turns"] == []


async def test_turns_of_two_chats_do_not_meet(shared_host: ServedHost) -> None:
    async with in_chat(shared_host, "two-chats") as (client, session, chat):
        other = "c:/other"
        await client.request("createChat", channel=session, chat=other)
        await client.subscribe(other)
        for channel in (chat, other):
            await client.start_turn(channel, "t1", "/slow 60")
        await client.accepted(other, cancelled("t1"))
        assert client.states[chat]["activeTurn"]["id"] == "t1"
        await client.accepted(chat, pending("s1", "left", "steering"))
        await client.action(chat, "chat/pendingMessageRemoved", kind="steering", id="s1")
        await client.turn_end(chat, "t1")
        assert "left" in said(client.states[chat]["turns"][0])
        assert said(client.states[other]["turns"][0]) == ""


async def test_drafts_are_shared_kept_and_cleared_by_their_writer(
    shared_host: ServedHost,
) -> None:
    async with (
        in_chat(shared_host, "drafts") as (client, _, chat),
        open_client(shared_host.url, "reads drafts") as reader,
    ):
        await reader.initialize()
        await reader.subscribe(chat)
        draft = user_message("half a thou", model={"id": "m"})
        await client.accepted(chat, {"type": "chat/draftChanged", "draft": draft})
        await client.run_turn(chat, "t1", "something else")
        await reader.ping()
        assert reader.states[chat]["draft"] == draft
        await reader.accepted(chat, {"type": "chat/draftChanged"})
        await client.ping()
        for each in (client, reader):
            assert "draft" not in each.states[chat]
            assert "draft" not in await each.fresh(chat)


async def test_queued_messages_wait_their_turn() -> None:
    puppet = Puppet()
    async with embed(puppet) as url, open_client(url) as client:
        await client.initialize()
        chat = await client.ready_session("s:/1", config={"mode": "ask"})
        await client.subscribe(chat)
        await client.start_turn(chat, "t1", "/wait")
        for id in ("q1", "q2", "q3", "q4"):
            await client.accepted(chat, pending(id, id))
        await client.accepted(chat, pending("q2", "q2 edited"))
        order = {"type": "chat/queuedMessagesReordered", "order": ["q3", "unknown", "q3"]}
        await client.accepted(chat, order)
        removed = {"type": "chat/pendingMessageRemoved", "kind": "queued", "id": "q4"}
        await client.accepted(chat, removed)
        await client.rejected(chat, removed)
        await client.rejected(chat, {**removed, "kind": "steering", "id": "q1"})
        puppet.may_finish.set()
        await client.until(lambda: {} if len(client.states[chat]["turns"]) == 4 else None)
        texts = [turn["message"]["text"] for turn in client.states[chat]["turns"]]
        assert texts == ["/wait", "q3", "q1", "q2 edited"]
        assert "queuedMessages" not in client.states[chat]
        actions = [envelope["action"] for envelope in client.envelopes[chat]]
        for id in ("q3", "q1", "q2"):
            (at,) = [i for i, a in enumerate(actions) if a.get("queuedMessageId") == id]
            assert actions[at]["type"] == "chat/turnStarted"
            before = {"type": "chat/pendingMessageRemoved", "kind": "queued", "id": id}
            assert actions[at - 1] == before


async def test_a_message_queued_while_nothing_runs_is_taken_at_once(
    shared_host: ServedHost,
) -> None:
    async with in_chat(shared_host, "idle-queue") as (client, _, chat):
        await client.dispatch(chat, pending("q1", "now"))
        await client.until(lambda: next(iter(client.states[chat]["turns"]), None))
        types = [envelope["action"]["type"] for envelope in client.envelopes[chat]]
        assert types[:3] == [
            "chat/pendingMessageSet",
            "chat/pendingMessageRemoved",
            "chat/turnStarted",
        ]
        assert client.states[chat]["turns"][0]["message"]["text"] == "now"


@pytest.mark.parametrize("ending", ["cancel", "error"])
async def test_the_queue_is_held_after_a_turn_that_did_not_end_well(
    shared_host: ServedHost, ending: str
) -> None:
    async with in_chat(shared_host, f"held-{ending}") as (client, _, chat):
        if ending == "cancel":
            await client.start_turn(chat, "t1", "/slow 60")
            await client.accepted(chat, pending("q1", "first"))
            await client.accepted(chat, cancelled("t1"))
        else:
            await client.start_turn(chat, "t1", "/slow 60")
            await client.accepted(chat, pending("q1", "/fail"))
            await client.accepted(chat, cancelled("t1"))
            await client.accepted(chat, pending("q2", "first"))
            await client.action(chat, "chat/error")
        await client.ping()
        assert "activeTurn" not in client.states[chat]
        (held,) = client.states[chat]["queuedMessages"]
        waiting = held["id"]
        assert held["message"]["text"] == "first"
        # A turn that ends well moves the queue on.
        await client.run_turn(chat, "t2", "hello")
        moved = await client.action(chat, "chat/turnStarted", queuedMessageId=waiting)
        await client.turn_end(chat, moved["turnId"])
        assert client.states[chat]["turns"][-1]["message"]["text"] == "first"
        assert "queuedMessages" not in client.states[chat]


async def test_a_held_queue_moves_on_with_the_next_message_put_into_it(
    shared_host: ServedHost,
) -> None:
    async with in_chat(shared_host, "held-moves") as (client, _, chat):
        await client.start_turn(chat, "t1", "/slow 60")
        await client.accepted(chat, pending("q1", "first"))
        await client.accepted(chat, cancelled("t1"))
        await client.accepted(chat, pending("q2", "second"))
        await client.until(lambda: {} if len(client.states[chat]["turns"]) == 3 else None)
        texts = [turn["message"]["text"] for turn in client.states[chat]["turns"]]
        assert texts == ["/slow 60", "first", "second"]


async def test_a_steering_message_reaches_the_running_turn(shared_host: ServedHost) -> None:
    async with in_chat(shared_host, "steer") as (client, _, chat):
        await client.accepted(chat, pending("s0", "too early", "steering"))
        await client.accepted(chat, pending("s1", "from before", "steering"))
        assert client.states[chat]["steeringMessage"]["id"] == "s1"
        for id, text in (("s1", "from before"), ("s2", "left")):
            await client.start_turn(chat, f"t {id}", "/slow 60")
            if id != "s1":
                await client.accepted(chat, pending(id, text, "steering"))
            await client.action(chat, "chat/pendingMessageRemoved", kind="steering", id=id)
            await client.turn_end(chat, f"t {id}")
            assert said(client.states[chat]["turns"][-1]) == f"You steer me: {text}"
            assert "steeringMessage" not in client.states[chat]


async def test_truncation_keeps_what_it_names_and_stops_what_runs(
    shared_host: ServedHost,
) -> None:
    async with in_chat(shared_host, "truncate") as (client, session, chat):
        for turn in ("t1", "t2", "t3"):
            await client.run_turn(chat, turn, "/fail" if turn == "t3" else "hello")
        assert client.states[chat]["status"] & 31 == ERROR
        await client.accepted(chat, {"type": "chat/truncated", "turnId": "t2"})
        assert turn_ids(client, chat) == ["t1", "t2"]
        assert client.states[chat]["status"] & 31 == IDLE
        await client.start_turn(chat, "t3", "/slow 60")
        await client.accepted(chat, pending("q1", "later"))
        draft = user_message("draft")
        await client.accepted(chat, {"type": "chat/draftChanged", "draft": draft})
        await client.accepted(chat, {"type": "chat/truncated", "turnId": "t1"})
        assert turn_ids(client, chat) == ["t1"]
        assert "activeTurn" not in client.states[chat]
        await client.until(lambda: {} if "activity" not in client.states[chat] else None)
        assert client.states[chat]["queuedMessages"][0]["id"] == "q1"
        assert client.states[chat]["draft"] == draft
        # A removed turn's id may come back: the message is edited and sent again.
        await client.run_turn(chat, "t2", "edited")
        await client.until(lambda: {} if len(client.states[chat]["turns"]) == 3 else None)
        await client.accepted(chat, {"type": "chat/truncated"})
        assert client.states[chat]["turns"] == []
        await client.start_turn(chat, "t1", "from scratch")
        await client.until(lambda: next(iter(client.states[chat]["turns"]), None))
        mirrored, fresh = await client.compared(chat)
        assert mirrored == fresh
        assert turn_ids(client, chat) == ["t1"]
        await client.ping()
        assert client.states[session]["chats"][0]["status"] & 31 == IDLE


@pytest.mark.parametrize("turn", ["unknown", "active", None, 7, ""])
async def test_a_truncation_that_names_no_completed_turn_wipes_nothing(
    shared_host: ServedHost, turn: Any
) -> None:
    async with in_chat(shared_host, f"keep-{turn!r}") as (client, _, chat):
        await client.run_turn(chat, "t1", "hello")
        await client.start_turn(chat, "active", "/slow 60")
        await client.action(chat, "chat/activityChanged")
        before = client.states[chat]
        assert await client.rejected(chat, {"type": "chat/truncated", "turnId": turn})
        await assert_unchanged(client, chat, before)


async def test_turn_ids_are_used_once(shared_host: ServedHost) -> None:
    async with in_chat(shared_host, "reuse") as (client, _, chat):
        await client.run_turn(chat, "t1", "hello")
        before = client.states[chat]
        reason = await client.rejected(chat, started("t1", user_message("again")))
        assert "t1" in reason
        await assert_unchanged(client, chat, before)


async def test_clients_speak_as_users_only(shared_host: ServedHost) -> None:
    async with in_chat(shared_host, "impostor") as (client, _, chat):
        before = client.states[chat]
        for kind in ("agent", "tool", "systemNotification", "somebody", None):
            message = {"text": "I am not you", "origin": {"kind": kind}}
            for action in (
                started("t1", message),
                {**pending("p1", ""), "message": message},
                {**pending("p1", "", "steering"), "message": message},
                {"type": "chat/draftChanged", "draft": message},
            ):
                assert await client.rejected(chat, action)
        await assert_unchanged(client, chat, before)


async def test_clients_dispatch_what_is_theirs_on_channels_where_it_belongs(
    shared_host: ServedHost,
) -> None:
    async with in_chat(shared_host, "not-theirs") as (client, session, chat):
        await client.start_turn(chat, "t1", "/slow 60")
        await client.action(chat, "chat/activityChanged")
        await client.ping()
        states = (client.states[chat], client.states[session])
        part = {"kind": "markdown", "id": "p", "content": "I am the agent"}
        for channel, action in (
            (chat, {"type": "chat/responsePart", "turnId": "t1", "part": part}),
            (chat, {"type": "chat/turnComplete", "turnId": "t1", "duration": 1}),
            (chat, {"type": "chat/activityChanged", "activity": "mischief"}),
            (chat, {"type": "session/isReadChanged", "isRead": True}),
            (chat, {"type": "session/titleChanged", "title": 7}),
            (chat, {"type": "chat/unheardOf"}),
            (chat, {"no": "type"}),
            (chat, {"type": "chat/turnCancelled"}),
            (session, cancelled("t1")),
            (session, {"type": "session/defaultChatChanged"}),
            (session, {"type": "session/ready"}),
            (session, {"type": "session/titleChanged", "title": 7}),
            (session, {"type": "session/isReadChanged", "isRead": "yes"}),
        ):
            assert await client.rejected(channel, action), action
        assert (client.states[chat], client.states[session]) == states


async def test_a_client_that_does_not_follow_a_chat_can_act_there(
    shared_host: ServedHost,
) -> None:
    async with (
        in_chat(shared_host, "from-afar") as (client, _, chat),
        open_client(shared_host.url, "far away") as stranger,
    ):
        await stranger.initialize()
        await stranger.dispatch(chat, started("t1", user_message("/slow 60")))
        envelope = await client.envelope(chat, lambda e: e["action"].get("turnId") == "t1")
        assert envelope["origin"] == {"clientId": "far away", "clientSeq": 1}
        await stranger.ping()
        assert stranger.envelopes == {}
        # A refusal does reach it, as there is no other way to learn of it.
        assert await stranger.rejected(chat, started("t2", user_message("me too")))
        await client.ping()
        assert not any("rejectionReason" in e for e in client.envelopes[chat])


async def test_attached_chats_must_be_there_to_be_read(shared_host: ServedHost) -> None:
    async with in_chat(shared_host, "attach") as (client, session, chat):
        await client.run_turn(chat, "t1", "hello")
        await client.start_turn(chat, "running", "/slow 60")
        other = "c:/attaching"
        await client.request("createChat", channel=session, chat=other)
        empty = "c:/attached-empty"
        await client.request("createChat", channel=session, chat=empty)
        await client.subscribe(other)

        def attach(resource: str, **more: Any) -> Json:
            attachment = {"type": "chat", "label": "there", "resource": resource, **more}
            return user_message("look", attachments=[attachment])

        for message in (
            attach("c:/nowhere"),
            attach(session),
            attach(chat, endTurn="t9"),
            attach(chat, endTurn="running"),
        ):
            await client.rejected(other, started("t1", message))
            await client.rejected(other, {**pending("q", ""), "message": message})
            failure = await client.refusal(
                "createChat", channel=session, chat="c:/z", initialMessage=message
            )
            assert failure.code == INVALID
        for number, message in enumerate((attach(chat), attach(chat, endTurn="t1"), attach(empty))):
            await client.accepted(other, started(f"a{number}", message))
            await client.turn_end(other, f"a{number}")
        assert client.states[other]["turns"][1]["message"] == attach(chat, endTurn="t1")


async def test_a_turn_reports_what_the_agent_does_in_order(shared_host: ServedHost) -> None:
    async with in_chat(shared_host, "stream") as (client, _, chat):
        await client.run_turn(chat, "t1", "/stream 300 12")
        (turn,) = client.states[chat]["turns"]
        assert said(turn) == "".join(f"{number} ".ljust(12, ".") for number in range(300))
        await client.run_turn(chat, "t2", "/think")
        kinds = [part["kind"] for part in client.states[chat]["turns"][1]["responseParts"]]
        assert kinds == ["reasoning", "markdown"]
        await client.run_turn(chat, "t3", "/fail")
        assert failure_of(client.states[chat]["turns"][2])["errorType"] == "demoFailure"
        await client.run_turn(chat, "t4", "/nonsense")
        assert failure_of(client.states[chat]["turns"][3])["errorType"] == "unknownCommand"
        assert_ascending(client)
