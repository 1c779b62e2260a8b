from __future__ import annotations

import fcntl
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from agenthost.cli.diagnostics import (
    KNOWN_SCHEMA,
    Address,
    Check,
    check_content,
    check_data_dir,
    check_restore,
    check_store,
    check_token_file,
    lock_holder,
)
from agenthost.cli.format.terminal_text import Ink
from agenthost.host.backup.replacement import READY
from agenthost.host.store import SqliteStore
from agenthost.host.store.schema import MIGRATIONS
from agenthost.local_host import RunningHost
from agenthost.tokens import load_or_create_owner_token
from tests.host.store.old_data import unpacked


def test_a_check_says_what_to_do_where_something_is_to_be_done() -> None:
    assert Check("port", "ok", "fine").lines(Ink(False)) == ["ok        port            fine"]
    (_, fix) = Check("port", "problem", "closed", "open it").lines(Ink(False))
    assert fix.strip() == "fix: open it"
    assert Check("port", "ok", "fine").as_json() == {
        "name": "port",
        "verdict": "ok",
        "detail": "fine",
        "fix": None,
        "data": None,
    }


def test_a_private_directory_is_fine_and_an_open_one_is_not(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    assert check_data_dir(tmp_path).verdict == "ok"
    tmp_path.chmod(0o755)
    check = check_data_dir(tmp_path)
    assert (check.verdict, check.fix) == ("warning", f"chmod 700 {tmp_path}")


def test_a_directory_that_is_none_is_told_apart_from_one_that_is_not_there(tmp_path: Path) -> None:
    assert check_data_dir(tmp_path / "none").verdict == "skipped"
    (tmp_path / "file").touch()
    assert check_data_dir(tmp_path / "file").verdict == "problem"


def test_a_restore_that_was_cut_off_is_told_with_who_finishes_it(tmp_path: Path) -> None:
    assert check_restore(tmp_path) is None
    (tmp_path / f"{READY}20260101T000000Z-abc").mkdir()
    found = check_restore(tmp_path)
    assert found is not None
    assert found.verdict == "problem"
    assert "agenthost serve" in found.fix


def test_a_token_that_others_can_read_is_a_problem(tmp_path: Path) -> None:
    path = tmp_path / "token"
    assert check_token_file(path).verdict == "problem"
    load_or_create_owner_token(path)
    assert check_token_file(path).verdict == "ok"
    path.chmod(0o644)
    check = check_token_file(path)
    assert check.verdict == "problem"
    assert "chmod 600" in check.fix


def test_a_store_is_held_by_whoever_has_its_lock(tmp_path: Path) -> None:
    path = tmp_path / "store"
    lock = Path(f"{path}.lock")
    assert lock_holder(path) is None
    lock.write_text(str(os.getpid()))
    assert lock_holder(path) is None
    with lock.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert lock_holder(path) == os.getpid()
    assert lock_holder(path) is None


def test_the_dead_hold_nothing(tmp_path: Path) -> None:
    ended = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"],
                           capture_output=True, text=True, check=True)  # fmt: skip
    path = tmp_path / "store"
    lock = Path(f"{path}.lock")
    lock.write_text(ended.stdout.strip())
    with lock.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert lock_holder(path) is None


@pytest.mark.parametrize("text", ["", "garbage", "-1"])
def test_a_lock_without_an_owner_s_number_is_nobody_s(tmp_path: Path, text: str) -> None:
    Path(f"{tmp_path / 'store'}.lock").write_text(text)
    assert lock_holder(tmp_path / "store") is None


async def test_a_host_whose_lock_file_is_gone_is_not_taken_for_dead(tmp_path: Path) -> None:
    path, lock = tmp_path / "store", tmp_path / "store.lock"
    async with SqliteStore(path):
        lock.unlink()
        for announced in (None, os.getpid()):
            check = check_store(path, announced)
            assert check.verdict == "warning"
            assert "lock was deleted" in check.detail
    assert check_store(path, None).verdict == "ok"


