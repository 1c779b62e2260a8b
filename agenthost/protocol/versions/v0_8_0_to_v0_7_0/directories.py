"""A working directory put in another's place, told in additions and removals.

0.7.0 can only append to a session's list and take out of it. So whatever stands behind the place is
taken out too, and appended again behind the replacement: the list then is the same, order included.
"""

from __future__ import annotations

from typing import Final

from agenthost.protocol.versions.node_edits import Json

# More directories behind the place are left where they are, and the replacement comes last: an
# old client then shows the right ones in another order.
MOST_MOVED: Final = 32


def replaced_down(action: Json, directories: list[str]) -> list[Json]:
    """Return the actions of 0.7.0 that do to a list of directories what a replacement does.

    None when the directory is not in the list: then nothing is replaced, and nothing to be told.
    """
    directory, replacement = action["directory"], action["replacement"]
    if directory not in directories:
        return []
    at = directories.index(directory)
    if replacement in directories[:at]:
        return [_removed(directory)]
    later = directories[at + 1 :]
    if len(later) > MOST_MOVED:
        return [_removed(directory), _set(replacement)]
    return [
        *map(_removed, [directory, *later]),
        *map(_set, [replacement, *(kept for kept in later if kept != replacement)]),
    ]


def _removed(directory: str) -> Json:
    return {"type": "session/workingDirectoryRemoved", "directory": directory}


def _set(directory: str) -> Json:
    return {"type": "session/workingDirectorySet", "directory": directory}
