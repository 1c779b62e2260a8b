"""Lists the hooks that a file declares: commands that some agent would run at some moments.

This host shows them and runs none.
"""

from __future__ import annotations

from dataclasses import replace

from agenthost.customizations.fields import LONGEST_NAME, plain
from agenthost.customizations.json_files import BadJson, parse_json
from agenthost.customizations.reading import ReadFile
from agenthost.customizations.types import FoundCustomization

_MOST_EVENTS = 20
_LONGEST_EVENT = 60


def hook_customization(file: ReadFile, *, optional: bool = False) -> FoundCustomization | None:
    """Return the entry for a file of hooks; with its problem, if it has one.

    ``optional`` says that the file is for other things too: without hooks there is no entry.
    """
    name = file.path.rpartition("/")[2].removesuffix(".json")
    found = FoundCustomization("hook", plain(name, LONGEST_NAME) or "hooks", file.path)
    if file.problem is not None:
        return replace(found, problem=file.problem)
    try:
        hooks = parse_json(file.text).get("hooks")
    except BadJson as error:
        return replace(found, problem=str(error))
    if optional and hooks is None:
        return None
    return described_hook(found, hooks)


def described_hook(found: FoundCustomization, hooks: object) -> FoundCustomization:
    """Return an entry with the moments for which there are hooks."""
    if not isinstance(hooks, dict):
        return replace(found, problem="`hooks` is no object with the names of events")
    events = [plain(str(event), _LONGEST_EVENT) for event in list(hooks)[:_MOST_EVENTS]]
    more = ", …" if len(hooks) > _MOST_EVENTS else ""
    return replace(found, description=f"for {', '.join(events)}{more}" if events else "for nothing")
