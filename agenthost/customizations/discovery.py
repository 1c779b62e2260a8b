"""Finds all customizations of a folder: one that sessions work in, or a person's own.

One pass reads every place of its table; what is wrong in one of them is told there and harms none
of the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from msgspec import Struct, structs

from agenthost.customizations.folder_places import read_files, read_folder_place
from agenthost.customizations.hooks import hook_customization
from agenthost.customizations.markdown_files import MarkdownKind
from agenthost.customizations.parsing import parsed
from agenthost.customizations.places import (
    USER_PLACES,
    WORKSPACE_PLACES,
    FolderPlace,
    PlaceTable,
)
from agenthost.customizations.plugins import is_empty, read_plugin_within
from agenthost.customizations.reading import LEADS_OUT, ReadBudget, ReadLimits, TreeReader
from agenthost.customizations.server_declarations import declared_servers
from agenthost.customizations.sources import failed, filled, source_of
from agenthost.customizations.types import (
    CustomizationSource,
    FoundCustomization,
    Origin,
    Tree,
    uri_below,
)
from agenthost.customizations.variables import Variables
from agenthost.workspace.paths import file_path

_INSTRUCTIONS = FolderPlace("", "Instructions", MarkdownKind("rule", True, "path"))
# Letters that mean something in a glob; a question mark stands for any one of them.
_IN_GLOBS = str.maketrans(dict.fromkeys("*?[]{}", "?"))


async def read_workspace(
    tree: Tree, uri: str, origin: Origin = "workspace", *, limits: ReadLimits | None = None
) -> list[CustomizationSource]:
    """Return the customizations of a folder that sessions work in, place by place."""
    return await _read_places(tree, uri, origin, WORKSPACE_PLACES, limits or ReadLimits())


async def read_user_folder(
    tree: Tree, uri: str, origin: Origin = "user", *, limits: ReadLimits | None = None
) -> list[CustomizationSource]:
    """Return the customizations that a person keeps for all folders, place by place."""
    return await _read_places(tree, uri, origin, USER_PLACES, limits or ReadLimits())


async def _read_places(
    tree: Tree, uri: str, origin: Origin, places: PlaceTable, limits: ReadLimits
) -> list[CustomizationSource]:
    path = file_path(uri)
    reader = TreeReader(tree, ReadBudget(limits))
    one_pass = _Pass(reader, uri, origin, str(path) if path is not None else None)
    return await one_pass.read(places)


class _Pass(Struct, frozen=True):
    """One look at all places of a folder."""

    reader: TreeReader
    uri: str
    origin: Origin
    # The folder's path, if it is one of this machine.
    path: str | None

    async def read(self, places: PlaceTable) -> list[CustomizationSource]:
        always = await read_files(self.reader, _INSTRUCTIONS, places.instructions)
        sources: list[CustomizationSource | None] = []
        for place in places.folders:
            sources.append(await self._folder(place))
        for folder in places.hook_folders:
            sources.append(await self._hook_folder(folder))
        sources.append(await self._hook_settings(places.hook_settings))
        for file in places.servers:
            sources.append(await self._servers(file))
        for folder in places.plugins:
            sources += await self._plugins(folder)
        # Last, for it may take long in a large folder.
        nested = await self._nested(places.nested_instructions)
        sources.insert(0, self._instructions([*always, *nested]))
        return [source for source in sources if source is not None][: self._limits.sources]

    @property
    def _limits(self) -> ReadLimits:
        return self.reader.budget.limits

    def _filled(
        self, source: CustomizationSource, found: Sequence[FoundCustomization]
    ) -> CustomizationSource:
        return filled(source, found, self._limits.children, self.reader.budget.spent)

    def _instructions(self, found: Sequence[FoundCustomization]) -> CustomizationSource | None:
        # Also told of what the whole pass left out, for the places after that are not known.
        if not found and self.reader.budget.spent is None:
            return None
        source = source_of(self.uri, "", "directory", "Instructions", "rule", self.origin)
        return self._filled(source, found)

    async def _nested(self, name: str | None) -> list[FoundCustomization]:
        if name is None:
            return []
        paths = await self.reader.find(name)
        found = await read_files(self.reader, _INSTRUCTIONS, paths)
        return [_for_its_folder(one) for one in found]

    async def _folder(self, place: FolderPlace) -> CustomizationSource | None:
        kind = place.what.kind
        source = source_of(self.uri, place.folder, "directory", place.name, kind, self.origin)
        # A person's own folder is theirs alone.
        source = structs.replace(source, writable=self.origin == "workspace")
        inside = await read_folder_place(self.reader, place)
        if inside.problem is not None:
            return failed(source, inside.problem)
        if not inside.exists and not (place.offered and self.origin == "workspace"):
            return None
        return self._filled(source, _relative(inside.found, place.folder))

    async def _hook_folder(self, folder: str) -> CustomizationSource | None:
        source = source_of(self.uri, folder, "directory", "Hooks", "hook", self.origin)
        listing = await self.reader.listing(folder)
        if listing.problem is not None:
            return failed(source, listing.problem)
        if not listing.exists:
            return None
        paths = [
            f"{folder}/{name}"
            for name, is_folder in listing.entries
            if not is_folder and name.lower().endswith(".json")
        ]
        files = await self.reader.read(paths[: self._limits.children + 1], listed=True)
        made = await parsed(self.reader, files, hook_customization)
        found = [one for one in made if one is not None]
        return self._filled(source, _relative(found, folder))

    async def _hook_settings(self, paths: Sequence[str]) -> CustomizationSource | None:
        files = await self.reader.read(paths)
        made = await parsed(
            self.reader, files, lambda file: hook_customization(file, optional=True)
        )
        found = [one for one in made if one is not None]
        if not found:
            return None
        folder = paths[0].rpartition("/")[0]
        source = source_of(self.uri, folder, "directory", "Hooks in settings", "hook", self.origin)
        return self._filled(source, _relative(found, folder))

    async def _servers(self, path: str) -> CustomizationSource | None:
        files = await self.reader.read([path])
        if not files:
            return None
        variables, most = Variables(self.path), self._limits.children
        made = await parsed(
            self.reader, files, lambda file: declared_servers(file, variables, most + 1)
        )
        found = [replace(one, path="") for several in made for one in several]
        source = source_of(self.uri, path, "file", path, "mcpServer", self.origin)
        return self._filled(source, found)

    async def _plugins(self, folder: str) -> list[CustomizationSource | None]:
        listing = await self.reader.listing(folder)
        if listing.problem is not None:
            whole = source_of(self.uri, folder, "plugin", "Plugins", None, self.origin)
            return [failed(whole, listing.problem)]
        sources: list[CustomizationSource | None] = []
        for name, is_folder in listing.entries[: self._limits.sources]:
            path = f"{folder}/{name}"
            if is_folder:
                sources.append(await self._plugin(path))
            elif (await self.reader.listing(path)).problem == LEADS_OUT:
                plugin = source_of(self.uri, path, "plugin", name, None, self.origin)
                sources.append(failed(plugin, LEADS_OUT))
        return sources

    async def _plugin(self, path: str) -> CustomizationSource | None:
        below = self.reader.below(path)
        uri = uri_below(self.uri, path)
        source = await read_plugin_within(below, uri, self.origin, self.path)
        return None if is_empty(source) else source


def _relative(found: Sequence[FoundCustomization], folder: str) -> list[FoundCustomization]:
    """Return customizations with paths below their source instead of the tree."""
    return [replace(one, path=one.path.removeprefix(f"{folder}/")) for one in found]


def _for_its_folder(found: FoundCustomization) -> FoundCustomization:
    """Return instructions of a folder below as a rule for what lies in it."""
    folder = found.path.rpartition("/")[0]
    if found.problem is not None or not folder:
        return found
    glob = f"{folder.translate(_IN_GLOBS)}/**"
    description = found.description or f"for files in {folder}"
    return replace(found, always=False, globs=(glob,), description=description)
