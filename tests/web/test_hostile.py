"""A hostile host's words, links, pictures, escapes and diffs execute nothing and load nothing."""

from __future__ import annotations

import json
import os
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, WebSocketRoute, expect

from agenthost.client import Chat, Client, ConfirmationNeeded
from tests.web.browsing import DESKTOP, ROOT, Tab, at_host, open_tab, page_required
from tests.web.chatting import ChatPage
from tests.web.hostile import END, ESCAPES, printed
from tests.wire.hosting import ServedHost, serve

pytestmark = [page_required, pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

ATTACKS = ("markdown", "deep", "pictures", "output", "terminal", "edit")
# What a link may lead to: elsewhere by these, or a place of the page.
HARMLESS = re.compile(r"(https?://|mailto:|/|#)")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def host(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ServedHost]:
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "work").mkdir()
    options = ("--agent", "tests.web.hostile:Hostile", "--root", str(folder / "work"))
    async with serve(folder / "data", *options, cwd=ROOT) as served:
        yield served


async def attack(client: Client, uri: str, *attacks: str) -> Chat:
    session = await client.sessions.create("hostile", uri=uri, keep=True)
    chat = await session.chat()
    for name in attacks:
        await chat.ask(name)
    return chat


async def assert_harmless(tab: Tab) -> None:
    """Nothing ran, nothing was asked for, and no link leads where none may."""
    assert await tab.page.evaluate("window.pwned") is None
    links = await tab.page.evaluate(
        "[...document.querySelectorAll('a[href]')].map(a => [a.getAttribute('href'), a.rel])"
    )
    for href, rel in links:
        assert HARMLESS.match(href), href
        assert href.startswith(("/", "#")) or "noopener" in rel, href
    made = "script:not([src^='/assets/']), iframe, object, embed, base, form[action], style"
    assert await tab.page.locator(made).count() == 0
    foreign = await tab.page.evaluate(
        "[...document.querySelectorAll('img, image, video, audio, source')]"
        ".map(e => e.src || e.href).filter(s => s && !String(s).startsWith('blob:'))"
    )
    assert [url for url in foreign if not url.startswith(f"http://{tab.host.address}/")] == []
    await tab.assert_clean(but="favicon")


@pytest.mark.parametrize("name", ATTACKS)
async def test_nothing_that_an_agent_says_runs_or_loads(
    browser: Browser, host: ServedHost, name: str
) -> None:
    async with at_host(host) as client:
        await attack(client, f"ahp-session:/{name}", name)
    async with open_tab(browser, host, DESKTOP, f"/s/{name}") as tab:
        await tab.shows(f"{name}: {END}")
        await tab.picture(f"hostile-{name}")
        await assert_harmless(tab)
        for button in await ChatPage(tab).transcript.get_by_role("button").all():
            if await button.get_attribute("aria-expanded") == "false":
                await button.click()
        for _ in range(5):
            await ChatPage(tab).transcript.press("PageUp")
        await tab.picture(f"hostile-{name}-above")
        await assert_harmless(tab)


async def test_links_that_run_are_shown_as_text_and_others_say_where_they_lead(
    browser: Browser, host: ServedHost
) -> None:
    async with at_host(host) as client:
        await attack(client, "ahp-session:/links", "markdown")
    async with open_tab(browser, host, DESKTOP, "/s/links") as tab:
        await tab.shows(f"markdown: {END}")
        for name in ("script", "upper", "data", "vb"):
            assert await tab.page.get_by_role("link", name=name, exact=True).count() == 0, name
        # What is no address at all may be a path, which this page opens itself.
        for name in ("encoded", "split", "file"):
            for link in await tab.page.get_by_role("link", name=name, exact=True).all():
                assert (await link.get_attribute("href") or "").startswith("/s/links?panel=files")
        misleading = tab.page.locator("a[href='https://evil.example/bank']")
        await expect(misleading.locator("xpath=..")).to_contain_text("evil.example")
        await tab.picture("hostile-links")
        await assert_harmless(tab)


