"""Links that break, owners that do not answer, clients that flood: nobody waits for ever."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from agenthost.cluster.front import forwarding, ledger, owner_peer, pending
from agenthost.cluster.front.pending import NOBODY, PendingActions
from agenthost.host.store import Append
from agenthost.host.trust import LOCAL_OWNER
from agenthost.protocol import SUPPORTED_VERSIONS
from agenthost.protocol.versions import NEWEST
from agenthost.transport import TransportClosed, memory_pair
from tests.cluster.forwarding.bed import Bed, bed, until
from tests.cluster.front.feeding import Stream
from tests.host.test_embedding import MemoryClient
from tests.wire.client import ROOT, open_client
from tests.wire.mirrors import assert_mirrors

SESSION = "ahp-session:/s"
OLDEST = SUPPORTED_VERSIONS[-1]


async def test_what_a_broken_link_leaves_unanswered_is_done_once(tmp_path: Path) -> None:
    async with bed(tmp_path) as realm, realm.client("ann", ROOT) as ann:
        chat = await ann.ready_session(SESSION)
        await ann.subscribe(chat)
        sent = []
        for number in range(40):
            title = {"type": "session/titleChanged", "title": f"title {number}"}
            sent.append(await ann.dispatch(SESSION, title))
            if number % 7 == 3:
                await realm.break_links()
        last = sent[-1]
        await ann.envelope(
            SESSION, lambda each: (each.get("origin") or {}).get("clientSeq") == last
        )
        await until(lambda: not len(realm.forwarding.pending))
        entries = [
            write.origin
            for message in realm.stream.messages
            for _, write in message.writes
            if isinstance(write, Append) and b"session/titleChanged" in write.action
        ]
        numbers = [origin for origin in entries if origin is not None]
        assert len(numbers) == len(set(numbers)) == 40
        await assert_mirrors(ann)


async def test_a_session_that_is_made_while_its_link_breaks_is_there_once_and_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = owner_peer.OwnerPeer.request
    lost: list[str] = []

    async def lose(peer: owner_peer.OwnerPeer, method: str, *rest: Any) -> Any:
        answered = await answer(peer, method, *rest)
        if method == "createSession" and not lost:
            # It was done, and the one who did it is lost before it can say so.
            lost.append(method)
            raise owner_peer.LinkBroken("the machine was lost")
        return answered

    monkeypatch.setattr(owner_peer.OwnerPeer, "request", lose)
    async with bed(tmp_path) as realm, realm.client("ann", ROOT) as ann:
        await ann.ready_session(SESSION)
        assert lost
        listed = await ann.request("listSessions", channel=ROOT)
        assert [item["resource"] for item in listed["items"]] == [SESSION]


async def test_without_an_owner_actions_are_refused_in_time_and_pings_go_on(
    tmp_path: Path,
) -> None:
    short = PendingActions(owner_seconds=0.5, answer_seconds=1.0)
    async with bed(tmp_path, short) as realm, realm.client("ann", ROOT) as ann:
        chat = await ann.ready_session(SESSION)
        await ann.subscribe(chat)
        realm.nodes.is_alive = False
        await realm.break_links()
        title = {"type": "session/titleChanged", "title": "nobody hears"}
        async with realm.client("bob", ROOT) as bob:
            refused = asyncio.create_task(ann.rejected(SESSION, title))
            await bob.ping()
            assert await refused == NOBODY
            # Who is back takes it as if nothing had been.
            realm.nodes.is_alive = True
            await ann.accepted(SESSION, title)


async def test_a_flood_is_slowed_down_and_every_action_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pending, "MOST_PENDING", 16)
    short = PendingActions(owner_seconds=0.2, answer_seconds=0.4)
    async with bed(tmp_path, short) as realm, realm.client("ann", ROOT) as ann:
        await ann.ready_session(SESSION)
        realm.nodes.is_alive = False
        await realm.break_links()
        most = 0
        seqs = []
        for number in range(100):
            title = {"type": "session/titleChanged", "title": f"title {number}"}
            seqs.append(await ann.dispatch(SESSION, title))
        async with realm.client("bob", ROOT) as bob:
            for _ in range(20):
                most = max(most, len(realm.forwarding.pending))
                await bob.ping()
        for seq in seqs:
            told = await ann.envelope(SESSION, partial(_answers, seq))
            assert told["rejectionReason"] == NOBODY
        assert 0 < most <= 16
        assert len(realm.forwarding.pending) == 0


async def test_an_owner_that_never_answers_costs_its_asker_an_error_and_others_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner_peer, "OPEN_SECONDS", 0.3)
    monkeypatch.setattr(forwarding, "REACH_SECONDS", 1.0)
    async with bed(tmp_path) as realm, realm.client("ann", ROOT) as ann:
        realm.answers = False
        asked = asyncio.create_task(ann.refusal("createSession", channel=SESSION))
        async with realm.client("bob", ROOT) as bob:
            await bob.ping()
            failure = await asked
            assert failure.code == -32011
            assert failure.message
            realm.answers = True
            await bob.ready_session(SESSION)
            await ann.subscribe(SESSION)


async def test_an_owner_that_dies_while_it_works_is_told_of(tmp_path: Path) -> None:
    async with bed(tmp_path) as realm, realm.client("ann", ROOT) as ann:
        await ann.ready_session(SESSION)
        peers = list(realm.links)
        assert peers
        lock = realm.owner.core.large_frames
        async with lock:
            # Large frames wait for the lock, so this request is under way when the link breaks.
            data = "x" * 300_000
            write = {"uri": (tmp_path / "big").as_uri(), "data": data, "encoding": "utf-8"}
            asked = asyncio.create_task(ann.refusal("resourceWrite", channel=ROOT, **write))
            await asyncio.sleep(0.3)
            await realm.break_links()
        failure = await asked
        assert "look whether it was done" in failure.message
        await ann.ping()


async def test_a_client_that_leaves_takes_its_links_and_actions_with_it(tmp_path: Path) -> None:
    async with bed(tmp_path) as realm:
        async with realm.client("ann", ROOT) as ann:
            await ann.ready_session(SESSION)
            realm.nodes.is_alive = False
            await realm.break_links()
            await ann.dispatch(SESSION, {"type": "session/titleChanged", "title": "late"})
            await until(lambda: len(realm.forwarding.pending) > 0)
        await until(lambda: not len(realm.forwarding.pending) and not realm.forwarding._links)


def _answers(seq: int, envelope: dict[str, Any]) -> bool:
    return (envelope.get("origin") or {}).get("clientSeq") == seq


async def test_what_was_done_after_its_client_came_back_is_known_when_it_is_sent_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger, "CATCH_UP_SECONDS", 0.01)
    async with bed(tmp_path) as realm, AsyncExitStack() as stack:
        former = await stack.enter_async_context(realm.client("ann", ROOT, version=OLDEST))
        chat = await former.ready_session(SESSION)
        await former.subscribe(chat)
        realm.copy.follows = False
        start = former.turn_started("t1", "/slow")
        seq = await former.dispatch(chat, start)
        await until(lambda: len(_started(realm.stream)) == 1)
        former.abort()
        ann = await stack.enter_async_context(open_client(realm.url, "ann", OLDEST))
        await ann.resume(former)
        realm.copy.follows = True
        realm.copy.follow()

        def answers() -> list[Any]:
            seen = ann.envelopes.get(chat, [])
            return [each for each in seen if (each.get("origin") or {}).get("clientSeq") == seq]

        await until(lambda: len(answers()) == 1)
        # It was on its way before the client heard.
        params = {"channel": chat, "clientSeq": seq, "action": start}
        await ann.send({"method": "dispatchAction", "params": params})
        await until(lambda: len(answers()) == 2)
        reasons = [each.get("rejectionReason") for each in answers()]
        assert reasons == [None, "this was done already, before the connection was lost"]
        assert len(_started(realm.stream)) == 1


def _started(stream: Stream) -> list[Append]:
    writes = (write for message in stream.messages for _, write in message.writes)
    return [w for w in writes if isinstance(w, Append) and b'"chat/turnStarted"' in w.action]


async def test_a_node_that_a_client_has_left_cannot_take_it_away_from_the_one_it_is_at(
    tmp_path: Path,
) -> None:
    async with bed(tmp_path) as realm, realm.client("ann", ROOT) as ann:
        await ann.ready_session(SESSION)
        [now] = [each for each in realm.owner.connections if each.client_id == "ann"]
        # A link of the node before, on its way for longer than the one that came behind it.
        async with link_of(realm, "ann", now.arrival - 1) as late:
            assert "superseded" in (await ended(late)).reason
        await ann.ready_session(f"{SESSION}2")
        # And the next node takes over from this one.
        async with link_of(realm, "ann", now.arrival + 1) as next_one:
            assert "superseded" in (await ann.end())[1]
            await next_one.request("ping")


@asynccontextmanager
async def link_of(realm: Bed, client_id: str, arrival: int) -> AsyncIterator[MemoryClient]:
    """Open a link to the owner as a node does for its client."""
    near, far = memory_pair()
    serving = asyncio.create_task(realm.owner.serve(far, LOCAL_OWNER, hears_logs_elsewhere=True))
    client = MemoryClient(near)
    asked = {"protocolVersions": [NEWEST], "clientId": client_id, "_arrival": arrival}
    client.send(id=0, method="initialize", params={"channel": ROOT, **asked})
    try:
        yield client
    finally:
        await near.close()
        await serving


async def ended(client: MemoryClient) -> TransportClosed:
    try:
        while True:
            await client.receive()
    except TransportClosed as closed:
        return closed
