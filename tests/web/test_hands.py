"""Hands on the page: keys and presses arrive where a person means them, and nowhere else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from agenthost.client import ConfirmationNeeded
from tests.web.browsing import DESKTOP, at_host, new_session, open_tab, page_required, place
from tests.wire.hosting import ServedHost

pytestmark = [page_required, pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def test_a_new_terminal_takes_the_keys_and_a_double_click_makes_one(
    browser: Browser, shared_host: ServedHost
) -> None:
    async with at_host(shared_host) as client:
        session = await new_session(client, "keys")
    async with open_tab(browser, shared_host, DESKTOP, place(session) + "?panel=terminals") as tab:
        await tab.page.get_by_role("button", name="New terminal").last.dblclick()
        await expect(tab.page.locator(".xterm-helper-textarea")).to_be_focused()
        rows = tab.page.locator(".xterm-rows")
        await expect(rows).to_contain_text(re.compile("[#$%>]"))
        await tab.page.keyboard.type("echo $((40+2))\n")
        await expect(rows).to_contain_text("42")
        assert await tab.page.locator(".terminals-name").count() == 1
        await tab.assert_clean()


async def test_focus_in_a_card_that_is_answered_elsewhere_stays_in_the_transcript(
    browser: Browser, shared_host: ServedHost, work: Path
) -> None:
    async with at_host(shared_host) as client:
        session = await new_session(client, "focus", work)
        chat = await session.chat()
        asked = 0
        async for event in chat.send("/run echo hi"):
            if not isinstance(event, ConfirmationNeeded):
                continue
            asked += 1
            async with open_tab(browser, shared_host, DESKTOP, place(session)) as tab:
                allow = tab.page.get_by_role("main").get_by_role("button", name="Allow once")
                await allow.focus()
                chat.approve(event.call)
                await expect(allow).to_have_count(0)
                transcript = tab.page.locator(".chat-list")
                await expect(transcript).to_be_focused()
                await tab.assert_clean()
        assert asked == 1
