"""Which files differ between two trees, and by how many lines."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from agenthost.workspace.git.program import LONG_PATIENCE, GitFailed, GitProgram, TooManyFiles
from agenthost.workspace.git.repository import Repository

MOST_FILES = 5000
_FLAGS = ("-r", "-z", "-M", "-l1000", "--raw", "--numstat", "--no-abbrev")
# Nothing that a repository's configuration names is run to compare files.
_HARMLESS = ("--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty")
_SUBMODULE = "160000"
# How git says that an object is not there.
_LOST = ("bad object", "unable to read", "unable to find", "Could not read")


class ChangedFile(Struct, frozen=True):
    """One file that differs; paths are relative to the top of the working tree."""

    # None = was not there before, is not there any more.
    old_path: str | None
    new_path: str | None
    # Contents; of a submodule they are commits, and cannot be read.
    old_blob: str | None
    new_blob: str | None
    # As git writes them: 100644, 100755, 120000 for a link, 160000 for a submodule.
    old_mode: str | None
    new_mode: str | None
    # Lines; None = it has none, as it is binary or a submodule.
    added: int | None = None
    removed: int | None = None

    @property
    def is_submodule(self) -> bool:
        """Whether this is a repository in the repository, on either side."""
        return _SUBMODULE in (self.old_mode, self.new_mode)


async def changes_between(
    program: GitProgram,
    repository: Repository,
    before: str,
    after: str,
    *,
    env: Mapping[str, str] | None = None,
    folders: Sequence[str] = (".",),
    most: int = MOST_FILES,
) -> list[ChangedFile]:
    """Return the files below folders that differ between two trees or commits.

    Raises:
        TooManyFiles: more than that differ.
        GitFailed: one of the two is not there any more.
    """
    if before.startswith("-") or after.startswith("-"):
        raise GitFailed("that is no name of a tree")
    words = ("diff-tree", *_FLAGS, *_HARMLESS, before, after, "--", *folders)
    try:
        told = await program.run(
            repository.top,
            *words,
            env={"GIT_LITERAL_PATHSPECS": "1", **(env or {})},
            patience=LONG_PATIENCE,
        )
    except GitFailed as failure:
        if str(failure).startswith(_LOST):
            # A number says nothing to whoever reads this.
            message = "git has cleaned up what the files were then, and cannot compare them"
            raise GitFailed(message, failure.code) from failure
        raise
    changes = read_changes(told)
    if len(changes) > most:
        raise TooManyFiles(len(changes), most)
    return changes


def read_changes(told: bytes) -> list[ChangedFile]:
    """Read what ``git diff-tree -z --raw --numstat`` prints."""
    fields = iter(os.fsdecode(told).split("\0"))
    changes: dict[str, ChangedFile] = {}
    try:
        for field in fields:
            if field.startswith(":"):
                change = _change(field, fields)
                changes[_name(change)] = change
            elif field:
                path, added, removed = _counts(field, fields)
                change = changes[path]
                if added is not None and not change.is_submodule:
                    changes[path] = replace(change, added=added, removed=removed)
    except (KeyError, ValueError, RuntimeError, StopIteration) as error:
        raise GitFailed("git printed something else than expected") from error
    return list(changes.values())


def _name(change: ChangedFile) -> str:
    return change.new_path or change.old_path or ""


def _change(field: str, fields: Iterator[str]) -> ChangedFile:
    old_mode, new_mode, old_blob, new_blob, status = field[1:].split(" ")
    path = next(fields)
    new_path = next(fields) if status[0] in "RC" else path
    was, is_ = old_mode != "000000", new_mode != "000000"
    return ChangedFile(
        old_path=path if was else None,
        new_path=new_path if is_ else None,
        old_blob=old_blob if was else None,
        new_blob=new_blob if is_ else None,
        old_mode=old_mode if was else None,
        new_mode=new_mode if is_ else None,
    )


def _counts(field: str, fields: Iterator[str]) -> tuple[str, int | None, int | None]:
    added, removed, path = field.split("\t", 2)
    if not path:
        # Of a renamed file both names follow.
        next(fields)
        path = next(fields)
    if added == "-":
        return path, None, None
    return path, int(added), int(removed)
