"""A notification when something needs somebody who does not look: the page's own, and a push."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import pytest
from playwright.async_api import Browser, expect

from agenthost.client import ConfirmationNeeded
from tests.web.browsing import (
    DESKTOP,
    PATIENCE,
    Tab,
    at_host,
    context_of,
    new_session,
    page_required,
)
from tests.wire.hosting import ServedHost

pytestmark = [page_required, pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

# Headless windows are always in view; this one says what it is told.
HIDEABLE = """
const visibility = () => window.hidden ? 'hidden' : 'visible';
Object.defineProperty(document, 'visibilityState', {get: visibility});
Object.defineProperty(document, 'hidden', {get: () => Boolean(window.hidden)});
"""
SHOWN = """
async () => {
  const registration = await navigator.serviceWorker.ready;
  return (await registration.getNotifications()).map((n) => [n.title, n.body, n.tag]);
}
"""


async def shown(tab: Tab, count: int) -> list[list[str]]:
    """Wait until as many notifications are shown; return title, text and tag of each."""
    async with asyncio.timeout(PATIENCE / 1000):
        while True:
            found: list[list[str]] = await tab.page.evaluate(SHOWN)
            if len(found) == count:
                return found
            await tab.page.evaluate("new Promise(requestAnimationFrame)")


async def test_the_page_tells_of_what_waits_and_takes_it_back(
    browser: Browser, shared_host: ServedHost
) -> None:
    async with (
        at_host(shared_host) as client,
        context_of(browser, DESKTOP, permissions=["notifications"]) as context,
    ):
        await context.add_init_script(HIDEABLE)
        tab = Tab(shared_host, await context.new_page(), DESKTOP)
        await tab.open("/settings/notifications")
        # Before there is a worker, notifications are the page's own, and not to be seen here.
        await tab.installed()
        await tab.page.get_by_role("button", name="Turn on").click()
        await tab.shows("On: when something needs you, and when a turn fails.")
        # A browser without a memory of its own gets no pushes.
        await tab.shows(re.compile("^This browser tells only while the page is open"))
        await tab.picture("notifications")
        await tab.page.evaluate(
            "window.hidden = true; document.dispatchEvent(new Event('visibilitychange'))"
        )
        session = await new_session(client, "unseen")
        chat = await session.chat()
        async for event in chat.send("/run echo quietly"):
            if isinstance(event, ConfirmationNeeded):
                ((title, text, tag),) = await shown(tab, 1)
                assert "/run echo quietly" in title
                # The command is told only to those who asked for that.
                assert "echo quietly" not in text.replace("/run echo quietly", "")
                assert session.uri in tag
                chat.approve(event.call)
        await shown(tab, 0)


async def test_a_push_is_shown_with_the_page_closed_and_leads_to_its_session(
    browser: Browser, shared_host: ServedHost
) -> None:
    async with context_of(browser, DESKTOP, permissions=["notifications"]) as context:
        tab = Tab(shared_host, await context.new_page(), DESKTOP)
        await tab.open("/")
        await tab.installed()
        elsewhere = await context.new_page()
        devtools = await context.new_cdp_session(elsewhere)
        registrations: list[dict[str, Any]] = []
        devtools.on(
            "ServiceWorker.workerRegistrationUpdated",
            lambda told: registrations.extend(told["registrations"]),
        )
        await devtools.send("ServiceWorker.enable")
        await tab.page.goto("about:blank")
        push = {"kind": "needsInput", "session": "ahp-session:/pushed", "title": "Fix the race"}
        (registration,) = {told["registrationId"]: told for told in registrations}.values()
        await devtools.send(
            "ServiceWorker.deliverPushMessage",
            {
                "origin": f"http://{shared_host.address}",
                "registrationId": registration["registrationId"],
                "data": json.dumps(push),
            },
        )
        await tab.open("/")
        ((title, _, tag),) = await shown(tab, 1)
        assert (title, tag) == ("Fix the race", "ahp-session:/pushed")
        await expect(tab.page.get_by_role("navigation", name="Sessions")).to_be_visible()
        await tab.assert_clean()
