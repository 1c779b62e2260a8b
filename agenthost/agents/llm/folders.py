"""The folders that a session may touch: names in, real paths inside of them out.

Symbolic links are followed before anything is decided. Knows no models and no tools.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from agenthost.errors import AgentHostError

__all__ = ["Folders", "OutsideFolders", "file_path"]


class OutsideFolders(AgentHostError):
    """A path lies outside of the session's working directories; the message names it."""


def file_path(uri: str) -> Path | None:
    """Return the path of a file on this machine that a URI names, or None."""
    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return None
    path = unquote(parts.path)
    return None if "\0" in path else Path(path)


class Folders:
    """The working directories of a session, the primary one first."""

    def __init__(self, uris: Sequence[str]) -> None:
        paths = [path for uri in uris if (path := file_path(uri)) is not None]
        self.paths: Sequence[Path] = [path.resolve() for path in paths]

    @property
    def primary(self) -> Path:
        """The folder that relative names start from."""
        if not self.paths or not self.paths[0].is_dir():
            raise OutsideFolders("this session has no folder to work in")
        return self.paths[0]

    def resolve(self, name: str) -> Path:
        """Return the real path that a name, relative or absolute, stands for.

        Raises:
            OutsideFolders: it lies elsewhere, or a symbolic link leads elsewhere.
        """
        if "\0" in name:
            raise OutsideFolders("a path cannot contain a null character")
        try:
            path = (self.primary / name).resolve()
        except (OSError, RuntimeError) as error:
            raise OutsideFolders(f"{name} cannot be resolved") from error
        if not any(path.is_relative_to(folder) for folder in self.paths):
            raise OutsideFolders(f"{name} lies outside of the working directories")
        return path

    def shown(self, path: Path) -> str:
        """Return how to call a path: relative to the primary folder where possible."""
        primary = self.primary
        return str(path.relative_to(primary)) if path.is_relative_to(primary) else str(path)
