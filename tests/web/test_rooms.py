"""The page's rooms at work: sessions, the workspace, access, automations, the inspector."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.web.browsing import (
    DESKTOP,
    PHONE,
    Tab,
    at_host,
    context_of,
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


async def test_a_session_is_started_renamed_archived_and_disposed_with_undo(
    browser: Browser, shared_host: ServedHost
) -> None:
    async with open_tab(browser, shared_host, DESKTOP, "/") as tab:
        page, chat = tab.page, ChatPage(tab)
        await page.get_by_role("link", name="New session").first.click()
        await page.get_by_label("First message").fill("started from the page")
        await page.get_by_role("button", name="Start", exact=True).click()
        await chat.reads("You said")
        assert re.search(r"/s/[\w-]+$", page.url)
        sessions = page.get_by_role("navigation", name="Sessions")

        async def choose(title: str, item: str) -> None:
            await sessions.get_by_role("button", name=f"More about {title}").click()
            await page.get_by_role("menuitem", name=item).click()

        await choose("started from the page", "Rename")
        await page.get_by_label("Name", exact=True).fill("Renamed here")
        await page.keyboard.press("Enter")
        await expect(sessions.get_by_role("link", name=re.compile("Renamed here"))).to_be_visible()
        await choose("Renamed here", "Archive")
        await sessions.get_by_role("combobox").select_option("Archived")
        await expect(sessions.get_by_role("link", name=re.compile("Renamed here"))).to_be_visible()
        await choose("Renamed here", "Dispose")
        await tab.shows("Session disposed.")
        await expect(sessions.get_by_role("link", name=re.compile("Renamed here"))).to_have_count(0)
        await page.get_by_role("button", name="Undo").click()
        await expect(sessions.get_by_role("link", name=re.compile("Renamed here"))).to_be_visible()
        await tab.assert_clean()


async def test_what_was_changed_is_reviewed_read_and_noted(
    browser: Browser, shared_host: ServedHost, work: Path
) -> None:
    (work / "greeting.txt").write_text("first line\nsecond line\nthird line\n")
    async with at_host(shared_host) as client:
        await new_session(client, "workspace", work)
    async with open_tab(browser, shared_host, DESKTOP, "/s/workspace") as tab:
        page, chat = tab.page, ChatPage(tab)
        await chat.say("/edit greeting.txt only line")
        await chat.answer("Allow once")
        await chat.reads("is written.")
        await page.get_by_role("link", name="Changes").first.click()
        panel = page.get_by_role("complementary")
        await expect(panel.get_by_text("greeting.txt").first).to_be_visible()
        await panel.get_by_role("checkbox", name=re.compile("Reviewed")).check()
        await expect(panel.get_by_text("1 of 1 reviewed")).to_be_visible()
        await tab.picture("changes")
        await page.get_by_role("link", name="Files").first.click()
        await panel.get_by_text("greeting.txt").first.click()
        await expect(panel.get_by_text("only line")).to_be_visible()
        await tab.picture("files")
        await tab.assert_clean()


async def test_a_terminal_takes_keys_and_shows_what_comes(
    browser: Browser, shared_host: ServedHost, work: Path
) -> None:
    async with at_host(shared_host) as client:
        session = await new_session(client, "terminal", work)
        async with open_tab(browser, shared_host, DESKTOP, "/s/terminal?panel=terminals") as tab:
            panel = tab.page.get_by_role("complementary")
            await panel.get_by_role("button", name="New terminal").first.click()
            screen = panel.get_by_role("textbox", name="Terminal")
            await screen.wait_for(state="attached")
            await screen.press_sequentially("echo typed-$((40+2))\n")
            (told,) = await session.terminals.list()
            seen = ""
            async for piece in (await session.terminals.open(told["resource"])).output():
                seen += piece
                if "typed-42" in seen:
                    break
            await tab.picture("terminal")
            await tab.assert_clean()


async def test_a_phone_signs_in_by_a_code_with_a_token_of_its_own(
    browser: Browser, shared_host: ServedHost
) -> None:
    async with open_tab(
        browser,
        shared_host,
        DESKTOP,
        "/settings/access",
        permissions=["clipboard-read", "clipboard-write"],
    ) as tab:
        await tab.page.get_by_label("Name").fill("pocket")
        await tab.page.get_by_role("button", name="Make a code").click()
        await expect(tab.page.get_by_role("img", name="Code with the link")).to_be_visible()
        await tab.picture("code")
        await tab.page.get_by_role("button", name="Copy the link").click()
        link = await tab.page.evaluate("navigator.clipboard.readText()")
        await tab.assert_clean()
    async with context_of(browser, PHONE) as context:
        phone = Tab(shared_host, await context.new_page(), PHONE)
        await phone.page.goto(link)
        await expect(phone.page.get_by_role("navigation").first).to_be_visible()
        # Out of the address bar, and not the owner's.
        assert "tkn" not in phone.page.url
        await phone.page.goto(f"http://{shared_host.address}/settings/device")
        await phone.shows("Signed in as pocket (operator).")
        await phone.assert_clean()


async def test_an_automation_is_made_and_run(browser: Browser, shared_host: ServedHost) -> None:
    async with open_tab(browser, shared_host, DESKTOP, "/automations") as tab:
        page = tab.page
        await page.get_by_role("button", name="New automation").click()
        await page.get_by_label("Name").fill("Morning greeting")
        await page.get_by_label("Message").fill("good morning")
        await page.get_by_role("button", name="Create", exact=True).click()
        await tab.shows("Morning greeting")
        await page.get_by_role("button", name=re.compile("Run now")).first.click()
        await tab.shows("Completed")
        await tab.picture("automation")
        await tab.assert_clean()


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
            await page.evaluate("navigator.serviceWorker.ready.then(() => true)")
            # A while after it was shown, so that a stream is not written at every frame.
            await page.evaluate(KEPT)
            await host.stop()
            await page.context.set_offline(True)
            await tab.shows("You are offline. Drafts are kept, nothing is sent.")
            await box.fill("written without a network")
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