async def test_an_approval_shows_what_is_hidden_in_a_command(
    browser: Browser, host: ServedHost
) -> None:
    async with at_host(host) as client:
        session = await client.sessions.create("hostile", uri="ahp-session:/bidi", keep=True)
        chat = await session.chat()
        async for event in chat.send("approval"):
            if isinstance(event, ConfirmationNeeded):
                async with open_tab(browser, host, DESKTOP, "/s/bidi") as tab:
                    await tab.page.get_by_role("button", name="Allow once").last.wait_for()
                    shown = await tab.page.locator("main").inner_text()
                    for character in "\u202e\u202c\u200b\u2066":
                        assert character not in shown
                    assert re.search("202E", shown, re.IGNORECASE)
                    await tab.picture("hostile-approval")
                    await assert_harmless(tab)
                chat.deny(event.call)


def poisoned(message: Any) -> Any:
    """Return a message of the host with things in it that no page has heard of."""
    if isinstance(message, list):
        return [poisoned(item) for item in message]
    if not isinstance(message, dict):
        return message
    clean = {key: poisoned(value) for key, value in message.items()}
    if clean.get("turns"):
        first = clean["turns"][0]
        first["responseParts"] = [*UNHEARD, *first.get("responseParts", ())]
    return clean


UNHEARD: list[Any] = [
    {"kind": "hologram", "id": "h1", "__proto__": {"polluted": 1}, "constructor": "x"},
    {"kind": "constructor", "id": "h2"},
    {"kind": "toolCall", "toolCall": {"toolCallId": "c1", "status": "levitating"}},
    {"kind": "toolCall", "toolCall": None},
    {"kind": "markdown", "id": "h3", "content": {"not": "text"}},
    {"kind": 7},
    None,
]


async def test_what_the_page_has_never_heard_of_is_told_and_breaks_nothing(
    browser: Browser, host: ServedHost
) -> None:
    async with at_host(host) as client:
        session = await client.sessions.create("demo", uri="ahp-session:/odd", keep=True)
        await (await session.chat()).ask("still here")

    async def between(socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()
        server.on_message(lambda text: socket.send(json.dumps(poisoned(json.loads(text)))))

    async with open_tab(browser, host, DESKTOP, "/") as tab:
        await tab.page.route_web_socket(re.compile("^ws://"), between)
        await tab.open("/s/odd")
        await tab.shows("This page does not know hologram.")
        await tab.shows("still here")
        assert await tab.page.evaluate("({}).polluted") is None
        await tab.picture("hostile-unknown")
        # A row that breaks is told on the console, and breaks alone.
        await tab.assert_clean(but="console: TypeError")


async def test_what_a_terminal_prints_runs_nothing_either(
    browser: Browser, host: ServedHost
) -> None:
    async with at_host(host) as client:
        session = await client.sessions.create("hostile", uri="ahp-session:/pty", keep=True)
        await (await session.chat()).ask("terminal")
    async with open_tab(browser, host, DESKTOP, "/s/pty?panel=terminals") as tab:
        rows = tab.page.locator(".xterm-rows")
        await expect(rows).to_contain_text("red <script>")
        await tab.page.get_by_role("button", name="New terminal").first.click()
        await expect(rows).to_contain_text("#" if os.geteuid() == 0 else "$")
        await tab.page.locator(".xterm-helper-textarea").focus()
        stays = ESCAPES.replace("\x1b[?1049h\x1b[2J", "")
        await tab.page.keyboard.insert_text(
            f"clear; printf '{printed(stays)}\\n'; echo end-$((40+2))"
        )
        await tab.page.keyboard.press("Enter")
        await expect(rows).to_contain_text("end-42")
        box = await rows.bounding_box()
        assert box is not None
        # Wherever a link was drawn, it is pressed.
        for x in range(5, 120, 10):
            await tab.page.mouse.move(box["x"] + x, box["y"] + 9)
            await tab.page.mouse.click(box["x"] + x, box["y"] + 9)
        # A link of the web is not followed but told, with a button.
        await tab.shows("http://evil.example/osc8")
        await tab.picture("hostile-pty")
        assert await tab.page.title() != "pwned"
        await assert_harmless(tab)
