"""Customizations: instructions, skills, prompts, agents, rules, hooks, MCP servers and plugins.

Reads what people keep in folders and what clients publish, tells what is wrong with it, and says
what to watch. Knows neither sessions nor the wire.
"""

from agenthost.customizations.discovery import read_user_folder, read_workspace
from agenthost.customizations.folder_tree import FolderTree
from agenthost.customizations.front_matter import BadFrontMatter, parse_front_matter
from agenthost.customizations.plugins import read_plugin
from agenthost.customizations.reading import ReadLimits, UnreadableCustomization
from agenthost.customizations.types import CustomizationSource, FoundCustomization, Kind, Tree
from agenthost.customizations.watch_plan import (
    WatchRule,
    user_watch_plan,
    watch_plan,
    watched_paths,
)

__all__ = [
    "BadFrontMatter",
    "CustomizationSource",
    "FolderTree",
    "FoundCustomization",
    "Kind",
    "ReadLimits",
    "Tree",
    "UnreadableCustomization",
    "WatchRule",
    "parse_front_matter",
    "read_plugin",
    "read_user_folder",
    "read_workspace",
    "user_watch_plan",
    "watch_plan",
    "watched_paths",
]
