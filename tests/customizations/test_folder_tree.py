"""Folders of this machine as trees, on real filesystems."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from agenthost.customizations.folder_tree import DEEPEST_SEARCHED, FolderTree
from agenthost.workspace.file_trees import UnfitPath
from agenthost.workspace.roots import OutsideRoots
from tests.customizations.repository import write_files

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="walks need Linux")


@pytest.fixture(autouse=True)
def patient_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agenthost.customizations.folder_tree.SEARCH_SECONDS", 60.0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "folder"
    write_files(folder, {"a.md": "A", "sub/b.md": "B", "sub/inner/c.md": "C"})
    write_files(tmp_path, {"outside/secret": "SECRET"})
    return folder


async def test_names_are_listed_with_what_they_lead_to(folder: Path) -> None:
    os.symlink("sub", folder / "inside")
    os.symlink("../outside", folder / "outside")
    listed = await FolderTree(folder).list("")
    assert dict(listed) == {"a.md": False, "sub": True, "inside": True, "outside": False}


async def test_files_are_read_whole_or_not_at_all(folder: Path) -> None:
    tree = FolderTree(folder)
    assert await tree.read("sub/b.md", 1) == b"B"
    (folder / "a.md").write_text("AA")
    with pytest.raises(UnfitPath):
        await tree.read("a.md", 1)
    with pytest.raises(FileNotFoundError):
        await tree.read("gone.md", 1)


@pytest.mark.parametrize("path", ["../outside/secret", "/etc/passwd", "link", "sub/link"])
async def test_nothing_leads_out(folder: Path, path: str) -> None:
    os.symlink("../outside/secret", folder / "link")
    os.symlink(folder.parent / "outside/secret", folder / "sub/link")
    with pytest.raises(OutsideRoots):
        await FolderTree(folder).read(path, 100)


async def test_what_is_denied_is_not_read_by_any_way(folder: Path) -> None:
    write_files(folder, {"data/tokens": "SECRET"})
    os.symlink("data/tokens", folder / "link")
    tree = FolderTree(folder, [folder / "data"])
    for path in ("data/tokens", "link"):
        with pytest.raises(OutsideRoots):
            await tree.read(path, 100)
    with pytest.raises(OutsideRoots):
        await tree.below("data").read("tokens", 100)


async def test_nothing_leads_out_of_a_folder_below_either(folder: Path) -> None:
    os.symlink("../a.md", folder / "sub/link")
    tree = FolderTree(folder)
    assert await tree.read("sub/link", 100) == b"A"
    below = tree.below("sub")
    assert await below.read("b.md", 100) == b"B"
    for path in ("link", "../a.md"):
        with pytest.raises(OutsideRoots):
            await below.read(path, 100)


async def test_a_folder_below_that_lies_outside_is_nothing(folder: Path) -> None:
    os.symlink("../outside", folder / "link")
    with pytest.raises(OutsideRoots):
        await FolderTree(folder).below("link").read("secret", 100)


async def test_files_of_a_name_are_found_in_folders_below_the_upper_ones_first(
    folder: Path,
) -> None:
    deep = "/".join("abcdefghijk"[: DEEPEST_SEARCHED + 1])
    for name in ("", "sub/inner/", "sub/", "z/", ".hidden/", "node_modules/", f"{deep}/"):
        write_files(folder, {f"{name}AGENTS.md": "x"})
    os.symlink("..", folder / "sub/loop")
    (folder / "y").mkdir()
    os.symlink("../sub/AGENTS.md", folder / "y/AGENTS.md")
    found = await FolderTree(folder).find("AGENTS.md")
    assert found == ["sub/AGENTS.md", "z/AGENTS.md", "sub/inner/AGENTS.md"]


async def test_a_search_ends_after_so_many_folders(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agenthost.customizations.folder_tree.MOST_SEARCHED", 3)
    write_files(folder, {f"d{number}/AGENTS.md": "" for number in range(9)})
    # The folder itself is the first of them.
    assert await FolderTree(folder).find("AGENTS.md") == ["d0/AGENTS.md", "d1/AGENTS.md"]


async def test_a_folder_that_is_gone_has_nothing_in_it(folder: Path) -> None:
    tree = FolderTree(folder / "gone")
    assert await tree.find("AGENTS.md") == []
    with pytest.raises(FileNotFoundError):
        await tree.list("")
    with pytest.raises(FileNotFoundError):
        await tree.read("a.md", 100)
