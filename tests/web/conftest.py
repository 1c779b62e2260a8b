"""One Chromium for all tests of the page that a worker runs, and a host per module."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, async_playwright, expect

from tests.web.browsing import FLAGS, NOT_RUN, PATIENCE
from tests.wire.hosting import ServedHost, serve
from tools.browser import HOW, find_browser


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    """The browser; where there is none its tests do not run, and CI fails."""
    program = find_browser()
    if program is None:
        told = f"{NOT_RUN}: no browser; {HOW}"
        if os.environ.get("CI"):
            pytest.fail(told)
        pytest.skip(told)
    expect.set_options(timeout=PATIENCE)
    async with async_playwright() as playwright:
        launched = await playwright.chromium.launch(
            executable_path=program,
            args=FLAGS,
            # The tests' own handlers end everything in order.
            handle_sigint=False,
            handle_sigterm=False,
            handle_sighup=False,
        )
        try:
            yield launched
        finally:
            await launched.close()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def shared_host(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ServedHost]:
    """One host for a whole module, whose tests name sessions of their own."""
    folder = tmp_path_factory.mktemp("host")
    work = folder / "work"
    work.mkdir()
    (work / "hello.txt").write_text("hi\n")
    async with serve(folder / "data", "--root", str(work)) as served:
        yield served


@pytest.fixture
def work(shared_host: ServedHost) -> Path:
    """The folder in which the sessions of the shared host work."""
    return shared_host.data_dir.parent / "work"
