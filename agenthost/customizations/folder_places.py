"""Reads the customizations of one folder that holds Markdown files of one kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from msgspec import Struct

from agenthost.customizations.markdown_files import (
    beside_reader,
    body_reader,
    markdown_customization,
)
from agenthost.customizations.parsing import parsed
from agenthost.customizations.places import SKILL_FILE, FolderPlace
from agenthost.customizations.reading import Listing, TreeReader
from agenthost.customizations.types import FoundCustomization

# Folders in folders, where files may lie deep.
DEEPEST = 4
MOST_FOLDERS = 100


class FoundInFolder(Struct, frozen=True):
    """What a folder holds; or that it is not there, or why it cannot be read."""

    found: tuple[FoundCustomization, ...] = ()
    exists: bool = True
    problem: str | None = None


async def read_folder_place(reader: TreeReader, place: FolderPlace) -> FoundInFolder:
    """Read all customizations of a folder, paths relative to the tree."""
    listing = await reader.listing(place.folder)
    if not listing.exists or listing.problem is not None:
        return FoundInFolder(exists=listing.exists, problem=listing.problem)
    paths = await _paths_in(reader, place, listing)
    # One more than are shown, so that it is noticed.
    paths = paths[: reader.budget.limits.children + 1]
    listed = place.arrangement != "skills"
    return FoundInFolder(tuple(await read_files(reader, place, paths, listed=listed)))


async def read_files(
    reader: TreeReader, place: FolderPlace, paths: Sequence[str], *, listed: bool = False
) -> list[FoundCustomization]:
    """Read some files as what a place holds, paths relative to the tree."""
    files = await reader.read(paths, listed=listed)
    found = await parsed(reader, files, lambda file: markdown_customization(file, place.what))
    return [_with_readers(reader, place, one) if one.problem is None else one for one in found]


def _with_readers(
    reader: TreeReader, place: FolderPlace, found: FoundCustomization
) -> FoundCustomization:
    tree, most = reader.tree, reader.budget.limits.file_bytes
    is_folder = place.arrangement == "skills"
    return replace(
        found,
        body=body_reader(tree, found.path, most),
        beside=beside_reader(tree, found.path, most) if is_folder else None,
    )


async def _paths_in(reader: TreeReader, place: FolderPlace, listing: Listing) -> list[str]:
    if place.arrangement == "skills":
        # What is no folder has nothing in it; a link that leads out is told to.
        return [f"{place.folder}/{name}/{SKILL_FILE}" for name, _ in listing.entries]
    if place.arrangement == "deep":
        return await _paths_below(reader, place, listing)
    return _matching(place, place.folder, listing)


async def _paths_below(reader: TreeReader, place: FolderPlace, listing: Listing) -> list[str]:
    paths: list[str] = []
    level = [(place.folder, listing)]
    entered = 0
    for _ in range(DEEPEST):
        paths += (path for folder, names in level for path in _matching(place, folder, names))
        inner = [
            f"{folder}/{name}"
            for folder, names in level
            for name, is_folder in names.entries
            if is_folder
        ][: MOST_FOLDERS - entered]
        entered += len(inner)
        level = [(folder, await reader.listing(folder)) for folder in inner]
    return paths


def _matching(place: FolderPlace, folder: str, listing: Listing) -> list[str]:
    return [
        f"{folder}/{name}"
        for name, is_folder in listing.entries
        if not is_folder and name.lower().endswith(place.endings) and not _is_about(name)
    ]


def _is_about(name: str) -> bool:
    """Say whether a file tells people about the folder it lies in."""
    return name.lower() in ("readme.md", "license.md", "changelog.md")
