"""What people bring, on the page: servers, skills, agents, trust, modes, and hostile names.

One host for all. Every place is looked at in light and dark, wide and narrow; the pictures land in
``build/pictures``.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from typing import Any, Literal

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, WebSocketRoute, expect

from agenthost.client import Client, Session
from tests.web.browsing import DESKTOP, PHONE, ROOT, Tab, at_host, open_tab, page_required
from tests.web.chatting import ChatPage
from tests.web.test_axe import AXE, SCAN
from tests.web.test_hostile import assert_harmless
from tests.web.tooled import bring, declare
from tests.wire.hosting import ServedHost, serve

pytestmark = [page_required, pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def host(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ServedHost]:
    """A host with a folder of each kind of thing, and one of many servers that nobody trusts."""
    folder = tmp_path_factory.mktemp("tools")
    bring(folder / "shop")
    declare(folder / "many", **{f"server{n}": ["-m", "some.server", "x" * 30] for n in range(12)})
    (folder / "own").mkdir()
    own = ("--user-folder", str(folder / "own"))
    options = ("--agent", "tests.web.tooled:Tooled", "--root", str(folder), *own)
    async with serve(folder / "data", *options, cwd=ROOT) as served:
        yield served


async def session_in(client: Client, host: ServedHost, folder: str) -> Session:
    place = (host.data_dir.parent / folder).as_uri()
    uri = f"ahp-session:/{folder}"
    return await client.sessions.create("tooled", uri=uri, directories=(place,), keep=True)


async def looked_at(tab: Tab, name: str) -> None:
    """Take pictures of a place in both colours, and find nothing serious in it."""
    if not await tab.page.evaluate("'axe' in window"):
        await tab.page.evaluate(AXE.read_text())
    found: list[str] = []
    for scheme in SCHEMES:
        await tab.page.emulate_media(color_scheme=scheme)
        await tab.picture(f"tools-{name}-{scheme}")
        found += [f"{scheme} {told}" for told in await tab.page.evaluate(SCAN)]
    assert not found, "\n".join(found)


def entry(tab: Tab, name: str) -> Locator:
    """The row of a server, or of anything else by its name."""
    named = tab.page.get_by_role("heading", name=name, exact=True)
    return tab.page.get_by_role("listitem").filter(has=named)


async def test_a_desk_with_everything_that_a_folder_brings(
    browser: Browser, host: ServedHost
) -> None:
    async with at_host(host) as client:
        await session_in(client, host, "shop")
        async with open_tab(browser, host, DESKTOP, "/s/shop?panel=tools") as tab:
            panel = tab.page.get_by_role("region", name="Tools", exact=True)
            await expect(panel.get_by_text("1 problem")).to_be_visible()
            await expect(
                panel.get_by_text("Not trusted yet, so not started: clock")
            ).to_be_visible()
            await looked_at(tab, "panel")
            await edited_shows_at_once(tab, host)
            await switched(tab)
            await trusted_and_called(tab)
            await stopped_and_off(tab)
            await tab.assert_clean(but="favicon")


async def edited_shows_at_once(tab: Tab, host: ServedHost) -> None:
    skill = host.data_dir.parent / "shop" / ".agents" / "skills" / "release" / "SKILL.md"
    skill.write_text("---\nname: release\ndescription: Tags it too.\n---\n")
    await tab.shows("Tags it too.")


async def switched(tab: Tab) -> None:
    """Switch something off, and find it so after a new start of the page."""
    switch = tab.page.get_by_role("switch", name="Use release")
    await switch.uncheck()
    await tab.page.reload()
    await expect(switch).not_to_be_checked()


async def trusted_and_called(tab: Tab) -> None:
    """Trust what the question shows, and see a call of it asked for, made and logged."""
    page = ChatPage(tab)
    await page.press("Trust...")
    sheet = tab.page.get_by_role("dialog").last
    await expect(sheet.get_by_text("clock.py")).to_be_visible()
    await looked_at(tab, "trust")
    await sheet.get_by_role("button", name="Trust", exact=True).click()
    await tab.shows("Trusted to start")
    # A turn would start it too, but not wait for ever.
    await page.press("Start: clock")
    await expect(entry(tab, "clock").get_by_text("Ready")).to_be_visible()
    await page.say('/mcp call clock now {"place": "Berlin"}')
    card = page.transcript.get_by_role("group", name=re.compile("^Call"))
    await expect(card.get_by_text('"place": "Berlin"')).to_be_visible()
    facts = await card.locator("dd").all_inner_texts()
    assert facts == ["clock", "now"]
    await tab.picture("tools-call")
    await page.confirm(page.transcript, "Allow once")
    await page.reads("It is noon in Berlin.")
    await page.press("Log: clock")
    await expect(tab.page.get_by_role("complementary")).to_contain_text("the clock is wound up")
    await tab.page.get_by_role("link", name="Tools").click()


async def stopped_and_off(tab: Tab) -> None:
    page, row = ChatPage(tab), entry(tab, "clock")
    await page.press("Stop: clock")
    await expect(row.get_by_text("Not running")).to_be_visible()
    await page.press("Where clock is used")
    await tab.page.get_by_label("This workspace").select_option("Off")
    await expect(row.get_by_text("Off in this workspace")).to_be_visible()
    await looked_at(tab, "scopes")


async def test_the_mode_is_changed_while_a_call_waits(browser: Browser, host: ServedHost) -> None:
    async with at_host(host) as client:
        uri = "ahp-session:/modes"
        await client.sessions.create("tooled", uri=uri, keep=True)
        async with open_tab(browser, host, DESKTOP, "/s/modes") as tab:
            page = ChatPage(tab)
            await page.say("sweep")
            await expect(page.button("Allow once")).to_be_visible()
            await page.press("Approvals: Ask first")
            await looked_at(tab, "modes")
            await tab.page.get_by_role("menuitemradio", name="Allow everything").click()
            await page.reads("Swept.")
            await expect(page.button("Approvals: Allow everything")).to_be_visible()
            await tab.assert_clean(but="favicon")


async def test_a_phone_reads_what_would_run_before_it_answers(
    browser: Browser, host: ServedHost
) -> None:
    async with at_host(host) as client:
        await session_in(client, host, "many")
        async with open_tab(browser, host, PHONE, "/s/many") as tab:
            page = ChatPage(tab)
            await page.say("/mcp")
            await tab.picture("tools-chat")
            sheet = await page.waiting()
            await expect(sheet.get_by_text("server11:")).to_be_visible()
            await looked_at(tab, "question")
            wide = await sheet.evaluate("sheet => sheet.scrollWidth > sheet.clientWidth")
            assert not wide
            await sheet.get_by_role("radio", name="Not in this session").check()
            await page.confirm(sheet, "Answer")
            # First: what lies under a sheet is out of reach, so that a turn seems to rest there.
            await page.uncovered()
            await page.at_rest()
            await tab.open("/s/many?panel=tools", signed_in=False)
            await expect(entry(tab, "server0").get_by_text("not trusted")).to_be_visible()
            await looked_at(tab, "phone")
            await tab.assert_clean(but="favicon")


EVIL = '<img src=x onerror="window.pwned=1">\u202eevil\u0000' + "x" * 5_000


def brought_by_evil(message: Any) -> Any:
    """Return a message of the host in which a session was brought the worst."""
    if isinstance(message, list):
        return [brought_by_evil(item) for item in message]
    if not isinstance(message, dict):
        return message
    clean = {key: brought_by_evil(value) for key, value in message.items()}
    if "lifecycle" in clean and "activeClients" in clean:
        clean["customizations"] = WORST
        clean["_meta"] = {"agenthost/far": {"host": EVIL, "url": "javascript:window.pwned=1"}}
    return clean


_FROM = {"uri": "javascript:window.pwned=1", "name": EVIL}
WORST: list[Any] = [
    {
        **_FROM,
        "type": "mcpServer",
        "id": "auth",
        "state": {
            "kind": "authRequired",
            "reason": "required",
            "description": EVIL,
            "requiredScopes": [EVIL],
            "resource": {
                "resource": EVIL,
                "authorization_servers": ["javascript:window.pwned=1", "data:text/html,x", EVIL],
            },
        },
        "_meta": {"agenthost/runs": EVIL, "agenthost/trust": {"folder": EVIL, "state": "asked"}},
    },
    {
        **_FROM,
        "type": "plugin",
        "id": "plugin",
        "name": "long" + "\u202e" * 1_000_000,
        "load": {"kind": "error", "message": EVIL},
        "icons": [{"src": "http://evil.example/icon.svg"}],
        "children": [
            {**_FROM, "type": "skill", "id": "skill", "description": EVIL},
            {**_FROM, "type": "agent", "id": "agent", "_meta": {"agenthost/problem": EVIL}},
            {**_FROM, "type": "hologram", "id": "unheard"},
        ],
    },
    {"type": "hologram", "id": "unheard", "name": 7},
]


async def test_what_a_hostile_host_brings_is_told_and_runs_nothing(
    browser: Browser, host: ServedHost
) -> None:
    async with at_host(host) as client:
        await client.sessions.create("tooled", uri="ahp-session:/worst", keep=True)

    async def between(socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()
        server.on_message(lambda text: socket.send(json.dumps(brought_by_evil(json.loads(text)))))

    async with open_tab(browser, host, DESKTOP, "/") as tab:
        await tab.page.route_web_socket(re.compile("^ws://"), between)
        await tab.open("/s/worst?panel=tools")
        await tab.shows("Needs you to sign in")
        await tab.picture("tools-worst")
        await assert_harmless(tab)
        told = await tab.page.get_by_role("region", name="Tools", exact=True).inner_text()
        assert "\u202e" not in told
        assert "⟨U+202E⟩" in told
        assert len(told) < 20_000
