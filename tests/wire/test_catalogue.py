"""The list of sessions: paged, in order, and kept true by notifications alone."""

from __future__ import annotations

from typing import Any

import pytest

from agenthost.protocol import SUPPORTED_VERSIONS
from tests.wire.client import WireClient, open_client, user_message
from tests.wire.hosting import ServedHost
from tests.wire.wording import annotated_by, forked_from

pytestmark = pytest.mark.asyncio(loop_scope="module")

ROOT = "ahp-root://"
INVALID = -32602
IDLE, ERROR, IN_PROGRESS, IS_READ, IS_ARCHIVED = 1, 2, 8, 32, 64
ACTIVITY = 31

Json = dict[str, Any]


def cached(client: WireClient) -> dict[str, Json]:
    """Return the session list that a client gets who follows nothing but the root channel."""
    sessions: dict[str, Json] = {}
    for message in client.received:
        params = message.get("params", {})
        match message.get("method"):
            case "root/sessionAdded":
                sessions[params["summary"]["resource"]] = params["summary"]
            case "root/sessionRemoved":
                del sessions[params["session"]]
            case "root/sessionSummaryChanged":
                assert not params["changes"].keys() & {"resource", "provider", "createdAt"}
                assert params["changes"], "an empty change was announced"
                sessions[params["session"]] |= params["changes"]
    return {uri: without_nothing(summary) for uri, summary in sessions.items()}


def without_nothing(summary: Json) -> Json:
    """Drop what says nothing: a partial update cannot take it away."""
    empty = [("activity", ""), ("defaultChat", "")]
    return {key: value for key, value in summary.items() if (key, value) not in empty}


async def listed(client: WireClient, **params: Any) -> dict[str, Json]:
    result = await client.request("listSessions", **params)
    return {item["resource"]: item for item in result["items"]}


async def all_pages(client: WireClient, limit: int) -> list[str]:
    uris: list[str] = []
    cursor: Json = {}
    while True:
        page = await client.request("listSessions", limit=limit, **cursor)
        assert len(page["items"]) <= limit
        uris += [item["resource"] for item in page["items"]]
        if "nextCursor" not in page:
            return uris
        cursor = {"cursor": page["nextCursor"]}


async def test_pages_hold_every_session_once_newest_first(own_host: ServedHost) -> None:
    async with open_client(own_host.url, "pages") as client:
        await client.initialize(ROOT)
        assert await all_pages(client, 3) == []
        chats = {}
        for number in range(7):
            uri = f"page:/{number}"
            chats[uri] = await client.ready_session(uri)
        # The one that was used last comes first, whenever it was made.
        await client.subscribe(chats["page:/2"])
        await client.run_turn(chats["page:/2"], "t1", "hello")
        await client.ping()
        everything = await all_pages(client, 100)
        assert everything[0] == "page:/2"
        assert sorted(everything) == sorted(chats)
        summaries = await listed(client)
        times = [summary["modifiedAt"] for summary in summaries.values()]
        assert times == sorted(times, reverse=True)
        for limit in (1, 2, 3, 7, 8):
            assert await all_pages(client, limit) == everything


async def test_cursors_that_were_not_given_out_here_are_refused(
    own_host: ServedHost,
) -> None:
    async with open_client(own_host.url, "cursors") as client:
        await client.initialize()
        for number in range(2):
            await client.ready_session(f"cursor:/{number}")
        good = (await client.request("listSessions", limit=1))["nextCursor"]
        for cursor in ("", "nonsense", "AAAA", good + "x", good[:-2], "é", "0" * 5000):
            assert (await client.refusal("listSessions", cursor=cursor)).code == INVALID
        for limit in (0, -1, "2", 1.5, True):
            assert (await client.refusal("listSessions", limit=limit)).code == INVALID
        assert len((await client.request("listSessions", cursor=good, limit=10**9))["items"]) >= 1


async def test_a_version_without_cursors_gets_everything_at_once(
    own_host: ServedHost,
) -> None:
    async with open_client(own_host.url, "oldest", SUPPORTED_VERSIONS[-1]) as client:
        await client.initialize()
        for number in range(5):
            await client.ready_session(f"oldest:/{number}")
        result = await client.request("listSessions", filter={"anything": True})
        assert "nextCursor" not in result
        assert {f"oldest:/{number}" for number in range(5)} <= {
            item["resource"] for item in result["items"]
        }


