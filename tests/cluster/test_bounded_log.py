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
from agenthost.cluster.realm import RealmLink
from agenthost.cluster.realm.stream import RealmStream
from agenthost.cluster.units import unit_token
from agenthost.host.channels.session.kind import SESSION
from agenthost.host.trust import Role
from agenthost.host.trust.principals import Starter
from tests.cluster.servers import Servers, one_server, realm_link, until

pytestmark = pytest.mark.timeout(240)
ME = Starter("me", client_id="c")
BUSY = "ahp-session:/busy"
KEPT, EVERY, IDLE = 40, 40, 5


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bases, "KEPT_MESSAGES", KEPT)
    monkeypatch.setattr(bases, "KEPT_SECONDS", -1.0)
    monkeypatch.setattr(bases, "BASE_EVERY", EVERY)
    monkeypatch.setattr(local_copy, "STALE_PER_UNIT", 1)
    monkeypatch.setattr(local_copy, "MARK_SECONDS", 0.1)
    monkeypatch.setattr(node_module, "_UPKEEP_SECONDS", 0.1)


@asynccontextmanager
async def running(servers: Servers, folder: Path, name: str) -> AsyncIterator[ClusterNode]:
    node = ClusterNode(servers.address, folder / name, name, agents=[Demo()])
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


async def copied(link: RealmLink, folder: Path) -> set[str]:
    """Bring a copy up to date, and return the sessions that it has."""
    assert link.info is not None
    async with LocalCopy(folder, link, link.info) as copy, asyncio.timeout(60):
        await copy.caught_up()
        return {session for session, _ in (await copy.store.page_sessions(100)).items}


async def test_what_nobody_uses_does_not_keep_the_log_from_being_cut(tmp_path: Path) -> None:
    async with one_server(tmp_path) as servers, realm_link(servers) as link, AsyncExitStack() as up:
        node = await up.enter_async_context(running(servers, tmp_path, "stays"))
        units = await many(node, "held")
        for unit in await many(node, "nobodys"):
            units.append(unit)
            await owner_of(node).give_up(unit, None, wait=0)
        async with running(servers, tmp_path, "dies") as other:
            units += await many(other, "dead")
        async with running(servers, tmp_path, "restarts") as other:
            units += await many(other, "unheld")
        restarted = await up.enter_async_context(running(servers, tmp_path, "restarts"))
        await made(node, BUSY)
        assert await copied(link, tmp_path / "away") == {BUSY, *units}
        begun = await link.stream_state()

        async with asyncio.timeout(120):
            while (await link.stream_state()).first <= begun.last:
                await use(node, BUSY, 20)
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
