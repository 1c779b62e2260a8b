"""Bounds of one pass: files, bytes, seconds, and what trees may do wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from agenthost.customizations.parsing import parsed
from agenthost.customizations.reading import (
    LEADS_OUT,
    Listing,
    ReadBudget,
    ReadFile,
    ReadLimits,
    TreeReader,
)
from agenthost.errors import PermissionDenied
from agenthost.workspace.roots import OutsideRoots
from tests.customizations.trees import FailingTree, HangingTree, MemoryTree

FILES = {"a": b"A", "b": b"B", "c": b"C"}


def reader_of(tree: MemoryTree, **limits: float) -> TreeReader:
    return TreeReader(tree, ReadBudget(ReadLimits(**{"seconds": 60.0, **limits})))  # type: ignore[arg-type]


async def read(tree: MemoryTree, *paths: str, **limits: float) -> list[ReadFile]:
    return await reader_of(tree, **limits).read(paths)


async def test_files_are_read_in_the_order_in_which_they_are_asked_for() -> None:
    assert await read(MemoryTree(FILES), "c", "a") == [ReadFile("c", "C"), ReadFile("a", "A")]


async def test_what_is_not_there_is_left_out_unless_it_was_listed() -> None:
    reader = reader_of(MemoryTree(FILES))
    assert await reader.read(["x"]) == []
    assert await reader.read(["x"], listed=True) == [ReadFile("x", problem="it leads to no file")]


@pytest.mark.parametrize(
    ("error", "problem"),
    [
        (PermissionError(13, "Permission denied"), "Permission denied"),
        (OutsideRoots("/etc/shadow lies outside"), LEADS_OUT),
        (PermissionDenied("the client refuses"), "the client refuses"),
        (TimeoutError(), "it took too long to read"),
        (OSError("x" * 1000), "x" * 300),
    ],
)
async def test_what_a_tree_raises_is_one_files_problem(error: Exception, problem: str) -> None:
    tree = FailingTree(FILES, {"b": error})
    found = await read(tree, "a", "b", "c")
    assert found == [ReadFile("a", "A"), ReadFile("b", problem=problem), ReadFile("c", "C")]


async def test_a_tree_that_gives_more_than_it_was_asked_for_is_not_believed() -> None:
    [file] = await read(MemoryTree({"a": b"x" * 3000}), "a", file_bytes=2048)
    assert file.problem == "it has more than 2 KiB"


async def test_text_is_utf_8_without_a_byte_order_mark() -> None:
    tree = MemoryTree({"a": "\ufeffé".encode(), "b": b"a\xff"})
    assert await read(tree, "a", "b") == [
        ReadFile("a", "é"),
        ReadFile("b", problem="byte 1 is no UTF-8"),
    ]


async def test_a_pass_ends_after_so_many_files() -> None:
    reader = reader_of(MemoryTree(FILES), files=2)
    assert [file.path for file in await reader.read(FILES)] == ["a", "b"]
    assert reader.budget.spent == "not everything was read: there are more than 2 files"
    assert await reader.read(["a"]) == []
    assert await reader.listing("") == Listing(exists=False)


async def test_a_pass_ends_after_so_many_bytes() -> None:
    reader = reader_of(MemoryTree({"a": b"x" * 600_000, "b": b"x" * 600_000}), all_bytes=1 << 20,
                       file_bytes=1 << 20)  # fmt: skip
    assert [file.path for file in await reader.read(["a", "b"])] == ["a"]
    assert "more than 1 MiB" in (reader.budget.spent or "")


async def test_a_pass_ends_when_its_time_is_over() -> None:
    reader = reader_of(HangingTree(FILES, "b"), seconds=0.05)
    assert [file.path for file in await reader.read(["a", "b"])] == ["a"]
    assert reader.budget.spent == "not everything was read: reading took longer than 0.05 s"
    assert reader.budget.is_late()


async def test_nothing_is_parsed_when_the_time_is_over() -> None:
    files = [ReadFile("a"), ReadFile("b")]
    in_time, late = reader_of(MemoryTree({})), reader_of(MemoryTree({}), seconds=-1.0)
    assert await parsed(in_time, files, lambda file: file.path) == ["a", "b"]
    assert await parsed(late, files, lambda file: file.path) == []
    assert late.budget.spent is not None


async def test_a_folder_that_cannot_be_listed_is_told_from_one_that_is_not_there() -> None:
    tree = FailingTree(FILES, {"locked": PermissionError(13, "Permission denied")})
    reader = reader_of(tree)
    assert await reader.listing("gone") == Listing(exists=False)
    assert await reader.listing("locked") == Listing(problem="Permission denied")


async def test_names_that_can_be_no_part_of_a_path_are_not_heard() -> None:
    class Lying(MemoryTree):
        async def list(self, path: str) -> Sequence[tuple[str, bool]]:
            names = ["ok", "..", ".", "", "a/b", "a\0", "\udcff"]
            return [(name, False) for name in names]

        async def find(self, name: str) -> Sequence[str]:
            return ["a/x", "../x", "a//x", "/x"]

    reader = reader_of(Lying({}))
    assert (await reader.listing("")).entries == (("ok", False),)
    assert await reader.find("x") == ["a/x"]


async def test_no_more_is_asked_for_at_once_than_may_be() -> None:
    asked = most = 0

    class Counting(MemoryTree):
        async def read(self, path: str, most_bytes: int) -> bytes:
            nonlocal asked, most
            asked += 1
            most = max(most, asked)
            data = await super().read(path, most_bytes)
            for _ in range(3):
                await asyncio.sleep(0)
            asked -= 1
            return data

    files = {str(number): b"" for number in range(50)}
    assert len(await read(Counting(files), *files, at_once=4)) == 50
    assert most == 4
