"""What tests of watches share: a watcher, and a folder to watch with another one beside it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

if TYPE_CHECKING:
    from agenthost.workspace.watching import FileWatcher


@pytest_asyncio.fixture
async def watcher() -> AsyncIterator[FileWatcher]:
    # There are none but on Linux, and the module says so when it is imported.
    from agenthost.workspace.watching import FileWatcher

    watcher = FileWatcher()
    yield watcher
    watcher.close()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path.resolve() / "root"
    root.mkdir()
    (tmp_path / "out").mkdir()
    return root
