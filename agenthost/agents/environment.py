"""What the programs that agents start see of the host's environment: no secrets, unless told to.

A command that a model thought of needs no key to do its work, and could send one anywhere. What it
does need is named in ``AGENTHOST_PASS_ENV``, or given to it in code.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from fnmatch import fnmatchcase

PASS = "AGENTHOST_PASS_ENV"
"""Names the secret variables that commands get all the same: ``GITHUB_TOKEN,AWS_*``."""

_OURS = "AGENTHOST_"
_SECRET = re.compile(
    r"api_?key|(?:token|tkn|secret|password|passwd|passphrase|(?:access|secret|private)_?key)\Z",
    re.IGNORECASE,
)


def command_environment(
    added: Mapping[str, str] | None = None, given: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the variables for a command: the host's without secrets, and those that are added."""
    given = os.environ if given is None else given
    passed = [name.strip() for name in given.get(PASS, "").split(",")]
    kept = {
        name: value
        for name, value in given.items()
        if not _SECRET.search(name) or any(fnmatchcase(name, wanted) for wanted in passed)
    }
    return {**kept, **(added or {})}


def program_environment(
    added: Mapping[str, str] | None = None, given: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the variables for an agent's own program, which calls its model with its own key.

    Only what is the host's alone is left out: its token, and the key of its models.
    """
    given = os.environ if given is None else given
    kept = {
        name: value
        for name, value in given.items()
        if not (name.startswith(_OURS) and _SECRET.search(name))
    }
    return {**kept, **(added or {})}
