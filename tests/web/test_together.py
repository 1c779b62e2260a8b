"""Two tabs and a terminal at the same chat: what one does, the others show at once."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.cli.interactive.terminal import TMUX, Terminal, terminal
from tests.web.browsing import (
    DESKTOP,
    PHONE,
    at_host,
    new_session,
    open_tab,
    page_required,
    place,
)
from tests.web.chatting import ChatPage
from tests.wire.hosting import ServedHost

pytestmark = [
    page_required,
    pytest.mark.browser,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.skipif(TMUX is None, reason="tmux is not installed"),
]


@dataclass
class Three:
    """A desktop, a phone and a terminal at one chat."""

    desk: ChatPage
    phone: ChatPage
    tty: Terminal

    async def assert_clean(self) -> None:
        for chat in (self.desk, self.phone):
            await chat.tab.assert_clean(but="favicon")


@asynccontextmanager
async def together(
    browser: Browser, host: ServedHost, name: str, work: Path
) -> AsyncIterator[Three]:
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(at_host(host))
        session = await new_session(client, name, work)
        path = place(session)
        desk, phone = [
            ChatPage(await stack.enter_async_context(open_tab(browser, host, screen, path)))
            for screen in (DESKTOP, PHONE)
        ]
        tty = await stack.enter_async_context(terminal())
        await tty.chat(session.uri, "--data-dir", str(host.data_dir), cwd=work)
        await tty.see("Ctrl-D leaves")
        yield Three(desk, phone, tty)


async def test_an_approval_in_one_appears_in_the_others_at_once(
    browser: Browser,
    shared_host: ServedHost,
    work: Path,
    record_property: Callable[[str, object], None],
) -> None:
    async with together(browser, shared_host, "approval", work) as three:
        await three.desk.say("/run echo shared-$((40+2))")
        await three.tty.see("Run this command?")
        await expect(three.desk.button("Allow once")).to_be_visible()
        await three.phone.tab.shows(re.compile("Run this command|Waiting"))
        await three.phone.tab.picture("waiting")
        start = time.perf_counter()
        await three.desk.answer("Allow once")
        pressed = time.perf_counter()
        await three.phone.reads(re.compile("The command ended with exit code 0."))
        record_property(
            "browser/an approval, until another tab shows what came of it",
            f"{(time.perf_counter() - pressed) * 1000:.0f} ms after the press, "
            f"{(time.perf_counter() - start) * 1000:.0f} ms after it was asked for",
        )
        await three.tty.see("shared-42", "exit code 0")
        await three.desk.reads("The command ended with exit code 0.")
        await three.assert_clean()


async def test_the_queue_is_the_same_everywhere(
    browser: Browser, shared_host: ServedHost, work: Path
) -> None:
    async with together(browser, shared_host, "queue", work) as three:
        await three.desk.say("/slow 600")
        await expect(three.phone.button(re.compile("^Stop"))).to_be_visible()
        for text in ("first of all", "second thing"):
            await three.desk.box.fill(text)
            await three.desk.press("Queue")
        queues = [
            chat.page.get_by_role("list", name="Queued messages").get_by_role("listitem")
            for chat in (three.desk, three.phone)
        ]
        for queue in queues:
            await expect(queue).to_have_count(2)
            await expect(queue.first).to_contain_text("first of all")
        await queues[0].last.press("Alt+ArrowUp")
        await expect(queues[1].first).to_contain_text("second thing")
        await three.phone.tab.picture("queue")
        await three.desk.tab.picture("queue")
        await three.phone.box.fill("enough")
        await three.phone.press("Steer")
        for chat in (three.desk, three.phone):
            await chat.reads("You steer me: enough", re.compile("first of all"))
            await chat.at_rest()
        await three.tty.see("You said first of all")
        await three.assert_clean()


async def test_drafts_and_answers_are_shared_while_they_are_written(
    browser: Browser, shared_host: ServedHost, work: Path
) -> None:
    async with together(browser, shared_host, "drafts", work) as three:
        await three.desk.box.fill("a thought that is not finished")
        await expect(three.phone.box).to_have_value("a thought that is not finished")
        await three.desk.box.fill("/ask")
        await three.desk.press("Send")
        form, there = await three.desk.waiting(), await three.phone.waiting()
        await form.get_by_label("What is your name?").fill("Ada")
        await expect(there.get_by_label("What is your name?")).to_have_value("Ada")
        await there.get_by_label("How old are you?").fill("36")
        await expect(form.get_by_label("How old are you?")).to_have_value("36")
        await three.phone.tab.picture("ask")
        await three.desk.tab.picture("ask")
        await three.desk.confirm(form, "Answer")
        await three.phone.tab.shows("Answered in another window")
        for chat in (three.desk, three.phone):
            await chat.reads(re.compile('name: "Ada"'))
        await three.assert_clean()
