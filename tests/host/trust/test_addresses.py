from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenthost.host.trust.addresses import (
    Authority,
    Origin,
    is_ip,
    is_loopback,
    is_wildcard,
    peer_group,
)


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LOCALHOST",
        "localhost.",
        "127.0.0.1",
        "127.8.9.1",
        "::1",
        "[::1]",
        "0:0:0:0:0:0:0:1",
        "::ffff:127.0.0.1",
    ],
)
def test_loopback_is_recognised_in_every_spelling(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host",
    [
        "",
        "*",
        "0.0.0.0",
        "::",
        "192.168.1.5",
        "example.org",
        "localhost.example.org",
        "127.0.0.1.nip.io",
        "0x7f.1",
        "127.1",
        "::ffff:10.0.0.1",
        "evil-localhost",
        "a.localhost",
    ],
)
def test_nothing_else_is_loopback(host: str) -> None:
    assert not is_loopback(host)


def test_wildcards_are_those_that_mean_every_address() -> None:
    assert all(is_wildcard(host) for host in ("", "*", "0.0.0.0", "::", "[::]"))
    assert not any(is_wildcard(host) for host in ("127.0.0.1", "localhost", "10.0.0.1"))


def test_names_are_told_from_addresses() -> None:
    assert all(is_ip(host) for host in ("10.0.0.1", "::1", "fe80::1%eth0"))
    assert not any(is_ip(host) for host in ("localhost", "10.0.0.1.nip.io", "", "1.2.3"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("localhost:8765", Authority("localhost", 8765)),
        ("LocalHost.", Authority("localhost", None)),
        ("127.0.0.1:1", Authority("127.0.0.1", 1)),
        ("[::1]:8765", Authority("::1", 8765)),
        ("[0:0::1]", Authority("::1", None)),
        ("", None),
        ("a b", None),
        ("user@localhost", None),
        ("localhost:", None),
        ("localhost:x", None),
        ("localhost:123456", None),
        ("localhost/path", None),
        ("::1", None),
        ("a,b", None),
        ("localhost\n", None),
    ],
)
def test_a_host_header_is_read_strictly(text: str, expected: Authority | None) -> None:
    assert Authority.parse(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "localhost",
        "http://",
        "http:///x",
        "http://a/",
        "http://a/b",
        "http://a?b",
        "http://a#b",
        "http://u@a",
        "http://a b",
        "://a",
        "http://a\n",
        "1http://a",
    ],
)
def test_what_is_no_origin_is_none(text: str) -> None:
    assert Origin.parse(text) is None


def test_an_origin_has_an_authority_with_its_schemes_own_port() -> None:
    def authority(text: str) -> Authority | None:
        origin = Origin.parse(text)
        assert origin is not None
        return origin.authority

    assert authority("http://Localhost") == Authority("localhost", 80)
    assert authority("HTTPS://example.org") == Authority("example.org", 443)
    assert authority("http://[::1]:8765") == Authority("::1", 8765)
    assert authority("vscode-webview://abc") is None
    assert authority("http://a,b") is None


@given(st.text(max_size=40))
def test_no_header_whatever_it_holds_raises(text: str) -> None:
    Authority.parse(text)
    origin = Origin.parse(text)
    assert origin is None or origin.authority is None or origin.authority.port is not None
    is_loopback(text)
    is_wildcard(text)
    peer_group(text)


def test_failures_are_counted_per_ipv4_address_and_per_ipv6_network() -> None:
    assert peer_group("10.0.0.1") != peer_group("10.0.0.2")
    assert peer_group("2001:db8::1") == peer_group("2001:db8::ffff:1")
    assert peer_group("2001:db8::1") != peer_group("2001:db8:0:1::1")
    assert peer_group("::ffff:10.0.0.1") == peer_group("10.0.0.1")
    assert peer_group("") == ""
