"""Names in, real paths inside the working directories out."""

from __future__ import annotations

from pathlib import Path

import pytest

from agenthost.agents.llm.folders import Folders, OutsideFolders, file_path


def test_names_start_in_the_first_folder_and_may_lead_into_any(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b c"
    first.mkdir()
    second.mkdir()
    folders = Folders([first.as_uri(), "https://elsewhere/x", second.as_uri()])
    assert folders.resolve("x/../y.txt") == first / "y.txt"
    assert folders.resolve("../b c/z") == second / "z"
    assert folders.resolve(str(second / "z")) == second / "z"
    assert folders.shown(first / "y") == "y"
    assert folders.shown(second / "z") == str(second / "z")


@pytest.mark.parametrize("name", ["..", "../ab/x", "/", "loop/x", "out/x", "a\0b"])
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


def test_a_session_without_a_folder_is_told_so(tmp_path: Path) -> None:
    for uris in ([], ["https://x/y"], [(tmp_path / "gone").as_uri()]):
        with pytest.raises(OutsideFolders, match="no folder"):
            Folders(uris).resolve("x")


@pytest.mark.parametrize("uri", ["http://x/y", "file://server/y", "file:///a%00b"])
def test_only_files_of_this_machine_have_a_path(uri: str) -> None:
    assert file_path(uri) is None


def test_a_path_is_decoded() -> None:
    assert file_path("file:///a%20b") == file_path("file://localhost/a%20b") == Path("/a b")
