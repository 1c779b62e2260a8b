"""How the page bears a fast stream and a long chat.

What it draws is asserted: nodes, jumps, keys that arrive. How long that took stands in the run's
summary beside what the design wants, because a busy machine's times say nothing about the page.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.web.browsing import (
    DESKTOP,
    Tab,
    at_host,
    new_session,
    open_tab,
    page_required,
    place,
)
from tests.web.chatting import ChatPage
from tests.web.long_chat import prolong
from tests.wire.hosting import ServedHost, serve

pytestmark = [page_required, pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

Record = Callable[[str, object], None]

MOST_NODES = 3000
TURNS = 5000

WATCH = """
() => {
  window.tasks = [];
  window.keys = [];
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) window.tasks.push(Math.round(entry.duration));
  }).observe({type: 'longtask'});
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      if (entry.name.startsWith('key')) window.keys.push(entry.duration);
    }
  }).observe({type: 'event', durationThreshold: 16});
}
"""


async def streamed(tab: Tab, chat: ChatPage, count: int) -> list[int]:
    """Run a stream to its end, and return the long tasks that it made."""
    await tab.page.evaluate(WATCH)
    await chat.say(f"/stream {count}")
    await expect(chat.transcript.get_by_text(re.compile(rf"\b{count - 1} \.+")).last).to_be_visible(
        timeout=60_000
    )
    tasks: list[int] = await tab.page.evaluate("window.tasks")
    return tasks


async def test_a_fast_stream_draws_little(
    browser: Browser, shared_host: ServedHost, record_property: Record
) -> None:
    async with at_host(shared_host) as client:
        session = await new_session(client, "fast")
    async with open_tab(browser, shared_host, DESKTOP, place(session)) as tab:
        chat = ChatPage(tab)
        await expect(chat.box).to_be_visible()
        tasks = await streamed(tab, chat, 20_000)
        record_property(
            "browser//stream 20000",
            f"longest task {max(tasks, default=0)} ms (wanted: 50), {len(tasks)} over 50 ms",
        )
        nodes = await tab.page.evaluate("document.querySelectorAll('*').length")
        assert nodes <= MOST_NODES
        await tab.assert_clean(but="favicon")


async def test_keys_reach_the_screen_while_text_streams(
    browser: Browser, shared_host: ServedHost, record_property: Record
) -> None:
    async with at_host(shared_host) as client:
        session = await new_session(client, "typing")
    async with open_tab(browser, shared_host, DESKTOP, place(session)) as tab:
        chat = ChatPage(tab)
        await expect(chat.box).to_be_visible()
        throttled = await tab.page.context.new_cdp_session(tab.page)
        await throttled.send("Emulation.setCPUThrottlingRate", {"rate": 4})
        await tab.page.evaluate(WATCH)
        await chat.say("/stream 6000")
        await chat.box.press_sequentially("typed while it streams", delay=20)
        await expect(chat.transcript.get_by_text(re.compile(r"\b5999 \.+")).last).to_be_visible(
            timeout=60_000
        )
        await expect(chat.box).to_have_value("typed while it streams")
        keys, tasks = await tab.page.evaluate("[window.keys, window.tasks]")
        record_property(
            "browser/at a quarter of the speed",
            f"longest task {max(tasks, default=0)} ms (wanted: 200), "
            f"slowest key {max(keys, default=0):.0f} ms",
        )


async def test_a_long_chat_opens_at_its_end_and_does_not_jump(
    browser: Browser, tmp_path: Path, record_property: Record
) -> None:
    async with serve(tmp_path / "data", "--root", str(tmp_path)) as host:
        async with at_host(host) as client:
            session = await new_session(client, "long")
            chat = await session.chat()
            await chat.ask("pattern")
            other = await new_session(client, "short")
            await (await other.chat()).ask("something")
        await host.stop()
        await prolong(host.data_dir, chat.uri, TURNS)
        await host.start()
        async with open_tab(browser, host, DESKTOP, "/s/short") as tab:
            await tab.shows("something")
            await tab.page.locator("a[href='/s/long']").first.wait_for()
            opened: float = await tab.page.evaluate(
                """async () => {
                  const link = document.querySelector('a[href="/s/long"]');
                  const start = performance.now();
                  link.click();
                  while (!document.body.innerText.includes('Answer 4999, line 0')) {
                    await new Promise(requestAnimationFrame);
                  }
                  return performance.now() - start;
                }"""
            )
            shift, nodes, oldest = await scrolled_up(tab)
            record_property(
                f"browser/a chat of {TURNS:,} turns",
                f"opens in {opened:.0f} ms (wanted: 300), "
                f"moves {shift:.1f} px while scrolled to turn {oldest}, {nodes} nodes",
            )
            assert nodes <= MOST_NODES
            assert oldest < TURNS - 100
            assert shift <= 1
            await tab.assert_clean(but="favicon")


async def scrolled_up(tab: Tab) -> tuple[float, int, int]:
    """Scroll up through pages of turns; return the worst jump, most nodes and the oldest turn."""
    await tab.page.get_by_role("feed").hover()
    await tab.page.mouse.wheel(0, -500)
    await expect(tab.page.get_by_role("button", name="Latest")).to_be_visible()
    found: tuple[float, int, int] = await tab.page.evaluate(
        """async () => {
          const list = [...document.querySelectorAll('main *')].find(
            (e) => e.scrollHeight > e.clientHeight + 50 &&
              getComputedStyle(e).overflowY === 'auto');
          const frame = () => new Promise(requestAnimationFrame);
          const rows = () => [...list.querySelectorAll('article, [role=article]')];
          const top = list.getBoundingClientRect().top;
          const height = list.clientHeight;
          const inView = (e) => {
            const r = e.getBoundingClientRect();
            return r.top >= top && r.bottom <= top + height;
          };
          let worst = 0, nodes = 0, oldest = Infinity;
          for (let step = 0; step < 400 && oldest > 4800; step++) {
            const row = rows().find(inView);
            const before = row?.getBoundingClientRect().top;
            const from = list.scrollTop;
            list.scrollTop -= 240;
            const asked = from - list.scrollTop;
            await frame();
            await frame();
            if (row?.isConnected && asked > 0) {
              const moved = row.getBoundingClientRect().top - before;
              // Less than was asked for is a list that just got longer; anything else is a jump.
              worst = Math.max(worst, -moved, moved - asked);
            }
            nodes = Math.max(nodes, document.querySelectorAll('*').length);
            for (const e of rows()) {
              const found = /Question (\\d+)/.exec(e.textContent);
              if (found) oldest = Math.min(oldest, Number(found[1]));
            }
          }
          return [worst, nodes, oldest];
        }"""
    )
    return found
