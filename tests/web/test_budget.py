"""What the first load of the page costs: everything that a browser fetches before it shows."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.async_api import Browser

from agenthost.host.http.assets import STATIC
from tests.web.browsing import DESKTOP, open_tab, page_required
from tests.wire.hosting import ServedHost

pytestmark = [page_required, pytest.mark.browser]

# Bytes, packed with gzip: browsers on plain HTTP take nothing better.
LIMIT = 300_000


def first_load() -> dict[str, int]:
    """Return the packed sizes of the index, its script, what that imports, and the styles."""
    manifest = json.loads((STATIC / ".vite" / "manifest.json").read_text())
    (entry,) = (chunk for chunk in manifest.values() if chunk.get("isEntry"))
    names, waiting = {"index.html"}, [entry]
    while waiting:
        chunk = waiting.pop()
        names |= {chunk["file"], *chunk.get("css", ())}
        waiting += [
            manifest[key] for key in chunk.get("imports", ()) if manifest[key]["file"] not in names
        ]
    return {name: packed(STATIC / name) for name in names}


def packed(path: Path) -> int:
    return len(gzip.compress(path.read_bytes(), 9))


def test_the_first_load_stays_small(record_property: Callable[[str, object], None]) -> None:
    sizes = first_load()
    total = sum(sizes.values())
    largest = ", ".join(
        f"{name} {size:,}" for name, size in sorted(sizes.items(), key=lambda item: -item[1])[:4]
    )
    record_property("browser/first load", f"{total / 1000:.0f} KB packed ({largest})")
    assert total <= LIMIT, largest


@pytest.mark.asyncio(loop_scope="session")
async def test_a_browser_fetches_no_more_than_that_before_the_page_shows(
    browser: Browser, shared_host: ServedHost, record_property: Callable[[str, object], None]
) -> None:
    async with open_tab(browser, shared_host, DESKTOP, "/") as tab:
        await tab.page.get_by_role("navigation", name="Sessions").wait_for()
        sizes: list[tuple[str, int]] = await tab.page.evaluate(
            "[...performance.getEntriesByType('navigation'),"
            " ...performance.getEntriesByType('resource')]"
            ".map(e => [new URL(e.name).pathname, e.encodedBodySize])"
        )
        total = sum(size for _, size in sizes)
        record_property("browser/before the page shows", f"{len(sizes)} files, {total:,} bytes")
        assert total <= LIMIT, sizes
        await tab.assert_clean(but="favicon")
