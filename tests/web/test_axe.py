"""An accessibility scan of each place of the page, in light and dark, wide and narrow.

With ``AGENTHOST_PICTURES`` set, each leaves a picture to be looked at as well.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from agenthost.client import ConfirmationNeeded
from tests.web.browsing import (
    DESKTOP,
    ROOT,
    Tab,
    at_host,
    new_session,
    open_tab,
    page_required,
)
from tests.wire.hosting import ServedHost

pytestmark = [page_required, pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

AXE = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
SCAN = """
async () => {
  const {violations, passes} = await axe.run(
    {runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa']});
  if (passes.length < 5) return ['the scan looked at nothing'];
  const where = (found) => found.nodes.map((node) => node.html.slice(0, 160)).slice(0, 4);
  return violations.filter((found) => ['serious', 'critical'].includes(found.impact)).map(
    (found) => `${found.impact} ${found.id}: ${where(found).join(' ')}`);
}
"""
WIDTHS = (1440, 820, 390)
# A place, and what shows that it is there.
PLACES = {
    "/": "Needs you",
    "/s/scanned": "the answer is yes.",
    "/s/waiting": "Run this command?",
    "/s/scanned?panel=changes": "Changes",
    "/s/scanned?panel=files": "hello.txt",
    "/s/scanned?panel=terminals": "Terminals",
    "/s/scanned?panel=notes": "Notes",
    "/new": "Agent",
    "/automations": "Automations",
    "/settings": "Settings",
    "/settings/access": "Access",
    "/inspect": "Inspector",
}


# Another width is laid out with the next frames; what is scanned before is neither.
LAID_OUT = """
() => new Promise((done) => {
  let frames = 10;
  const next = () => (frames-- ? requestAnimationFrame(next) : done());
  next();
})
"""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def tab(browser: Browser, shared_host: ServedHost) -> AsyncIterator[Tab]:
    """A tab at a host with a chat of many kinds of parts, and one that waits."""
    work = shared_host.data_dir.parent / "work"
    async with at_host(shared_host) as client:
        chat = await (await new_session(client, "scanned", work)).chat()
        for text in ("/help", "/tool", "/subagent hello", "/think"):
            await chat.ask(text)
        waiting = await (await new_session(client, "waiting", work)).chat()
        async for event in waiting.send("/run echo scanned"):
            if isinstance(event, ConfirmationNeeded):
                break
        async with open_tab(browser, shared_host, DESKTOP, "/") as opened:
            yield opened


@pytest.mark.parametrize("path", PLACES)
async def test_a_place_has_no_serious_findings(tab: Tab, path: str) -> None:
    await tab.page.set_viewport_size({"width": WIDTHS[0], "height": 900})
    await tab.open(path)
    await expect(tab.page.get_by_text(PLACES[path]).locator("visible=true").first).to_be_visible()
    await tab.page.evaluate(AXE.read_text())
    found: list[str] = []
    for width in WIDTHS:
        await tab.page.set_viewport_size({"width": width, "height": 900})
        for scheme in ("light", "dark"):
            await tab.page.emulate_media(color_scheme=scheme)
            await tab.page.evaluate(LAID_OUT)
            found += [f"{width} {scheme} {told}" for told in await tab.page.evaluate(SCAN)]
            if os.environ.get("AGENTHOST_PICTURES"):
                await picture(tab, path, width, scheme)
    assert not found, "\n".join(found)


async def picture(tab: Tab, path: str, width: int, scheme: str) -> Path:
    name = path.strip("/").replace("/", "-").replace("?panel=", "-") or "list"
    return await tab.picture(f"place/{name}-{width}-{scheme}")
