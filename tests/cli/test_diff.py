"""``agenthost diff``: what a session changed in a real repository."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from agenthost.client import Client, ConfirmationNeeded
from tests.cli.running import Cli, serving
from tests.workspace.git.repositories import git

pytestmark = pytest.mark.asyncio(loop_scope="module")

BEFORE = "one\ntwo\nthree\n"


def make_repository(folder: Path) -> None:
    """Make a repository with a submodule and a few files."""
    other = folder.parent / "other"
    for each in (other, folder):
        each.mkdir(exist_ok=True)
        git(each, "init", "-q", "-b", "main")
    git(other, "commit", "-q", "--allow-empty", "-m", "first")
    for name, text in (("a.txt", BEFORE), ("gone.txt", "bye\n"), ("old.txt", BEFORE * 3)):
        (folder / name).write_text(text)
    (folder / "image.png").write_bytes(b"\x89PNG\0\1\2")
    git(folder, "submodule", "add", "-q", str(other), "sub")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "first")


def change(folder: Path) -> None:
    """Change every file of the repository, each in another way."""
    (folder / "a.txt").write_text("one\n2\nthree\n")
    (folder / "gone.txt").unlink()
    git(folder, "mv", "old.txt", "new.txt")
    (folder / "image.png").write_bytes(b"\x89PNG\0\1\2\3")
    (folder / "escapes \x1b[2J").write_text("\x1b]0;evil\x07\n")
    (folder / "large.txt").write_text("x" * 99 + "\n" + "y" * (3 * 1024 * 1024))
    git(folder / "sub", "commit", "-q", "--allow-empty", "-m", "second")


async def say(client: Client, session: str, text: str) -> None:
    """Say something in a session, and approve what is asked."""
    async with await client.sessions.get(session) as opened, await opened.chat() as chat:
        async for event in chat.send(text):
            if isinstance(event, ConfirmationNeeded):
                await chat.approve(event.call)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def repository(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Cli]:
    """A host whose first session has two turns, and changes of its own, in a repository."""
    folder = tmp_path_factory.mktemp("diff")
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.delenv("GIT_DIR", raising=False)
        monkeypatch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        async for cli in _repository(folder):
            yield cli


async def _repository(folder: Path) -> AsyncIterator[Cli]:
    async with serving(folder) as cli:
        make_repository(cli.cwd)
        async with cli.client() as client:
            session = await client.sessions.create(directories=[cli.cwd.as_uri()], keep=True)
            await say(client, session.uri, "/edit first.txt 1")
            await say(client, session.uri, "/edit second.txt 2")
            await session.rename("The work")
            # Counted from what the turn left, which is known then.
            await session.channel.until(
                lambda state: (state["chats"][0].get("changes") or {}).get("files") == 2
            )
        change(cli.cwd)
        yield cli


async def test_every_kind_of_change_is_named_and_what_can_be_is_shown(repository: Cli) -> None:
    done = await repository.main("diff", "work")
    assert done.code == 0, done.err
    for rows in (
        "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n",
        "deleted file mode 100644\n--- a/gone.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-bye\n",
        "diff --git a/old.txt b/new.txt\nrename from old.txt\nrename to new.txt\n",
        "Binary files a/image.png and b/image.png differ\n  7 bytes before, 8 now\n",
        "diff --git a/large.txt b/large.txt\n  too large to be shown: 3,145,828 bytes\n",
        "diff --git a/sub b/sub\n  a submodule, which is at another commit\n",
        "+++ b/first.txt\n@@ -0,0 +1 @@\n+1\n",
    ):
        assert rows in done.out
    assert "\x1b" not in done.out
    assert 'diff --git "a/escapes \\033[2J" "b/escapes \\033[2J"' in done.out
    assert "+\\x1b]0;evil\\x07\n" in done.out
    # Whoever keeps it as a patch is told.
    assert '"escapes \\033[2J": control characters are spelled out' in done.err


async def test_counts_equal_those_of_git(repository: Cli) -> None:
    done = await repository.main("diff", "work", "--stat", "--json")
    counts = {file["path"]: (file["added"], file["removed"]) for file in done.json["changes"]}
    git(repository.cwd, "add", "-N", ".")
    told = git(repository.cwd, "diff", "HEAD", "--numstat", "-M", "-z").split("\0")
    assert f"{counts['a.txt'][0]}\t{counts['a.txt'][1]}\ta.txt" in told
    assert f"{counts['gone.txt'][0]}\t{counts['gone.txt'][1]}\tgone.txt" in told
    assert counts["image.png"] == (None, None)
    assert done.json["kind"] == "session"
    assert done.json["files"] == len(counts) == 9
    changes = {file["path"]: file["change"] for file in done.json["changes"]}
    assert changes["new.txt"] == "renamed"
    assert changes["gone.txt"] == "deleted"
    text = await repository.main("diff", "work", "--stat")
    assert " a.txt " in text.out
    assert "old.txt => new.txt" in text.out
    assert "9 files changed" in text.out


async def test_one_turn_and_the_difference_between_two_are_shown(repository: Cli) -> None:
    for turn, name in (("1", "first.txt"), ("last", "second.txt")):
        done = await repository.main("diff", "work", "--turn", turn, "--json")
        assert [file["path"] for file in done.json["changes"]] == [name]
        assert done.json["kind"] == "turn"
    compared = await repository.main("diff", "work", "--turn", "1..2")
    assert "+++ b/second.txt" in compared.out
    assert "first.txt" not in compared.out
    of_chat = await repository.main("diff", "work", "--chat", "1", "--stat")
    assert "first.txt" in of_chat.out


async def test_what_git_applies_is_what_was_changed(repository: Cli, tmp_path: Path) -> None:
    done = await repository.main("diff", "work", "--turn", "1")
    (tmp_path / "patch").write_text(done.out)
    git(tmp_path, "apply", "patch")
    assert (tmp_path / "first.txt").read_bytes() == b"1\n"


async def test_the_latest_session_here_is_meant_where_none_is_named(repository: Cli) -> None:
    other = repository.cwd.parent / "elsewhere"
    other.mkdir()
    async with repository.client() as client:
        session = await client.sessions.create(directories=[other.as_uri()], keep=True)
        await say(client, session.uri, "hello")
    done = await repository.main("diff", "--stat")
    # A process of its own, because it is about the folder that it runs in.
    done = await repository("diff", "--stat")
    assert "The work" in done.err
    assert "first.txt" in done.out
    empty = await repository("diff", session.uri)
    assert (empty.code, empty.out) == (0, ""), empty.err
    assert "The host tells of no changes in" in empty.err
    assert (await repository.main("diff", session.uri, "--json")).json["changes"] == []


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [
        (("--turn", "99"), 1, "the chat has no turn '99'; it has 2, numbered from 1"),
        (("--kind", "nonsense"), 2, "there are no changes of the kind 'nonsense'; there are: "),
        (("--kind", "turn"), 2, "--turn last --data-dir"),
        (("--turn", "1", "--kind", "branch"), 2, "not allowed with"),
        (("--chat", "nobody"), 1, "no chat matches 'nobody'"),
        (("--color", "green"), 2, "invalid choice"),
    ],
)
async def test_what_is_not_there_is_told_with_what_is(
    repository: Cli, words: tuple[str, ...], code: int, why: str
) -> None:
    done = await repository.main("diff", "work", *words)
    assert (done.code, done.out) == (code, "")
    assert why in done.err


async def test_colours_are_for_terminals_unless_somebody_says_otherwise(repository: Cli) -> None:
    always = await repository.main("diff", "work", "--turn", "1", "--color", "always")
    assert "\x1b[32m+1\x1b[0m" in always.out
    master, slave = os.openpty()
    reading = asyncio.create_task(asyncio.to_thread(_until_closed, master))
    code, _ = await repository.with_output(slave, "diff", "work", "--turn", "1")
    assert code == 0
    assert b"\x1b[32m+1\x1b[0m" in await reading


def _until_closed(master: int) -> bytes:
    data = b""
    try:
        while piece := os.read(master, 4096):
            data += piece
    except OSError:
        # How a pty tells that nobody has its other end.
        pass
    os.close(master)
    return data


async def test_a_host_without_sessions_is_told(tmp_path: Path) -> None:
    async with serving(tmp_path) as cli:
        done = await cli.main("diff")
        assert done.code == 1
        assert "there is no session yet" in done.err
