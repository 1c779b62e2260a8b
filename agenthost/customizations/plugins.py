"""Reads a plugin: a folder of skills, commands, agents, rules, hooks and MCP servers.

Open Plugins and its relatives: three places for the manifest, or none. A broken part is that part's
problem, a broken manifest the plugin's. Nothing of a plugin is run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

from msgspec import Struct
from msgspec.structs import replace

from agenthost.customizations.fields import (
    LONGEST_NAME,
    BadField,
    name_from,
    plain,
    text_from,
)
from agenthost.customizations.folder_places import read_files, read_folder_place
from agenthost.customizations.hooks import described_hook, hook_customization
from agenthost.customizations.json_files import BadJson, parse_json
from agenthost.customizations.parsing import parsed
from agenthost.customizations.places import (
    PLUGIN_FOLDERS,
    PLUGIN_HOOKS,
    PLUGIN_MANIFESTS,
    PLUGIN_SERVERS,
    SKILL_FILE,
    FolderPlace,
)
from agenthost.customizations.reading import (
    ReadBudget,
    ReadFile,
    ReadLimits,
    TreeReader,
    path_inside,
)
from agenthost.customizations.server_declarations import declared_servers
from agenthost.customizations.sources import failed, filled, source_of
from agenthost.customizations.types import (
    CustomizationSource,
    FoundCustomization,
    Kind,
    Origin,
    Tree,
)
from agenthost.customizations.variables import Variables
from agenthost.errors import shortened
from agenthost.workspace.paths import file_path

_LONGEST_VERSION = 50
_MOST_PATHS = 50
# How much one plugin may take, which a client may have to send: each file is a round trip, and all
# texts are in memory at once, for as many clients as publish at the same time.
PLUGIN_LIMITS = ReadLimits(
    files=1_000, all_bytes=4 * 1024 * 1024, seconds=60.0, at_once=8, lane="clients"
)


class _Manifest(Struct, frozen=True):
    """What a plugin says about itself."""

    file: ReadFile | None
    fields: Mapping[str, object]
    name: str
    version: str | None


class _Paths(Struct, frozen=True):
    """Where one component of a plugin lies, and what is wrong with what the manifest says."""

    # Looked for whether it is there or not.
    usual: tuple[str, ...]
    # Named by the manifest, so it has to be there.
    named: tuple[str, ...]
    # Each with the name that it is told under.
    problems: tuple[tuple[str, str], ...]


async def read_plugin(
    tree: Tree,
    uri: str,
    origin: Origin,
    *,
    folder: str | None = None,
    limits: ReadLimits = PLUGIN_LIMITS,
) -> CustomizationSource:
    """Read a plugin, the root of a tree; ``folder`` is the session's working directory."""
    reader = TreeReader(tree, ReadBudget(limits))
    return await read_plugin_within(reader, uri, origin, folder)


async def read_plugin_within(
    reader: TreeReader, uri: str, origin: Origin, folder: str | None
) -> CustomizationSource:
    """Read a plugin as part of a pass over more than that."""
    source = source_of(uri, "", "plugin", _name_from_uri(uri), None, origin)
    listing = await reader.listing("")
    if not listing.exists or listing.problem is not None:
        return failed(source, listing.problem or reader.budget.spent or "there is no such folder")
    try:
        manifest = await _read_manifest(reader, source.name)
    except (BadJson, BadField) as error:
        return failed(source, str(error))
    variables = Variables(folder, _local_path(uri))
    found = [one for key in PLUGIN_FOLDERS for one in await _in_folders(reader, manifest, key)]
    found += await _hooks(reader, manifest)
    found += await _servers(reader, manifest, variables)
    source = replace(source, name=manifest.name, version=manifest.version)
    return filled(source, found, reader.budget.limits.children, reader.budget.spent)


def is_empty(source: CustomizationSource) -> bool:
    """Say whether a folder has nothing of a plugin in it."""
    return source.load == "loaded" and not source.found and source.version is None


async def _read_manifest(reader: TreeReader, otherwise: str) -> _Manifest:
    files = await reader.read(PLUGIN_MANIFESTS)
    if not files:
        return _Manifest(None, {}, otherwise, None)
    # Beside the event loop: a long one takes a while.
    return await asyncio.to_thread(_manifest_of, files[0], otherwise)


def _manifest_of(file: ReadFile, otherwise: str) -> _Manifest:
    if file.problem is not None:
        raise BadJson(f"{file.path}: {file.problem}")
    try:
        fields = parse_json(file.text)
        name = name_from(fields, otherwise)
        version = text_from(fields, "version", _LONGEST_VERSION)
    except (BadJson, BadField) as error:
        raise type(error)(f"{file.path}: {error}") from None
    return _Manifest(file, fields, name, version or None)


