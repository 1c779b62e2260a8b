"""Files inside of roots, on real filesystems: full ones, small ones, contested ones."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agenthost.workspace.file_trees import UnfitPath, unfinished_name
from agenthost.workspace.files import (
    ChangedMeanwhile,
    FileLimits,
    FileLocks,
    Files,
    FolderEntry,
    WriteMode,
    content_type,
)
from agenthost.workspace.roots import OutsideRoots, Roots

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="walks need Linux")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path.resolve() / "root"
    root.mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "secret").write_text("SECRET")
    return root


@pytest.fixture
def files(root: Path) -> Files:
    return Files(Roots([root]))


def everything(folder: Path) -> dict[str, str]:
    """Return all that lies below a folder, and what it contains."""
    found: dict[str, str] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = f"-> {os.readlink(path)}"
        else:
            found[name] = "/" if path.is_dir() else path.read_text()
    return found


# Reading


def test_a_file_is_read_whole_with_the_etag_of_its_version(root: Path, files: Files) -> None:
    (root / "a").write_bytes(b"\xff\0x")
    content = files.read(root / "a")
    assert content.data == b"\xff\0x"
    assert content.etag == files.details(root / "a").etag
    (root / "a").write_bytes(b"other")
    assert files.read(root / "a").etag != content.etag


def test_what_is_no_readable_file_is_refused(root: Path, files: Files) -> None:
    os.mkfifo(root / "fifo")
    for path in (root, root / "fifo"):
        with pytest.raises(UnfitPath):
            files.read(path)
    with pytest.raises(FileNotFoundError):
        files.read(root / "missing")
    with pytest.raises(OutsideRoots):
        files.read(root / "../out/secret")


def test_a_huge_file_is_refused_and_costs_no_memory(root: Path) -> None:
    files = Files(Roots([root]), limits=FileLimits(read_bytes=1 << 20))
    with open(root / "huge", "wb") as file:
        file.truncate(1 << 30)
    (root / "fits").write_bytes(b"x" * (1 << 20))
    tracemalloc.start()
    try:
        with pytest.raises(UnfitPath, match=r"1\.0 GiB; no more than 1\.0 MiB"):
            files.read(root / "huge")
        assert tracemalloc.get_traced_memory()[1] < 1 << 19
    finally:
        tracemalloc.stop()
    assert len(files.read(root / "fits").data) == 1 << 20


def test_what_a_file_is_comes_from_its_name_or_its_bytes() -> None:
    assert content_type("a.html", b"") == "text/html"
    assert content_type("Makefile", "ä".encode()) == "text/plain"
    assert content_type("blob", b"\xff") == "application/octet-stream"
    assert content_type("a.txt.gz", b"\x1f\x8b\xff") == "application/octet-stream"


def test_links_are_followed_or_told(root: Path, files: Files) -> None:
    (root / "a").write_text("abc")
    (root / "link").symlink_to("a")
    (root / "away").symlink_to("../out/secret")
    assert files.details(root / "link").real == root / "a"
    assert files.details(root / "link").size == 3
    assert files.details(root / "link", follow=False).kind == "symlink"
    assert files.details(root / "away", follow=False).kind == "symlink"
    with pytest.raises(OutsideRoots):
        files.details(root / "away")
    assert files.details(root).kind == "directory"


# Listing


def test_a_folder_lists_names_and_what_they_lead_to_inside(root: Path, files: Files) -> None:
    (root / "b").mkdir()
    (root / "a").write_text("")
    (root / "tob").symlink_to("b")
    (root / "out").symlink_to("../out")
    (root / "loop").symlink_to("loop")
    (root / unfinished_name("a")).write_text("")
    assert files.list(root) == [
        FolderEntry("a", "file"),
        FolderEntry("b", "directory"),
        FolderEntry("loop", "file"),
        FolderEntry("out", "file"),
        FolderEntry("tob", "directory"),
    ]
    with pytest.raises(UnfitPath):
        files.list(root / "a")
    with pytest.raises(OutsideRoots):
        files.list(root / "out")
    with pytest.raises(UnfitPath, match="more than 2"):
        Files(Roots([root]), limits=FileLimits(list_entries=2)).list(root)


def test_links_in_a_folder_are_followed_for_a_while_only(
    root: Path, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "d").mkdir()
    for number in range(5):
        (root / f"l{number}").symlink_to("d")
    assert {entry.kind for entry in files.list(root)} == {"directory"}
    monkeypatch.setattr("agenthost.workspace.files._LINKS_SECONDS", 0.0)
    kinds = {entry.name: entry.kind for entry in files.list(root)}
    assert kinds == {"d": "directory"} | {f"l{number}": "file" for number in range(5)}


def test_what_is_denied_is_not_listed_copied_or_removed_with_its_folder(root: Path) -> None:
    token = root / "home" / "data" / "token"
    token.parent.mkdir(parents=True)
    token.write_text("TOKEN")
    files = Files(Roots([root], [root / "home" / "data"]))
    assert files.list(root / "home") == []
    for attempt in (
        lambda: files.delete(root / "home", recursive=True),
        lambda: files.move(root / "home", root / "elsewhere"),
        lambda: files.move(root / "home" / "data", root / "elsewhere"),
        lambda: files.write(root / "home" / "data" / "x", b""),
    ):
        with pytest.raises(OutsideRoots):
            attempt()
    files.copy(root / "home", root / "copy")
    assert everything(root / "copy") == {}
    (root / "other").mkdir()
    with pytest.raises(OutsideRoots):
        files.move(root / "other", root / "home")
    assert token.read_text() == "TOKEN"


# Writing


@pytest.mark.parametrize(
    ("mode", "position", "expected"),
    [
        ("truncate", 0, "XY"),
        ("truncate", 2, "abXY"),
        ("truncate", 4, "abcdXY"),
        ("append", 0, "abcdXY"),
        ("append", 1, "abcXYd"),
        ("append", 4, "XYabcd"),
        ("insert", 0, "XYabcd"),
        ("insert", 3, "abcXYd"),
    ],
)
def test_each_mode_writes_where_it_should(
    root: Path, files: Files, mode: WriteMode, position: int, expected: str
) -> None:
    (root / "a").write_text("abcd")
    (root / "a").chmod(0o751)
    (root / "link").symlink_to("a")
    etag = files.write(root / "link", b"XY", mode=mode, position=position)
    assert (root / "a").read_text() == expected
    assert (root / "link").is_symlink()
    assert (root / "a").stat().st_mode & 0o7777 == 0o751
    assert etag == files.details(root / "a").etag
    assert everything(root).keys() == {"a", "link"}


@pytest.mark.parametrize("mode", ["truncate", "append", "insert"])
def test_a_missing_file_is_made_but_no_folder(root: Path, files: Files, mode: WriteMode) -> None:
    files.write(root / "new", b"x", mode=mode)
    assert (root / "new").read_text() == "x"
    assert (root / "new").stat().st_mode & 0o777 == 0o666 & ~_umask()
    with pytest.raises(FileNotFoundError):
        files.write(root / "missing" / "new", b"x", mode=mode)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_a_write_that_is_refused_changes_nothing(root: Path, files: Files) -> None:
    (root / "a").write_text("abcd")
    (root / "d").mkdir()
    os.mkfifo(root / "fifo")
    before = files.details(root / "a")
    stale = before.etag[:-1] + ("0" if before.etag[-1] != "0" else "1")
    with pytest.raises(ChangedMeanwhile):
        files.write(root / "a", b"x", if_match=stale)
    with pytest.raises(ChangedMeanwhile):
        files.write(root / "new", b"x", if_match=stale)
    with pytest.raises(FileExistsError):
        files.write(root / "a", b"x", create_only=True)
    for position in (5, -1):
        with pytest.raises(UnfitPath):
            files.write(root / "a", b"x", mode="insert", position=position)
    with pytest.raises(UnfitPath):
        files.write(root / "new", b"x", position=1)
    for path in (root / "d", root / "fifo"):
        with pytest.raises(UnfitPath):
            files.write(path, b"x")
    for path in (root, root / "../out/secret", root / "../out/new"):
        with pytest.raises(OutsideRoots):
            files.write(path, b"x")
    assert files.details(root / "a") == before
    assert sorted(os.listdir(root)) == ["a", "d", "fifo"]
    assert everything(root.parent / "out") == {"secret": "SECRET"}
    files.write(root / "a", b"x", if_match=before.etag)
    files.write(root / "new", b"y", create_only=True)
    assert ((root / "a").read_text(), (root / "new").read_text()) == ("x", "y")


@pytest.fixture
def small_disk(root: Path) -> Iterator[Path]:
    disk = root / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)], capture_output=True
    )
    if mounted.returncode:
        pytest.skip(f"nothing can be mounted here: {mounted.stderr.decode().strip()}")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize("mode", ["truncate", "append", "insert"])
def test_a_full_disk_leaves_everything_as_it_was(
    small_disk: Path, files: Files, mode: WriteMode
) -> None:
    (small_disk / "a").write_bytes(b"old" * 1000)
    for name in ("a", "new"):
        with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
            files.write(small_disk / name, b"x" * (1 << 20), mode=mode)
    assert everything(small_disk) == {"a": "old" * 1000}


def test_a_move_to_another_filesystem_is_a_copy_that_is_whole_or_not_there(
    root: Path, small_disk: Path, files: Files
) -> None:
    (root / "d" / "e").mkdir(parents=True)
    (root / "d" / "e" / "f").write_text("f")
    files.move(root / "d", small_disk / "d")
    assert not (root / "d").exists()
    assert everything(small_disk / "d") == {"e": "/", "e/f": "f"}
    (root / "large").write_bytes(b"x" * (1 << 20))
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        files.move(root / "large", small_disk / "large")
    assert (root / "large").exists()
    assert os.listdir(small_disk) == ["d"]


LIMITED = """
import os, resource, sys
from agenthost.workspace.files import Files
from agenthost.workspace.roots import Roots
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
files = Files(Roots([sys.argv[1]]))
for mode in ("truncate", "append", "insert"):
    try:
        files.write(sys.argv[1] + "/a", b"x" * 10_000, mode=mode)
    except OSError as error:
        print(os.strerror(error.errno))
