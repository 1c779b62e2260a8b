"""Sockets for a name and one port."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from agenthost.host.transports import CannotListen
from agenthost.host.transports.listening_sockets import listen


@contextlib.contextmanager
def closing(sockets: list[socket.socket]) -> Iterator[list[socket.socket]]:
    try:
        yield sockets
    finally:
        for sock in sockets:
            sock.close()


def resolve_to(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    """Let every name have these addresses."""

    async def getaddrinfo(*args: Any, **kwargs: Any) -> list[Any]:
        families = {True: socket.AF_INET6, False: socket.AF_INET}
        return [
            (families[":" in a], socket.SOCK_STREAM, 6, "", (a, 0, 0, 0) if ":" in a else (a, 0))
            for a in addresses
        ]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)


async def test_a_free_port_is_picked_and_is_the_same_on_every_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    resolve_to(monkeypatch, "127.0.0.1", "127.0.0.2", "127.0.0.1")
    with closing(await listen("some.name", 0)) as sockets:
        names = [sock.getsockname() for sock in sockets]
    assert [address for address, _ in names] == ["127.0.0.1", "127.0.0.2"]
    assert len({port for _, port in names}) == 1
    assert names[0][1] != 0


async def test_an_address_that_this_machine_lacks_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    resolve_to(monkeypatch, "192.0.2.1", "127.0.0.1")
    with closing(await listen("some.name", 0)) as sockets:
        assert [sock.getsockname()[0] for sock in sockets] == ["127.0.0.1"]


async def test_a_name_without_any_address_of_this_machine_cannot_be_listened_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    resolve_to(monkeypatch, "192.0.2.1")
    with pytest.raises(CannotListen, match=r"some\.name"):
        await listen("some.name", 0)


async def test_a_port_in_use_cannot_be_listened_on() -> None:
    with closing(await listen("127.0.0.1", 0)) as (taken,):
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(CannotListen, match=str(port)):
            await listen("127.0.0.1", port)


async def test_an_unknown_name_cannot_be_listened_on(monkeypatch: pytest.MonkeyPatch) -> None:
    async def getaddrinfo(*args: Any, **kwargs: Any) -> list[Any]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)
    with pytest.raises(CannotListen, match="not known"):
        await listen("no.such.name", 0)