async def test_whoever_follows_the_root_needs_no_listing(shared_host: ServedHost) -> None:
    async with (
        open_client(shared_host.url, "acts") as actor,
        open_client(shared_host.url, "follows") as follower,
    ):
        for client in (actor, follower):
            await client.initialize(ROOT)
        before = await listed(actor)
        for name in ("one", "two", "three"):
            session = f"follow:/{name}"
            chat = await actor.ready_session(session)
            await actor.subscribe(chat)
            await actor.subscribe(f"{session}/annotations")
            await actor.run_turn(chat, "t1", f"hello {name}")
            await actor.start_turn(chat, "t2", "/slow 60")
            await actor.action(chat, "chat/activityChanged", activity="working slowly")
            cancel = {"type": "chat/turnCancelled", "turnId": "t2", "duration": 1}
            await actor.accepted(chat, cancel)
        await actor.run_turn(chat, "t3", "/fail")
        await actor.accepted("follow:/one", {"type": "session/isReadChanged", "isRead": True})
        archived = {"type": "session/isArchivedChanged", "isArchived": True}
        await actor.accepted("follow:/one", archived)
        await actor.request("disposeSession", channel="follow:/two")
        await actor.ready_session("follow:/gone")
        await actor.request("disposeSession", channel="follow:/gone")
        await follower.ping()
        now = await listed(follower)
        assert cached(follower) == {uri: now[uri] for uri in now if uri not in before}
        assert set(cached(follower)) == {"follow:/one", "follow:/three"}
        status = {uri: summary["status"] for uri, summary in cached(follower).items()}
        assert status == {
            "follow:/one": IDLE | IS_READ | IS_ARCHIVED,
            "follow:/three": ERROR,
        }


async def test_a_running_turn_shows_in_the_summary_and_leaves_no_trace(
    shared_host: ServedHost,
) -> None:
    session = "run:/1"
    async with (
        open_client(shared_host.url, "runs") as actor,
        open_client(shared_host.url, "lists") as follower,
    ):
        for client in (actor, follower):
            await client.initialize(ROOT)
        chat = await actor.ready_session(session)
        await actor.subscribe(chat)
        assert cached(actor)[session]["status"] == IDLE | IS_READ
        await actor.start_turn(chat, "t1", "/slow 60")

        def summary() -> Json | None:
            entry = cached(follower).get(session, {})
            return entry if entry.get("activity") == "working slowly" else None

        running = await follower.until(summary)
        # A turn makes a session unread, and it is in progress while it runs.
        assert running["status"] == IN_PROGRESS
        cancel = {"type": "chat/turnCancelled", "turnId": "t1", "duration": 1}
        await actor.accepted(chat, cancel)
        await follower.ping()
        after = cached(follower)[session]
        assert "activity" not in after
        assert after["status"] == IDLE
        last = [
            message["params"]["changes"]
            for message in follower.received
            if message.get("method") == "root/sessionSummaryChanged"
            and message["params"]["session"] == session
            and "activity" in message["params"]["changes"]
        ][-1]
        assert last["activity"] == ""
        assert "activity" not in (await listed(follower))[session]
        assert "activity" not in (await follower.subscribe(session))["chats"][0]
        assert "activity" not in await follower.subscribe(chat)


async def test_a_session_is_named_by_its_first_message_unless_a_person_named_it(
    shared_host: ServedHost,
) -> None:
    async with open_client(shared_host.url, "names") as client:
        await client.initialize(ROOT)
        chat = await client.ready_session("name:/1")
        await client.subscribe(chat)
        unnamed = client.states["name:/1"]["title"]
        await client.run_turn(chat, "t1", "  Please\n fix   the build ")
        await client.run_turn(chat, "t2", "and the tests")
        await client.ping()
        session = client.states["name:/1"]
        assert session["title"] == "Please fix the build"
        assert session["chats"][0]["title"] == "Please fix the build"
        assert cached(client)["name:/1"]["title"] == "Please fix the build"

        chat = await client.ready_session("name:/2")
        await client.subscribe(chat)
        await client.accepted("name:/2", {"type": "session/titleChanged", "title": "Mine"})
        await client.run_turn(chat, "t1", "something else")
        await client.ping()
        assert client.states["name:/2"]["title"] == cached(client)["name:/2"]["title"] == "Mine"

        chat = await client.ready_session("name:/3")
        await client.subscribe(chat)
        await client.run_turn(chat, "t1", "   ")
        await client.run_turn(chat, "t2", "word " * 100)
        await client.ping()
        title = client.states["name:/3"]["title"]
        assert title != unnamed
        assert title.startswith("word word")
        assert len(title) <= 60