"""


def test_a_file_that_may_not_grow_stays_what_it_was(root: Path) -> None:
    (root / "a").write_text("old" * 1000)
    ran = subprocess.run(
        [sys.executable, "-c", LIMITED, str(root)], capture_output=True, text=True, check=True
    )
    assert ran.stdout.splitlines() == [os.strerror(errno.EFBIG)] * 3
    assert everything(root) == {"a": "old" * 1000}


def test_two_who_append_lose_nothing_whatever_their_roots(root: Path) -> None:
    (root / "d").mkdir()
    (root / "link").symlink_to("d/log")
    locks = FileLocks()
    one = Files(Roots([root]), locks=locks)
    other = Files(Roots([root / "d"]), locks=locks)

    def work(files: Files, path: Path, letter: bytes) -> None:
        for number in range(100):
            # Both ways to append: in place, and by a new file.
            mode: WriteMode = "append" if number % 2 else "insert"
            files.write(path, letter, mode=mode)

    threads = [
        threading.Thread(target=work, args=(files, path, letter))
        for files, path, letter in (
            (one, root / "link", b"a"), (other, root / "d/log", b"b"), (one, root / "d/log", b"c"),
        )
    ]  # fmt: skip
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    text = (root / "d" / "log").read_text()
    assert {letter: text.count(letter) for letter in "abc"} == {"a": 100, "b": 100, "c": 100}
    assert os.listdir(root / "d") == ["log"]


def test_what_is_read_only_is_not_replaced(root: Path) -> None:
    script = (
        "import os, sys\n"
        "from agenthost.workspace.files import Files\n"
        "from agenthost.workspace.roots import Roots\n"
        "if os.getuid() == 0: os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "try: Files(Roots([sys.argv[1]])).write(sys.argv[1] + '/a', b'x')\n"
        "except PermissionError: print('refused')\n"
    )
    (root / "a").write_text("old")
    (root / "a").chmod(0o444)
    root.chmod(0o777)
    for folder in (root, *root.parents):
        if not folder.stat().st_mode & 0o001:
            folder.chmod(folder.stat().st_mode | 0o011)
    ran = subprocess.run(
        [sys.executable, "-c", script, str(root)], capture_output=True, text=True, check=False
    )
    assert ran.stdout == "refused\n", ran.stderr
    assert (root / "a").read_text() == "old"


# Folders, copies, moves


def test_folders_are_made_with_those_they_need(root: Path, files: Files) -> None:
    for _ in range(2):
        files.make_folder(root / "a" / "b" / "c")
    (root / "file").write_text("")
    with pytest.raises(FileExistsError):
        files.make_folder(root / "file")
    with pytest.raises(NotADirectoryError):
        files.make_folder(root / "file" / "x")
    with pytest.raises(OutsideRoots):
        files.make_folder(root / "../out/x")
    assert everything(root) == {"a": "/", "a/b": "/", "a/b/c": "/", "file": ""}


def a_tree(root: Path) -> None:
    (root / "d" / "e").mkdir(parents=True)
    (root / "d" / "e" / "f").write_text("f")
    (root / "d" / "away").symlink_to(root.parent / "out")
    (root / "x").write_text("x")


TREE = {"away": "-> …", "e": "/", "e/f": "f"}


def shown(folder: Path) -> dict[str, str]:
    return {
        name: "-> …" if text.startswith("-> ") else text
        for name, text in everything(folder).items()
    }


def test_a_folder_is_copied_with_its_links_as_they_are(root: Path, files: Files) -> None:
    a_tree(root)
    files.copy(root / "d", root / "copy")
    assert shown(root / "copy") == shown(root / "d") == TREE
    # Over something else, and over a folder.
    files.copy(root / "d", root / "x")
    assert shown(root / "x") == TREE
    files.copy(root / "d" / "e" / "f", root / "x")
    assert (root / "x").read_text() == "f"
    with pytest.raises(FileExistsError):
        files.copy(root / "d", root / "x", fail_if_exists=True)
    files.copy(root / "x", root / "new", fail_if_exists=True)
    assert (root / "new").read_text() == "f"


def test_what_is_moved_is_gone_where_it_was(root: Path, files: Files) -> None:
    a_tree(root)
    files.move(root / "d", root / "m", fail_if_exists=True)
    files.move(root / "m", root / "x")
    assert shown(root / "x") == TREE
    files.move(root / "x" / "away", root / "link")
    assert (root / "link").is_symlink()
    files.move(root / "x" / "e" / "f", root / "link")
    assert (root / "link").read_text() == "f"
    with pytest.raises(FileExistsError):
        files.move(root / "link", root / "x", fail_if_exists=True)
    files.move(root / "link", root / "link")
    assert everything(root) == {"link": "f", "x": "/", "x/e": "/"}


def test_nothing_goes_into_or_over_itself_nor_over_a_root(root: Path, files: Files) -> None:
    a_tree(root)
    before = shown(root)
    for act in (files.copy, files.move):
        for source, target in (("d", "d/e/g"), ("d", "d/g"), ("d/e/f", "d"), ("d/e", "d")):
            with pytest.raises(UnfitPath):
                act(root / source, root / target)
        for target in ("", "../out/x", "d/away/x", "../out/secret"):
            with pytest.raises(OutsideRoots):
                act(root / "x", root / target)
        with pytest.raises(FileNotFoundError):
            act(root / "missing", root / "y")
        with pytest.raises(FileNotFoundError):
            act(root / "x", root / "missing" / "y")
        with pytest.raises(OutsideRoots):
            act(root / "../out/secret", root / "y")
    with pytest.raises(OutsideRoots):
        files.move(root, root / "y")
    with pytest.raises(OutsideRoots):
        files.delete(root, recursive=True)
    assert shown(root) == before


def test_a_copy_that_is_too_much_leaves_nothing(root: Path) -> None:
    a_tree(root)
    os.mkfifo(root / "d" / "e" / "pipe")
    with pytest.raises(UnfitPath, match="neither"):
        Files(Roots([root])).copy(root / "d", root / "copy")
    (root / "d" / "e" / "pipe").unlink()
    for limits in (FileLimits(copy_entries=2), FileLimits(copy_bytes=0)):
        with pytest.raises(UnfitPath):
            Files(Roots([root]), limits=limits).copy(root / "d", root / "copy")
    deep = root / Path(*["n"] * 150)
    deep.mkdir(parents=True)
    with pytest.raises(UnfitPath, match="deep"):
        Files(Roots([root])).copy(root / "n", root / "copy")
    assert sorted(os.listdir(root)) == ["d", "n", "x"]


def test_deleting_takes_links_and_not_what_they_lead_to(root: Path, files: Files) -> None:
    a_tree(root)
    with pytest.raises(UnfitPath, match="not empty"):
        files.delete(root / "d")
    files.delete(root / "d", recursive=True)
    files.delete(root / "x")
    with pytest.raises(FileNotFoundError):
        files.delete(root / "x")
    assert everything(root) == {}
    assert everything(root.parent / "out") == {"secret": "SECRET"}


# Swaps a folder for a link to the outside and back, as fast as it can.
RACER = """
import os, sys
top = sys.argv[1]
os.symlink(top + "/out", top + "/link")
print("ready", flush=True)
while True:
    try:
        os.rename(top + "/root/d", top + "/hold"); os.rename(top + "/link", top + "/root/d")
        os.rename(top + "/root/d", top + "/link"); os.rename(top + "/hold", top + "/root/d")
    except OSError:
        sys.exit("lost the race's own files")
