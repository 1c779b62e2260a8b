from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

import agenthost.host
from tests.wire.on_cluster import ON_CLUSTER, NodeAsHost, skip_what_cannot_be, stop_server

if ON_CLUSTER:
    # Before anything here imports it.
    agenthost.host.Host = NodeAsHost  # type: ignore[assignment, misc]

from tests.wire.hosting import ServedHost, serve


@pytest.fixture
async def host(tmp_path: Path) -> AsyncIterator[ServedHost]:
    """A host with a token, on data that ends with the test."""
    async with serve(tmp_path / "data") as served:
        yield served


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def shared_host(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ServedHost]:
    """One host for a whole module, whose tests name sessions and clients of their own.

    Those tests run in the module's event loop: ``pytest.mark.asyncio(loop_scope="module")``.
    """
    async with serve(tmp_path_factory.mktemp("host") / "data") as served:
        yield served


@pytest_asyncio.fixture(loop_scope="module")
async def own_host(tmp_path: Path) -> AsyncIterator[ServedHost]:
    """A host for one test alone, in a module whose tests run in the module's event loop."""
    async with serve(tmp_path / "data") as served:
        yield served


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what cannot be on a cluster, if the tests run on one."""
    if ON_CLUSTER:
        skip_what_cannot_be(items)


def pytest_unconfigure() -> None:
    """End what all tests had in common."""
    stop_server()