async def test_a_queued_or_initial_message_names_a_session_too(shared_host: ServedHost) -> None:
    async with open_client(shared_host.url, "names by queue") as client:
        await client.initialize(ROOT)
        chat = await client.ready_session("name:/queue")
        await client.subscribe(chat)
        message = {"kind": "queued", "id": "q", "message": user_message("queued first")}
        await client.accepted(chat, {"type": "chat/pendingMessageSet", **message})
        await client.action("name:/queue", "session/titleChanged", title="queued first")
        await client.ready_session("name:/initial")
        await client.request(
            "createChat",
            channel="name:/initial",
            chat="name-chat:/1",
            initialMessage=user_message("initial first"),
        )
        await client.action("name:/initial", "session/titleChanged", title="initial first")


async def test_each_chat_is_named_by_its_own_first_message_and_a_fork_as_its_source(
    shared_host: ServedHost,
) -> None:
    session = "name:/chats"
    async with open_client(shared_host.url, "names chats") as client:
        await client.initialize()
        chat = await client.ready_session(session)
        await client.subscribe(chat)
        await client.run_turn(chat, "t1", "the first")
        source = {"chat": chat, "turnId": "t1"}
        await client.request("createChat", channel=session, chat="name-chat:/second")
        for kind in ("sideChat", "fork"):
            await client.request(
                "createChat",
                channel=session,
                chat=f"name-chat:/{kind}",
                source={**source, "kind": kind},
            )

        def titles() -> list[str]:
            return [entry["title"] for entry in client.states[session]["chats"]]

        assert titles() == ["the first", "New chat", "New chat", "the first"]
        for uri in ("name-chat:/second", "name-chat:/sideChat", "name-chat:/fork"):
            await client.subscribe(uri)
            await client.run_turn(uri, "t2", f"hello  {uri[11:]}")
        await client.ping()
        assert titles() == ["the first", "hello second", "hello sideChat", "the first"]
        assert client.states[session]["title"] == "the first"
        fork = forked_from(client.version, session, "t1")
        await client.ready_session("name:/fork", **fork)
        assert client.states["name:/fork"]["title"] == "the first"
        assert client.states["name:/fork"]["chats"][0]["title"] == "the first"


async def test_annotations_are_counted_in_the_summary(shared_host: ServedHost) -> None:
    session = "notes:/1"
    notes = f"{session}/annotations"
    async with open_client(shared_host.url, "counts") as client:
        await client.initialize(ROOT)
        await client.used_session(session)
        await client.subscribe(notes)

        async def counts() -> tuple[int, int]:
            await client.ping()
            summary = cached(client)[session]["annotations"]
            assert summary == (await listed(client))[session]["annotations"]
            assert summary["resource"] == notes
            return summary["annotationCount"], summary["entryCount"]

        assert await counts() == (0, 0)
        entries = [{"id": "e1", "text": "one"}, {"id": "e2", "text": "two"}]
        annotation = {
            **annotated_by(client.version, session, turn_id="t1"),
            "resource": "file:///a",
            "resolved": False,
            "entries": entries,
        }
        for id in ("n1", "n2"):
            action = {"type": "annotations/set", "annotation": {"id": id, **annotation}}
            await client.accepted(notes, action)
        assert await counts() == (2, 4)
        gone = {"type": "annotations/entryRemoved", "annotationId": "n1", "entryId": "e1"}
        await client.accepted(notes, gone)
        assert await counts() == (2, 3)
        await client.accepted(notes, {"type": "annotations/removed", "annotationId": "n2"})
        assert await counts() == (1, 1)


