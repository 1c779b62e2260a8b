"""Addresses of every kind, and the host that nobody named."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from agenthost.client import (
    CannotConnect,
    HostPlace,
    NoHost,
    Reconnecting,
    connect,
    dial,
    endpoint,
)
from agenthost.client.link.addresses import full_address
from agenthost.host import Host
from agenthost.host.trust import Gate, HostTokens
from agenthost.local_host import announce
from agenthost.tokens import load_or_create_owner_token
from agenthost.transport import Transport

FOREVER = 60


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AGENTHOST_URL", "AGENTHOST_TOKEN", "AGENTHOST_TLS_CA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AGENTHOST_DATA_DIR", str(tmp_path))


@pytest_asyncio.fixture
async def host(tmp_path: Path) -> AsyncIterator[str]:
    """A host that lets in the owner of a data directory, not announced yet; its address."""
    secret = load_or_create_owner_token(tmp_path / "token")
    async with asyncio.timeout(FOREVER), Host() as running:
        yield await running.listen(port=0, gate=Gate(HostTokens(secret)))


@pytest.mark.parametrize(
    ("address", "full"),
    [
        ("box:1", "ws://box:1/"),
        ("http://box", "ws://box/"),
        ("https://box/x", "wss://box/x"),
        ("wss://box", "wss://box/"),
        ("ssh://box", "ssh://box"),
        ("ssh://me@[::1]:22/srv/a%20b", "ssh://me@[::1]:22/srv/a%20b"),
    ],
)
def test_every_address_has_a_scheme_in_full(address: str, full: str) -> None:
    assert full_address(address) == full


@pytest.mark.parametrize(
    "address", ["", "ftp://h", "ssh://", "ssh://-oProxyCommand=x", "ssh://h?x"]
)
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(ValueError, match="not the address"):
        dial(address)


def test_a_token_does_not_go_with_ssh() -> None:
    with pytest.raises(ValueError, match="takes no token"):
        dial("ssh://box", "s3cret")


async def test_the_host_of_this_machine_needs_no_address(host: str, tmp_path: Path) -> None:
    with announce(tmp_path, host, tmp_path / "token"):
        async with connect() as client:
            assert client.root.state["agents"]
        async with connect(data_dir=tmp_path) as client:
            assert client.root.state["agents"]


async def test_the_environment_names_a_host(
    host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTHOST_URL", host)
    monkeypatch.setenv("AGENTHOST_TOKEN", (tmp_path / "token").read_text().strip())
    async with connect() as client:
        assert client.root.state["agents"]
    # A data directory says more plainly which one is meant.
    with pytest.raises(NoHost, match="no host is running"):
        async with connect(data_dir=tmp_path):
            pass


async def test_without_a_host_entering_says_what_to_start() -> None:
    with pytest.raises(NoHost, match="start one with `agenthost serve`"):
        async with connect():
            pass


async def test_a_host_that_is_waited_for_is_found_once_it_runs(host: str, tmp_path: Path) -> None:
    client = connect(wait=True, roll=lambda: 0.0)
    entering = asyncio.create_task(client.__aenter__())
    async for state in client.connection:
        if isinstance(state, Reconnecting):
            assert "no host is running" in state.reason
            break
    with announce(tmp_path, host, tmp_path / "token"):
        await entering
    assert client.root.state["agents"]
    await client.aclose()


def test_what_names_a_host_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="named already"):
        connect("box", data_dir=tmp_path)
    with pytest.raises(ValueError, match="has its own"):
        connect(endpoint(_nowhere), token="t")


async def test_a_certificate_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(CannotConnect, match=r"nothing\.pem cannot be read"):
        await dial("wss://127.0.0.1:1", tls_ca=tmp_path / "nothing.pem")()
    (tmp_path / "cert.pem").write_text("no certificate")
    with pytest.raises(CannotConnect, match="holds no certificate"):
        await _dialled(HostPlace("wss://127.0.0.1:1", None, tmp_path / "cert.pem"))


async def _dialled(place: HostPlace) -> Transport:
    async def find() -> HostPlace:
        return place

    return await endpoint(find)()


async def _nowhere() -> HostPlace:
    raise CannotConnect("nowhere")
