"""The data directory, and folders that people name on the command line."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

STORE_FILE = "agenthost.sqlite"
"""The store, in the data directory."""

WORKSPACE_FOLDER = "workspace"
"""What the host keeps of the files that sessions work on, in the data directory."""

LOG_FILE = "logs/host.log"
"""What a running host logs, in the data directory; older parts of it lie beside it."""


def import_from_here() -> None:
    """Let ``module:name`` name a file in the current directory, as people expect."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)


def user_folders(environ: Mapping[str, str] | None = None) -> list[Path]:
    """Return where the user's own instructions, skills and servers may lie."""
    environ = os.environ if environ is None else environ
    shared = Path(environ.get("XDG_CONFIG_HOME", ""))
    base = shared if shared.is_absolute() else Path.home() / ".config"
    return [base / "agenthost", Path.home() / ".agents"]


def directory_uri(text: str) -> str:
    """Return the URI of a folder given by its path; a URI stays as it is."""
    return text if "://" in text else Path(text).expanduser().resolve().as_uri()
