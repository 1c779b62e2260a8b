"""Folders with every kind of customization, good and broken."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from agenthost.customizations import (
    FolderTree,
    ReadLimits,
    UnreadableCustomization,
    read_user_folder,
    read_workspace,
)
from agenthost.customizations.places import USER_PLACES, WORKSPACE_PLACES
from agenthost.customizations.reading import LEADS_OUT
from agenthost.customizations.types import CustomizationSource, FoundCustomization
from tests.customizations.repository import (
    BROKEN,
    BROKEN_SERVERS,
    SECRET,
    make_good_repository,
    make_repository,
    write_files,
)
from tests.customizations.trees import FailingTree, HangingTree, MemoryTree

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="walks need Linux")

# What can be used, as kind, name and path below the repository.
USABLE = {
    ("rule", "AGENTS.md", "AGENTS.md"),
    ("rule", "CLAUDE.md", "CLAUDE.md"),
    ("rule", ".github/copilot-instructions.md", ".github/copilot-instructions.md"),
    ("rule", "web/AGENTS.md", "web/AGENTS.md"),
    ("rule", "python", ".github/instructions/python.instructions.md"),
    ("rule", "all", ".github/instructions/deep/all.instructions.md"),
    ("rule", "tests", ".agents/rules/tests.mdc"),
    ("rule", "always", ".claude/rules/always.md"),
    ("rule", "api", ".cursor/rules/api.mdc"),
    ("skill", "release", ".github/skills/release/SKILL.md"),
    ("skill", "review", ".agents/skills/review/SKILL.md"),
    ("skill", "hidden", ".claude/skills/hidden/SKILL.md"),
    ("skill", "commit", ".claude/commands/commit.md"),
    ("prompt", "plan", ".github/prompts/plan.prompt.md"),
    ("agent", "planner", ".github/agents/planner.agent.md"),
    ("agent", "Tester", ".agents/agents/tester.md"),
    ("agent", "reader", ".claude/agents/reader.md"),
    ("agent", "ask", ".github/chatmodes/ask.chatmode.md"),
    ("hook", "lint", ".github/hooks/lint.json"),
    ("hook", "settings", ".claude/settings.json"),
    ("mcpServer", "time", ".mcp.json"),
    ("mcpServer", "docs", ".mcp.json"),
    ("mcpServer", "everything", ".vscode/mcp.json"),
    ("skill", "one", ".agents/plugins/tools/skills/one/SKILL.md"),
    ("skill", "two", ".agents/plugins/tools/more/two/SKILL.md"),
    ("skill", "go", ".agents/plugins/tools/commands/go.md"),
    ("agent", "helper", ".agents/plugins/tools/agents/helper.md"),
    ("rule", "r", ".agents/plugins/tools/rules/r.mdc"),
    ("hook", "hooks", ".agents/plugins/tools/hooks/hooks.json"),
    ("mcpServer", "box", ".agents/plugins/tools/.mcp.json"),
    ("mcpServer", "inline", ".claude/plugins/old/.claude-plugin/plugin.json"),
    ("hook", "hooks", ".claude/plugins/old/.claude-plugin/plugin.json"),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path.resolve() / "a repository"


# No test depends on how fast the machine is.
PATIENT = ReadLimits(seconds=60.0)


@pytest.fixture(autouse=True)
def patient_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agenthost.customizations.folder_tree.SEARCH_SECONDS", 60.0)


async def read(folder: Path, limits: ReadLimits = PATIENT) -> list[CustomizationSource]:
    return await read_workspace(FolderTree(folder), folder.as_uri(), limits=limits)


def entries(
    sources: Sequence[CustomizationSource], folder: Path, *, broken: bool
) -> set[tuple[str, str, str]]:
    return {
        (one.kind, one.name, source.uri_of(one).removeprefix(f"{folder.as_uri()}/"))
        for source in sources
        for one in source.found
        if (one.problem is not None) == broken
    }


def at(sources: Sequence[CustomizationSource], path: str) -> CustomizationSource:
    [found] = [source for source in sources if source.uri.endswith(f"a%20repository{path}")]
    return found


def problems(source: CustomizationSource) -> dict[str, str]:
    return {one.name: one.problem for one in source.found if one.problem is not None}


def one(sources: Sequence[CustomizationSource], path: str, name: str) -> FoundCustomization:
    [found] = [found for found in at(sources, path).found if found.name == name]
    return found


# Every kind


async def test_every_kind_of_customization_is_found(folder: Path) -> None:
    make_good_repository(folder)
    sources = await read(folder)
    assert entries(sources, folder, broken=False) == USABLE
    assert {source.load for source in sources} == {"loaded"}
    assert {source.message for source in sources} == {""}


async def test_broken_files_are_entries_with_problems_and_hide_none_of_the_others(
    folder: Path,
) -> None:
    make_repository(folder)
    sources = await read(folder)
    fine = ("skill", "fine", ".agents/plugins/leaving/skills/fine/SKILL.md")
    assert entries(sources, folder, broken=False) == USABLE | {fine}
    told = {path for _, _, path in entries(sources, folder, broken=True)}
    # A broken manifest is the whole plugin's problem.
    hidden = {path for path in BROKEN if path.startswith(".agents/plugins/broken/")}
    assert told >= set(BROKEN) - hidden - {fine[2]}
    assert problems(at(sources, "/.mcp.json")).keys() == BROKEN_SERVERS.keys()


async def test_what_is_wrong_is_told_where_it_is(folder: Path) -> None:
    make_repository(folder)
    sources = await read(folder)
    assert problems(at(sources, "/.agents/skills")) == {
        "bomb": "line 2: anchors and aliases (&, *) are not read; quote it",
        "huge": "SKILL.md has 293.0 KiB; no more than 256.0 KiB are read",
        "list": "`name` is no text",
        "leads-out": LEADS_OUT,
    }
    skills = at(sources, "/.agents/skills")
    assert skills.load == "degraded"
    assert skills.message == (
        "4 of 5 cannot be used: bomb/SKILL.md: line 2: anchors and aliases (&, *) are not read; "
        "quote it"
    )
    assert problems(at(sources, "/.claude/agents")) == {
        "leads-out": LEADS_OUT,
        "dangling": "it leads to no file",
    }
    assert problems(at(sources, "/.claude/rules")) == {"pipe": "pipe.md is no regular file"}
    assert at(sources, "/.github/skills").load == "loaded"
    broken = at(sources, "/.agents/plugins/broken")
    assert (broken.load, broken.found) == ("error", ())
    assert broken.message.startswith(".plugin/plugin.json: no JSON")
    linked = at(sources, "/.agents/plugins/linked")
    assert (linked.load, linked.message) == ("error", LEADS_OUT)


async def test_nothing_outside_is_ever_read(folder: Path) -> None:
    make_repository(folder)
    for source in await read(folder):
        assert SECRET not in repr(source)
        for found in source.found:
            if found.body is not None:
                assert SECRET not in await found.body()


async def test_customizations_say_what_their_files_say(folder: Path) -> None:
    make_good_repository(folder)
    sources = await read(folder)
    nested = one(sources, "", "web/AGENTS.md")
    assert (nested.always, nested.globs) == (False, ("web/**",))
    assert one(sources, "", "AGENTS.md").always
    assert one(sources, "/.claude/rules", "always").always
    assert one(sources, "/.agents/rules", "tests").globs == ("*_test.py",)
    release = one(sources, "/.github/skills", "release")
    assert release.description == "Use when: a release is due"
    assert not one(sources, "/.agents/skills", "review").model_may_invoke
    planner = one(sources, "/.github/agents", "planner")
    assert (planner.model, planner.tools) == ("opus", ("read", "search"))
    server = one(sources, "/.mcp.json", "time").server
    assert server is not None
    assert server.command == ("uvx", "mcp-server-time", "--folder", f"{folder}/data")
    box = one(sources, "/.agents/plugins/tools", "box").server
    assert box is not None
    assert (box.command, box.cwd) == ((f"{folder}/.agents/plugins/tools/run",), str(folder))
    assert one(sources, "/.vscode/mcp.json", "everything").range == (3, 4, 7, 5)


async def test_bodies_are_read_on_demand_and_anew(folder: Path) -> None:
    make_good_repository(folder)
    body = one(await read(folder), "/.agents/skills", "review").body
    assert body is not None
    assert await body() == "Look.\n"
    write_files(folder, {".agents/skills/review/SKILL.md": "Look again."})
    assert await body() == "Look again."


async def test_other_files_of_a_skill_are_read_and_none_outside_of_it(folder: Path) -> None:
    make_good_repository(folder)
    write_files(folder, {".agents/skills/review/more/x.md": "---\nX"})
    os.symlink("../../../AGENTS.md", folder / ".agents/skills/review/link.md")
    os.symlink("../../.agents/skills/review", folder / ".claude/skills/review")
    sources = await read(folder)
    for place in ("/.agents/skills", "/.claude/skills"):
        beside = one(sources, place, "review").beside
        assert beside is not None
        assert await beside("./checklist.md") == "1. Look twice.\n"
        assert await beside("more/x.md") == "---\nX"
        for path in ("../release/SKILL.md", "/etc/passwd", "link.md", "gone.md", "", "more", "."):
            with pytest.raises(UnreadableCustomization):
                await beside(path)
    assert one(sources, "/.claude/commands", "commit").beside is None


async def test_an_edit_shows_in_the_next_pass_and_in_nothing_else(folder: Path) -> None:
    make_good_repository(folder)
    before = await read(folder)
    assert await read(folder) == before
    write_files(folder, {".agents/skills/review/SKILL.md": "---\nname: better\n---\n"})
    after = await read(folder)
    changed = [new.uri for old, new in zip(before, after, strict=True) if old != new]
    assert changed == [f"{folder.as_uri()}/.agents/skills"]
    assert [source.key for source in after] == [source.key for source in before]


async def test_no_two_customizations_have_the_same_key(folder: Path) -> None:
    make_repository(folder)
    # Read by two ways: in the usual folder, and because the manifest says so.
    write_files(
        folder,
        {".agents/plugins/tools/plugin.json": "{}",
         ".agents/plugins/tools/.plugin/plugin.json": '{"skills": ["./skills/one", "more"]}'},
    )  # fmt: skip
    sources = await read(folder)
    keys = [(s.key, f.kind, f.path, f.name) for s in sources for f in s.found]
    assert len(keys) == len(set(keys))
    assert len({source.key for source in sources}) == len(sources)


# Folders


async def test_an_empty_folder_offers_where_skills_could_go(folder: Path) -> None:
    write_files(folder, {"README.md": "x"})
    [only] = await read(folder)
    assert (only.uri, only.contents, only.writable) == (
        f"{folder.as_uri()}/.agents/skills",
        "skill",
        True,
    )
    assert (only.load, only.found) == ("loaded", ())


async def test_a_folder_that_is_not_there_is_like_an_empty_one(folder: Path) -> None:
    sources = await read(folder)
    assert [source.found for source in sources] == [()] * len(sources)


async def test_links_inside_of_the_folder_are_followed(folder: Path) -> None:
    write_files(folder, {".agents/skills/x/SKILL.md": "X"})
    (folder / ".claude").mkdir()
    os.symlink("../.agents/skills", folder / ".claude/skills")
    os.symlink("AGENTS.md", folder / "CLAUDE.md")
    write_files(folder, {"AGENTS.md": "Hello"})
    sources = await read(folder)
    assert [found.name for found in at(sources, "/.claude/skills").found] == ["x"]
    assert [found.name for found in at(sources, "").found] == ["AGENTS.md", "CLAUDE.md"]


async def test_a_folder_that_cannot_be_read_is_told(folder: Path) -> None:
    make_good_repository(folder)
    tree = FailingTree(
        {"AGENTS.md": b"x", ".claude/skills/x/SKILL.md": b"x"},
        {
            ".agents/skills": PermissionError(13, "Permission denied"),
            ".agents/plugins": PermissionError(13, "Permission denied"),
            ".github/hooks": PermissionError(13, "Permission denied"),
        },
    )
    sources = await read_workspace(tree, folder.as_uri(), limits=PATIENT)
    for path in ("/.agents/skills", "/.agents/plugins", "/.github/hooks"):
        failed = at(sources, path)
        assert (failed.load, failed.message) == ("error", "Permission denied")
    assert [found.name for found in at(sources, "/.claude/skills").found] == ["x"]


async def test_what_tells_about_a_folder_is_no_customization(folder: Path) -> None:
    write_files(folder, {".claude/agents/README.md": "x", ".claude/agents/a.md": "x"})
    assert [one.name for one in at(await read(folder), "/.claude/agents").found] == ["a"]


async def test_a_folder_with_nothing_of_a_plugin_is_none(folder: Path) -> None:
    write_files(folder, {".agents/plugins/notes/todo.txt": "x", ".agents/plugins/README.md": "x"})
    assert not [source for source in await read(folder) if source.kind == "plugin"]


async def test_settings_without_hooks_are_no_hook(folder: Path) -> None:
    write_files(folder, {".claude/settings.json": '{"model": "x"}'})
    assert not [source for source in await read(folder) if source.contents == "hook"]


async def test_names_of_folders_are_no_globs(folder: Path) -> None:
    write_files(folder, {"a{b,c}[d]*/AGENTS.md": "x"})
    nested = at(await read(folder), "").found[0]
    assert nested.globs == ("a?b,c??d??/**",)


async def test_a_persons_own_folder_has_its_own_places(folder: Path) -> None:
    files = {
        "AGENTS.md": "Be kind.",
        "skills/x/SKILL.md": "X",
        "prompts/p.prompt.md": "P",
        "agents/a.md": "A",
        "rules/r.md": "R",
        "hooks/h.json": '{"hooks": {"Stop": []}}',
        "mcp.json": '{"mcpServers": {"s": {"command": "${workspaceFolder}/x"}}}',
        "plugins/p/skills/y/SKILL.md": "Y",
        ".github/prompts/no.prompt.md": "no",
        "nested/AGENTS.md": "no",
    }
    write_files(folder, files)
    sources = await read_user_folder(FolderTree(folder), folder.as_uri(), limits=PATIENT)
    found = {one.name for source in sources for one in source.found}
    assert found == {"AGENTS.md", "x", "p", "a", "r", "h", "s", "y"}
    assert {source.origin for source in sources} == {"user"}
    assert not any(source.writable for source in sources)


# Bounds


async def test_a_place_shows_no_more_than_it_may(folder: Path) -> None:
    write_files(folder, {f".agents/skills/s{number:02}/SKILL.md": "x" for number in range(20)})
    write_files(folder, {"AGENTS.md": "x"})
    servers = {str(number): {"command": "x"} for number in range(20)}
    write_files(folder, {".mcp.json": json.dumps({"mcpServers": servers})})
    sources = await read(folder, replace(PATIENT, children=8))
    skills = at(sources, "/.agents/skills")
    assert [one.name for one in skills.found] == [f"s{number:02}" for number in range(8)]
    assert (skills.load, skills.message) == ("degraded", "only the first 8 are shown")
    assert len(at(sources, "/.mcp.json").found) == 8
    assert at(sources, "/.mcp.json").load == "degraded"
    assert at(sources, "").load == "loaded"


async def test_no_more_files_of_a_place_are_read_than_are_shown() -> None:
    files = {f".agents/skills/s{number:02}/SKILL.md": b"x" for number in range(20)}
    tree = MemoryTree(files)
    await read_workspace(tree, "file:///r", limits=replace(PATIENT, children=8))
    assert len([path for path in tree.asked if path in files]) == 9


async def test_a_pass_reads_no_more_files_than_it_may_and_says_so(folder: Path) -> None:
    make_good_repository(folder)
    sources = await read(folder, replace(PATIENT, files=5))
    why = "not everything was read: there are more than 5 files"
    assert why in at(sources, "").message
    assert at(sources, "").load == "degraded"
    assert sum(len(source.found) for source in sources) == 5


async def test_there_are_no_more_sources_than_there_may_be(folder: Path) -> None:
    write_files(folder, {f".agents/plugins/p{n}/skills/x/SKILL.md": "x" for n in range(30)})
    assert len(await read(folder, replace(PATIENT, sources=10))) == 10


@pytest.mark.parametrize(
    "hanging", ["AGENTS.md", ".agents/skills", ".claude/skills/x/SKILL.md", ".mcp.json"]
)
async def test_a_tree_that_never_answers_is_told_in_the_time_there_is(
    folder: Path, hanging: str
) -> None:
    files = {"AGENTS.md": b"x", ".claude/skills/x/SKILL.md": b"x", ".mcp.json": b"{}"}
    tree = HangingTree(files, hanging)
    sources = await read_workspace(tree, folder.as_uri(), limits=ReadLimits(seconds=0.05))
    instructions = at(sources, "")
    assert instructions.load == "degraded"
    assert "reading took longer than 0.05 s" in instructions.message


# Anything at all

_PLACES = [
    *WORKSPACE_PLACES.instructions,
    *WORKSPACE_PLACES.servers,
    *WORKSPACE_PLACES.hook_settings,
    *(
        f"{place.folder}/{'x/' if place.arrangement == 'skills' else 'x'}{place.endings[0]}"
        for place in (*WORKSPACE_PLACES.folders, *USER_PLACES.folders)
    ),
    ".github/hooks/x.json",
    ".agents/plugins/p/plugin.json",
    ".agents/plugins/p/.mcp.json",
    ".agents/plugins/p/hooks/hooks.json",
]
_PIECES = st.sampled_from(
    [b"---\n", b"\n", b"name: ", b"x", b"tools: ", b"[", b"]", b"{", b"}", b'"mcpServers"', b":",
     b'"hooks"', b'"a"', b",", b"*", b"&", b"!", b"\xff", b"\x00", b'"command"', b"${", b"\xf0"]
)  # fmt: skip
_CONTENTS = st.binary(max_size=60) | st.lists(_PIECES, max_size=20).map(b"".join)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.sampled_from(_PLACES), _CONTENTS, max_size=8))
async def test_no_content_of_files_raises_or_hides_a_good_one(files: dict[str, bytes]) -> None:
    good = b"---\nname: good\ndescription: d\n---\n"
    tree = MemoryTree({**files, ".agents/skills/good/SKILL.md": good})
    sources = await read_workspace(tree, "file:///a%20repository", limits=PATIENT)
    names = [found.name for found in at(sources, "/.agents/skills").found if not found.problem]
    assert "good" in names
    for source in sources:
        assert source.name
        assert all(found.name for found in source.found)
        assert (source.load == "loaded") == (source.message == "")