def test_a_store_that_is_no_database_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "store"
    path.write_bytes(b"garbage" * 10)
    assert (check_store(path, None).verdict, check_store(path, 42).verdict) == ("problem",) * 2
    with sqlite3.connect(path.with_name("sound")) as database:
        database.execute("create table t (x)")
    database.close()
    assert check_store(path.with_name("sound"), None).verdict == "ok"


def test_a_store_and_who_is_said_to_serve_it_must_agree(tmp_path: Path) -> None:
    path = tmp_path / "store"
    assert check_store(path, None).verdict == "skipped"
    path.touch()
    assert check_store(path, None).verdict == "ok"
    assert check_store(path, 42).verdict == "problem"
    lock = Path(f"{path}.lock")
    lock.write_text(str(os.getpid()))
    with lock.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert check_store(path, os.getpid()).verdict == "ok"
        assert check_store(path, None).verdict == "warning"


@pytest.mark.parametrize(
    ("url", "name", "port", "local"),
    [
        ("ws://127.0.0.1:8765", "127.0.0.1", 8765, True),
        ("ws://[::1]:1/", "::1", 1, True),
        ("wss://box/ahp?tkn=x", "box", 443, False),
        ("ws://box", "box", 80, False),
    ],
)
def test_an_address_has_a_name_and_a_port(url: str, name: str, port: int, local: bool) -> None:
    address = Address.of(RunningHost(url))
    assert (address.name, address.port, address.is_local) == (name, port, local)


@pytest.mark.parametrize("url", ["ftp://box", "ws://", "ws://box:http", ""])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"not the address of a host|Port"):
        Address.of(RunningHost(url))


def content(path: Path, values: str) -> Path:
    with closing(sqlite3.connect(path)) as plain, plain:
        plain.execute("CREATE TABLE content (version, becoming, failed)")
        plain.execute(f"INSERT INTO content VALUES ({values})")
    return path


def test_a_store_of_a_newer_schema_is_a_problem(tmp_path: Path) -> None:
    path = content(tmp_path / "store", "'1.0.0', NULL, 0")
    assert len(MIGRATIONS) == KNOWN_SCHEMA
    for schema, verdict in ((KNOWN_SCHEMA, "ok"), (KNOWN_SCHEMA + 1, "problem")):
        with closing(sqlite3.connect(path)) as plain, plain:
            plain.execute(f"PRAGMA user_version = {schema}")
        check = check_content(path)
        assert check.verdict == verdict
    newer = f"schema version {KNOWN_SCHEMA + 1}, written by a newer agenthost"
    assert newer in check.detail


@pytest.mark.parametrize(
    ("values", "verdict", "words"),
    [
        ("'1.0.0', NULL, 0", "ok", "they are of protocol 1.0.0"),
        ("'0.9.0', NULL, 0", "ok", "they are of protocol 0.9.0; the next start brings them up"),
        ("NULL, NULL, 0", "ok", "they are of an older agenthost; the next start brings them up"),
        ("'0.7.0', '1.0.0', 0", "warning", "from protocol 0.7.0 to 1.0.0 is not finished"),
        ("'1.0.0', NULL, 1234", "warning", "1,234 rows of the store could not be brought up"),
        ("'3.1.0', NULL, 0", "problem", "of protocol 3.1.0, written by a newer agenthost"),
        ("'1.0.0', '3.1.0', 0", "problem", "of protocol 3.1.0, written by a newer agenthost"),
    ],
)
def test_a_store_says_of_which_version_its_sessions_are(
    tmp_path: Path, values: str, verdict: str, words: str
) -> None:
    check = check_content(content(tmp_path / "store", values))
    assert (check.verdict, words in check.detail) == (verdict, True), check.detail
    assert bool(check.fix) == (verdict != "ok")
    # Looking leaves no trace.
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


def test_a_store_from_before_versions_were_noted_is_of_an_older_agenthost(tmp_path: Path) -> None:
    check = check_content(unpacked(tmp_path))
    assert check.verdict == "ok"
    assert "an older agenthost" in check.detail
    for path in (tmp_path / "none", tmp_path):
        assert check_content(path).verdict == "skipped"
