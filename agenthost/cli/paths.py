"""Where the command line keeps things when nobody says otherwise."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

__all__ = ["DATA_DIR_VARIABLE", "default_data_dir", "import_from_here"]

DATA_DIR_VARIABLE = "AGENTHOST_DATA_DIR"
"""The environment variable that names the data directory."""


def import_from_here() -> None:
    """Let ``module:Class`` name a file in the current directory, as people expect."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)


def default_data_dir(
    environ: Mapping[str, str] | None = None, platform: str = sys.platform
) -> Path:
    """Return the data directory of this user: the variable's, or where the platform keeps data."""
    environ = os.environ if environ is None else environ
    if named := environ.get(DATA_DIR_VARIABLE):
        return Path(named).expanduser()
    if platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "agenthost"
    # The XDG specification has relative values ignored.
    shared = Path(environ.get("XDG_DATA_HOME", ""))
    base = shared if shared.is_absolute() else Path.home() / ".local" / "share"
    return base / "agenthost"
