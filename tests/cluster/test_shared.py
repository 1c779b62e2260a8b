"""What people made at one node and need at every other: named tokens, and pushes."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from agenthost.cluster.node import ClusterNode
from agenthost.host.push.book import PUSH_FILE, PushSubscription
from agenthost.tokens import BOOK_FILE
from tests.cluster.servers import Servers, one_server
from tests.wire.client import WireClient, open_client
from tests.wire.hosting import ServedHost

pytestmark = pytest.mark.timeout(300)

PATIENCE = 60.0


@pytest.fixture
async def servers(tmp_path: Path) -> AsyncIterator[Servers]:
    (tmp_path / "nats").mkdir()
    async with one_server(tmp_path / "nats") as started:
        yield started


async def until(holds: Callable[[], Any]) -> None:
    """Wait until something is so."""
    async with asyncio.timeout(PATIENCE):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


def node(servers: Servers, folder: Path, name: str) -> ServedHost:
    return ServedHost(
        folder / name, "--cluster", servers.urls[0], "--node", name, "--root", str(folder),
        "--drain-seconds", "1",
    )  # fmt: skip


def agenthost(*words: str | Path) -> str:
    command = [sys.executable, "-m", "agenthost.cli.main", *map(str, words)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


async def lets_in(host: ServedHost, secret: str) -> bool:
    try:
        async with connect(f"ws://{host.address}/?tkn={secret}"):
            return True
    except InvalidStatus:
        return False


async def until_let_in(host: ServedHost, secret: str, *, expected: bool = True) -> None:
    async with asyncio.timeout(PATIENCE):
        while await lets_in(host, secret) is not expected:  # noqa: ASYNC110
            await asyncio.sleep(0.05)


def assert_nowhere(folder: Path, *secrets: str) -> None:
    """Check that no file has them: neither a node's nor the server's."""
    for file in folder.rglob("*"):
        if file.is_file():
            held = file.read_bytes()
            assert not any(secret.encode() in held for secret in secrets), file


async def test_a_token_of_one_node_is_good_at_every_other_until_it_is_revoked_at_any(
    servers: Servers, tmp_path: Path
) -> None:
    a, b = (node(servers, tmp_path, name) for name in "ab")
    try:
        await a.start()
        ann = agenthost("token", "create", "ann", "--data-dir", a.data_dir)
        # Also at one that joins later.
        await b.start()
        assert await lets_in(b, ann)
        async with open_client(b.url, "owner") as owner:
            await owner.initialize()
            bob = (await owner.request("agenthost/createToken", name="bob", role="operator"))[
                "secret"
            ]
            await until_let_in(a, bob)
            listed = (await owner.request("agenthost/listTokens"))["items"]
            assert [token["name"] for token in listed] == ["ann", "bob"]
            # Whoever is connected elsewhere is sent away, too.
            async with connect(f"ws://{a.address}/?tkn={bob}") as socket:
                away = WireClient(socket, "bob's", "1.0.0")
                await away.initialize()
                await owner.request("agenthost/revokeToken", name="bob")
                _, reason = await asyncio.wait_for(away.closed, PATIENCE)
                assert "revoked" in reason
            assert not await lets_in(a, bob)
        # One that was away hears of it when it comes back, and tells what was done there meanwhile.
        await b.stop()
        agenthost("token", "revoke", "ann", "--data-dir", a.data_dir)
        cid = agenthost("token", "create", "cid", "--data-dir", b.data_dir)
        await until_let_in(a, ann, expected=False)
        await b.start()
        assert not await lets_in(b, ann)
        await until_let_in(a, cid)
        assert_nowhere(tmp_path, ann, bob, cid)
    finally:
        for host in (a, b):
            if host.running:
                await host.kill()


async def test_browsers_that_one_node_pushes_to_are_known_to_all_under_one_key(
    servers: Servers, tmp_path: Path
) -> None:
    def make(name: str) -> ClusterNode:
        folder = tmp_path / name
        return ClusterNode(servers.address, folder, name, push_file=folder / PUSH_FILE)

    def browser(name: str) -> PushSubscription:
        return PushSubscription("ann", "d", f"https://push.example/{name}", "p", "a", ("x",), True)

    async with AsyncExitStack() as stack:
        a = await stack.enter_async_context(make("a"))
        b = await stack.enter_async_context(make("b"))
        books = [each.front.core.push_book for each in (a, b)]
        key = await books[0].public_key()
        assert key is not None
        assert await books[1].public_key() == key
        await books[0].add(browser("phone"))
        await until(lambda: books[1].subscriptions == (browser("phone"),))
        await books[1].add(browser("desk"))
        await until(lambda: len(books[0].subscriptions) == 2)
        await books[1].remove(browser("phone").endpoint)
        await until(lambda: books[0].subscriptions == (browser("desk"),))
        # Each sees all that happens, and one of them tells.
        watches: list[Any] = [each.front.core.catalogue.observer for each in (a, b)]
        await until(lambda: [each.sends() for each in watches].count(True) == 1)
        c = await stack.enter_async_context(make("c"))
        await until(lambda: c.front.core.push_book.subscriptions == (browser("desk"),))
        assert await c.front.core.push_book.public_key() == key
    assert not (tmp_path / "a" / BOOK_FILE).exists()
