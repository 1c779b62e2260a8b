"""Where customizations lie: a table for folders that sessions work in, one for a person's own.

The places are those of the editors and agents that people already have files for. Who reads them
and who watches them take them from here, so neither knows of one that the other does not.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from agenthost.customizations.markdown_files import MarkdownKind

# A folder's own files, those of folders in it too, or one file in each folder in it.
Arrangement: TypeAlias = Literal["flat", "deep", "skills"]

SKILL_FILE = "SKILL.md"
_RULE = MarkdownKind("rule")
_RULE_FOR_ALL = MarkdownKind("rule", always=True)
_SKILL = MarkdownKind("skill", named_by="folder")
_COMMAND = MarkdownKind("skill")
_PROMPT = MarkdownKind("prompt")
_AGENT = MarkdownKind("agent")


class FolderPlace(Struct, frozen=True):
    """A folder that holds customizations of one kind."""

    folder: str
    # As it is shown to people.
    name: str
    what: MarkdownKind
    endings: tuple[str, ...] = (".md",)
    arrangement: Arrangement = "flat"
    # Shown although it is not there, so that somebody can put something into it.
    offered: bool = False


class PlaceTable(Struct, frozen=True):
    """All places of one sort of folder, relative to it."""

    # Files that always apply.
    instructions: tuple[str, ...]
    # A name that applies, in a folder below, to that folder.
    nested_instructions: str | None
    folders: tuple[FolderPlace, ...]
    hook_folders: tuple[str, ...]
    # Files for several things, hooks among them.
    hook_settings: tuple[str, ...]
    servers: tuple[str, ...]
    plugins: tuple[str, ...]


def _skills(folder: str, *, offered: bool = False) -> FolderPlace:
    return FolderPlace(folder, "Skills", _SKILL, (SKILL_FILE,), "skills", offered)


WORKSPACE_PLACES = PlaceTable(
    instructions=("AGENTS.md", "CLAUDE.md", ".github/copilot-instructions.md"),
    nested_instructions="AGENTS.md",
    folders=(
        FolderPlace(".github/instructions", "Rules", _RULE, (".instructions.md",), "deep"),
        FolderPlace(".agents/rules", "Rules", _RULE_FOR_ALL, (".md", ".mdc")),
        FolderPlace(".claude/rules", "Rules", _RULE_FOR_ALL),
        FolderPlace(".cursor/rules", "Rules", _RULE, (".mdc",)),
        _skills(".github/skills"),
        _skills(".agents/skills", offered=True),
        _skills(".claude/skills"),
        FolderPlace(".claude/commands", "Commands", _COMMAND),
        FolderPlace(".github/prompts", "Prompts", _PROMPT, (".prompt.md",)),
        FolderPlace(".github/agents", "Agents", _AGENT),
        FolderPlace(".agents/agents", "Agents", _AGENT),
        FolderPlace(".claude/agents", "Agents", _AGENT),
        FolderPlace(".github/chatmodes", "Chat modes", _AGENT, (".chatmode.md",)),
    ),
    hook_folders=(".github/hooks",),
    hook_settings=(".claude/settings.json", ".claude/settings.local.json"),
    servers=(".mcp.json", ".vscode/mcp.json"),
    plugins=(".agents/plugins", ".claude/plugins"),
)
USER_PLACES = PlaceTable(
    instructions=("AGENTS.md",),
    nested_instructions=None,
    folders=(
        FolderPlace("instructions", "Rules", _RULE, (".instructions.md",), "deep"),
        FolderPlace("rules", "Rules", _RULE_FOR_ALL, (".md", ".mdc")),
        _skills("skills"),
        FolderPlace("commands", "Commands", _COMMAND),
        FolderPlace("prompts", "Prompts", _PROMPT, (".prompt.md",)),
        FolderPlace("agents", "Agents", _AGENT),
    ),
    hook_folders=("hooks",),
    hook_settings=(),
    servers=(".mcp.json", "mcp.json"),
    plugins=("plugins",),
)
# What plugins hold, by the name under which a manifest speaks of it.
PLUGIN_FOLDERS = {
    "skills": _skills("skills"),
    "commands": FolderPlace("commands", "Commands", _COMMAND),
    "agents": FolderPlace("agents", "Agents", _AGENT),
    "rules": FolderPlace("rules", "Rules", _RULE, (".md", ".mdc")),
}
PLUGIN_MANIFESTS = (".plugin/plugin.json", ".claude-plugin/plugin.json", "plugin.json")
PLUGIN_HOOKS = "hooks/hooks.json"
PLUGIN_SERVERS = (".mcp.json", "mcp.json")
