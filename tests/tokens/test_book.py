from __future__ import annotations

import hmac
import json
import logging
import os
import stat
from datetime import UTC, datetime, timedelta
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import pytest

from agenthost.tokens import Role, TokenBook, TokenError, TokenFileError, check_name
from agenthost.tokens import book as book_module
from agenthost.tokens import files as files_module
from agenthost.tokens.book import digest_of
from agenthost.tokens.files import locked
from tests.tokens.racing import race

NOW = 1_800_000_000.0
MOMENT = datetime.fromtimestamp(NOW, UTC)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "tokens.json"


def add(book: TokenBook, name: str, role: Role = Role.VIEWER, days: float | None = None) -> str:
    expires = None if days is None else MOMENT + timedelta(days=days)
    return book.create(name, role, expires=expires, now=NOW).secret


def test_a_created_token_is_found_by_its_secret(path: Path) -> None:
    book = TokenBook(path)
    secret = add(book, "phone", Role.OPERATOR)
    entry = book.find(secret, NOW)
    assert entry is not None
    assert (entry.name, entry.role, entry.created, entry.expires) == (
        "phone",
        Role.OPERATOR,
        MOMENT,
        None,
    )


@pytest.mark.parametrize("wrong", ["", "x", "phone", "\ud800", "é" * 50, "a" * 100_000])
def test_any_other_secret_finds_nothing(path: Path, wrong: str) -> None:
    book = TokenBook(path)
    secret = add(book, "phone")
    assert book.find(wrong, NOW) is None
    assert book.find(secret + " ", NOW) is None
    assert book.find(secret[:-1], NOW) is None


def test_a_stolen_book_does_not_open_the_door(path: Path) -> None:
    book = TokenBook(path)
    add(book, "phone")
    assert book.find(book.list()[0].digest, NOW) is None


def test_the_file_holds_hashes_only_and_nobody_else_may_read_it(path: Path) -> None:
    secret = add(TokenBook(path), "phone", days=1)
    text = path.read_text()
    assert secret not in text
    assert json.loads(text) == {
        "format": 1,
        "tokens": [
            {
                "name": "phone",
                "role": "viewer",
                "created": "2027-01-15T08:00:00+00:00",
                "expires": "2027-01-16T08:00:00+00:00",
                "sha256": digest_of(secret),
            }
        ],
    }
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_token_counts_until_its_expiry_and_not_from_then_on(path: Path) -> None:
    book = TokenBook(path)
    secret = add(book, "guest", days=1)
    day = 86_400
    assert book.find(secret, NOW + day - 0.001) is not None
    assert book.find(secret, NOW + day) is None
    assert book.list()[0].expired(NOW + day)


def test_an_expiry_in_the_past_is_refused(path: Path) -> None:
    with pytest.raises(TokenError, match="past"):
        add(TokenBook(path), "guest", days=0)
    assert not path.exists()


def test_tokens_created_and_revoked_elsewhere_count_at_once_in_a_running_host(path: Path) -> None:
    running, command_line = TokenBook(path), TokenBook(path)
    assert running.find("anything", NOW) is None
    first = add(command_line, "first")
    assert running.find(first, NOW) is not None
    second = add(command_line, "second")
    assert running.find(second, NOW) is not None
    command_line.revoke("first")
    assert running.find(first, NOW) is None
    assert running.find(second, NOW) is not None
    path.unlink()
    assert running.find(second, NOW) is None


