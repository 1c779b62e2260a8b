"""``agenthost files``: files of a session, by name, as they are, and never against a terminal."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest
import pytest_asyncio

from tests.cli.running import Cli

pytestmark = pytest.mark.asyncio(loop_scope="module")

BINARY = bytes(range(256)) * 5


@pytest_asyncio.fixture(loop_scope="module", scope="module", autouse=True)
async def session(cli: Cli) -> str:
    """A session in the host's folder, with some files in it."""
    (cli.cwd / "src").mkdir()
    (cli.cwd / "src" / "main.py").write_text("print('hi')\n")
    (cli.cwd / "odd \x1b[2Jname").write_text("x")
    (cli.cwd / "binary").write_bytes(BINARY)
    return await cli.new("hello")


async def bytes_of(cli: Cli, *words: str) -> tuple[int, bytes]:
    """Run a command whose output goes to a pipe; return its code and what it printed."""
    read, write = os.pipe()
    reading = asyncio.create_task(asyncio.to_thread(_all, read))
    code, _ = await cli.with_output(write, *words)
    return code, await reading


def _all(end: int) -> bytes:
    with open(end, "rb") as file:
        return file.read()


async def on_a_terminal(cli: Cli, *words: str) -> tuple[int, bytes, str]:
    """Run a command whose output is a terminal; return its code, what that shows, and errors."""
    master, slave = os.openpty()
    code, errors = await cli.with_output(slave, *words)
    shown = b""
    os.set_blocking(master, False)
    try:
        while data := os.read(master, 65536):
            shown += data
    except OSError:
        pass
    os.close(master)
    return code, shown, errors


async def test_a_folder_is_listed_and_nothing_in_a_name_is_obeyed(cli: Cli) -> None:
    done = await cli.main("files", "ls")
    assert done.code == 0
    assert done.out.splitlines() == [
        "binary",
        "file.txt",
        '"odd \\033[2Jname"',
        "src/",
    ]
    # Nobody named the session, so it is told which one this is.
    assert "session " in done.err
    below = await cli.main("files", "ls", "src", "--json")
    assert below.json == [{"name": "main.py", "type": "file"}]
    assert (await cli.main("files", "ls", "src/main.py")).out == "src/main.py\n"


async def test_a_session_is_named_by_its_id_before_or_behind_the_verb(
    cli: Cli, session: str
) -> None:
    id = session.rpartition("/")[2][:8]
    for words in (("--session", id, "cat", "file.txt"), ("cat", "file.txt", "--session", id)):
        code, data = await bytes_of(cli, "files", *words)
        assert (code, data) == (0, b"hello\n")
    unknown = await cli.main("files", "ls", "--session", "nobody")
    assert unknown.code == 1
    assert "no session matches 'nobody'" in unknown.err


async def test_any_bytes_reach_a_pipe_as_they_are(cli: Cli) -> None:
    code, data = await bytes_of(cli, "files", "cat", "file.txt", "binary")
    assert (code, data) == (0, b"hello\n" + BINARY)


async def test_an_absolute_path_and_a_uri_need_no_session(cli: Cli) -> None:
    path = cli.cwd / "file.txt"
    for name in (str(path), path.as_uri()):
        code, data = await bytes_of(cli, "files", "cat", name)
        assert (code, data) == (0, b"hello\n")


async def test_a_terminal_gets_text_and_nothing_that_it_obeys(cli: Cli) -> None:
    code, shown, _ = await on_a_terminal(cli, "files", "cat", "file.txt")
    assert (code, shown) == (0, b"hello\r\n")
    (cli.cwd / "escapes").write_text("\x1b]0;evil\x07\n")
    for name, why in (("binary", "it is not text"), ("escapes", "that a terminal obeys")):
        code, shown, errors = await on_a_terminal(cli, "files", "cat", name)
        assert (code, shown) == (1, b"")
        assert why in errors
        assert f"files cat {name} --data-dir {cli.data_dir} | less`" in errors


async def test_what_is_missing_or_out_of_reach_is_told_and_the_rest_is_printed(cli: Cli) -> None:
    code, data = await bytes_of(cli, "files", "cat", "nothing", "file.txt")
    assert (code, data) == (1, b"hello\n")
    missing = await cli("files", "cat", "nothing")
    assert "nothing" in missing.err
    assert "Traceback" not in missing.err
    outside = await cli("files", "cat", "../data/token")
    assert outside.code == 1
    assert outside.out == ""
    assert (await cli("files", "cat", "src")).code == 1
    assert (await cli("files", "ls", "src/none")).code == 1


async def test_a_file_is_written_from_one_of_this_machine_or_from_a_pipe(
    cli: Cli, tmp_path: Path
) -> None:
    local = tmp_path / "local.bin"
    local.write_bytes(BINARY)
    done = await cli("files", "put", str(local), "--json")
    target = cli.cwd / "local.bin"
    assert done.json == {"uri": target.as_uri(), "bytes": len(BINARY)}
    assert target.read_bytes() == BINARY
    piped = await cli("files", "put", "-", "deep/er/x.txt", "--parents", stdin="one\n")
    assert piped.out == "wrote  deep/er/x.txt  4 bytes\n"
    await cli("files", "put", "-", "deep/er/x.txt", "--append", stdin="two\n")
    assert (cli.cwd / "deep/er/x.txt").read_text() == "one\ntwo\n"
    again = await cli("files", "put", "-", "deep/er/x.txt", "--new", stdin="three\n")
    assert again.code == 1
    assert (cli.cwd / "deep/er/x.txt").read_text() == "one\ntwo\n"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("put", "-"), "name a PATH"),
        (("put", "no such file"), "cannot be read"),
        (("put", "-", "src/"), "names a folder"),
        (("cat", "x", "--json"), "--json is not for it"),
        ((), "required: VERB"),
    ],
)
async def test_misuse_is_told(cli: Cli, words: tuple[str, ...], why: str) -> None:
    done = await cli("files", *words)
    assert done.code == 2
    assert why in done.err


async def test_files_are_removed_and_full_folders_only_with_all_in_them(cli: Cli) -> None:
    (cli.cwd / "full").mkdir()
    (cli.cwd / "full" / "file").touch()
    (cli.cwd / "single").touch()
    refused = await cli.main("files", "rm", "full", "single")
    assert refused.code == 1
    assert refused.out == "removed  single\n"
    assert "full" in refused.err
    done = await cli.main("files", "rm", "full", "-r", "--json")
    assert done.json == [{"path": "full", "done": True}]
    assert not (cli.cwd / "full").exists()


async def test_changes_are_printed_as_they_come(cli: Cli) -> None:
    async with cli.running("files", "watch", "src", "--json", "--exclude", "**/*.tmp") as watch:
        await watch.until('"watching"')
        (cli.cwd / "src" / "skipped.tmp").touch()
        (cli.cwd / "src" / "new.txt").touch()
        line = await watch.until('"added"')
        assert json.loads(line) == {
            "event": "added",
            "uri": (cli.cwd / "src" / "new.txt").as_uri(),
        }
