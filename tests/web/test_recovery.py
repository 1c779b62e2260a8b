"""The host is killed, restarted, wiped, or lets somebody go under an open page."""

from __future__ import annotations

import re
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from tests.web.browsing import DESKTOP, at_host, new_session, open_tab, page_required
from tests.web.chatting import ChatPage
from tests.wire.hosting import ServedHost, serve

pytestmark = [page_required, pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

# What a browser says of a socket that cannot be opened, and must.
REFUSED = "favicon|WebSocket connection|ERR_CONNECTION_REFUSED|401"


@pytest_asyncio.fixture(loop_scope="session")
async def host(tmp_path: Path) -> AsyncIterator[ServedHost]:
    async with serve(tmp_path / "data", "--root", str(tmp_path)) as served:
        yield served


def same_port(host: ServedHost) -> tuple[str, str]:
    """Return the options that start a host again where it was."""
    return "--port", host.address.rpartition(":")[2]


async def test_a_killed_host_comes_back_under_the_page_without_loss(
    browser: Browser, host: ServedHost
) -> None:
    async with at_host(host) as client:
        session = await new_session(client, "recovery")
        await (await session.chat()).ask("before the crash")
    async with open_tab(browser, host, DESKTOP, "/s/recovery") as tab:
        chat = ChatPage(tab)
        await chat.reads("You said")
        await tab.installed()
        boot = await tab.page.evaluate("window.__boot")
        await chat.say("/stream 2000000 10")
        await chat.reads(re.compile(r"\b\d+ \.+"))
        await chat.box.press_sequentially("half a thou")
        await host.kill()
        await chat.box.press_sequentially("ght")
        await tab.shows(re.compile(r"Reconnecting. This is how it was at"))
        await tab.picture("reconnecting")
        await expect(chat.box).to_have_value("half a thought")
        await host.start(*same_port(host))
        await expect(tab.page.get_by_text("Reconnecting.")).to_have_count(0)
        await chat.reads("The turn ended with an error.")
        # The same page, with the same draft, and nothing in it twice.
        assert await tab.page.evaluate("window.__boot") == boot
        await expect(chat.box).to_have_value("half a thought")
        await chat.press("Send")
        await chat.reads(re.compile("You said.*half a thought|half a thought"))
        await chat.at_rest()
        async with at_host(host) as client:
            state = (await (await client.sessions.get("ahp-session:/recovery")).chat()).state
        assert [turn["message"]["text"] for turn in state["turns"]] == [
            "before the crash",
            "/stream 2000000 10",
            "half a thought",
        ]
        streamed = "".join(
            str(part.get("content", "")) for part in state["turns"][1]["responseParts"]
        )
        await expect(chat.transcript).to_contain_text(streamed[-200:])
        await tab.page.get_by_role("region", name="Transcript").press("Home")
        # Said once, and repeated once by the agent.
        for text, count in (("before the crash", 2), ("/stream 2000000 10", 1)):
            await expect(chat.transcript.get_by_text(text, exact=True)).to_have_count(count)
        await tab.assert_clean(but=REFUSED)


async def test_a_host_that_lost_everything_is_shown_as_it_is(
    browser: Browser, host: ServedHost
) -> None:
    async with at_host(host) as client:
        await new_session(client, "lost")
    token = host.token
    async with open_tab(browser, host, DESKTOP, "/s/lost") as tab:
        await expect(ChatPage(tab).box).to_be_visible()
        await tab.installed()
        await host.stop()
        shutil.rmtree(host.data_dir)
        host.data_dir.mkdir(mode=0o700)
        (host.data_dir / "token").write_text(token)
        (host.data_dir / "token").chmod(0o600)
        await host.start(*same_port(host))
        await tab.shows("No sessions yet.")
        await tab.picture("lost")
        await tab.assert_clean(but=REFUSED)


async def test_somebody_whose_token_is_revoked_is_signed_out(
    browser: Browser, host: ServedHost, tmp_path: Path
) -> None:
    async with open_tab(browser, host, DESKTOP, "/") as tab:
        await tab.shows("No sessions yet.")
        await tab.installed()
        await host.stop()
        (host.data_dir / "token").unlink()
        await host.start(*same_port(host))
        await tab.shows("Not signed in, or access has ended. Scan a code or paste a token.")
        await tab.picture("signed-out")
        # The new token lets in again, where the old one did not.
        await tab.page.get_by_role("textbox", name="Token").fill(host.token)
        await tab.page.get_by_role("button", name="Sign in").click()
        await tab.shows("No sessions yet.")
        await tab.assert_clean(but=REFUSED)
