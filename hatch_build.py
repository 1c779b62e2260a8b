"""Puts the built web page into wheels and source archives.

From a source archive, which has the page already, nothing is built and no Node is needed.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PageBuildHook(BuildHookInterface[Any]):
    """Builds the page before the files are gathered."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build what is missing or stale; not for an editable install, after which make does."""
        if version == "editable":
            return
        subprocess.run([sys.executable, Path(self.root, "tools", "web.py"), "build"], check=True)
