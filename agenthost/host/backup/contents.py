"""What a backup consists of: the names in it, what it says about itself, what it may not hold.

A backup is an uncompressed tar file. ``manifest.json`` comes first and says what it is a backup of,
``checksums.json`` comes last and names every file with its size and its SHA-256, so that one that
was cut off has none. Between them lie the store, then the other files of a data directory.

Knows no disk: ``create`` writes backups and ``restore`` reads them.
"""

from __future__ import annotations

import json
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from agenthost.errors import AgentHostError
from agenthost.host.push.book import PUSH_FILE
from agenthost.tokens import BOOK_FILE, OWNER_FILE

MANIFEST = "manifest.json"
"""The first file of a backup."""

CHECKSUMS = "checksums.json"
"""The last file of a backup."""

STORE = "agenthost.sqlite"
"""The store, in a data directory and in a backup of it."""

WORKSPACE = "workspace"
"""The folder with what the host keeps of the files that sessions work on."""

SECRETS = (OWNER_FILE, BOOK_FILE, PUSH_FILE)
"""Files that let somebody in, or push to somebody's phone."""

FORMAT = 1
"""Which form a backup has; a newer one is refused."""

LARGEST_MANIFEST = 64 * 1024
"""Bytes of the manifest that are read; it has a handful of members."""

MOST_FILES = 1_000_000
"""Files in a backup; of each is kept in memory how it is recognized, while it is restored."""

LARGEST_CHECKSUMS = 256 * 1024 * 1024
"""Bytes of the checksums that are read: 150 a file."""


class BackupError(AgentHostError):
    """A backup could not be made or restored; the message says why, and what to do."""


class Manifest(Struct, frozen=True):
    """What a backup says about itself."""

    # When it was made, as an ISO time.
    created: str
    # The agenthost that made it, if that was known.
    agenthost: str | None
    # The version of the store's tables, and that of the protocol whose form its content has.
    schema: int
    protocol: str | None
    # Whether tokens and push keys are in it.
    secrets: bool
    format: int = FORMAT

    def to_json(self) -> bytes:
        """Return it as the file in the backup."""
        return json.dumps(asdict(self), indent=2).encode()

    @classmethod
    def from_json(cls, data: bytes) -> Manifest:
        """Read the file in the backup.

        Raises:
            BackupError: it is no manifest, or one of a newer agenthost.
        """
        told = read_object(data, MANIFEST)
        match told:
            case {"format": int(form)} if form > FORMAT:
                raise BackupError(
                    f"a newer agenthost made this backup (form {form}, this one reads {FORMAT}): "
                    "restore it with that one"
                )
            case {
                "format": int(),
                "created": str(created),
                "schema": int(schema),
                "secrets": bool(secrets),
            }:
                named = (told.get("agenthost"), told.get("protocol"))
                version, protocol = (text if isinstance(text, str) else None for text in named)
                return cls(created, version, schema, protocol, secrets)
        raise BackupError("this is no backup of agenthost: its manifest lacks what each has")


class FileSum(Struct, frozen=True):
    """By what a file of a backup is recognized."""

    size: int
    sha256: str


def check_room(files: int) -> None:
    """Check that another file fits beside so many; raises BackupError."""
    if files >= MOST_FILES:
        raise BackupError(f"a backup holds at most {MOST_FILES:,} files, and this one has more")


def checksums_to_json(sums: dict[str, FileSum]) -> bytes:
    """Return the last file of a backup."""
    return json.dumps({"files": {name: asdict(found) for name, found in sums.items()}}).encode()


def checksums_from_json(data: bytes) -> dict[str, FileSum]:
    """Read the last file of a backup; raises BackupError."""
    files = read_object(data, CHECKSUMS).get("files")
    sums: dict[str, FileSum] = {}
    for name, told in files.items() if isinstance(files, dict) else ():
        match told:
            case {"size": int(size), "sha256": str(sha256)}:
                sums[name] = FileSum(size, sha256)
            case _:
                raise BackupError(f"the backup is damaged: {CHECKSUMS} cannot be read")
    return sums


def read_object(data: bytes, name: str) -> dict[str, Any]:
    """Parse a JSON file of a backup; raises BackupError."""
    try:
        told = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BackupError(f"the backup is damaged: {name} cannot be read") from error
    if not isinstance(told, dict):
        raise BackupError(f"the backup is damaged: {name} cannot be read")
    return told


def is_allowed(name: str) -> bool:
    """Say whether a file of this name belongs into a data directory; names come from outside."""
    if name == STORE or name in SECRETS:
        return True
    top, *rest = name.split("/")
    inside = all(part not in ("", ".", "..") for part in rest)
    return top == WORKSPACE and bool(rest) and inside and "\0" not in name
