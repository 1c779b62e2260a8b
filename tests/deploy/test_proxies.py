"""A host behind Caddy and nginx: the page and chats come through, and no token is logged."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
import pytest_asyncio

from tests.cli.running import Cli, serving
from tests.deploy.proxying import PROXIES, Proxy, free_port
from tests.wire.client import ROOT, open_client

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def cli(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Cli]:
    async with serving(tmp_path_factory.mktemp("deploy"), "--agent", "demo") as running:
        yield running


@pytest_asyncio.fixture(loop_scope="module", scope="module", params=PROXIES)
async def proxy(
    request: pytest.FixtureRequest, cli: Cli, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Proxy]:
    folder = tmp_path_factory.mktemp("proxy")
    async with request.param(folder, cli.host.address) as running:
        yield running


def fetch(url: str, **headers: str) -> tuple[int, str]:
    with urlopen(Request(url, headers=headers), timeout=60) as answer:
        return answer.status, answer.headers.get_content_type()


async def test_the_page_and_the_health_come_through(proxy: Proxy, cli: Cli) -> None:
    assert await asyncio.to_thread(fetch, f"http://{proxy.address}/") == (200, "text/html")
    status, _ = await asyncio.to_thread(fetch, f"http://{proxy.address}/healthz")
    assert status == 200


async def test_a_chat_streams_through_and_no_token_is_logged(proxy: Proxy, cli: Cli) -> None:
    token = cli.host.token
    done = await cli("send", "--url", f"http://{proxy.address}", "--token", token, "hello")
    assert (done.code, "hello" in done.out.lower()) == (0, True)
    # By the query, as browsers and people do.
    async with open_client(f"ws://{proxy.address}/?tkn={token}", "behind") as client:
        await client.initialize(ROOT)
        assert client.states[ROOT]["agents"]
    # By a header, and by where a page came from.
    headers = {"Authorization": f"Bearer {token}", "Referer": f"http://x/?tkn={token}"}
    metrics = f"http://{proxy.address}/metrics"
    assert (await asyncio.to_thread(fetch, metrics, **headers))[0] == 200
    assert token not in await proxy.logged("/metrics")


@pytest.mark.parametrize("run", PROXIES)
async def test_no_token_is_logged_while_the_host_is_down(
    tmp_path: Path, run: Callable[..., Any]
) -> None:
    headers = {"Authorization": "Bearer hidden1", "Referer": "http://x/?tkn=hidden2"}
    async with run(tmp_path, f"127.0.0.1:{free_port()}") as proxy:
        url = f"http://{proxy.address}/chat?tkn=hidden3"
        with pytest.raises(HTTPError, match="502"):
            await asyncio.to_thread(fetch, url, **headers)
        assert "hidden" not in await proxy.logged("/chat")


async def test_a_page_of_the_proxy_s_own_address_may_connect(proxy: Proxy, cli: Cli) -> None:
    url = f"ws://{proxy.address}/?tkn={cli.host.token}"
    async with open_client(url, "page", origin=f"http://{proxy.address}") as client:
        await client.initialize(ROOT)
