"""The rooms around a chat: the session list, starting sessions, automations, settings."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

import pytest
from playwright.async_api import Browser, Locator, expect

from tests.web.browsing import (
    DESKTOP,
    PATIENCE,
    PHONE,
    Screen,
    Tab,
    at_host,
    context_of,
    new_session,
    open_tab,
    page_required,
)
from tests.wire.hosting import ServedHost

pytestmark = [page_required, pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

SCREENS = pytest.mark.parametrize("screen", [DESKTOP, PHONE], ids=lambda screen: screen.name)


def row(tab: Tab, title: str) -> Locator:
    """Return the list's row of a session."""
    return tab.page.get_by_role("listitem").filter(has_text=title)


async def choose(tab: Tab, title: str, item: str) -> None:
    """Choose from the menu of a row."""
    await row(tab, title).first.hover()
    await tab.page.get_by_role("button", name=f"More about {title}", exact=True).first.click()
    await tab.page.get_by_role("menuitem", name=item, exact=True).click()


async def confirmed(button: Locator) -> None:
    """Press a guarded button, once it is safe."""
    await expect(button.locator("xpath=..")).not_to_have_attribute("data-dead", "true")
    await button.click()


@SCREENS
async def test_what_waits_is_on_top_and_can_be_allowed_in_its_row(
    browser: Browser, shared_host: ServedHost, work: Path, screen: Screen
) -> None:
    title = f"Waiting on a {screen.name}"
    async with at_host(shared_host) as client:
        session = await new_session(client, f"row-{screen.name}", work)
        await session.rename(title)
        chat = await session.chat()
        async with open_tab(browser, shared_host, screen) as tab:
            await tab.shows(title)
            turn = chat.send("/run echo from-the-row")
            waiting = tab.page.get_by_role("region", name="Needs you").get_by_role("listitem")
            await expect(waiting.filter(has_text=title)).to_contain_text("echo from-the-row")
            if screen.touch:
                await (
                    tab.page.get_by_role("navigation", name="Places")
                    .get_by_text("Needs you")
                    .click()
                )
            await tab.picture("needs-you")
            await confirmed(row(tab, title).get_by_role("button", name=re.compile("^Allow once")))
            assert "exit code 0" in await turn.text()
            await tab.assert_clean(but="favicon")


async def test_rows_stay_where_they_are_while_somebody_is_among_them(
    browser: Browser, shared_host: ServedHost, work: Path
) -> None:
    async with at_host(shared_host) as client, open_tab(browser, shared_host) as tab:
        session = await new_session(client, "still", work)
        await session.rename("Stay here")
        await row(tab, "Stay here").hover()
        before = await row(tab, "Stay here").bounding_box()
        other = await new_session(client, "meanwhile", work)
        await other.rename("Made meanwhile")
        await (await other.chat()).ask("hello")
        updates = tab.page.get_by_role("button", name=re.compile("update"))
        await expect(updates).to_be_visible()
        assert await row(tab, "Stay here").bounding_box() == before
        await expect(row(tab, "Made meanwhile")).to_have_count(0)
        await updates.click()
        await expect(row(tab, "Made meanwhile")).to_be_visible()


async def test_a_disposed_session_comes_back_by_undo(
    browser: Browser, shared_host: ServedHost, work: Path
) -> None:
    async with at_host(shared_host) as client, open_tab(browser, shared_host) as tab:
        session = await new_session(client, "undo", work)
        await session.rename("Thrown away")
        await choose(tab, "Thrown away", "Dispose")
        await tab.shows("Session disposed.")
        await expect(row(tab, "Thrown away")).to_have_count(0)
        await tab.page.get_by_role("button", name="Undo").click()
        await expect(row(tab, "Thrown away")).to_be_visible()
        assert session.uri in [summary["resource"] async for summary in client.sessions]


async def test_the_menu_renames_archives_and_forks(
    browser: Browser, shared_host: ServedHost, work: Path
) -> None:
    async with at_host(shared_host) as client, open_tab(browser, shared_host) as tab:
        session = await new_session(client, "menu", work)
        await session.rename("First name")
        await (await session.chat()).ask("remember this")
        await choose(tab, "First name", "Rename")
        await tab.page.get_by_role("textbox", name="Name").fill("Second name")
        await tab.page.get_by_role("button", name="Save").click()
        await expect(row(tab, "Second name")).to_be_visible()
        await choose(tab, "Second name", "Fork")
        await tab.page.wait_for_url(re.compile(r"/s/(?!menu)"))
        await expect(tab.page.get_by_role("feed")).to_contain_text("remember this")
        # The fork has the name as well.
        await expect(row(tab, "Second name")).to_have_count(2)
        await choose(tab, "Second name", "Archive")
        await tab.page.get_by_label("Which sessions are shown").select_option("Archived")
        await expect(row(tab, "Second name").first).to_be_visible()
        await tab.assert_clean(but="favicon")


