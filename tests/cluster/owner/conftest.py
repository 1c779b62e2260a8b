from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.cluster.owner.realm_in_memory import MemoryRealm


@pytest.fixture
async def realm(tmp_path: Path) -> MemoryRealm:
    return MemoryRealm(tmp_path)


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as stack:
        yield stack
