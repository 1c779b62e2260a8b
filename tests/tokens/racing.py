"""Runs one function in several processes that start each step together."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

__all__ = ["race"]

PATIENCE_SECONDS = 60


def race(function: Callable[[Barrier, Path, int], Any], folder: Path, processes: int) -> list[Any]:
    """Return what ``function(barrier, folder, number)`` returned in each of the processes."""
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(processes, timeout=PATIENCE_SECONDS)
    pipes = [context.Pipe(duplex=False) for _ in range(processes)]
    workers = [
        context.Process(target=_work, args=(function, barrier, folder, number, sender))
        for number, (_, sender) in enumerate(pipes)
    ]
    for worker in workers:
        worker.start()
    results = []
    for receiver, _ in pipes:
        assert receiver.poll(PATIENCE_SECONDS), "a racing process gave no answer"
        results.append(receiver.recv())
    for worker in workers:
        worker.join(PATIENCE_SECONDS)
    for receiver, sender in pipes:
        receiver.close()
        sender.close()
    return results


def _work(
    function: Callable[[Barrier, Path, int], Any],
    barrier: Barrier,
    folder: Path,
    number: int,
    sender: Any,
) -> None:
    sender.send(function(barrier, folder, number))
