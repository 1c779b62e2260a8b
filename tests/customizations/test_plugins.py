"""Plugins of a folder and of a client, whole and broken."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenthost.customizations import FolderTree, ReadLimits, read_plugin
from agenthost.customizations.plugins import PLUGIN_LIMITS
from agenthost.customizations.reading import LEADS_OUT
from agenthost.customizations.types import CustomizationSource
from agenthost.errors import NotFound, PermissionDenied
from tests.customizations.repository import write_files
from tests.customizations.trees import FailingTree, HangingTree, MemoryTree
from tests.thoroughness import examples

URI = "virtual://client/my%20plugin"
SKILL = b"---\ndescription: d\n---\nBody"


def plugin(manifest: object = None, **files: bytes) -> MemoryTree:
    tree = MemoryTree({path.replace("__", "/"): data for path, data in files.items()})
    if manifest is not None:
        tree.files["plugin.json"] = json.dumps(manifest).encode()
    return tree


def skills(*paths: str) -> dict[str, bytes]:
    return {f"{path}/SKILL.md": SKILL for path in paths}


async def read(tree: MemoryTree, limits: ReadLimits = PLUGIN_LIMITS) -> CustomizationSource:
    return await read_plugin(tree, URI, "client", limits=limits)


def told(source: CustomizationSource) -> list[tuple[str, str, str | None]]:
    return [(found.kind, found.name, found.problem) for found in source.found]


# Whole ones


async def test_a_client_that_publishes_loose_files_needs_no_manifest() -> None:
    source = await read(MemoryTree(skills("skills/a")))
    assert (source.name, source.version, source.load) == ("my plugin", None, "loaded")
    assert (source.kind, source.uri, source.origin) == ("plugin", URI, "client")
    [skill] = source.found
    assert source.uri_of(skill) == f"{URI}/skills/a/SKILL.md"
    assert skill.body is not None
    assert await skill.body() == "Body"


@pytest.mark.parametrize(
    "path", [".plugin/plugin.json", ".claude-plugin/plugin.json", "plugin.json"]
)
async def test_a_manifest_is_found_in_each_of_its_places(path: str) -> None:
    tree = MemoryTree({path: b'{"name": "n", "version": "2.10", "description": "x"}'})
    source = await read(tree)
    assert (source.name, source.version) == ("n", "2.10")


async def test_a_manifest_adds_paths_to_the_usual_ones() -> None:
    tree = plugin({"skills": ["./more/", "single"], "commands": "./special.md"})
    tree.files |= skills("skills/a", "more/b", "single")
    tree.files |= {"commands/c.md": b"C", "special.md": b"S"}
    assert told(await read(tree)) == [
        ("skill", "a", None),
        ("skill", "b", None),
        ("skill", "single", None),
        ("skill", "c", None),
        ("skill", "special", None),
    ]


async def test_a_manifest_may_replace_the_usual_paths() -> None:
    tree = plugin({"skills": {"paths": ["./more"], "exclusive": True}})
    tree.files |= skills("skills/a", "more/b")
    assert told(await read(tree)) == [("skill", "b", None)]


async def test_servers_and_hooks_may_stand_in_the_manifest() -> None:
    servers = {"s": {"command": "x"}}
    source = await read(plugin({"mcpServers": servers, "hooks": {"Stop": [], "Start": []}}))
    hook, server = source.found
    assert (hook.kind, hook.description, hook.path) == ("hook", "for Stop, Start", "plugin.json")
    assert (server.kind, server.name, server.path) == ("mcpServer", "s", "plugin.json")
    assert server.range is not None


async def test_what_stands_in_the_manifest_and_in_files_is_found_both() -> None:
    tree = plugin({"mcpServers": {"s": {"command": "x"}}, "hooks": {"Stop": []}})
    tree.files |= {
        "hooks/hooks.json": b'{"hooks": {"Start": []}}',
        ".mcp.json": b'{"mcpServers": {"t": {"command": "y"}}}',
    }
    assert told(await read(tree)) == [
        ("hook", "hooks", None),
        ("hook", "hooks", None),
        ("mcpServer", "t", None),
        ("mcpServer", "s", None),
    ]


async def test_servers_of_a_clients_plugin_have_no_folder_here() -> None:
    servers = {"mcpServers": {"s": {"command": "${PLUGIN_ROOT}/x"}}}
    source = await read(MemoryTree({".mcp.json": json.dumps(servers).encode()}))
    assert told(source) == [
        ("mcpServer", "s", "there is no folder on this machine for ${PLUGIN_ROOT}")
    ]


# Broken ones


@pytest.mark.parametrize(
    "manifest", [b"{", b"[]", b"\xff", b'{"name": 7}', b'{"version": []}', b"x" * 300_000]
)
async def test_a_broken_manifest_is_the_plugins_error(manifest: bytes) -> None:
    source = await read(MemoryTree({".plugin/plugin.json": manifest, **skills("skills/a")}))
    assert (source.load, source.found) == ("error", ())
    assert source.message.startswith(".plugin/plugin.json: ")


@pytest.mark.parametrize("path", ["../x", "/etc", "a/../../b", "..\\x", "", "a\0b", 7, None])
async def test_a_path_that_leaves_the_plugin_is_that_components_problem(path: object) -> None:
    tree = plugin({"skills": [path], "rules": ["rules"]})
    tree.files |= skills("skills/a")
    source = await read(tree)
    assert source.load == "degraded"
    broken, fine = source.found
    assert (broken.kind, broken.problem) == ("skill", "`skills`: it leads out of the plugin")
    assert (fine.name, fine.problem) == ("a", None)
    assert not [asked for asked in tree.asked if ".." in asked or asked.startswith("/")]


@pytest.mark.parametrize("key", ["skills", "commands", "agents", "rules", "hooks", "mcpServers"])
async def test_paths_that_are_none_are_that_components_problem(key: str) -> None:
    tree = plugin({key: 7})
    tree.files |= skills("skills/a")
    source = await read(tree)
    assert [one.problem for one in source.found if one.problem] == [
        f"`{key}` is no path and no list of paths"
    ]
    assert ("skill", "a", None) in told(source)


@pytest.mark.parametrize(
    ("key", "problem"),
    [
        ("skills", "`skills`: it is not there"),
        ("agents", "`agents`: it is not there"),
        ("hooks", "it leads to no file"),
        ("mcpServers", "it leads to no file"),
    ],
)
async def test_a_path_to_nothing_is_that_components_problem(key: str, problem: str) -> None:
    source = await read(plugin({key: "./gone"}))
    assert [one.problem for one in source.found] == [problem]
    assert source.load == "degraded"


@pytest.mark.skipif(sys.platform != "linux", reason="walks need Linux")
async def test_a_link_out_of_a_plugin_is_that_components_problem(tmp_path: Path) -> None:
    folder = tmp_path / "plugin"
    write_files(tmp_path, {"outside/SKILL.md": "SECRET", "outside/x.md": "SECRET"})
    write_files(folder, {"skills/fine/SKILL.md": "x", "plugin.json": "{}"})
    os.symlink(tmp_path / "outside", folder / "skills/out")
    os.symlink("../outside", folder / "agents")
    os.symlink("../outside/x.md", folder / ".mcp.json")
    source = await read_plugin(FolderTree(folder), folder.as_uri(), "workspace")
    assert sorted(told(source)) == [
        ("agent", "agents", LEADS_OUT),
        ("mcpServer", ".mcp.json", LEADS_OUT),
        ("skill", "fine", None),
        ("skill", "out", LEADS_OUT),
    ]


# Clients that refuse, hang, go, or send too much


@pytest.mark.parametrize("error", [PermissionDenied("not for you"), OSError(5, "not for you")])
async def test_a_client_that_refuses_its_plugin_makes_it_an_error(error: Exception) -> None:
    source = await read(FailingTree(skills("skills/a"), {"": error}))
    assert (source.load, source.message) == ("error", "not for you")


async def test_a_plugin_that_is_not_there_is_an_error() -> None:
    source = await read(FailingTree({}, {"": NotFound("nobody knows it")}))
    assert (source.load, source.message) == ("error", "there is no such folder")


async def test_a_client_that_refuses_one_file_harms_that_alone() -> None:
    refused = {"skills/a/SKILL.md": PermissionDenied("not for you")}
    source = await read(FailingTree(skills("skills/a", "skills/b"), refused))
    assert told(source) == [("skill", "a", "not for you"), ("skill", "b", None)]


@pytest.mark.parametrize("hanging", ["", "plugin.json", "skills", "skills/a/SKILL.md"])
async def test_a_client_that_never_answers_is_told_in_the_time_there_is(hanging: str) -> None:
    tree = HangingTree(skills("skills/a"), hanging)
    source = await read(tree, ReadLimits(seconds=0.05))
    assert source.load in ("degraded", "error")
    assert "reading took longer than 0.05 s" in source.message


async def test_a_plugin_is_read_up_to_its_bounds() -> None:
    tree = MemoryTree({f"skills/{n:03}/SKILL.md": b"x" * 1000 for n in range(100)})
    source = await read(tree, ReadLimits(all_bytes=10_500, seconds=60.0))
    assert len(source.found) == 10
    assert source.load == "degraded"
    source = await read(tree, ReadLimits(children=20, seconds=60.0))
    assert len(source.found) == 20


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10)
    | st.sampled_from(["./skills", "..", "plugin.json", "/", "skills/a", "skills/a/SKILL.md"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text(max_size=5) | st.sampled_from(["paths", "hooks"]), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
_KEYS = st.sampled_from(
    ["name", "version", "skills", "commands", "agents", "rules", "hooks", "mcpServers"]
)


@examples(100)
@given(st.dictionaries(_KEYS, _VALUES))
async def test_no_manifest_raises(manifest: dict[str, object]) -> None:
    tree = plugin(manifest)
    tree.files |= skills("skills/a")
    source = await read(tree)
    assert source.name
    assert source.load == "error" or ("skill", "a", None) in told(source)
    keys = [(found.kind, found.path, found.name) for found in source.found]
    assert len(keys) == len(set(keys))
