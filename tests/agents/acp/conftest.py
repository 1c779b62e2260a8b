from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from agenthost.host.turns import agent_loops
from tests.agents.acp.stage import Stage, acp_agent, staged


@pytest.fixture(scope="session", autouse=True)
def _time_to_end() -> Iterator[None]:
    """Hosts of these tests give an agent the time that its process takes to end.

    One that stops leaves its own process with those it could not wait for; a test stays.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(agent_loops, "CLOSE_PATIENCE", 60.0)
        patch.setattr(agent_loops, "THREAD_PATIENCE", 60.0)
        yield


@pytest_asyncio.fixture(loop_scope="package", scope="package")
async def stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    """One session, and so one agent process, for all tests that share the package's loop."""
    async with staged(acp_agent(), tmp_path_factory.mktemp("folder")) as made:
        yield made
