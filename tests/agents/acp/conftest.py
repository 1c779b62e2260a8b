from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.agents.acp.stage import Stage, acp_agent, staged


@pytest_asyncio.fixture(loop_scope="package", scope="package")
async def stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    """One session, and so one agent process, for all tests that share the package's loop."""
    async with staged(acp_agent(), tmp_path_factory.mktemp("folder")) as made:
        yield made
