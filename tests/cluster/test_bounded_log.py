"""A realm in use keeps a log of bounded length, whoever owns what nobody uses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from agenthost.agents.demo import Demo
from agenthost.cluster import node as node_module
from agenthost.cluster.copy import LocalCopy, bases, local_copy
from agenthost.cluster.node import ClusterNode
from agenthost.cluster.owner.host import OwnerHost
from agenthost.cluster.realm import RealmAddress, RealmLink
from agenthost.cluster.realm.stream import RealmStream
from agenthost.cluster.units import unit_token
from agenthost.host.channels.session.kind import SESSION
from agenthost.host.trust import Role
from agenthost.host.trust.principals import Starter
from tests.cluster.servers import Road, one_server, realm_link, until
from tests.wire.client import ROOT, WireClient, open_client

pytestmark = pytest.mark.timeout(240)
ME = Starter("me", client_id="c")
BUSY = "ahp-session:/busy"
KEPT, EVERY, IDLE = 40, 40, 5
PATIENCE = 60.0


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bases, "KEPT_MESSAGES", KEPT)
    monkeypatch.setattr(bases, "KEPT_SECONDS", -1.0)
    monkeypatch.setattr(bases, "BASE_EVERY", EVERY)
    monkeypatch.setattr(local_copy, "STALE_PER_UNIT", 1)
    monkeypatch.setattr(local_copy, "MARK_SECONDS", 0.1)
    monkeypatch.setattr(node_module, "_UPKEEP_SECONDS", 0.1)


@asynccontextmanager
async def running(address: RealmAddress, folder: Path, name: str) -> AsyncIterator[ClusterNode]:
    node = ClusterNode(address, folder / name, name, agents=[Demo()])
    async with node:
        await until(lambda: node.owner is not None)
        yield node


def owner_of(node: ClusterNode) -> OwnerHost:
    assert node.owner is not None
    return node.owner


async def made(node: ClusterNode, session: str) -> str:
    params = {"channel": session, "_meta": {"agenthost.keep": True}}
    core = owner_of(node).core
    await core.sessions.create(params, ME, Role.OWNER)
    await core.writer.ledger.settle()
    return session


async def many(node: ClusterNode, of: str) -> list[str]:
    return [await made(node, f"ahp-session:/{of}-{number}") for number in range(IDLE)]


async def use(node: ClusterNode, session: str, times: int) -> None:
    core = owner_of(node).core
    channel = await core.directory.find(session, SESSION)
    assert channel is not None
    for number in range(times):
        core.writer.apply(channel, {"type": "session/titleChanged", "title": f"title {number}"})
        await core.writer.ledger.settle()


async def use_until_cut(node: ClusterNode, link: RealmLink) -> None:
    """Have so much happen that nothing of what is there now is in the log any more."""
    begun = await link.stream_state()
    async with asyncio.timeout(120):
        while (await link.stream_state()).first <= begun.last:
            await use(node, BUSY, 20)


async def copied(link: RealmLink, folder: Path) -> set[str]:
    """Bring a copy up to date, and return the sessions that it has."""
    assert link.info is not None
    async with LocalCopy(folder, link, link.info) as copy, asyncio.timeout(60):
        await copy.caught_up()
        return {session for session, _ in (await copy.store.page_sessions(100)).items}


async def test_what_nobody_uses_does_not_keep_the_log_from_being_cut(tmp_path: Path) -> None:
    async with one_server(tmp_path) as servers, realm_link(servers) as link, AsyncExitStack() as up:
        node = await up.enter_async_context(running(servers.address, tmp_path, "stays"))
        units = await many(node, "held")
        for unit in await many(node, "nobodys"):
            units.append(unit)
            await owner_of(node).give_up(unit, None, wait=0)
        async with running(servers.address, tmp_path, "dies") as other:
            units += await many(other, "dead")
        async with running(servers.address, tmp_path, "restarts") as other:
            units += await many(other, "unheld")
        restarted = await up.enter_async_context(running(servers.address, tmp_path, "restarts"))
        await made(node, BUSY)
        assert await copied(link, tmp_path / "away") == {BUSY, *units}
        await use_until_cut(node, link)
        now = await link.stream_state()
        # What is kept, until a base is due, until what is stale is renewed: and not all there was.
        assert now.messages < 6 * (KEPT + EVERY)

        # Who was away for longer than the log goes back takes a base, as one who is new does.
        for folder in ("away", "new"):
            assert await copied(link, tmp_path / folder) == {BUSY, *units}
        # No unit is without a message, and with that without a fence; and each can be used.
        for unit in units:
            last, _ = await RealmStream(link).last_of(link.subject(f"log.{unit_token(unit)}"))
            assert last >= now.first
            user = restarted if "unheld" in unit else node
            assert await owner_of(user).own(unit)
            await use(user, unit, 1)


@asynccontextmanager
async def come_back(url: str, former: WireClient) -> AsyncIterator[WireClient]:
    """Connect again, as clients do: until somebody answers."""
    async with AsyncExitStack() as stack:
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    opening = open_client(url, former.client_id, former.version)
                    client = await stack.enter_async_context(opening)
                    break
                except OSError:
                    await asyncio.sleep(0.05)
        await client.resume(former)
        yield client


async def test_a_node_that_was_away_for_longer_than_the_log_goes_back_begins_anew(
    tmp_path: Path,
) -> None:
    mine = "ahp-session:/mine"
    async with (
        one_server(tmp_path) as servers,
        realm_link(servers) as link,
        running(servers.address, tmp_path, "stays") as node,
        Road(servers[0]) as road,
        running(road.address, tmp_path, "away") as away,
    ):
        url = await away.listen(port=0)
        serving = asyncio.create_task(away.serve_forever())
        await made(node, BUSY)
        await made(away, mine)
        async with open_client(url, "c", "1.0.0") as client:
            await client.initialize(ROOT)
            for session in (BUSY, mine):
                await client.subscribe(session)
            road.cut()
            await use_until_cut(node, link)
            await use(node, BUSY, 7)
            await road.open()
            # Whoever is there comes back, to the same address, and has missed nothing.
            await client.end()
        async with come_back(url, client) as client:
            assert client.states[BUSY]["title"] == "title 6"
            for session in (BUSY, mine):
                await client.accepted(session, {"type": "session/titleChanged", "title": "new"})
                assert (await client.fresh(session))["title"] == "new"
        assert not serving.done()
        serving.cancel()
