"""What git prints of two trees, read."""

from __future__ import annotations

import pytest

from agenthost.workspace.git.diffs import ChangedFile, read_changes
from agenthost.workspace.git.program import GitFailed

OLD, NEW, NONE = "1" * 40, "2" * 40, "0" * 40


def raw(modes: str, blobs: str, status: str, *paths: str) -> str:
    return "".join(f"{field}\0" for field in (f":{modes} {blobs} {status}", *paths))


def test_both_lists_are_brought_together() -> None:
    told = raw("100644 100755", f"{OLD} {NEW}", "R090", "old\tname", "new")
    told += raw("000000 100644", f"{NONE} {NEW}", "A", ":colon")
    told += raw("100644 000000", f"{OLD} {NONE}", "D", "7\t7\tx")
    told += raw("160000 160000", f"{OLD} {NEW}", "M", "sub")
    told += "3\t4\t\0old\tname\0new\0-\t-\t:colon\0" + "0\t9\t7\t7\tx\0" + "1\t1\tsub\0"
    assert read_changes(told.encode()) == [
        ChangedFile("old\tname", "new", OLD, NEW, "100644", "100755", 3, 4),
        ChangedFile(None, ":colon", None, NEW, None, "100644"),
        ChangedFile("7\t7\tx", None, OLD, None, "100644", None, 0, 9),
        ChangedFile("sub", "sub", OLD, NEW, "160000", "160000"),
    ]
    assert read_changes(b"") == []


@pytest.mark.parametrize("told", [b":x\0", b"1\t2\tunknown\0", b"x\0", b":1 2 3 4 M", b"1\t1\t\0a"])
def test_what_is_not_understood_is_an_error(told: bytes) -> None:
    with pytest.raises(GitFailed):
        read_changes(told)
