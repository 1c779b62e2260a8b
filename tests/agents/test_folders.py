"""Names in, real paths inside the working directories out."""

from __future__ import annotations

import contextlib
import os
from functools import partial
from pathlib import Path

import pytest

from agenthost.agents.folders import FileRefused, Folders, NoSuchFile, OutsideFolders
from agenthost.workspace import roots as roots_module
from agenthost.workspace.roots import Place, Roots


@pytest.fixture(autouse=True, params=["here", "without O_PATH"])
def system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each test run a second time as on a system that cannot hold what it does not open."""
    if request.param != "here":
        looked_at = os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
        monkeypatch.setattr(roots_module, "_PINNED", looked_at)
        monkeypatch.setattr(roots_module, "_FOLDER", os.O_DIRECTORY | os.O_CLOEXEC)
        monkeypatch.setattr(roots_module, "_REOPENS", False)


def test_names_start_in_the_first_folder_and_may_lead_into_any(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b c"
    first.mkdir()
    second.mkdir()
    (first / "x").mkdir()
    folders = Folders([first.as_uri(), "https://elsewhere/x", second.as_uri()])
    assert folders.resolve("x/../y.txt") == first / "y.txt"
    assert folders.resolve("../b c/z") == second / "z"
    assert folders.resolve(str(second / "z")) == second / "z"
    assert folders.shown(first / "y") == "y"
    assert folders.shown(second / "z") == str(second / "z")


@pytest.mark.parametrize("name", ["..", "../ab/x", "/", "loop/x", "out/x", "a\0b", "\ud800"])
def test_everything_else_is_refused(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "a"
    folder.mkdir()
    (folder / "out").symlink_to("/etc")
    (folder / "loop").symlink_to(tmp_path / "away" / ".." / "..")
    with pytest.raises(OutsideFolders):
        Folders([folder.as_uri()]).resolve(name)


def test_a_link_within_the_folder_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert Folders([tmp_path.as_uri()]).resolve("link/x") == (tmp_path / "real" / "x").resolve()


def test_going_up_starts_where_a_link_leads(tmp_path: Path) -> None:
    folder, outside = tmp_path / "root" / "a", tmp_path / "other" / "b"
    for made in (folder, outside):
        made.mkdir(parents=True)
    (folder / "link").symlink_to(outside)
    (outside.parent / "secret").write_text("secret")
    for uri in (f"{folder.as_uri()}/link/..", f"{folder.as_uri()}/link%2f.."):
        assert Folders([uri]).primary == outside.parent
    for name in ("link/../secret", "link/../../root/a/none/../x"):
        with pytest.raises(OutsideFolders):
            Folders([folder.as_uri()]).resolve(name)


def test_a_folder_that_leads_nowhere_is_not_replaced_by_the_next(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    folders = Folders([(tmp_path / "loop").as_uri(), tmp_path.as_uri()])
    with pytest.raises(OutsideFolders, match="no folder"):
        folders.resolve("x")


def test_a_session_without_a_folder_is_told_so(tmp_path: Path) -> None:
    for uris in ([], ["https://x/y"], [(tmp_path / "gone").as_uri()]):
        with pytest.raises(OutsideFolders, match="no folder"):
            Folders(uris).resolve("x")


def test_files_are_written_with_the_folders_they_need_and_read(tmp_path: Path) -> None:
    folders = Folders([tmp_path.as_uri()])
    folders.write("a/b/f", b"some text")
    folders.write("a/b/f", b"text")
    assert (tmp_path / "a" / "b" / "f").read_bytes() == folders.read("a/b/f", 4) == b"text"
    with pytest.raises(FileRefused, match="too large"):
        folders.read("a/b/f", 3)
    with pytest.raises(NoSuchFile):
        folders.read("a/c", 4)


def test_only_regular_files_are_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    folders = Folders([tmp_path.as_uri()])
    for name in ("", ".", "folder", "pipe"):
        with pytest.raises(FileRefused, match="no file"):
            folders.read(name, 1)
    for name in ("folder", "pipe"):
        with pytest.raises(FileRefused, match="no file"):
            folders.write(name, b"x")
    with pytest.raises(FileRefused, match="directory"):
        folders.write("pipe/below", b"x")


@pytest.mark.parametrize("swapped", ["inner", "inner/f"])
@pytest.mark.parametrize("writing", [True, False])
def test_a_link_put_there_after_the_look_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, swapped: str, writing: bool
) -> None:
    root, away = tmp_path / "root", tmp_path / "away"
    for folder in (root / "inner", away):
        folder.mkdir(parents=True)
        (folder / "f").write_text("secret" if folder == away else "mine")
    folders = Folders([root.as_uri()])
    walk = Roots.walk

    def look_and_swap(roots: Roots, path: str, **options: bool) -> Place:
        # What an attacker does between the look and the opening.
        place = walk(roots, path, **options)
        (root / swapped).rename(tmp_path / "gone")
        (root / swapped).symlink_to(away if swapped == "inner" else away / "f")
        return place

    attempt = partial(folders.write, data=b"changed") if writing else partial(folders.read, most=10)
    with monkeypatch.context() as patched, contextlib.suppress(FileRefused):
        patched.setattr(Roots, "walk", look_and_swap)
        # What was found is still the file that was meant, by whatever name.
        assert attempt("inner/f") in (None, b"mine")
    with pytest.raises(OutsideFolders):
        attempt("inner/f")
    assert (away / "f").read_text() == "secret"


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    folders = Folders([tmp_path.as_uri()])
    folders.write("a/b/f", b"text")
    before = os.listdir("/dev/fd")
    for name in ("a/b/f", "a/b", "a/b/none", "a/b/f/below"):
        with pytest.raises(FileRefused):
            folders.read(name, 1)
    assert len(os.listdir("/dev/fd")) == len(before)


def test_a_file_is_deleted_and_nothing_else(tmp_path: Path) -> None:
    folder, outside = tmp_path / "a", tmp_path / "b"
    for made in (folder, outside, folder / "inner"):
        made.mkdir()
    for file in (folder / "x", folder / "target", outside / "y"):
        file.touch()
    (folder / "link").symlink_to("target")
    (folder / "out").symlink_to(outside)
    folders = Folders([folder.as_uri()])
    folders.delete("x")
    folders.delete("link")
    with pytest.raises(NoSuchFile):
        folders.delete("x")
    with pytest.raises(FileRefused, match="inner is no file"):
        folders.delete("inner")
    for name in ("out/y", "../b/y"):
        with pytest.raises(OutsideFolders):
            folders.delete(name)
    assert sorted(os.listdir(folder)) == ["inner", "link", "out"]
    assert os.listdir(outside) == ["y"]