@SCREENS
async def test_a_session_is_started_where_browsing_led(
    browser: Browser, shared_host: ServedHost, work: Path, screen: Screen
) -> None:
    (work / "deep" / "er").mkdir(parents=True, exist_ok=True)
    async with open_tab(browser, shared_host, screen, "/new") as tab:
        await tab.page.get_by_role("textbox", name="First message").fill("/tool")
        await tab.page.reload()
        message = tab.page.get_by_role("textbox", name="First message")
        await expect(message).to_have_value("/tool")
        await tab.page.get_by_role("button", name="Browse...").click()
        for folder in ("deep", "er"):
            await tab.page.get_by_role("button", name=folder, exact=True).click()
        await expect(tab.page.get_by_text("No folders in here.")).to_be_visible()
        await tab.picture("folders")
        await tab.page.get_by_role("button", name="Use this folder").click()
        await expect(tab.page.get_by_label("Folder")).to_contain_text(str(work / "deep" / "er"))
        await tab.picture("new")
        await tab.page.get_by_role("button", name="Start").click()
        await tab.page.wait_for_url(re.compile("/s/"))
        await expect(tab.page.get_by_role("feed")).to_contain_text("There are 0 entries.")
        await tab.assert_clean(but="favicon")


@SCREENS
async def test_an_automation_is_made_run_and_removed(
    browser: Browser, shared_host: ServedHost, screen: Screen
) -> None:
    name = f"Nightly on a {screen.name}"
    async with open_tab(browser, shared_host, screen, "/automations") as tab:
        page = tab.page
        await page.get_by_role("button", name="New automation").click()
        await page.get_by_role("textbox", name="Name", exact=True).fill(name)
        await page.get_by_role("textbox", name="Message", exact=True).fill("hello")
        await page.get_by_role("button", name="Add a time").click()
        await tab.picture("automation-form")
        await page.get_by_role("button", name="Create").click()
        await tab.shows(re.compile("Every day at 09:00"))
        await tab.shows(re.compile("Next run"))
        await page.get_by_role("button", name="Run now").click()
        shown = page.get_by_role("region", name="Run", exact=True)
        await expect(shown).to_contain_text("Completed")
        await tab.picture("automation")
        await page.get_by_role("switch").uncheck()
        await tab.shows("Switched off")
        await page.get_by_role("button", name="Remove").click()
        await page.get_by_role("dialog").get_by_role("button", name="Remove").click()
        await expect(page.get_by_role("main").get_by_role("link", name=name)).to_have_count(0)
        await tab.assert_clean(but="favicon")


@SCREENS
async def test_the_link_of_a_code_lets_another_device_in_until_it_is_revoked(
    browser: Browser, shared_host: ServedHost, screen: Screen
) -> None:
    name = f"my-{screen.name}"
    options = {"permissions": ["clipboard-read", "clipboard-write"]}
    async with open_tab(browser, shared_host, screen, "/settings/access", **options) as tab:
        page = tab.page
        await page.get_by_role("textbox", name="Name", exact=True).fill(name)
        await page.get_by_label("Role").select_option("viewer")
        await page.get_by_role("button", name="Make a code").click()
        await expect(page.get_by_role("img", name="Code with the link")).to_be_visible()
        await tab.picture("code")
        await page.get_by_role("button", name="Copy the link").click()
        link: str = await page.evaluate("navigator.clipboard.readText()")
        assert link.startswith(f"http://{shared_host.address}/#tkn=")
        await page.get_by_role("button", name="Done").click()
        async with context_of(browser, PHONE) as context:
            device = await context.new_page()
            await device.goto(link)
            await expect(device.get_by_text("You can look, not act.")).to_be_visible()
            assert unquote(link.partition("=")[2]) not in device.url
            await page.get_by_role("button", name=f"Revoke: {name}").click()
            await page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
            # The host sends it away within seconds.
            ended = device.get_by_text("Not signed in, or access has ended.")
            await ended.wait_for(timeout=PATIENCE)
        await expect(page.get_by_role("listitem").filter(has_text=name)).to_have_count(0)
        await tab.assert_clean(but="favicon")


async def test_an_opened_session_is_read(
    browser: Browser, shared_host: ServedHost, work: Path
) -> None:
    async with at_host(shared_host) as client, open_tab(browser, shared_host) as tab:
        session = await new_session(client, "unread", work)
        await session.rename("Something new")
        await (await session.chat()).ask("hello")
        await expect(row(tab, "Something new")).to_contain_text("Unread")
        await row(tab, "Something new").get_by_role("link").click()
        await expect(row(tab, "Something new")).not_to_contain_text("Unread")
