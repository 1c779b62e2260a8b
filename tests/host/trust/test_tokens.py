from __future__ import annotations

import hmac
import logging
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from agenthost.host.trust import LOCAL_OWNER, HostTokens, Principal, Role, open_tokens
from agenthost.tokens import TokenBook, TokenFileError

NOW = 1_800_000_000.0
OWNER_SECRET = "constant-owner-Secret_of-the-tests.0123"


@pytest.fixture
def book(tmp_path: Path) -> TokenBook:
    return TokenBook(tmp_path / "tokens.json")


def test_the_owners_token_makes_an_owner(book: TokenBook) -> None:
    tokens = HostTokens(OWNER_SECRET, book)
    assert tokens.authenticate(OWNER_SECRET, NOW) == Principal("owner", Role.OWNER)


@pytest.mark.parametrize("role", Role)
def test_a_named_token_brings_its_name_and_role(book: TokenBook, role: Role) -> None:
    secret = book.create("ann", role, expires=None, now=NOW).secret
    assert HostTokens(OWNER_SECRET, book).authenticate(secret, NOW) == Principal("ann", role)


@pytest.mark.parametrize("wrong", ["", "wrong", OWNER_SECRET[:-1], OWNER_SECRET + "x", "\udcff"])
def test_a_wrong_token_makes_nobody(book: TokenBook, wrong: str) -> None:
    assert HostTokens(OWNER_SECRET, book).authenticate(wrong, NOW) is None
    assert HostTokens(OWNER_SECRET).authenticate(wrong, NOW) is None


def test_the_owner_comes_in_even_when_the_book_is_damaged(book: TokenBook, tmp_path: Path) -> None:
    secret = book.create("ann", Role.OWNER, expires=None, now=NOW).secret
    (tmp_path / "tokens.json").write_text("{")
    tokens = HostTokens(OWNER_SECRET, book)
    assert tokens.authenticate(secret, NOW) is None
    assert tokens.authenticate(OWNER_SECRET, NOW) == LOCAL_OWNER


def test_the_owners_token_is_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = HostTokens(OWNER_SECRET)
    lengths: list[tuple[int, int]] = []

    def watched(left: str, right: str) -> bool:
        lengths.append((len(left), len(right)))
        return False

    monkeypatch.setattr(hmac, "compare_digest", watched)
    tokens.authenticate(OWNER_SECRET, NOW)
    tokens.authenticate("short", NOW)
    assert lengths == [(64, 64), (64, 64)]


def test_a_revoked_token_loses_its_live_connections_even_if_its_name_returns(
    book: TokenBook,
) -> None:
    tokens = HostTokens(OWNER_SECRET, book)
    secret = book.create("ann", Role.VIEWER, expires=None, now=NOW).secret
    ann = tokens.authenticate(secret, NOW)
    assert ann is not None
    assert tokens.still_valid(ann, NOW)
    book.revoke("ann")
    assert not tokens.still_valid(ann, NOW)
    book.create("ann", Role.VIEWER, expires=None, now=NOW)
    assert not tokens.still_valid(ann, NOW)


def test_an_expired_token_loses_its_live_connections(book: TokenBook) -> None:
    tokens = HostTokens(OWNER_SECRET, book)
    expires = datetime.fromtimestamp(NOW, UTC) + timedelta(hours=1)
    ann = tokens.authenticate(book.create("ann", Role.VIEWER, expires=expires, now=NOW).secret, NOW)
    assert ann is not None
    assert tokens.still_valid(ann, NOW + 3_599)
    assert not tokens.still_valid(ann, NOW + 3_600)


def test_the_owner_stays_and_a_principal_without_a_token_does_not(book: TokenBook) -> None:
    tokens = HostTokens(OWNER_SECRET, book)
    owner = tokens.authenticate(OWNER_SECRET, NOW)
    assert owner is not None
    assert tokens.still_valid(owner, NOW + 1e9)
    assert not tokens.still_valid(LOCAL_OWNER, NOW)
    assert not HostTokens(OWNER_SECRET).still_valid(Principal("ann", Role.OWNER, "0" * 64), NOW)


def test_the_host_without_a_token_serves_the_same_owner_as_the_token_file(book: TokenBook) -> None:
    assert HostTokens(OWNER_SECRET, book).authenticate(OWNER_SECRET, NOW) == LOCAL_OWNER


def test_opening_creates_the_owners_token_in_the_data_directory(tmp_path: Path) -> None:
    secret, tokens = open_tokens(tmp_path / "data")
    assert (tmp_path / "data" / "token").read_text().strip() == secret
    assert tokens.authenticate(secret, NOW) == LOCAL_OWNER
    named = TokenBook(tmp_path / "data" / "tokens.json")
    made = named.create("ann", Role.VIEWER, expires=None, now=NOW)
    assert tokens.authenticate(made.secret, NOW) == Principal("ann", Role.VIEWER)


def test_another_token_file_may_be_named(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text(OWNER_SECRET)
    elsewhere.chmod(0o644)
    with pytest.raises(TokenFileError, match="chmod 600"):
        open_tokens(tmp_path / "data", elsewhere)
    elsewhere.chmod(0o600)
    secret, _ = open_tokens(tmp_path / "data", elsewhere)
    assert secret == OWNER_SECRET
    assert not (tmp_path / "data" / "token").exists()


def test_no_secret_shows_in_any_representation_or_log(
    book: TokenBook, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    tokens = HostTokens(OWNER_SECRET, book)
    made = book.create("ann", Role.VIEWER, expires=None, now=NOW)
    principals = [tokens.authenticate(OWNER_SECRET, NOW), tokens.authenticate(made.secret, NOW)]
    shown = repr((tokens, principals, LOCAL_OWNER)) + str(principals) + caplog.text
    for secret in (OWNER_SECRET, made.secret, made.entry.digest):
        assert secret not in shown
    assert "ann" in shown
