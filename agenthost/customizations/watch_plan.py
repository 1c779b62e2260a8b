"""Says what to watch so that no change of a customization is missed, and little else is heard of.

Only the folders of the tables are watched, each by itself: one watch on a whole repository would
enter every folder of it. A folder that is made later is told by the one above it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from msgspec import Struct

from agenthost.customizations.places import (
    SKILL_FILE,
    USER_PLACES,
    WORKSPACE_PLACES,
    FolderPlace,
    PlaceTable,
)

# In plugins, what programs put there.
_NOT_IN_PLUGINS = ("**/node_modules", "**/.git", "**/.venv")


class WatchRule(Struct, frozen=True):
    """One folder to be watched, with what is told of it; for a ``FileWatcher``."""

    # Relative; empty for the folder itself.
    folder: str
    recursive: bool
    # Globs below the folder: what is told, None for all, and what is not even entered.
    includes: tuple[str, ...] | None
    excludes: tuple[str, ...] = ()


def watch_plan(places: PlaceTable = WORKSPACE_PLACES) -> tuple[WatchRule, ...]:
    """Return what to watch of a folder; what is not there yet has a rule, too.

    Whenever one of them tells something, those whose folder has come meanwhile are due. Nested
    instructions are in none: looking for them would enter all folders.
    """
    return (*_upper_rules(places), *map(_place_rule, places.folders), *_other_rules(places))


def user_watch_plan() -> tuple[WatchRule, ...]:
    """Return what to watch of a person's own folder."""
    return watch_plan(USER_PLACES)


def watched_paths(places: PlaceTable = WORKSPACE_PLACES) -> tuple[str, ...]:
    """Return globs of everything that is read, relative to the folder."""
    found = [*places.instructions, *places.hook_settings, *places.servers]
    for rule in (*map(_place_rule, places.folders), *_other_rules(places)):
        found += (f"{rule.folder}/{glob}" for glob in rule.includes or ("**",))
    return tuple(found)


def _place_rule(place: FolderPlace) -> WatchRule:
    if place.arrangement == "skills":
        # What else lies in a skill is read when it is needed.
        return WatchRule(place.folder, True, (f"*/{SKILL_FILE}",), ("*/*/*",))
    if place.arrangement == "deep":
        return WatchRule(place.folder, True, tuple(f"**/*{end}" for end in place.endings))
    return WatchRule(place.folder, False, tuple(f"*{end}" for end in place.endings))


def _other_rules(places: PlaceTable) -> Iterable[WatchRule]:
    for folder in places.hook_folders:
        yield WatchRule(folder, False, ("*.json",))
    for folder in places.plugins:
        yield WatchRule(folder, True, None, _NOT_IN_PLUGINS)


def _upper_rules(places: PlaceTable) -> Iterable[WatchRule]:
    """Return the folders on the way to all places, with the names that matter in each."""
    names: defaultdict[str, dict[str, None]] = defaultdict(dict)
    folders = [place.folder for place in places.folders]
    for path in (
        *places.instructions, *places.hook_settings, *places.servers,
        *folders, *places.hook_folders, *places.plugins,
    ):  # fmt: skip
        parts = path.split("/")
        for depth, name in enumerate(parts):
            names["/".join(parts[:depth])][name] = None
    for folder, wanted in names.items():
        yield WatchRule(folder, False, tuple(wanted))