async def _in_folders(
    reader: TreeReader, manifest: _Manifest, key: str
) -> list[FoundCustomization]:
    place = PLUGIN_FOLDERS[key]
    paths = _paths(manifest, key, (place.folder,))
    found = [_problem(place.what.kind, manifest, *problem) for problem in paths.problems]
    for path in paths.usual:
        found += await _in_folder(reader, replace(place, folder=path), None)
    for path in paths.named:
        missing = _problem(place.what.kind, manifest, path, f"`{key}`: it is not there")
        found += await _in_folder(reader, replace(place, folder=path), missing)
    return found


async def _in_folder(
    reader: TreeReader, place: FolderPlace, missing: FoundCustomization | None
) -> list[FoundCustomization]:
    """Read a folder of a plugin, a single file, or a folder that is itself one skill."""
    path = place.folder
    if path.lower().endswith((".md", ".mdc")):
        found = await read_files(reader, place, [path])
        return found or _told(missing, reader)
    inside = await read_folder_place(reader, place)
    if inside.problem is not None:
        return [FoundCustomization(place.what.kind, path, path, problem=inside.problem)]
    if not inside.exists:
        return _told(missing, reader)
    if place.arrangement == "skills" and missing is not None and not inside.found:
        return await read_files(reader, place, [f"{path}/{SKILL_FILE}"])
    return list(inside.found)


def _told(missing: FoundCustomization | None, reader: TreeReader) -> list[FoundCustomization]:
    # Nobody knows whether something is there that was not looked for.
    return [missing] if missing is not None and reader.budget.spent is None else []


async def _hooks(reader: TreeReader, manifest: _Manifest) -> list[FoundCustomization]:
    paths = _paths(manifest, "hooks", (PLUGIN_HOOKS,))
    made = await parsed(reader, await _files(reader, paths), hook_customization)
    found = [_problem("hook", manifest, *problem) for problem in paths.problems]
    found += (one for one in made if one is not None)
    if (inline := _inline(manifest, "hooks")) is not None and manifest.file is not None:
        entry = FoundCustomization("hook", "hooks", manifest.file.path)
        found.append(described_hook(entry, inline.get("hooks", inline)))
    return found


async def _servers(
    reader: TreeReader, manifest: _Manifest, variables: Variables
) -> list[FoundCustomization]:
    most = reader.budget.limits.children
    paths = _paths(manifest, "mcpServers", PLUGIN_SERVERS)
    files = await _files(reader, paths)
    if _inline(manifest, "mcpServers") is not None and manifest.file is not None:
        files.append(manifest.file)
    made = await parsed(reader, files, lambda file: declared_servers(file, variables, most))
    return [
        *(_problem("mcpServer", manifest, *problem) for problem in paths.problems),
        *(one for several in made for one in several),
    ]


def _inline(manifest: _Manifest, key: str) -> Mapping[str, object] | None:
    """Return what a manifest itself holds instead of the path of a file that does."""
    said = manifest.fields.get(key)
    return said if isinstance(said, dict) and not _names_paths(said) else None


async def _files(reader: TreeReader, paths: _Paths) -> list[ReadFile]:
    return [*await reader.read(paths.usual), *await reader.read(paths.named, listed=True)]


def _paths(manifest: _Manifest, key: str, usual: tuple[str, ...]) -> _Paths:
    """Return where a component lies: in the usual places, and in those that a manifest names."""
    said = manifest.fields.get(key)
    if _inline(manifest, key) is not None:
        return _Paths(usual, (), ())
    if isinstance(said, dict):
        usual = () if said.get("exclusive") is True else usual
        said = said["paths"]
    given = [said] if isinstance(said, str) else said or []
    if not isinstance(given, list) or len(given) > _MOST_PATHS:
        return _Paths(usual, (), ((key, f"`{key}` is no path and no list of paths"),))
    named: list[str] = []
    problems: list[tuple[str, str]] = []
    for path in given:
        if (inside := path_inside(path)) is None:
            problems.append((shortened(str(path)), f"`{key}`: it leads out of the plugin"))
        elif inside not in usual and inside not in named:
            named.append(inside)
    return _Paths(usual, tuple(named), tuple(problems))


def _names_paths(said: Mapping[str, object]) -> bool:
    return isinstance(said.get("paths"), str | list)


def _problem(kind: Kind, manifest: _Manifest, name: str, problem: str) -> FoundCustomization:
    path = manifest.file.path if manifest.file is not None else ""
    return FoundCustomization(kind, plain(name, LONGEST_NAME) or "?", path, problem=problem)


def _name_from_uri(uri: str) -> str:
    try:
        path = unquote(urlsplit(uri).path)
    except ValueError:
        path = ""
    return plain(path.rstrip("/").rpartition("/")[2], LONGEST_NAME) or "plugin"


def _local_path(uri: str) -> str | None:
    path = file_path(uri)
    return str(path) if path is not None else None
