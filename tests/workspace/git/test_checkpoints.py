"""Checkpoints of real repositories: what they hold, and that nobody can tell they were taken."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agenthost.workspace.git import checkpoints as module
from agenthost.workspace.git.checkpoints import Checkpoint, Checkpoints
from agenthost.workspace.git.diffs import ChangedFile, changes_between
from agenthost.workspace.git.program import GitFailed, GitProgram, TooManyFiles
from agenthost.workspace.git.repository import (
    Repository,
    commit_of,
    empty_tree,
    find_repository,
)
from tests.workspace.git.repositories import commit, digest, git, repository, status


class Session:
    """A session that works in a repository."""

    def __init__(self, folder: Path, own: Path) -> None:
        self.program = GitProgram()
        self.folder = folder
        self.checkpoints = Checkpoints(self.program, own)

    async def repository(self) -> Repository:
        found = await find_repository(self.program, str(self.folder))
        assert found is not None
        return found

    async def take(self, *folders: str) -> Checkpoint:
        return await self.checkpoints.take(await self.repository(), folders or (".",))

    async def changes(self, before: str, after: str) -> dict[str, ChangedFile]:
        repository = await self.repository()
        env = self.checkpoints.environment(repository)
        changes = await changes_between(self.program, repository, before, after, env=env)
        return {change.new_path or change.old_path or "": change for change in changes}

    async def uncommitted(self) -> dict[str, ChangedFile]:
        """Return what differs from HEAD now."""
        found = await self.repository()
        head = await commit_of(self.program, found) or await empty_tree(self.program, found)
        return await self.changes(head, (await self.take()).tree)

    async def content(self, blob: str | None) -> bytes:
        assert blob is not None
        return await self.checkpoints.read(await self.repository(), blob)


def everything(folder: Path) -> None:
    """Leave staged, unstaged, untracked, renamed, deleted, binary and submodule changes."""
    part = repository(folder.parent / "part")
    for name in ("mod", "staged", "del", "ren", "both"):
        (folder / name).write_text("".join(f"{name} {k}\n" for k in range(30)))
    (folder / "bin").write_bytes(bytes(range(256)) * 9)
    (folder / ".gitignore").write_text("ignored\n")
    git(folder, "submodule", "add", "-q", str(part), "sub")
    commit(folder, "second")
    (folder / "stashed").write_text("x")
    git(folder, "add", "stashed")
    git(folder, "stash", "-q")
    for name in ("staged", "both"):
        (folder / name).write_text((folder / name).read_text() + "more\n")
        git(folder, "add", name)
    for name in ("mod", "both"):
        (folder / name).write_text((folder / name).read_text() + "and more\n")
    (folder / "del").unlink()
    (folder / "ren").rename(folder / "ren-ä \n2")
    (folder / "bin").write_bytes(b"\0other")
    (folder / "new").write_text("n\n")
    (folder / "ignored").write_text("i")
    (folder / "sub" / "a").write_text("changed")
    commit(folder / "sub", "in the submodule")


async def test_a_checkpoint_holds_what_git_says_has_changed(tmp_path: Path, own: Path) -> None:
    folder = repository(tmp_path / "r")
    everything(folder)
    before = digest(folder)
    session = Session(folder, own)
    changes = await session.uncommitted()
    # Names as git lists them without renames.
    names = {name for change in changes.values() for name in (change.old_path, change.new_path)}
    assert names - {None} == status(folder)
    assert digest(folder) == before
    counts = {name: (change.added, change.removed) for name, change in changes.items()}
    assert counts == {
        "mod": (1, 0),
        "staged": (1, 0),
        "both": (2, 0),
        "del": (0, 30),
        "ren-ä \n2": (0, 0),
        "bin": (None, None),
        "new": (1, 0),
        "sub": (None, None),
    }
    assert changes["ren-ä \n2"].old_path == "ren"
    assert changes["sub"].is_submodule
    assert (changes["del"].new_path, changes["new"].old_path) == (None, None)
    assert await session.content(changes["bin"].new_blob) == b"\0other"
    assert (await session.content(changes["bin"].old_blob))[:3] == b"\0\1\2"


async def test_twenty_turns_compare_pairwise_and_leave_no_trace(tmp_path: Path, own: Path) -> None:
    folder = repository(tmp_path / "r")
    session = Session(folder, own)
    before = digest(folder)
    trees = []
    for turn in range(20):
        with (folder / "a").open("a") as file:
            file.write(f"turn {turn}\n")
        (folder / f"new {turn}").write_text("x\n")
        trees.append((await session.take()).tree)
    for first, last in list(combinations(range(20), 2))[::17]:
        changes = await session.changes(trees[first], trees[last])
        assert changes.pop("a").added == last - first
        assert sorted(changes) == sorted(f"new {turn}" for turn in range(first + 1, last + 1))
    assert digest(folder) == before
    assert git(folder, "fsck", "--connectivity-only", "--no-dangling") == ""


def evil_filters(folder: Path, trace: Path) -> None:
    run = f"touch {trace}; cat"
    for name in ("evil", "a=b"):
        git(folder, "config", f"filter.{name}.clean", run)
        git(folder, "config", f"filter.{name}.process", run)
        git(folder, "config", f"filter.{name}.required", "true")
    for key in ("diff.evil.textconv", "diff.external", "core.fsmonitor", "core.sshCommand"):
        git(folder, "config", key, run)
    (folder / ".gitattributes").write_text("* filter=evil diff=evil\nb filter=a=b\n")
    (folder / "a").write_text("x\n")
    (folder / "b").write_text("y\n")


def conflict(folder: Path, _: Path) -> None:
    git(folder, "checkout", "-qb", "other")
    (folder / "b").write_text("other\n")
    commit(folder, "other")
    git(folder, "checkout", "-q", "main")
    (folder / "b").write_text("main\n")
    commit(folder, "main")
    git(folder, "merge", "other", check=False)


def split_index(folder: Path, _: Path) -> None:
    git(folder, "update-index", "--split-index")
    (folder / "a").write_text("x\n")
    git(folder, "add", "a")
    (folder / "c").write_text("c\n")


def file_to_folder(folder: Path, _: Path) -> None:
    (folder / "a").unlink()
    (folder / "a").mkdir()
    (folder / "a" / "inner").write_text("x\n")


def intended(folder: Path, _: Path) -> None:
    (folder / "n").write_text("n\n")
    git(folder, "add", "-N", "n")


def modes(folder: Path, _: Path) -> None:
    (folder / "a").chmod(0o755)
    (folder / "b").unlink()
    (folder / "b").symlink_to("/etc/passwd")
    os.mkfifo(folder / "fifo")


def locked(folder: Path, _: Path) -> None:
    (folder / ".git" / "index.lock").write_text("")
    (folder / "a").write_text("x\n")


def strange_names(folder: Path, _: Path) -> None:
    for name in (b'\xff\n-x"', b"-rf", b":(top)x", b"*", b"a\tb", b" "):
        Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).write_text("z\n")


def unborn(folder: Path, _: Path) -> None:
    shutil.rmtree(folder / ".git")
    git(folder, "init", "-q", "-b", "main")


def detached(folder: Path, _: Path) -> None:
    git(folder, "checkout", "-q", "--detach")
    (folder / "a").unlink()


def rebasing(folder: Path, _: Path) -> None:
    conflict(folder, _)
    git(folder, "merge", "--abort")
    git(folder, "rebase", "other", check=False)


STATES: list[tuple[Callable[[Path, Path], None], set[str]]] = [
    (evil_filters, {".gitattributes", "a", "b"}),
    (conflict, {"b"}),
    (split_index, {"a", "c"}),
    (file_to_folder, {"a", "a/inner"}),
    (intended, {"n"}),
    (modes, {"a", "b"}),
    (locked, {"a"}),
    (strange_names, {os.fsdecode(b'\xff\n-x"'), "-rf", ":(top)x", "*", "a\tb", " "}),
    (unborn, {"a", "b"}),
    (detached, {"a"}),
    (rebasing, {"b"}),
]


@pytest.mark.parametrize(
    ("leave", "names"), STATES, ids=lambda value: getattr(value, "__name__", "")
)
async def test_difficult_repositories_are_read_and_left_alone(
    leave: Callable[[Path, Path], None], names: set[str], tmp_path: Path, own: Path
) -> None:
    folder, trace = repository(tmp_path / "r"), tmp_path / "trace"
    leave(folder, trace)
    trace.unlink(missing_ok=True)
    before = digest(folder)
    session = Session(folder, own)
    for _ in range(2):
        assert set(await session.uncommitted()) == names
    assert digest(folder) == before
    assert not trace.exists()


async def test_a_link_is_kept_as_a_link_and_never_followed(tmp_path: Path, own: Path) -> None:
    (tmp_path / "outside").write_text("secret")
    folder = repository(tmp_path / "r")
    (folder / "link").symlink_to(tmp_path / "outside")
    (folder / "dir").symlink_to(tmp_path)
    session = Session(folder, own)
    changes = await session.uncommitted()
    assert set(changes) == {"link", "dir"}
    assert changes["link"].new_mode == "120000"
    assert await session.content(changes["link"].new_blob) == os.fsencode(tmp_path / "outside")


async def test_repositories_inside_are_not_looked_into(tmp_path: Path, own: Path) -> None:
    folder = repository(tmp_path / "r")
    repository(folder / "inner")
    assert await Session(folder, own).uncommitted() == {}


async def test_only_the_folders_of_a_session_are_kept(tmp_path: Path, own: Path) -> None:
    folder = repository(tmp_path / "r")
    for name in ("one", "two", "o*"):
        (folder / name).mkdir()
        (folder / name / "f").write_text("x\n")
    session = Session(folder, own)
    start = await session.take("o*")
    assert set(await session.changes("HEAD", start.tree)) == {"o*/f"}
    later = await session.take("one", "two")
    assert set(await session.changes("HEAD", later.tree)) == {"o*/f", "one/f", "two/f"}


async def test_what_is_ignored_or_removed_meanwhile_is_no_longer_kept(
    tmp_path: Path, own: Path
) -> None:
    folder = repository(tmp_path / "r")
    session = Session(folder, own)
    for name in ("built", "removed", "stays"):
        (folder / name).write_text("x\n")
    assert set(await session.uncommitted()) == {"built", "removed", "stays"}
    (folder / "removed").unlink()
    (folder / ".gitignore").write_text("built\n")
    assert set(await session.uncommitted()) == {"stays", ".gitignore"} == status(folder)
    # The user commits: the index is another one.
    commit(folder, "second")
    assert await session.uncommitted() == {}


async def test_what_is_too_large_is_named_and_left_out(
    tmp_path: Path, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = repository(tmp_path / "r")
    session = Session(folder, own)
    # As large as a disk, and no larger than a file without content.
    with (folder / "huge").open("wb") as file:
        file.truncate(1 << 40)
    taken = await session.take()
    assert taken.left_out == ("huge",)
    assert await session.changes("HEAD", taken.tree) == {}
    (folder / "huge").unlink()
    monkeypatch.setattr(module, "MOST_UNTRACKED", 3)
    for number in range(4):
        (folder / f"new {number}").write_text("x")
    with pytest.raises(TooManyFiles, match="4 files"):
        await session.take()
    (folder / "new 0").unlink()
    assert len(await session.uncommitted()) == 3


async def test_too_many_changes_are_an_error_with_their_number(tmp_path: Path, own: Path) -> None:
    folder = repository(tmp_path / "r")
    session = Session(folder, own)
    for number in range(4):
        (folder / f"{number}").write_text("x")
    taken = await session.take()
    found = await session.repository()
    env = session.checkpoints.environment(found)
    with pytest.raises(TooManyFiles) as error:
        await changes_between(session.program, found, "HEAD", taken.tree, env=env, most=3)
    assert error.value.count == 4


async def test_what_is_gone_is_an_error_and_not_empty(tmp_path: Path, own: Path) -> None:
    folder = repository(tmp_path / "r")
    session = Session(folder, own)
    tree = (await session.take()).tree
    for name in ("0" * 40, "--output=x", "nothing"):
        with pytest.raises(GitFailed):
            await session.changes(name, tree)
        with pytest.raises(GitFailed):
            await session.content(name)
    with pytest.raises(GitFailed, match="git has cleaned up"):
        await session.changes("0" * 40, tree)
    found = await session.repository()
    with pytest.raises(GitFailed, match="at most"):
        await session.checkpoints.read(found, git(folder, "rev-parse", "HEAD:a"), most=3)
    shutil.rmtree(folder)
    with pytest.raises(GitFailed):
        await session.checkpoints.take(found)
    await session.checkpoints.remove()
    assert os.listdir(own.parent) == []


async def test_after_a_restart_checkpoints_go_on(tmp_path: Path, own: Path) -> None:
    folder = repository(tmp_path / "r")
    (folder / "new").write_text("1\n")
    start = await Session(folder, own).take()
    (folder / "new").write_text("1\n2\n")
    session = Session(folder, own)
    changes = await session.changes(start.tree, (await session.take()).tree)
    assert {name: change.added for name, change in changes.items()} == {"new": 1}


async def test_checkpoints_at_the_same_time_are_the_same(tmp_path: Path, own: Path) -> None:
    folder = repository(tmp_path / "r")
    (folder / "new").write_text("1\n")
    session = Session(folder, own)
    taken = await asyncio.gather(*(session.take() for _ in range(4)))
    assert len(set(taken)) == 1


NAMES = st.sampled_from(["a", "b", "c", "d/e", "d/f", "ä b", "x.ignored"])
EDITS = st.one_of(
    st.tuples(st.just("write"), NAMES, st.text("xy\n", max_size=8)),
    st.tuples(st.just("remove"), NAMES, st.just("")),
    st.tuples(st.just("stage"), NAMES, st.just("")),
    st.tuples(st.just("commit"), NAMES, st.just("")),
    st.tuples(st.just("checkpoint"), NAMES, st.just("")),
)


def edit(folder: Path, what: str, name: str, text: str) -> None:
    path = folder / name
    if what == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    elif what == "remove":
        path.unlink(missing_ok=True)
    elif what == "stage":
        git(folder, "add", "--", name, check=False)
    elif what == "commit":
        git(folder, "commit", "-q", "-m", "more", check=False)


@settings(max_examples=12)
@given(st.lists(EDITS, max_size=12))
def test_whatever_a_user_does_a_checkpoint_agrees_with_git(
    edits: list[tuple[str, str, str]],
) -> None:
    async def work(folder: Path, own: Path) -> None:
        session = Session(folder, own)
        for what, name, text in edits:
            if what == "checkpoint":
                await session.take()
            else:
                await asyncio.to_thread(edit, folder, what, name, text)
        changes = await session.uncommitted()
        names = {name for change in changes.values() for name in (change.old_path, change.new_path)}
        # What is staged and differs from HEAD, but is in the folder as in HEAD, has not changed.
        same = {n for n in status(folder) if is_as_in_head(folder, n)}
        assert names - {None} == status(folder) - same

    with tempfile.TemporaryDirectory() as top:
        folder = repository(Path(top, "r"))
        (folder / ".gitignore").write_text("*.ignored\n")
        commit(folder, "second")
        asyncio.run(work(folder, Path(top, "own")))


def is_as_in_head(folder: Path, name: str) -> bool:
    path = folder / name
    listed = git(folder, "ls-tree", "HEAD", "--", name)
    if not path.exists():
        return not listed
    return bool(listed) and git(folder, "hash-object", "--", name) in listed


async def test_files_that_were_gone_are_noticed_when_they_come_back(
    tmp_path: Path, own: Path
) -> None:
    folder = repository(tmp_path / "r")
    session = Session(folder, own)
    first = (await session.take()).tree
    (folder / "a").unlink()
    (folder / "b").unlink()
    os.mkfifo(folder / "b")
    second = (await session.take()).tree
    assert set(await session.changes(first, second)) == {"a", "b"}
    (folder / "a").write_text("back\n")
    (folder / "b").unlink()
    (folder / "b").write_text("b\n")
    third = (await session.take()).tree
    assert set(await session.changes(second, third)) == {"a", "b"}
    assert set(await session.changes(first, third)) == {"a"}
    assert set(await session.uncommitted()) == status(folder)


async def test_a_folder_that_became_a_link_is_one_and_nothing_behind_it_is_taken(
    tmp_path: Path, own: Path
) -> None:
    folder = repository(tmp_path / "r")
    (folder / "sub").mkdir()
    (folder / "sub" / "x").write_text("x\n")
    commit(folder, "second")
    session = Session(folder, own)
    first = (await session.take()).tree
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "x").write_text("secret\n")
    shutil.rmtree(folder / "sub")
    (folder / "sub").symlink_to(elsewhere)
    for _ in range(2):
        # Twice: what was removed does not come back by the link.
        second = (await session.take()).tree
        assert set(await session.changes(first, second)) == {"sub", "sub/x"} == status(folder)
    (folder / "sub").unlink()
    git(folder, "checkout", "-q", "--", "sub")
    assert await session.changes(first, (await session.take()).tree) == {}


async def test_files_are_made_as_a_checkpoint_has_them(tmp_path: Path, own: Path) -> None:
    folder = repository(tmp_path / "r")
    (folder / "run").write_text("#!/bin/sh\n")
    (folder / "run").chmod(0o755)
    (folder / "link").symlink_to("a")
    (folder / "crlf").write_bytes(b"one\r\ntwo\r\n")
    (folder / ".gitattributes").write_text("crlf text eol=crlf\n")
    commit(folder, "second")
    session = Session(folder, own)
    first = (await session.take()).tree
    touched = ("run", "link", "crlf", "a", "deep/-new\n")
    for name in touched[:4]:
        (folder / name).unlink()
    (folder / "deep").mkdir()
    (folder / "deep" / "-new\n").write_text("x\n")
    (folder / "b").write_text("stays\n")
    before = digest(folder)
    await session.take()
    found = await session.repository()
    await session.checkpoints.restore(found, first, touched)
    assert os.access(folder / "run", os.X_OK)
    assert os.readlink(folder / "link") == "a"
    assert (folder / "crlf").read_bytes() == b"one\r\ntwo\r\n"
    assert (folder / "a").read_text() == "a\n" * 20
    assert not (folder / "deep").exists()
    assert set(await session.changes(first, (await session.take()).tree)) == {"b"}
    assert digest(folder) == before


async def test_nothing_else_goes_to_make_a_file_as_it_was(tmp_path: Path, own: Path) -> None:
    folder = repository(tmp_path / "r")
    (folder / "sub").mkdir()
    (folder / "sub" / "x").write_text("x\n")
    commit(folder, "second")
    session = Session(folder, own)
    first = (await session.take()).tree
    (folder / "a").unlink()
    (folder / "a").mkdir()
    (folder / "a" / "precious").write_text("x\n")
    shutil.rmtree(folder / "sub")
    (folder / "sub").write_text("precious\n")
    await session.take()
    found = await session.repository()
    for path, named in (("a", "a"), ("sub/x", "sub")):
        with pytest.raises(GitFailed, match=f"^{named} is in the way"):
            await session.checkpoints.restore(found, first, [path])
    assert (folder / "a" / "precious").exists()
    assert (folder / "sub").read_text() == "precious\n"


async def test_what_is_not_kept_does_not_go_to_make_a_file_as_it_was(
    tmp_path: Path, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agenthost.workspace.git.checkpoints.MOST_KNOWN", 1000)
    folder = repository(tmp_path / "r")
    session = Session(folder, own)
    first = (await session.take()).tree
    (folder / "a").write_text("edited\n")
    # By now git neither has it nor looks at it.
    git(folder, "rm", "-q", "--cached", "b")
    (folder / ".gitignore").write_text("# not for git\nb\n")
    (folder / "b").write_text("precious\n")
    kept = (await session.take()).tree
    assert set(await session.changes(first, kept)) == {"a", "b", ".gitignore"}
    (folder / "a").write_text("precious\n" * 1000)
    assert await session.take() == Checkpoint(kept, ("a",))
    found = await session.repository()
    for path in ("a", "b"):
        with pytest.raises(GitFailed, match=f"^{path} is in the way"):
            await session.checkpoints.restore(found, first, [path])
    assert (folder / "a").read_text() == "precious\n" * 1000
    assert (folder / "b").read_text() == "precious\n"