"""


def test_nothing_outside_is_written_listed_or_deleted_while_links_are_swapped(
    root: Path, files: Files
) -> None:
    (root / "d").mkdir()
    racer = subprocess.Popen(
        [sys.executable, "-c", RACER, str(root.parent)], stdout=subprocess.PIPE, text=True
    )
    refused = done = 0
    try:
        assert racer.stdout is not None
        racer.stdout.readline()
        attempts: list[Callable[[], object]] = [
            lambda: files.write(root / "d" / "mine", b"x"),
            lambda: files.list(root / "d"),
            lambda: files.copy(root / "d" / "mine", root / "d" / "yours"),
            lambda: files.delete(root / "d" / "secret"),
            lambda: files.delete(root / "d" / "yours", recursive=True),
            lambda: files.move(root / "d" / "secret", root / "caught"),
        ]
        while refused < 200 or done < 200:
            for attempt in attempts:
                try:
                    seen = attempt()
                    assert not isinstance(seen, list) or FolderEntry("secret", "file") not in seen
                    done += 1
                except OutsideRoots:
                    refused += 1
                except FileNotFoundError:
                    # Between two renames there is no folder at all.
                    continue
        assert racer.poll() is None
    finally:
        racer.kill()
        racer.communicate()
    assert everything(root.parent / "out") == {"secret": "SECRET"}
