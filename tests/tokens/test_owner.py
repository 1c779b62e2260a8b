from __future__ import annotations

import os
import stat
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest

from agenthost.tokens import (
    TokenFileError,
    check_secret,
    load_or_create_owner_token,
    new_secret,
    read_owner_token,
)
from tests.tokens.racing import race

SECRET = "constant-Secret_of-the-tests.0123456789"


def written(path: Path, text: str, mode: int = 0o600) -> Path:
    path.write_text(text)
    path.chmod(mode)
    return path


def test_the_first_start_creates_a_token_that_only_its_owner_can_read(tmp_path: Path) -> None:
    path = tmp_path / "data" / "token"
    secret = load_or_create_owner_token(path)
    assert check_secret(secret)
    assert path.read_text() == secret + "\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o277])
def test_the_token_file_has_mode_600_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        load_or_create_owner_token(tmp_path / "token")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "token").stat().st_mode) == 0o600


def test_a_later_start_reuses_the_token(tmp_path: Path) -> None:
    first = load_or_create_owner_token(tmp_path / "token")
    assert load_or_create_owner_token(tmp_path / "token") == first


def test_creation_leaves_no_scratch_file_behind(tmp_path: Path) -> None:
    load_or_create_owner_token(tmp_path / "token")
    assert os.listdir(tmp_path) == ["token"]


def test_a_token_the_user_wrote_is_accepted_with_or_without_a_line_end(tmp_path: Path) -> None:
    assert load_or_create_owner_token(written(tmp_path / "a", SECRET)) == SECRET
    assert load_or_create_owner_token(written(tmp_path / "b", SECRET + "\r\n")) == SECRET


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644, 0o620, 0o601])
def test_a_file_that_others_can_reach_is_refused_with_the_remedy(tmp_path: Path, mode: int) -> None:
    path = written(tmp_path / "token", SECRET, mode)
    with pytest.raises(TokenFileError, match=f"chmod 600 {path}") as caught:
        load_or_create_owner_token(path)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("text", ["", "\n", "  \n"])
def test_an_empty_file_is_reported_and_not_replaced(tmp_path: Path, text: str) -> None:
    path = written(tmp_path / "token", text)
    with pytest.raises(TokenFileError, match="empty"):
        load_or_create_owner_token(path)
    assert path.read_text() == text


@pytest.mark.parametrize(
    "text",
    ["hunter2", "two words that are long enough", SECRET + "\n" + SECRET, "é" * 40, "x" * 513],
)
def test_a_garbled_file_is_reported_without_quoting_it(tmp_path: Path, text: str) -> None:
    path = written(tmp_path / "token", text)
    with pytest.raises(TokenFileError, match="does not hold a token") as caught:
        load_or_create_owner_token(path)
    assert text not in str(caught.value)
    assert path.read_text() == text


def test_bytes_that_are_no_text_are_garbled_too(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_bytes(b"\xff\x00" * 20)
    path.chmod(0o600)
    with pytest.raises(TokenFileError, match="does not hold a token"):
        read_owner_token(path)


def test_something_that_is_no_regular_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo", 0o600)
    (tmp_path / "directory").mkdir(0o700)
    for name in ("fifo", "directory"):
        with pytest.raises(TokenFileError, match=f"{name} is not a regular file"):
            read_owner_token(tmp_path / name)


def test_a_file_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "token", SECRET)
    if os.geteuid() == 0:
        # Root's own files are fine for everybody, so as root the file must become someone else's.
        os.chown(path, 4242, -1)
    owner = path.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(TokenFileError, match="belongs to another user"):
        read_owner_token(path)


def test_a_place_where_nothing_can_be_created_is_an_error_of_one_line(tmp_path: Path) -> None:
    written(tmp_path / "file", "x")
    with pytest.raises(TokenFileError) as caught:
        load_or_create_owner_token(tmp_path / "file" / "token")
    assert "\n" not in str(caught.value)


def test_a_file_system_without_hard_links_still_gets_its_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    first = load_or_create_owner_token(tmp_path / "token")
    assert load_or_create_owner_token(tmp_path / "token") == first
    assert os.listdir(tmp_path) == ["token"]


def test_a_secret_holds_256_bits_and_never_looks_like_an_option() -> None:
    secrets = {new_secret() for _ in range(500)}
    assert len(secrets) == 500
    assert all(len(secret) == 43 and secret[0].isalnum() for secret in secrets)


def start_often(barrier: Barrier, folder: Path, _number: int) -> list[str]:
    found = []
    for start in range(40):
        barrier.wait()
        found.append(load_or_create_owner_token(folder / str(start) / "token"))
    return found


def test_hosts_that_start_at_the_same_moment_agree_on_one_token(tmp_path: Path) -> None:
    first, *others = race(start_often, tmp_path, processes=3)
    assert len(set(first)) == 40
    assert all(other == first for other in others)
