"""The reducer fixtures that 0.9.0 and 0.8.0 must have had, taken from their neighbours' corpora.

Neither release's own fixtures are to be had; what each release changed is known. So 0.9.0 is tried
with those of 1.0.0 that say nothing which only 1.0.0 can, and 0.8.0 with those of 0.7.0, except
that what 0.8.0 brought is taken from 1.0.0.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from tests.conformance.corpus import Fixture, reducer_fixtures

# What came with 1.0.0: actions, members of states and actions, and a value.
_NEW_IN_1_0_0 = frozenset(
    {
        *("session/chatsReordered", "session/mcpServerBackgroundRequested"),
        *("chat/backgroundWorkSet", "chat/backgroundWorkRemoved", "chat/movableChanged"),
        *("chat/changesetsChanged", "chat/canvasesChanged", "canvas/stateChanged"),
        *("chat/isReadChanged", "chat/isArchivedChanged"),
        *("blocking", "movable", "backgroundWork", "canvases", "disableConditions", "runCount"),
        "recomputing",
    }
)

# Its counterpart at 1.0.0 has counts of changes, which only 1.0.0 knows; 0.7.0's has not.
_AS_BEFORE_1_0_0 = "173-session-chatupdated"

# What came with 0.8.0, all of it about sessions: scopes of enablement, replacing a directory, and
# that running a tool at the client is no wait for a person.
_NEW_IN_0_8_0 = (
    *("058-*", "059-*", "060-*", "061-*", "062-*", "137-session-*", "138-session-*"),
    *("152-*", "153-*", "154-*", "159-session-mcp*", "160-session-mcp*", "161-session-mcp*"),
    *("162-session-mcp*", "225-session-*", "226-session-custom*", "235-session-mcp*"),
    *("236-session-mcp*", "237-session-mcp*", "238-session-mcp*", "239-session-mcp*"),
    *("261-*", "262-*", "263-session-*", "2??-session-workingdirectoryreplaced-*"),
)


def fixtures_of_0_9_0() -> list[Fixture]:
    """Return the fixtures for 0.9.0, by name."""
    newest = [path for path in _paths("1.0.0") if not _says_any(path, _NEW_IN_1_0_0)]
    chosen = {path.stem: path for path in newest}
    chosen |= {path.stem: path for path in _paths("0.7.0") if path.stem == _AS_BEFORE_1_0_0}
    return [Fixture("0.9.0", path) for _, path in sorted(chosen.items())]


def fixtures_of_0_8_0() -> list[Fixture]:
    """Return the fixtures for 0.8.0, by name."""
    chosen = {path.stem: path for path in _paths("0.7.0")}
    chosen |= {path.stem: path for path in _paths("1.0.0") if _came_with_0_8_0(path.stem)}
    return [Fixture("0.8.0", path) for _, path in sorted(chosen.items())]


def _paths(version: str) -> list[Path]:
    return [fixture.path for fixture in reducer_fixtures(version)]


def _came_with_0_8_0(name: str) -> bool:
    return any(fnmatch(name, pattern) for pattern in _NEW_IN_0_8_0)


def _says_any(path: Path, words: frozenset[str]) -> bool:
    fixture = json.loads(path.read_text("utf-8"))
    return not words.isdisjoint(_words([fixture["initial"], fixture["actions"]]))


def _words(value: Any) -> Iterator[str]:
    """Give the names of all members, and all texts, at any depth."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _words(item)
    elif isinstance(value, dict):
        for name, member in value.items():
            yield name
            yield from _words(member)
