"""Places that lead into a chat or look behind it: links to turns, no network, the inspector."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.web.browsing import (
    DESKTOP,
    at_host,
    new_session,
    open_tab,
    page_required,
)
from tests.web.chatting import ChatPage
from tests.wire.hosting import ServedHost, serve

pytestmark = [page_required, pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


# Waits until the browser has written what it keeps of what was shown: its list comes last.
KEPT = """
async () => {
  const names = () => new Promise((resolve) => {
    const opening = indexedDB.open('agenthost');
    opening.onsuccess = () => {
      const asking = opening.result.transaction('kept').objectStore('kept').getAllKeys();
      asking.onsuccess = () => {
        opening.result.close();
        resolve(asking.result);
      };
    };
  });
  while (!(await names()).some((name) => name.endsWith('shown'))) {
    await new Promise(requestAnimationFrame);
  }
}
"""

# Lets the browser say that there is no network.
NO_NETWORK = "Object.defineProperty(navigator, 'onLine', {get: () => false})"


async def test_a_link_to_a_turn_leads_to_it_through_older_pages(
    browser: Browser, shared_host: ServedHost
) -> None:
    async with at_host(shared_host) as client:
        chat = await (await new_session(client, "linked")).chat()
        for number in range(45):
            await chat.ask(f"question number {number}")
        turn = chat.state["turns"][2]["id"]
    async with open_tab(browser, shared_host, DESKTOP, f"/s/linked/t/{turn}") as tab:
        said = ChatPage(tab).transcript.get_by_text("question number 2", exact=True).first
        await expect(said).to_be_in_viewport()
        await tab.assert_clean()


async def test_without_a_network_the_page_shows_what_it_has(
    browser: Browser, tmp_path: Path
) -> None:
    async with serve(tmp_path / "data", "--root", str(tmp_path)) as host:
        async with at_host(host) as client:
            chat = await (await new_session(client, "offline")).chat()
            await chat.ask("kept for later")
        async with open_tab(browser, host, DESKTOP, "/s/offline") as tab:
            page, box = tab.page, ChatPage(tab).box
            await ChatPage(tab).reads("You said")
            await tab.installed()
            # A while after it was shown, so that a stream is not written at every frame.
            await page.evaluate(KEPT)
            await host.stop()
            await page.context.set_offline(True)
            await tab.shows("You are offline. Drafts are kept, nothing is sent.")
            await box.fill("written without a network")
            # A browser that plays at having no network may forget in a reload to say so, though not
            # to refuse every request; one that really has none says so from the beginning.
            await page.add_init_script(NO_NETWORK)
            await page.reload()
            await tab.shows("You are offline. Drafts are kept, nothing is sent.")
            await ChatPage(tab).reads("kept for later")
            await expect(box).to_have_value("written without a network")
            await tab.picture("offline")
            await page.context.set_offline(False)
            await host.start("--port", host.address.rpartition(":")[2])
            await expect(page.get_by_text("You are offline.")).to_have_count(0)
            await ChatPage(tab).press("Send")
            await ChatPage(tab).reads(re.compile("written without a network"))
            await tab.assert_clean(but="ERR_|WebSocket")


async def test_the_inspector_shows_frames_without_tokens(
    browser: Browser, shared_host: ServedHost
) -> None:
    async with open_tab(browser, shared_host, DESKTOP, "/inspect") as tab:
        await tab.page.get_by_text("initialize").first.click()
        await tab.picture("inspector")
        shown = await tab.page.locator("main").inner_text()
        assert shared_host.token not in shown
        assert json.dumps("1.0.0") in shown
        await tab.assert_clean()
