"""Owners make, list and revoke named tokens from their clients; nobody else does."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agenthost.host import Gate, Host
from agenthost.host import host as host_module
from agenthost.host.trust import HostTokens
from agenthost.tokens import BOOK_FILE, Role, TokenBook
from tests.wire.client import WireClient, open_client
from tests.wire.hosting import embed

OWNER_SECRET = "the-owners-token-of-this-test-host"
INVALID, INTERNAL, NOT_FOUND, DENIED, EXISTS = -32602, -32603, -32008, -32009, -32010


class Site:
    """A host with a book of tokens in a folder, and clients that come in by a secret."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        self.folder = folder
        self.book = TokenBook(folder / BOOK_FILE)

    @asynccontextmanager
    async def client(
        self, secret: str = OWNER_SECRET, name: str = "c"
    ) -> AsyncIterator[WireClient]:
        async with open_client(f"{self.url}/?tkn={secret}", name) as client:
            await client.initialize()
            yield client


@asynccontextmanager
async def opened(folder: Path, **options: Any) -> AsyncIterator[Site]:
    async with Host(token_book=TokenBook(folder / BOOK_FILE), **options) as host:
        tokens = HostTokens(OWNER_SECRET, TokenBook(folder / BOOK_FILE))
        yield Site(await host.listen(port=0, gate=Gate(tokens)), folder)


async def test_a_token_is_made_listed_used_and_revoked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_module, "TOKEN_CHECK_INTERVAL", 0.05)
    async with opened(tmp_path) as site, site.client() as owner:
        made = await owner.request(
            "agenthost/createToken",
            name="phone",
            role="operator",
            expires="2099-01-01T01:00:00+01:00",
        )
        entry = site.book.list()[0]
        assert (entry.name, entry.role) == ("phone", Role.OPERATOR)
        info = {
            "name": "phone",
            "role": "operator",
            "createdAt": entry.created.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "expiresAt": "2099-01-01T00:00:00Z",
            "expired": False,
        }
        assert made["token"] == info
        await owner.request("agenthost/createToken", name="wall", role="viewer")
        items = (await owner.request("agenthost/listTokens"))["items"]
        assert items[0] == info
        assert items[1].keys() == {"name", "role", "createdAt", "expired"}
        async with site.client(made["secret"], "phone") as phone:
            assert await owner.request("agenthost/revokeToken", name="PHONE") is None
            code, reason = await phone.closed
            assert (code, reason) == (1008, "the token was revoked or has expired")
        assert [e.name for e in site.book.list()] == ["wall"]
        assert (await owner.refusal("agenthost/revokeToken", name="phone")).code == NOT_FOUND


async def test_one_that_has_ended_is_listed_as_such(tmp_path: Path) -> None:
    async with opened(tmp_path) as site, site.client() as owner:
        book = site.folder / BOOK_FILE
        await owner.request(
            "agenthost/createToken", name="old", role="viewer", expires="2099-01-01T00:00:00Z"
        )
        book.write_text(book.read_text().replace("2099", "2020"))
        assert (await owner.request("agenthost/listTokens"))["items"][0]["expired"] is True


@pytest.mark.parametrize("role", ["operator", "viewer"])
async def test_only_owners_come_near_tokens(tmp_path: Path, role: str) -> None:
    async with opened(tmp_path) as site:
        secret = site.book.create("other", Role(role), expires=None, now=time.time()).secret
        async with site.client(secret) as other:
            for method, params in (
                ("createToken", {"name": "x", "role": "viewer"}),
                ("listTokens", {}),
                ("revokeToken", {"name": "other"}),
            ):
                assert (await other.refusal(f"agenthost/{method}", **params)).code == DENIED
        assert [entry.name for entry in site.book.list()] == ["other"]


@pytest.mark.parametrize(
    ("params", "path"),
    [
        ({"name": "a b", "role": "viewer"}, "name"),
        ({"name": "owner", "role": "viewer"}, "name"),
        ({"name": "", "role": "viewer"}, "name"),
        ({"name": "x", "role": "king"}, "role"),
        ({"name": "x", "role": "viewer", "expires": "30d"}, "expires"),
        ({"name": "x", "role": "viewer", "expires": "2020-01-01T00:00:00Z"}, "expires"),
        ({"name": "x", "role": "viewer", "expires": "0001-01-01T00:00:00+14:00"}, "expires"),
    ],
)
async def test_what_cannot_be_a_token_is_refused_by_its_field(
    tmp_path: Path, params: dict[str, str], path: str
) -> None:
    async with opened(tmp_path) as site, site.client() as owner:
        refused = await owner.refusal("agenthost/createToken", **params)
        assert (refused.code, refused.data) == (INVALID, {"path": path})
        assert not site.book.list()


async def test_a_name_is_taken_whatever_its_case(tmp_path: Path) -> None:
    async with opened(tmp_path) as site, site.client() as owner:
        await owner.request("agenthost/createToken", name="x", role="viewer")
        refused = await owner.refusal("agenthost/createToken", name="X", role="owner")
        assert refused.code == EXISTS
        assert "revoke it first" in refused.message


async def test_a_damaged_book_is_told_and_left_alone(tmp_path: Path) -> None:
    async with opened(tmp_path) as site, site.client() as owner:
        book = site.folder / BOOK_FILE
        book.write_text("{")
        book.chmod(0o600)
        for method, params in (
            ("createToken", {"name": "x", "role": "viewer"}),
            ("listTokens", {}),
            ("revokeToken", {"name": "x"}),
        ):
            refused = await owner.refusal(f"agenthost/{method}", **params)
            assert refused.code == INTERNAL
            assert "damaged" in refused.message
        assert book.read_text() == "{"


async def test_a_host_without_named_tokens_says_so() -> None:
    async with embed() as url, open_client(url) as client:
        await client.initialize()
        refused = await client.refusal("agenthost/createToken", name="x", role="viewer")
        assert refused.message == "this host keeps no named tokens"


async def test_no_log_has_a_secret(tmp_path: Path) -> None:
    log = tmp_path / "wire.log"
    async with opened(tmp_path, wire_log=log) as site, site.client() as owner:
        made = await owner.request("agenthost/createToken", name="phone", role="viewer")
    assert "agenthost/createToken" in log.read_text()
    assert made["secret"] not in log.read_text()
