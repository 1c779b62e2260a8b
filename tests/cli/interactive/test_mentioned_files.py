"""Paths that a message mentions."""

from __future__ import annotations

from typing import Any, cast

import pytest

from agenthost.cli.interactive import mentioned_files
from agenthost.cli.interactive.mentioned_files import find_mentioned, mentions
from agenthost.client import Session
from agenthost.errors import NotFound

FOLDERS = ["file:///work/app", "file:///work/the%20docs/"]


class Files:
    """A host's files, by their URIs; notes what is asked for."""

    def __init__(self, **kinds: str) -> None:
        self.asked: list[str] = []
        self._kinds = {uri.replace("__", "/"): kind for uri, kind in kinds.items()}

    async def stat(self, uri: str) -> dict[str, Any]:
        self.asked.append(uri)
        for path, kind in self._kinds.items():
            if uri.endswith(path):
                return {"uri": uri, "type": kind}
        raise NotFound(uri)


class Working:
    """A session with such files."""

    def __init__(self, files: Files) -> None:
        self.files = files


async def found(files: Files, *paths: str) -> tuple[list[str], list[str]]:
    session = cast(Session, Working(files))
    result = await find_mentioned(session, paths, FOLDERS)
    return [item["uri"] for item in result.attachments], list(result.unknown)


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("see @a.py and @src/b.py", ["a.py", "src/b.py"]),
        ("@a.py @a.py", ["a.py"]),
        ("write to me@example.org", []),
        ("an @ alone", []),
        ("(@a.py)", []),
        ("@known.py @other.py", ["other.py"]),
        ("@" + "x" * 5_000, []),
    ],
)
def test_a_path_stands_behind_an_at_sign_that_begins_a_word(text: str, paths: list[str]) -> None:
    assert mentions(text, ["@known.py"]) == paths


def test_only_so_many_are_looked_for() -> None:
    assert len(mentions(" ".join(f"@file-{number}" for number in range(500)))) == 20


async def test_what_is_in_any_of_the_folders_is_found_also_with_what_ends_a_sentence() -> None:
    files = Files(**{"the%20docs__guide.md": "file", "app__src": "directory"})
    assert await found(files, "guide.md,", "src", "nothing") == (
        ["file:///work/the%20docs/guide.md", "file:///work/app/src"],
        ["nothing"],
    )


@pytest.mark.parametrize(
    "path",
    ["../secret", "a/../../secret", "/etc/passwd", "/work/application", ".", "..", "/work/app/.."],
)
async def test_nothing_outside_of_the_folders_is_asked_for(path: str) -> None:
    files = Files(secret="file", passwd="file")
    assert await found(files, path) == ([], [path])
    assert files.asked == []


async def test_a_uri_is_taken_for_the_name_of_a_file() -> None:
    files = Files()
    assert await found(files, "https://example.org/x") == ([], ["https://example.org/x"])
    assert all(uri.startswith(("file:///work/app/", "file:///work/the")) for uri in files.asked)


async def test_an_absolute_path_below_a_folder_is_found() -> None:
    files = Files(**{"docs__guide.md": "file"})
    assert (await found(files, "/work/the docs/guide.md"))[0] == [
        "file:///work/the%20docs/guide.md"
    ]


async def test_a_host_that_does_not_answer_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mentioned_files, "LOOKING", 0.0)
    assert await found(Files(**{"a.py": "file"}), "a.py") == ([], ["a.py"])
