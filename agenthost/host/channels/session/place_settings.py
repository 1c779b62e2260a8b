"""The settings of every session that say where it works: isolation, branch, directory (pure).

Their names and values are those that clients have controls of their own for. They are chosen when
a session is made and stay as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from agenthost.agents.common_settings import BRANCH, DIRECTORY, ISOLATION, PLACE_SETTINGS

if TYPE_CHECKING:
    from agenthost.protocol.common import JsonObject
    from agenthost.protocol.session.state import SessionConfigPropertySchema, SessionConfigSchema

WORKTREE: Final = "worktree"
FOLDER: Final = "folder"
# What the choice of no folder inside of the working directory is called.
WORKING_DIRECTORY: Final = "The working directory"


class PlaceChoices(Struct, frozen=True):
    """What there is to choose from in a folder."""

    # Whether it is in a repository that a working tree can be made of.
    has_worktrees: bool = False
    # The branch that is chosen, or would be; None where no branch is known.
    branch: str | None = None
    # Whether folders inside of it may be looked for.
    has_folders: bool = False


def wants_worktree(values: JsonObject) -> bool:
    """Say whether a session is to work in a working tree of its own."""
    return bool(values.get(ISOLATION) == WORKTREE)


def with_place_settings(
    schema: SessionConfigSchema, choices: PlaceChoices, values: JsonObject
) -> SessionConfigSchema:
    """Add to an agent's schema where its session works; an agent's own such settings give way."""
    added = {ISOLATION: _isolation(choices)}
    if choices.branch is not None:
        isolated = choices.has_worktrees and wants_worktree(values)
        added[BRANCH] = _branch(choices.branch, isolated)
    if choices.has_folders:
        added[DIRECTORY] = _directory()
    kept = {key: each for key, each in schema["properties"].items() if key not in PLACE_SETTINGS}
    merged: SessionConfigSchema = {**schema, "properties": {**kept, **added}}
    if "required" in schema:
        merged["required"] = [key for key in schema["required"] if key not in PLACE_SETTINGS]
    return merged


def _isolation(choices: PlaceChoices) -> SessionConfigPropertySchema:
    setting: SessionConfigPropertySchema = {
        "type": "string",
        "title": "Isolation",
        "description": "Where the agent makes its changes",
        "enum": [FOLDER],
        "enumLabels": ["Folder"],
        "default": FOLDER,
    }
    if not choices.has_worktrees:
        # Clients hide the control of a setting that can only be read.
        return {**setting, "readOnly": True}
    return {
        **setting,
        "enum": [FOLDER, WORKTREE],
        "enumLabels": ["Folder", "Worktree"],
        "enumDescriptions": ["In the folder itself", "In a git worktree of its own"],
    }


def _branch(branch: str, isolated: bool) -> SessionConfigPropertySchema:
    setting: SessionConfigPropertySchema = {
        "type": "string",
        "title": "Branch",
        "description": "The branch that the work starts from",
        "enum": [branch],
        "enumLabels": [branch],
        "default": branch,
    }
    # In the folder itself the work is on whatever is checked out there.
    return {**setting, "enumDynamic": True} if isolated else {**setting, "readOnly": True}


def _directory() -> SessionConfigPropertySchema:
    return {
        "type": "string",
        "title": "Directory",
        "description": "The folder inside of the working directory to work in",
        "enum": [""],
        "enumLabels": [WORKING_DIRECTORY],
        "default": "",
        "enumDynamic": True,
    }
