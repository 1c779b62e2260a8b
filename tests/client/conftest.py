"""A real host, for the tests that need one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agenthost.agents.demo import Demo
from tests.client.world import World
from tests.wire.agents import Puppet


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with World(Demo(), Puppet(), default_directory=tmp_path) as made, asyncio.timeout(60):
        yield made
