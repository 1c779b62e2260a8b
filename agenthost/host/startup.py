"""What is made ready before a host serves anybody: its folder, its name, its validators."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from agenthost.protocol import SUPPORTED_VERSIONS, translator
from agenthost.protocol.schema.validation import build_validators
from agenthost.version import __version__

if TYPE_CHECKING:
    from agenthost.protocol.commands import Implementation

PACKAGE = Path(__file__).parents[1]
"""Where agenthost is installed."""

BUILD_FILE = "web/static/.build"
"""What the page's build leaves beside the page: a text that differs between any two builds."""

MOST_BUILD_CHARACTERS = 200
"""A build's name is a hash; what is longer is something else, and every client would be sent it."""


def prepare_for_clients() -> None:
    """Do what would be done once, for the first client to come, before it comes."""
    # First what no client can do without, because one may be there already.
    build_validators()
    for version in SUPPORTED_VERSIONS:
        translator(version)


@contextlib.contextmanager
def own_folder(path: Path | None) -> Iterator[Path]:
    """Make a folder that is the host's alone; without a path one that ends with it."""
    if path is not None:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="agenthost-", ignore_cleanup_errors=True) as made:
        yield Path(made)


def page_build(package: Path = PACKAGE) -> str | None:
    """Return the name of the built page's version, or None where no page was built."""
    try:
        name = (package / BUILD_FILE).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return None
    return name[:MOST_BUILD_CHARACTERS] or None


def server_info() -> Implementation:
    """Say what this host is."""
    return {"name": "agenthost", "title": "agenthost", "version": __version__}
