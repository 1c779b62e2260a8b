from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

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
