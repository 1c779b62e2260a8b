"""Canvases on a host: who shows what, for how long, and what clients may not do with them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from agenthost.host import Host
from agenthost.host.channels.canvas.canvases import MOST_CANVASES
from agenthost.protocol.versions import NEWEST
from tests.flags import eventually
from tests.wire.client import WireClient, open_client
from tests.wire.painting import BAD_PAGES, MARK, PAGE, Painter
from tests.wire.talking import cancelled, said

Json = dict[str, Any]
SESSION = "ahp-session:/painted"


@dataclass
class Studio:
    """A host with a painter, and a client that follows its chat."""

    host: Host
    url: str
    painter: Painter
    client: WireClient
    chat: str
    turns: int = 0

    async def tell(self, text: str) -> Json:
        """Run a turn and return it as it ended."""
        self.turns += 1
        await self.client.run_turn(self.chat, f"t{self.turns}", text)
        turn: Json = self.client.states[self.chat]["turns"][-1]
        return turn

    @property
    def listed(self) -> list[str]:
        return [each["resource"] for each in self.client.states[self.chat].get("canvases", ())]

    async def follow(self) -> tuple[str, Json]:
        """Follow the newest canvas."""
        uri = self.listed[-1]
        return uri, await self.client.subscribe(uri)

    async def look(self, uri: str) -> Json:
        """Return what somebody sees who comes, looks once and leaves."""
        async with open_client(self.url, "passer-by", NEWEST) as client:
            await client.initialize()
            return await client.fresh(uri)

    async def rest(self) -> None:
        """Send everything out of memory that nobody uses."""
        await eventually(lambda: len(self.host.connections) == 1)
        self.host.core.directory.sweep(idle_seconds=0)


@asynccontextmanager
async def studio() -> AsyncIterator[Studio]:
    painter = Painter()
    async with Host([painter]) as host:
        url = await host.listen(port=0)
        async with open_client(url, "visitor", NEWEST) as client:
            await client.initialize("ahp-root://")
            chat = await client.ready_session(SESSION)
            await client.subscribe(chat)
            yield Studio(host, url, painter, client, chat)


async def test_a_canvas_is_opened_changed_and_closed() -> None:
    async with studio() as at:
        assert said(await at.tell("open My page")) == "done"
        uri, state = await at.follow()
        assert uri.startswith("ahp-canvas:/")
        assert state["instanceId"]
        assert state == {
            "instanceId": state["instanceId"],
            "extensionId": "painter",
            "extensionName": "The Painter",
            "canvasId": "preview",
            "title": "My page",
            "url": PAGE,
        }
        # After the turn that opened it, in another one: both what it says and where it is stay.
        await at.tell("status almost there")
        assert at.client.states[uri] == {**state, "status": "almost there"}
        await at.tell("clear")
        assert at.client.states[uri] == {**_bare(state), "status": "almost there"}
        await at.tell("close")
        assert "canvases" not in at.client.states[at.chat]
        assert (await at.client.refusal("subscribe", channel=uri)).code == -32008
        assert await at.host.core.store.load_channel(uri) is None
        # It stays closed.
        assert said(await at.tell("close")) == "done"
        failed = await at.tell("status too late")
        assert failed["responseParts"][-1]["error"]["message"] == "this canvas is closed"


def _bare(state: Json) -> Json:
    return {key: value for key, value in state.items() if key != "url"}


async def test_a_page_is_gone_for_those_who_look_before_its_canvas_is() -> None:
    async with studio() as at:
        await at.tell("open")
        uri, _ = await at.follow()
        await at.tell("close")
        (last,) = at.client.envelopes[uri]
        assert "url" not in last["action"]["canvas"]
        unlisted = await at.client.action(at.chat, "chat/canvasesChanged")
        assert last["serverSeq"] < at.client.envelopes[at.chat][-1]["serverSeq"]
        assert unlisted is not None


async def test_the_same_canvas_is_opened_again_by_its_id() -> None:
    async with studio() as at:
        await at.tell("reopen mine")
        await at.tell("clear")
        await at.tell("reopen mine")
        await at.tell("reopen other")
        assert len(at.listed) == 2
        first = await at.client.subscribe(at.listed[0])
        assert (first["instanceId"], first["url"]) == ("mine", PAGE)


@pytest.mark.parametrize("page", BAD_PAGES)
async def test_what_is_no_page_is_refused_and_not_quoted(page: str) -> None:
    async with studio() as at:
        turn = await at.tell(f"bad {page}")
        error = turn["responseParts"][-1]["error"]
        assert error["errorType"] == "badCanvas"
        assert "url" in error["message"]
        assert MARK not in error["message"]
        assert at.listed == []


async def test_an_agent_cannot_flood_a_chat_with_canvases() -> None:
    async with studio() as at:
        text = said(await at.tell("many 10000"))
        assert f"{10_000 - MOST_CANVASES} refused" in text
        assert f"tooManyCanvases: a chat shows at most {MOST_CANVASES} canvases" in text
        assert len(at.listed) == MOST_CANVASES


async def test_the_page_goes_before_the_turn_of_an_agent_that_crashes() -> None:
    async with studio() as at:
        await at.tell("open")
        kept, _ = await at.follow()
        await at.tell("crash")
        uri, state = await at.follow()
        assert uri != kept
        assert "url" not in state
        # What an earlier turn showed, the agent still shows.
        assert at.client.states[kept]["url"] == PAGE


async def test_who_quotes_an_address_in_a_failure_is_told_without_it() -> None:
    async with studio() as at:
        turn = await at.tell("fail")
        assert turn["responseParts"][-1]["error"] == {
            "errorType": "notServed",
            "message": "there is nothing at [redacted]",
        }


async def test_a_turn_that_fails_leaves_the_page_that_another_has_set() -> None:
    async with studio() as at:
        await at.tell("reopen mine")
        uri, _ = await at.follow()
        await at.tell("status seen")
        await at.tell("crash")
        assert at.client.states[uri]["url"] == PAGE


async def test_a_canvas_that_is_opened_several_times_at_once_is_one() -> None:
    async with studio() as at:
        assert said(await at.tell("twice mine")) == "1done"
        assert len(at.listed) == 1


async def test_the_page_of_a_turn_that_is_cancelled_goes() -> None:
    async with studio() as at:
        await at.client.start_turn(at.chat, "t1", "wait")
        await at.painter.waits.wait()
        await at.client.action(at.chat, "chat/canvasesChanged")
        uri, state = await at.follow()
        assert state["url"] == PAGE
        await at.client.accepted(at.chat, cancelled(at.client, "t1"))
        await at.client.until(lambda: None if "url" in at.client.states[uri] else {})


async def test_pages_go_before_the_host_does() -> None:
    async with AsyncExitStack() as stack:
        async with Host([Painter()]) as host:
            url = await host.listen(port=0)
            client = await stack.enter_async_context(open_client(url, "visitor", NEWEST))
            await client.initialize("ahp-root://")
            chat = await client.ready_session(SESSION)
            await client.subscribe(chat)
            await client.run_turn(chat, "t1", "open")
            (listed,) = client.states[chat]["canvases"]
            assert (await client.subscribe(listed["resource"]))["url"] == PAGE
        await client.closed
        assert "url" not in client.states[listed["resource"]]


async def test_a_canvas_that_nobody_looks_at_keeps_its_page_and_is_found_again() -> None:
    async with studio() as at:
        await at.tell("open")
        (uri,) = at.listed
        await at.rest()
        assert (await at.look(uri))["url"] == PAGE
        await at.tell("clear")
        await at.rest()
        assert at.host.core.directory.get(uri) is None
        assert (await at.look(uri))["title"] == "Preview"
        # It is the same one for its agent, too.
        await at.rest()
        await at.tell("status back")
        assert (await at.look(uri))["status"] == "back"


async def test_canvases_go_with_their_chat_and_do_not_come_back_from_the_trash() -> None:
    async with studio() as at:
        await at.tell("open")
        (uri,) = at.listed
        await at.client.request("disposeSession", channel=SESSION)
        assert (await at.client.refusal("subscribe", channel=uri)).code == -32008
        await at.client.request("agenthost/restoreSession", channel=SESSION)
        assert "canvases" not in await at.client.subscribe(at.chat)
        await at.tell("open")
        (other,) = at.listed
        assert other != uri


async def test_clients_look_and_change_nothing() -> None:
    async with studio() as at:
        await at.tell("open")
        uri, state = await at.follow()
        async with open_client(at.url, "stranger", NEWEST) as stranger:
            # One who follows neither session nor chat, as with every other channel.
            await stranger.initialize()
            assert await stranger.subscribe(uri) == state
            action = {"type": "canvas/stateChanged", "canvas": {**state, "url": "http://evil/"}}
            assert await stranger.rejected(uri, action)
            listed = {"type": "chat/canvasesChanged", "canvases": []}
            assert await stranger.rejected(at.chat, listed)
            assert (await stranger.refusal("subscribe", channel="ahp-canvas:/none")).code == -32008
        assert await at.client.fresh(uri) == state
        assert at.listed == [uri]


async def test_older_clients_know_of_no_canvases() -> None:
    async with studio() as at:
        async with open_client(at.url, "older", "0.9.0") as older:
            await older.initialize("ahp-root://", at.chat)
            await at.tell("open")
            (uri,) = at.listed
            await older.turn_end(at.chat, "t1")
            assert "canvases" not in older.states[at.chat]
            assert "canvases" not in await older.fresh(at.chat)
            assert (await older.refusal("subscribe", channel=uri)).code == -32008
            action = {"type": "canvas/stateChanged", "canvas": {}}
            assert await older.rejected(uri, action) == "there is no such channel"
            older.abort()
        async with open_client(at.url, "older", "0.9.0") as back:
            result = await back.reconnect(older.last_seen, at.chat, uri)
            assert result["missing"] == [uri]


async def test_one_who_was_away_gets_the_canvas_as_it_is_now() -> None:
    async with studio() as at:
        await at.tell("open")
        (uri,) = at.listed
        async with open_client(at.url, "away", NEWEST) as former:
            await former.initialize(at.chat, uri)
            former.abort()
        await at.tell("status changed meanwhile")
        async with open_client(at.url, "away", NEWEST) as back:
            await back.reconnect(former.last_seen, at.chat, uri)
            assert back.states[uri]["status"] == "changed meanwhile"
            assert back.states[uri]["url"] == PAGE