def test_the_file_is_read_again_only_when_it_changed(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = TokenBook(path)
    secret = add(TokenBook(path), "phone")
    assert book.find(secret, NOW) is not None
    monkeypatch.setattr(book_module, "read_private", lambda _: pytest.fail("read again"))
    assert book.find(secret, NOW) is not None


def test_a_successor_of_the_same_name_does_not_keep_the_old_token_alive(path: Path) -> None:
    book = TokenBook(path)
    add(book, "phone")
    old = book.list()[0].digest
    assert book.holds(old, NOW)
    book.revoke("phone")
    add(book, "phone")
    assert not book.holds(old, NOW)
    assert book.holds(book.list()[0].digest, NOW)


def test_an_expired_token_is_no_longer_held(path: Path) -> None:
    book = TokenBook(path)
    add(book, "guest", days=1)
    digest = book.list()[0].digest
    assert book.holds(digest, NOW)
    assert not book.holds(digest, NOW + 86_400)


def test_names_are_unique_whatever_their_case_and_expired_ones_count(path: Path) -> None:
    book = TokenBook(path)
    add(book, "Phone", days=1)
    with pytest.raises(TokenError, match="exists already; revoke it first"):
        book.create("phone", Role.VIEWER, expires=None, now=NOW + 10 * 86_400)
    assert [entry.name for entry in book.list()] == ["Phone"]


@pytest.mark.parametrize("name", ["a", "laptop-2", "ann@example.org", "CI_build.7", "x" * 64])
def test_an_ordinary_name_is_accepted(name: str) -> None:
    assert check_name(name) == name


@pytest.mark.parametrize(
    "name", ["", " ", "-x", "a b", "a/b", "a\n", "é", "x" * 65, "owner", "Owner"]
)
def test_a_name_that_is_awkward_or_the_owners_is_refused(path: Path, name: str) -> None:
    with pytest.raises(TokenError):
        add(TokenBook(path), name)
    assert not path.exists()


def test_revoking_an_unknown_name_says_so_and_creates_nothing(path: Path) -> None:
    with pytest.raises(TokenError, match="no token named 'ghost'"):
        TokenBook(path).revoke("ghost")
    assert not path.parent.exists()
    add(TokenBook(path), "phone")
    with pytest.raises(TokenError, match="no token named 'ghost'"):
        TokenBook(path).revoke("ghost")


def test_a_missing_book_is_an_empty_one(path: Path) -> None:
    assert list(TokenBook(path).list()) == []
    assert TokenBook(path).find("anything", NOW) is None


def entry(**changes: Any) -> dict[str, Any]:
    whole = {"name": "a", "role": "viewer", "created": "2026-01-01T00:00:00+00:00"}
    return {**whole, "sha256": "0" * 64, **changes}


def document(*entries: Any) -> bytes:
    return json.dumps({"format": 1, "tokens": list(entries)}).encode()


DAMAGED = {
    "nothing": b"",
    "no json": b"{",
    "no text": b"\xff\xfe\x00",
    "very deep": b"[" * 100_000,
    "a list": b"[]",
    "no tokens": b'{"format": 1}',
    "a later format": b'{"format": 2, "tokens": []}',
    "an unknown role": document(entry(role="king")),
    "a bad name": document(entry(name="a b")),
    "the owner's name": document(entry(name="owner")),
    "a name that is no text": document(entry(name=7)),
    "a short hash": document(entry(sha256="00")),
    "a hash that is no text": document(entry(sha256=None)),
    "a time without zone": document(entry(created="2026-01-01T00:00:00")),
    "an expiry that is no time": document(entry(expires="soon")),
    "an entry that is no object": document("a"),
    "two of one name": document(entry(), entry(name="A", sha256="1" * 64)),
}


@pytest.fixture(params=DAMAGED.values(), ids=list(DAMAGED))
def damaged(path: Path, request: pytest.FixtureRequest) -> Path:
    path.parent.mkdir(parents=True)
    path.write_bytes(request.param)
    path.chmod(0o600)
    return path


def test_the_entry_that_the_damaged_ones_vary_is_sound(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(document(entry(), entry(name="b", expires="2026-01-01T00:00:00+00:00")))
    path.chmod(0o600)
    assert [found.name for found in TokenBook(path).list()] == ["a", "b"]


def test_a_damaged_book_matches_nothing_and_is_reported_once(
    damaged: Path, caplog: pytest.LogCaptureFixture
) -> None:
    book = TokenBook(damaged)
    for _ in range(3):
        assert book.find("anything", NOW) is None
    [record] = caplog.records
    assert record.levelno == logging.ERROR
    assert str(damaged) in record.getMessage()
    assert "named tokens are refused" in record.getMessage()


def test_a_damaged_book_is_never_overwritten(damaged: Path) -> None:
    before = damaged.read_bytes()
    book = TokenBook(damaged)
    with pytest.raises(TokenFileError):
        add(book, "phone")
    with pytest.raises(TokenFileError):
        book.revoke("a")
    with pytest.raises(TokenFileError):
        book.list()
    book.find("anything", NOW)
    assert damaged.read_bytes() == before


def test_a_book_that_is_mended_counts_again(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    book = TokenBook(path)
    secret = add(book, "phone")
    sound = path.read_bytes()
    path.write_bytes(b"{")
    assert book.find(secret, NOW) is None
    path.write_bytes(sound)
    assert book.find(secret, NOW) is not None
    path.write_bytes(b"{{")
    assert book.find(secret, NOW) is None
    assert len(caplog.records) == 2


def test_a_book_that_others_may_write_counts_for_nothing_until_it_is_locked_up(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    book = TokenBook(path)
    secret = add(book, "phone")
    path.chmod(0o666)
    assert book.find(secret, NOW) is None
    assert f"chmod 600 {path}" in caplog.text
    path.chmod(0o600)
    assert book.find(secret, NOW) is not None


def test_every_entry_is_compared_in_full_whichever_one_matches(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = TokenBook(path)
    secrets = [add(book, f"t{number}") for number in range(4)]
    compared: list[tuple[str, str]] = []
    honest = hmac.compare_digest

    def watched(left: str, right: str) -> bool:
        compared.append((left, right))
        return honest(left, right)

    monkeypatch.setattr(hmac, "compare_digest", watched)
    for secret in (secrets[0], secrets[3], "wrong"):
        compared.clear()
        book.find(secret, NOW)
        assert len(compared) == 4
        assert all(len(left) == len(right) == 64 for left, right in compared)


def test_no_secret_shows_in_any_representation_or_log(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    book = TokenBook(path)
    made = book.create("phone", Role.OWNER, expires=None, now=NOW)
    found = book.find(made.secret, NOW)
    path.write_text(made.secret)
    book.find(made.secret, NOW)
    with pytest.raises(TokenFileError) as caught:
        book.list()
    shown = [repr(book), repr(made), str(made), repr(made.entry), repr(found), str(caught.value)]
    shown += [repr(caught.value), repr(caught.value.__cause__), caplog.text]
    assert caplog.records
    for text in shown:
        assert made.secret not in text
        assert made.entry.digest not in text


def test_an_edit_that_fails_half_way_leaves_the_old_book(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = TokenBook(path)
    secret = add(book, "phone")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(TokenFileError, match="No space left on device"):
        add(book, "tablet")
    monkeypatch.undo()
    assert [found.name for found in book.list()] == ["phone"]
    assert book.find(secret, NOW) is not None
    assert os.listdir(path.parent) == ["tokens.json"]


def test_an_edit_gives_up_on_a_lock_that_is_never_released(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files_module, "LOCK_WAIT_SECONDS", 0.0)
    book = TokenBook(path)
    add(book, "phone")
    with locked(path), pytest.raises(TokenFileError, match=r"keeps .* locked"):
        add(book, "tablet")
    assert add(book, "tablet")


def create_many(barrier: Barrier, folder: Path, number: int) -> int:
    book = TokenBook(folder / "tokens.json")
    won = 0
    barrier.wait()
    for round_ in range(10):
        add(book, f"p{number}-{round_}")
        try:
            add(book, f"shared-{round_}")
            won += 1
        except TokenError:
            pass
    return won


def test_edits_of_several_processes_at_once_all_survive(tmp_path: Path) -> None:
    won = race(create_many, tmp_path, processes=3)
    names = {entry.name for entry in TokenBook(tmp_path / "tokens.json").list()}
    assert sum(won) == 10
    own = {f"p{number}-{round_}" for number in range(3) for round_ in range(10)}
    assert names == own | {f"shared-{round_}" for round_ in range(10)}


def test_a_book_that_would_be_too_large_to_be_read_again_is_not_written(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = TokenBook(path)
    secret = add(book, "first")
    add(book, "next")
    monkeypatch.setattr(files_module, "MAX_FILE_BYTES", path.stat().st_size + 1)
    with pytest.raises(TokenFileError, match="too large"):
        add(book, "last")
    # Those that are in it go on counting, and one of them can make room.
    assert TokenBook(path).find(secret, NOW) is not None
    book.revoke("next")
    add(book, "last")
