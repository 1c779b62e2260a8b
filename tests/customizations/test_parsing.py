"""Whoever has much to parse takes turns with the others."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from agenthost.customizations import parsing
from agenthost.customizations.parsing import parsed
from agenthost.customizations.reading import ReadBudget, ReadFile, ReadLimits, TreeReader

NO_TREE: Any = None


def reader() -> TreeReader:
    return TreeReader(NO_TREE, ReadBudget(ReadLimits()))


async def test_one_thread_takes_a_little_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsing, "TURN", 0)
    done: list[str] = []
    threads: set[int] = set()
    begun = threading.Event()

    def parse(file: ReadFile) -> str:
        begun.wait(10)
        threads.add(threading.get_ident())
        done.append(file.path)
        return file.path

    many = [ReadFile(f"many {number}") for number in range(5)]
    first = asyncio.create_task(parsed(reader(), many, parse))
    await asyncio.sleep(0)
    second = asyncio.create_task(parsed(reader(), [ReadFile("one")], parse))
    await asyncio.sleep(0)
    begun.set()
    assert await first == [each.path for each in many]
    assert await second == ["one"]
    assert done.index("one") == 1
    assert len(threads) == 1
