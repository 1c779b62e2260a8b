from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from agenthost.cli.connection.command_hints import use_data_dir
from tests.cli.running import Cli, serving


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def cli(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Cli]:
    """The command line beside a running host, for a whole module.

    Its tests run in the module's event loop: ``pytest.mark.asyncio(loop_scope="module")``.
    """
    folder = tmp_path_factory.mktemp("cli")
    async with serving(folder, "--wire-log", str(folder / "wire.jsonl")) as running:
        (running.cwd / "file.txt").write_text("hello\n")
        yield running


@pytest.fixture(autouse=True)
def no_host_in_use() -> None:
    """Forget the host of a command that a test before ran in this process."""
    use_data_dir(None)


@pytest.fixture
def alone(tmp_path: Path) -> Cli:
    """The command line where no host runs."""
    return Cli(tmp_path / "data", tmp_path)
