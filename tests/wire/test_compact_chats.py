"""The list of sessions tells of their chats: always, the same as the sessions do, and seldom."""

from __future__ import annotations

from typing import Any

import pytest

from agenthost.agents import Agent, Turn
from agenthost.clock import SystemClock
from agenthost.host.channels.session.catalogue import FEW_CHATS, PAUSE_SECONDS
from agenthost.protocol import SUPPORTED_VERSIONS
from tests.flags import Flag
from tests.wire.agents import Puppet
from tests.wire.client import ROOT, WireClient, open_client
from tests.wire.hosting import embed

Json = dict[str, Any]
NEWEST = SUPPORTED_VERSIONS[0]
SESSION = "ahp-session:/s"
LISTED = ("resource", "title", "origin", "interactivity", "status", "changes")


class Boss(Agent):
    """Has many workers at once."""

    provider = "boss"
    display_name = "Boss"

    def __init__(self, workers: int = 0) -> None:
        self.workers = workers

    async def run(self, turn: Turn) -> None:
        if turn.text == "work":
            await turn.write("done")
            return
        for number in range(self.workers):
            async with turn.tool("worker") as call:
                await call.delegate("work", title=f"W{number}")


async def summary_of(client: WireClient) -> Json:
    (summary,) = (await client.request("listSessions"))["items"]
    found: Json = summary
    return found


def compact(session: Json) -> list[Json]:
    return [{key: chat[key] for key in LISTED if key in chat} for chat in session["chats"]]


def follow_list(client: WireClient) -> Json:
    """Return the one session's line as somebody holds it who was told of it and its changes."""
    line: Json = {}
    for message in client.received:
        if message.get("method") == "root/sessionAdded":
            line = message["params"]["summary"]
        elif message.get("method") == "root/sessionSummaryChanged":
            line = {**line, **message["params"]["changes"]}
    return line


async def test_a_session_is_listed_with_all_its_chats_whatever_happens_to_them() -> None:
    async with embed(Puppet()) as url, open_client(url, "c", NEWEST) as client:
        await client.initialize(ROOT)
        chat = await client.ready_session(SESSION, config={"mode": "ask"})

        async def check(*chats: str) -> None:
            await client.ping()
            expected = compact(client.states[SESSION])
            assert [entry["resource"] for entry in expected] == list(chats)
            summary = await summary_of(client)
            assert summary["chats"] == expected == follow_list(client)["chats"]
            assert summary["defaultChat"] == chat == follow_list(client)["defaultChat"]

        await check(chat)
        await client.request("createChat", channel=SESSION, chat="c:/2")
        await check(chat, "c:/2")
        await client.subscribe("c:/2")
        await client.run_turn("c:/2", "t", "a title")
        await check(chat, "c:/2")
        source = {"kind": "fork", "chat": "c:/2", "turnId": "t"}
        await client.request("createChat", channel=SESSION, chat="c:/3", source=source)
        await check(chat, "c:/2", "c:/3")
        assert (await summary_of(client))["chats"][2]["origin"] == source
        await client.accepted("c:/2", {"type": "session/titleChanged", "title": "Renamed"})
        await check(chat, "c:/2", "c:/3")
        assert (await summary_of(client))["chats"][1]["title"] == "Renamed"
        await client.request("disposeChat", channel="c:/2")
        await check(chat, "c:/3")


def told_of_sessions(client: WireClient) -> list[Json]:
    """Return what a client was told of the list of sessions, but for how many there are."""
    return [each for each in client.received if each.get("method", "").startswith("root/session")]


@pytest.mark.parametrize("version", SUPPORTED_VERSIONS[1:])
async def test_older_versions_are_told_nothing_of_it(version: str) -> None:
    async with embed(Puppet()) as url, open_client(url, "c", NEWEST) as client:
        await client.initialize(ROOT)
        chat = await client.ready_session(SESSION, config={"mode": "ask"})
        async with open_client(url, "old", version) as old:
            await old.initialize(ROOT)
            await client.subscribe(chat)
            seen = told_of_sessions(old)
            await client.accepted(chat, {"type": "chat/isReadChanged", "isRead": True})
            await client.ping()
            await old.ping()
            # Nothing that its version lists has changed.
            assert told_of_sessions(old) == seen
            await client.request("createChat", channel=SESSION, chat="c:/2")
            await client.request("createSession", channel="s:/2", config={"mode": "ask"})
            await old.ping()
            items = (await old.request("listSessions"))["items"]
            assert len(items) == 2
            for item in (*items, follow_list(old)):
                assert not item.keys() & {"chats", "defaultChat"}


async def test_many_workers_do_not_tell_the_whole_list_for_every_step_of_one() -> None:
    workers = 30
    async with embed(Boss(workers)) as url, open_client(url, "c", NEWEST) as client:
        await client.initialize(ROOT)
        chat = await client.ready_session(SESSION)
        await client.subscribe(chat)
        await client.run_turn(chat, "t", "go")
        await client.ping()
        assert len(client.states[SESSION]["chats"]) == workers + 1
        assert (await summary_of(client))["chats"] == compact(client.states[SESSION])
        updates = [
            message
            for message in client.received
            if message.get("method") == "root/sessionSummaryChanged"
        ]
        steps = sum(
            envelope["action"]["type"] in ("session/chatAdded", "session/chatUpdated")
            for envelope in client.envelopes[SESSION]
        )
        assert len(updates) < steps


class Pausing(SystemClock):
    """The list of a session of many chats is told when a test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.is_time = Flag()

    async def sleep(self, seconds: float) -> None:
        if seconds == PAUSE_SECONDS:
            await self.is_time.wait()
        else:
            await super().sleep(seconds)


def lists_told(client: WireClient) -> list[int]:
    """Return how long each list of chats was that somebody was told in a change."""
    told = (message.get("params", {}).get("changes", {}) for message in client.received)
    return [len(changes["chats"]) for changes in told if "chats" in changes]


async def test_the_more_chats_there_are_the_more_seldom_all_of_them_are_told() -> None:
    workers, clock = 2 * FEW_CHATS, Pausing()
    async with (
        embed(Boss(workers), clock=clock) as url,
        open_client(url, "c", NEWEST) as client,
        open_client(url, "leaves", NEWEST) as former,
    ):
        await client.initialize(ROOT)
        chat = await client.ready_session(SESSION)
        await client.subscribe(chat)
        await former.initialize(ROOT)
        await client.run_turn(chat, "t", "go")
        await client.ping()
        assert max(lists_told(client)) == FEW_CHATS
        # Whoever asks is told the truth all the same, and the rest of the line is told at once.
        expected = compact(client.states[SESSION])
        assert len(expected) == workers + 1
        summary = await summary_of(client)
        assert summary["chats"] == expected
        assert follow_list(client)["modifiedAt"] == summary["modifiedAt"]
        assert follow_list(client)["status"] == summary["status"]
        await former.ping()
        await former.close()
        clock.is_time.set()
        await client.until(lambda: {} if lists_told(client)[-1] > FEW_CHATS else None)
        assert lists_told(client)[-1] == workers + 1
        assert follow_list(client)["chats"] == expected
        async with open_client(url, "leaves", NEWEST) as again:
            await again.resume(former)
            await again.ping()
            assert lists_told(again) == [workers + 1]
