"""Other ways to use the page: by keys alone, enlarged, very narrow, over a phone's keyboard."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from tests.web.browsing import (
    DESKTOP,
    PHONE,
    Screen,
    Tab,
    at_host,
    new_session,
    open_tab,
    page_required,
)
from tests.web.chatting import ChatPage
from tests.wire.hosting import ServedHost

pytestmark = [page_required, pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

PLACES = ("/", "/s/ways", "/s/ways?panel=files", "/new", "/automations", "/settings", "/inspect")
# What is enlarged to twice its size has half the pixels.
ENLARGED = Screen("enlarged", 720, 450)
NARROW = Screen("narrow", 320, 640)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def host(shared_host: ServedHost) -> AsyncIterator[ServedHost]:
    """A host with one chat."""
    async with at_host(shared_host) as client:
        work = shared_host.data_dir.parent / "work"
        chat = await (await new_session(client, "ways", work)).chat()
        for text in ("/help", "a `word` of **some** length", "/tool"):
            await chat.ask(text)
        yield shared_host


async def tab_to(tab: Tab, role: str, name: str) -> None:
    """Go on with the Tab key until something of that name has the focus."""
    wanted = tab.page.get_by_role(role, name=name, exact=True)  # type: ignore[arg-type]
    for _ in range(80):
        if await wanted.evaluate_all("found => found.includes(document.activeElement)"):
            return
        await tab.page.keyboard.press("Tab")
    raise AssertionError(f"the Tab key does not reach the {role} {name}")


async def test_everything_can_be_done_by_keys_alone(browser: Browser, host: ServedHost) -> None:
    async with at_host(host) as client:
        await new_session(client, "keys")
    async with open_tab(browser, host, DESKTOP, "/s/keys") as tab:
        chat, keys = ChatPage(tab), tab.page.keyboard
        await expect(chat.box).to_be_visible()
        await tab_to(tab, "textbox", "Message")
        await keys.type("/run echo by-key")
        await keys.press("Enter")
        await tab.shows("Run this command?")
        # What appears takes no focus, and a bare letter answers nothing.
        await expect(chat.box).to_be_focused()
        await keys.press("Control+j")
        await tab_to(tab, "button", "Allow once")
        await expect(tab.page.locator("button:focus")).to_be_enabled()
        await keys.press("Enter")
        await chat.reads("The command ended with exit code 0.")
        await keys.press("Control+k")
        await expect(tab.page.get_by_role("dialog")).to_be_visible()
        await keys.type("settings")
        await keys.press("Enter")
        await expect(tab.page.get_by_role("heading", name="Settings")).to_be_visible()
        await keys.press("Control+k")
        await expect(tab.page.get_by_role("dialog")).to_be_visible()
        await keys.press("Escape")
        await expect(tab.page.get_by_role("dialog")).to_have_count(0)
        await tab.assert_clean()


@pytest.mark.parametrize("screen", [ENLARGED, NARROW], ids=lambda screen: screen.name)
async def test_nothing_is_cut_off_sideways(
    browser: Browser, host: ServedHost, screen: Screen
) -> None:
    async with open_tab(browser, host, screen, "/") as tab:
        for path in PLACES:
            await tab.open(path)
            await tab.page.get_by_role("main").wait_for()
            await tab.page.wait_for_load_state("networkidle")
            wide = await tab.page.evaluate("document.documentElement.scrollWidth")
            assert wide <= screen.width, path
            await tab.picture(f"ways{path.replace('/', '-').replace('?', '-')}")
        await tab.open("/s/ways")
        await expect(ChatPage(tab).box).to_be_in_viewport()
        await tab.assert_clean()


async def test_the_composer_stays_over_a_phone_s_keyboard(
    browser: Browser, host: ServedHost
) -> None:
    async with open_tab(browser, host, PHONE, "/s/ways") as tab:
        chat = ChatPage(tab)
        await chat.reads("There are 1 entries.")
        await chat.box.tap()
        await tab.page.set_viewport_size({"width": 390, "height": 420})
        await expect(chat.box).to_be_in_viewport()
        await expect(chat.transcript.get_by_text("There are 1 entries.")).to_be_in_viewport()
        await tab.picture("keyboard-open")
        await chat.box.fill("typed with the keyboard open")
        await chat.press("Send")
        await chat.reads(re.compile("You said"))
        await tab.assert_clean()


async def test_nothing_moves_where_people_asked_for_that_and_colours_may_be_theirs(
    browser: Browser, host: ServedHost, tmp_path: Path
) -> None:
    async with at_host(host) as client:
        await new_session(client, "calm")
    options = {"reduced_motion": "reduce", "forced_colors": "active"}
    async with open_tab(browser, host, DESKTOP, "/s/calm", **options) as tab:
        chat = ChatPage(tab)
        await chat.say("/slow 600")
        await expect(chat.button(re.compile("^Stop"))).to_be_visible()
        moving = await tab.page.evaluate(
            "document.getAnimations().map(a => a.effect.getComputedTiming())"
            ".filter(t => t.iterations > 1 || t.duration > 50).length"
        )
        assert moving == 0
        await tab.picture("forced-colours")
        await chat.press(re.compile("^Stop"))
        await chat.at_rest()
        await tab.assert_clean()
