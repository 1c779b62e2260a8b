"""Changed files as diffs and counts: git reads them, and no terminal obeys them."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from agenthost.cli.format.diff_format import (
    FileDiff,
    change_counts,
    describe_file,
    diff_lines,
    file_json,
    quoted_name,
    relative_path,
    stat_lines,
)
from agenthost.cli.format.diff_rows import diff_rows
from agenthost.cli.format.terminal_text import Ink

PLAIN = Ink(False)


def a_file(before: str | None, after: str | None, **counts: int) -> dict[str, Any]:
    edit: dict[str, Any] = {}
    for name, uri in (("before", before), ("after", after)):
        if uri is not None:
            edit[name] = {"uri": uri, "content": {"uri": f"{uri}#content"}}
    return {"id": after or before, "edit": {**edit, **({"diff": counts} if counts else {})}}


def test_a_file_is_named_by_its_path_in_the_session() -> None:
    here = ["file:///other", "file:///w%20x"]
    assert relative_path("file:///w%20x/src/a.py", here) == "src/a.py"
    assert relative_path("file:///w%20xy/a.py", here) == "/w xy/a.py"
    assert relative_path("virtual://c/a.py", here) == "virtual://c/a.py"


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        (None, "file:///w/a", "added"),
        ("file:///w/a", None, "deleted"),
        ("file:///w/a", "file:///w/a", "modified"),
        ("file:///w/a", "file:///w/b", "renamed"),
    ],
)
def test_what_happened_to_a_file_is_read_from_its_sides(
    before: str | None, after: str | None, change: str
) -> None:
    assert describe_file(a_file(before, after), ["file:///w"]).change == change


PATCHES: list[tuple[str, str, str | None, str | None]] = [
    ("a.txt", "a.txt", "one\ntwo\nthree\n", "one\n2\nthree\n"),
    ("new/x.txt", "new/x.txt", None, "fresh\n\twith a tab\n"),
    ("gone.txt", "gone.txt", "bye", None),
    ("old name", "new name", "same\nmore\nand more\n", "same\nmore\nand more!\n"),
    ("end", "end", "x\n", "x"),
    ("dos", "dos", "a\r\nb\r\n", "a\r\nc\r\n"),
    ('q"uo\tte', 'q"uo\tte', "a\n", "b\n"),
    ("ünï", "ünï", "ä\n", "ö\n"),
    ("two\nlines", "two\nlines", "a\n", "b\n"),
]


@pytest.mark.parametrize(("old", "new", "before", "after"), PATCHES)
def test_git_makes_the_new_file_of_the_old_one_with_a_diff(
    tmp_path: Path, old: str, new: str, before: str | None, after: str | None
) -> None:
    if before is not None:
        (tmp_path / old).write_bytes(before.encode())
    sides = (None if before is None else f"/{old}", None if after is None else f"/{new}")
    described = describe_file(a_file(*sides), ["/"])
    rows = diff_rows(before, after, context=3, keep_returns=True)
    shown = FileDiff(described.path, described.old_path, described.change, "", rows=rows)
    patch = "".join(f"{line}\n" for line in diff_lines(shown, PLAIN, patch=True))
    subprocess.run(["git", "apply", "-"], input=patch.encode(), cwd=tmp_path, check=True)
    assert not (tmp_path / old).exists() or (old == new and after is not None)
    if after is not None:
        assert (tmp_path / new).read_bytes() == after.encode()


def test_nothing_in_a_diff_is_obeyed_by_a_terminal() -> None:
    rows = diff_rows("a\n", "\x1b]0;evil\x07\u202e\r\n")
    file = FileDiff("\x1b[2Jname\n", "\x1b[2Jname\n", "modified", "", rows=rows)
    printed = "\n".join(diff_lines(file, PLAIN))
    assert not {"\x1b", "\x07", "\r", "\u202e"} & set(printed)
    assert "+\\x1b]0;evil\\x07\\u202e\\x0d" in printed
    assert 'diff --git "a/\\033[2Jname\\n" "b/\\033[2Jname\\n"' in printed


def test_lines_are_coloured_by_what_they_are() -> None:
    file = FileDiff("a", "a", "modified", "", rows=["@@ -1 +1 @@", "-x", "+y", " z"])
    lines = list(diff_lines(file, Ink(True)))
    assert lines[0] == "\x1b[1mdiff --git a/a b/a\x1b[0m"
    assert lines[3] == "\x1b[36m@@ -1 +1 @@\x1b[0m"
    assert lines[4:] == ["\x1b[31m-x\x1b[0m", "\x1b[32m+y\x1b[0m", " z"]


UNSHOWN = [
    FileDiff("p.png", "p.png", "added", "", unshown="20 bytes", is_binary=True),
    FileDiff("huge", "huge", "added", "", unshown="too large to be shown: 9 GB"),
]


def test_what_cannot_be_shown_is_named() -> None:
    binary, huge = (list(diff_lines(file, PLAIN)) for file in UNSHOWN)
    assert binary == [
        "diff --git a/p.png b/p.png",
        "new file mode 100644",
        "Binary files /dev/null and b/p.png differ",
        "  20 bytes",
    ]
    assert huge == ["diff --git a/huge b/huge", "  too large to be shown: 9 GB"]


@pytest.mark.parametrize("file", UNSHOWN)
def test_nothing_is_made_of_a_file_that_is_not_shown(tmp_path: Path, file: FileDiff) -> None:
    patch = "".join(f"{line}\n" for line in diff_lines(file, PLAIN, patch=True))
    command = ["git", "apply", "-"]
    done = subprocess.run(command, input=patch.encode(), cwd=tmp_path, capture_output=True)
    assert done.returncode != 0
    assert list(tmp_path.iterdir()) == []


def test_counts_are_laid_out_like_gits() -> None:
    files = [
        FileDiff("a.py", "a.py", "modified", "", added=2, removed=1),
        FileDiff("new.py", "old.py", "renamed", "", added=0, removed=0),
        FileDiff("p.png", "p.png", "added", "", is_binary=True),
    ]
    assert stat_lines(files, None, PLAIN) == [
        " a.py             |      3 ++-",
        " old.py => new.py |      0",
        " p.png            | binary",
        " 3 files changed, 2 insertions(+), 1 deletion(-)",
    ]


def test_counts_fit_a_narrow_terminal_and_a_long_path_shows_its_end() -> None:
    path = "a/" * 60 + "end.py"
    files = [FileDiff(path, path, "modified", "", added=900, removed=1)]
    line, _ = stat_lines(files, 60, PLAIN)
    assert len(line) <= 61
    assert "…" in line
    assert "end.py | 901 +" in line
    assert line.endswith("-")


def test_a_json_object_holds_the_diff_unless_counts_are_wanted() -> None:
    file = FileDiff("a", "a", "modified", "file:///a", added=1, removed=1, rows=["-x", "+\x1b"])
    assert file_json(file, with_diff=True)["diff"] == "-x\n+\x1b\n"
    assert "diff" not in file_json(file, with_diff=False)


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        ({"additions": 12, "deletions": 3, "files": 2}, "+12 −3"),
        ({"additions": 0, "deletions": 3}, "−3"),
        ({"files": 2}, ""),
        (None, ""),
    ],
)
def test_counts_of_a_session_are_short(counts: Any, text: str) -> None:
    assert change_counts(counts) == text


def test_a_harmless_name_is_written_as_it_is() -> None:
    assert quoted_name("src/ünï code.py") == "src/ünï code.py"