async def test_the_root_counts_sessions_and_shows_agents(own_host: ServedHost) -> None:
    async with open_client(own_host.url, "root") as client:
        result = await client.initialize(ROOT)
        assert result["serverInfo"]["name"] == "agenthost"
        assert result["defaultDirectory"].startswith("file:///")
        root = client.states[ROOT]
        assert [agent["provider"] for agent in root["agents"]] == ["demo"]
        assert root["agents"][0]["capabilities"]["multipleChats"] == {
            "fork": True,
            "sideChat": True,
        }
        assert root["_meta"]["agenthost"]["name"] == "agenthost"
        before = root["activeSessions"]
        assert before == len(await all_pages(client, 50))
        for number in range(3):
            await client.ready_session(f"count:/{number}")

        def counted() -> int:
            return int(client.states[ROOT]["activeSessions"])

        # On several machines one of them counts, a moment later.
        await client.until(lambda: {} if counted() == before + 3 else None)
        await client.request("disposeSession", channel="count:/0")
        await client.until(lambda: {} if counted() == before + 2 else None)
        mirrored, fresh = await client.compared(ROOT)
        assert mirrored == fresh


async def test_whoever_does_not_follow_the_root_is_told_nothing_of_the_catalogue(
    shared_host: ServedHost,
) -> None:
    async with open_client(shared_host.url, "silent") as client:
        await client.initialize()
        await client.ready_session("silent:/1", progressToken="unheard")
        await client.ping()
        assert {message.get("method") for message in client.received} <= {None, "action"}
        await client.subscribe(ROOT)
        await client.ready_session("silent:/2")
        await client.send({"method": "unsubscribe", "params": {"channel": ROOT}})
        await client.ready_session("silent:/3")
        await client.ping()
        assert set(cached(client)) == {"silent:/2"}


async def test_errors_and_input_of_any_chat_show_in_the_session(shared_host: ServedHost) -> None:
    session, other = "agg:/1", "agg-chat:/2"
    async with open_client(shared_host.url, "aggregates") as client:
        await client.initialize(ROOT)
        chat = await client.ready_session(session)
        await client.request("createChat", channel=session, chat=other)
        for channel in (chat, other):
            await client.subscribe(channel)
        await client.run_turn(other, "t1", "/fail")
        await client.ping()
        assert cached(client)[session]["status"] & ACTIVITY == ERROR
        # The default chat's activity is not hidden for ever: the next good turn clears the error.
        await client.run_turn(other, "t2", "better")
        await client.start_turn(chat, "t1", "/slow 60")
        await client.ping()
        assert cached(client)[session]["status"] & ACTIVITY == IN_PROGRESS
        await client.request("disposeChat", channel=chat)
        await client.ping()
        assert cached(client)[session]["status"] & ACTIVITY == IDLE
        assert cached(client)[session] == (await listed(client))[session]


async def test_a_session_whose_second_chat_works_says_so_and_what_it_runs(
    shared_host: ServedHost,
) -> None:
    session, second = "ahp-session:/second-works", "ahp-chat://2/second-works"
    async with open_client(shared_host.url, "second works") as client:
        await client.initialize(ROOT)
        await client.ready_session(session)
        await client.request("createChat", channel=session, chat=second)
        await client.subscribe(second)
        await client.start_turn(second, "t1", "/run sleep 60")
        call = await client.until(lambda: _call(client.states[second], "pending-confirmation"))
        target = {"turnId": "t1", "toolCallId": call["toolCallId"]}
        confirmed = {"type": "chat/toolCallConfirmed", **target, "approved": True}
        await client.accepted(second, {**confirmed, "confirmed": "user-action"})
        await client.until(lambda: _call(client.states[second], "running"))
        await client.ping()
        for summary in (cached(client)[session], (await listed(client))[session]):
            assert summary["status"] & 31 == 8
            assert "sleep 60" in summary["activity"]
        assert "sleep 60" in client.states[session]["activity"]
        cancel = {"type": "chat/turnCancelled", "turnId": "t1", "duration": 1}
        await client.accepted(second, cancel)
        await client.ping()
        assert "activity" not in client.states[session]
        assert not cached(client)[session].get("activity")
        assert cached(client)[session]["status"] & 31 == 1


def _call(chat: dict[str, Any], status: str) -> dict[str, Any] | None:
    for part in (chat.get("activeTurn") or {}).get("responseParts", ()):
        if part.get("toolCall", {}).get("status") == status:
            call: dict[str, Any] = part["toolCall"]
            return call
    return None
