"""``agenthost backup`` and ``restore``, as people and cron type them."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from agenthost.cli.commands import backup, restore
from agenthost.host.backup.replacement import EMPTIED, READY
from agenthost.host.store import PutRecord, SqliteStore
from tests.cli.in_process import CommandInProcess
from tests.cli.running import Cli, serving

COMMAND = (sys.executable, "-m", "agenthost.cli.main")


@pytest.fixture
async def data_dir(tmp_path: Path) -> Path:
    async with SqliteStore(tmp_path / "data" / "agenthost.sqlite") as store:
        await store.write(PutRecord("kept", "here", b"1"))
    (tmp_path / "data" / "token").write_text("secret")
    return tmp_path / "data"


@pytest.fixture
def save(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> CommandInProcess:
    return CommandInProcess("backup", backup.register, data_dir, capsys)


@pytest.fixture
def put_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> CommandInProcess:
    return CommandInProcess("restore", restore.register, tmp_path / "new", capsys)


def test_a_backup_says_what_it_saved_and_a_restore_what_is_next(
    save: CommandInProcess, put_back: CommandInProcess, tmp_path: Path
) -> None:
    code, out, err = save(str(tmp_path / "b.tar"))
    assert (code, out) == (0, "")
    assert err.startswith("Saved 2 files, ")
    code, out, err = put_back(str(tmp_path / "b.tar"))
    assert (code, out) == (0, "")
    assert f"serve --data-dir {tmp_path / 'new'}`" in err
    assert (tmp_path / "new" / "token").read_text() == "secret"


def test_both_answer_in_json(
    save: CommandInProcess, put_back: CommandInProcess, tmp_path: Path
) -> None:
    file = str(tmp_path / "b.tar")
    assert json.loads(save(file, "--without-tokens", "--json")[1])["files"] == 1
    told = json.loads(put_back(file, "--json")[1])
    assert (told["files"], told["tokens"], told["before"]) == (1, False, None)
    code, out, _ = put_back(file, "--json")
    assert (code, json.loads(out)["error"]["kind"]) == (1, "failed")


def test_where_the_old_data_went_and_that_tokens_are_new_is_told(
    save: CommandInProcess, put_back: CommandInProcess, tmp_path: Path
) -> None:
    file = str(tmp_path / "b.tar")
    save(file, "--without-tokens")
    put_back(file)
    code, _, err = put_back(file, "--replace")
    assert code == 0
    assert "What was there is in" in err
    assert "makes a new one" in err


def test_damage_is_a_failure_though_the_file_is_written(
    save: CommandInProcess, data_dir: Path, tmp_path: Path
) -> None:
    with closing(sqlite3.connect(data_dir / "agenthost.sqlite")) as store, store:
        store.execute("UPDATE record SET value = x'32'")
    code, _, err = save(str(tmp_path / "b.tar"))
    assert code == 1
    assert "1 damaged rows" in err
    assert (tmp_path / "b.tar").exists()


def test_json_and_a_backup_do_not_share_standard_output(save: CommandInProcess) -> None:
    code, _, err = save("-", "--json")
    assert code == 2
    assert "mixed" in err


def test_what_cannot_be_restored_is_said_in_one_line(
    put_back: CommandInProcess, tmp_path: Path
) -> None:
    (tmp_path / "b.tar").write_text("no backup")
    for file in ("b.tar", "missing.tar"):
        code, out, err = put_back(str(tmp_path / file))
        assert (code, out, err.count("\n")) == (1, "", 1)


async def test_a_running_host_is_backed_up_through_a_pipe_and_goes_on(tmp_path: Path) -> None:
    async with serving(tmp_path) as cli:
        session = await cli.new("hello")
        output = os.open(tmp_path / "b.tar", os.O_WRONLY | os.O_CREAT, 0o600)
        code, err = await cli.with_output(output, "backup", "-")
        assert (code, err.startswith("Saved ")) == (0, True)
        # The host that runs on is not written over.
        done = await cli.main("restore", str(tmp_path / "b.tar"), "--replace")
        assert done.code == 1
        assert "stop it first" in done.err
        await cli.new("hello again")
    restored = Cli(tmp_path / "restored", tmp_path)
    assert (await restored.main("restore", str(tmp_path / "b.tar"))).code == 0
    async with SqliteStore(tmp_path / "restored" / "agenthost.sqlite") as store:
        page = await store.page_sessions(10)
        assert [uri for uri, _ in page.items] == [session]


def test_a_backup_that_is_told_to_end_leaves_no_copy_of_the_store(
    data_dir: Path, tmp_path: Path
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    (data_dir / "workspace").mkdir(exist_ok=True)
    (data_dir / "workspace" / "large").write_bytes(bytes(1024 * 1024))
    command = [*COMMAND, "backup", "-", "--data-dir", str(data_dir)]
    environment = {**os.environ, "TMPDIR": str(scratch)}
    # Nobody reads, so that it waits.
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        process.stdout.read(1)
        assert list(scratch.iterdir())
        process.terminate()
        assert process.wait(60) == 128 + signal.SIGTERM
    assert not list(scratch.iterdir())


def test_a_restore_that_is_told_to_end_leaves_nothing_of_the_backup(
    data_dir: Path, tmp_path: Path, save: CommandInProcess
) -> None:
    save(str(tmp_path / "b.tar"))
    target = tmp_path / "target"
    command = [*COMMAND, "restore", "-", "--data-dir", str(target)]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.write((tmp_path / "b.tar").read_bytes()[:20_000])
        process.stdin.flush()
        end = time.monotonic() + 60
        while not list(target.glob(".restoring-*")):
            assert time.monotonic() < end
            time.sleep(0.02)
        process.terminate()
        assert process.wait(60) == 128 + signal.SIGTERM
    assert [path.name for path in target.iterdir()] == ["agenthost.sqlite.lock"]


async def test_a_host_finishes_a_restore_that_was_killed_before_it_starts(data_dir: Path) -> None:
    # All that was there is aside already, the token among it.
    ready = data_dir / f"{READY}20260101T000000Z-abc{EMPTIED}"
    ready.mkdir()
    for name in ("agenthost.sqlite", "token"):
        (data_dir / name).rename(ready / name)
    (ready / "token").chmod(0o600)
    (ready / "token").write_text("from-the-backup-that-was-made-before")
    alone = Cli(data_dir, data_dir.parent)
    done = await alone.main("doctor", "--json")
    (found,) = [check for check in done.json["checks"] if check["name"] == "restore"]
    assert (done.code, found["verdict"]) == (1, "problem")
    async with serving(data_dir.parent) as cli:
        assert (await cli.main("sessions")).code == 0
    assert (data_dir / "token").read_text() == "from-the-backup-that-was-made-before"
    assert not ready.exists()
    async with SqliteStore(data_dir / "agenthost.sqlite") as store:
        assert await store.record("kept", "here") == b"1"
