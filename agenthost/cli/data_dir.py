"""The data directory, and folders that people name on the command line."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

DATA_DIR_VARIABLE = "AGENTHOST_DATA_DIR"
"""The environment variable that names the data directory."""

STORE_FILE = "agenthost.sqlite"
"""The store, in the data directory."""

WORKSPACE_FOLDER = "workspace"
"""What the host keeps of the files that sessions work on, in the data directory."""


def import_from_here() -> None:
    """Let ``module:name`` name a file in the current directory, as people expect."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)


def default_data_dir(
    environ: Mapping[str, str] | None = None, platform: str = sys.platform
) -> Path:
    """Return the user's data directory: from the variable, or the platform's default."""
    environ = os.environ if environ is None else environ
    if named := environ.get(DATA_DIR_VARIABLE):
        return Path(named).expanduser()
    if platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "agenthost"
    # The XDG specification has relative values ignored.
    shared = Path(environ.get("XDG_DATA_HOME", ""))
    base = shared if shared.is_absolute() else Path.home() / ".local" / "share"
    return base / "agenthost"


def directory_uri(text: str) -> str:
    """Return the URI of a folder given by its path; a URI stays as it is."""
    return text if "://" in text else Path(text).expanduser().resolve().as_uri()
