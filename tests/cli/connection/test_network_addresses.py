"""At which addresses a host that listens can be reached."""

from __future__ import annotations

import socket

import pytest

from agenthost.cli.connection import network_addresses
from agenthost.cli.connection.network_addresses import reachable_addresses


def test_a_host_on_one_address_is_reached_there() -> None:
    assert reachable_addresses("127.0.0.1:80") == ["127.0.0.1:80"]
    assert reachable_addresses("[::1]:80") == ["[::1]:80"]


def test_who_listens_everywhere_is_reached_at_real_addresses() -> None:
    for everywhere, here in (("0.0.0.0:80", "127.0.0.1:80"), ("[::]:80", "[::1]:80")):
        first, *others = reachable_addresses(everywhere)
        assert first == here
        for other in others:
            assert other not in (everywhere, here)
            assert other.endswith(":80")


def test_every_interface_counts_once_and_the_way_out_comes_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = {
        socket.AF_INET: ["127.0.0.1", "10.8.0.2", "169.254.3.4", "192.168.1.5"],
        socket.AF_INET6: ["::1", "fe80::1", "2001:db8::5"],
    }
    monkeypatch.setattr(network_addresses, "_interface_addresses", found.__getitem__)
    monkeypatch.setattr(network_addresses, "_outward", lambda family: "192.168.1.5")
    reached = ["127.0.0.1:80", "192.168.1.5:80", "10.8.0.2:80"]
    assert reachable_addresses("0.0.0.0:80") == reached
    monkeypatch.setattr(network_addresses, "_outward", lambda family: None)
    # An address of the link alone is one only together with the name of an interface.
    assert reachable_addresses("[::]:80") == ["[::1]:80", "[2001:db8::5]:80"]
