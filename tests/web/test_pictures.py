"""The pictures of the README: a desk with a diff beside the chat, a phone with an approval.

They land in ``build/pictures``; whoever changes how the page looks copies them to
``docs/pictures``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from agenthost.client import Chat, Client, ConfirmationNeeded, Question
from tests.web.browsing import DESKTOP, PHONE, at_host, new_session, open_tab, page_required
from tests.web.chatting import ChatPage
from tests.wire.hosting import ServedHost, serve

pytestmark = [page_required, pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

BEFORE = """def renew(session):
    if session.expired():
        session.token = issue(session.user)
    return session.token
"""
AFTER = "def renew(session): return session.lock(lambda: issue(session.user))"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def host(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ServedHost]:
    """A host at which several things go on, two of which wait for somebody."""
    folder = tmp_path_factory.mktemp("pictures")
    for name in ("shop", "handbook"):
        (folder / name).mkdir()
    (folder / "shop" / "auth.py").write_text(BEFORE)
    async with serve(folder / "data", "--root", str(folder)) as served:
        async with at_host(served) as client:
            await told(client, "changelog", folder / "handbook", "Write the changelog", "/think")
            await told(client, "numbers", folder / "shop", "Which numbers are slow?", "/tool")
            race = await told(client, "race", folder / "shop", "Fix the login race", "/think")
            await edited(race, f"/edit auth.py {AFTER}")
            await waiting(race, "/run pytest tests/test_auth.py --repeat 20")
            port = await told(client, "port", folder / "handbook", "Docs: which port?")
            await waiting(port, "/ask")
        yield served


async def told(client: Client, name: str, folder: Path, title: str, *texts: str) -> Chat:
    session = await new_session(client, name, folder)
    chat = await session.chat()
    for text in texts:
        await chat.ask(text)
    await session.rename(title)
    return chat


async def edited(chat: Chat, text: str) -> None:
    async for event in chat.send(text):
        if isinstance(event, ConfirmationNeeded):
            chat.approve(event.call)


async def waiting(chat: Chat, text: str) -> None:
    """Say something that waits for somebody, and leave it waiting."""
    async for event in chat.send(text):
        if isinstance(event, ConfirmationNeeded | Question):
            return


async def test_a_desk(browser: Browser, host: ServedHost) -> None:
    async with open_tab(browser, host, DESKTOP, "/s/race?panel=changes") as tab:
        await expect(ChatPage(tab).button("Allow once")).to_be_enabled()
        panel = tab.page.get_by_role("complementary")
        await expect(panel.get_by_text("session.lock").first).to_be_visible()
        await tab.page.mouse.move(0, 0)
        await tab.picture("readme")
        await tab.assert_clean()


async def test_a_phone(browser: Browser, host: ServedHost) -> None:
    async with open_tab(browser, host, PHONE, "/s/race") as tab:
        sheet = await ChatPage(tab).waiting()
        await expect(sheet.get_by_role("button", name="Allow once")).to_be_enabled()
        await tab.picture("readme")
        await tab.assert_clean()
