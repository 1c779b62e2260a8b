"""A chat on the page, as somebody uses it: written into, waited for, answered."""

from __future__ import annotations

import re

from playwright.async_api import Locator, expect

from tests.web.browsing import Tab

__all__ = ["ChatPage"]

_UNCOVERED = """new Promise(resolve => {
  const look = () => (history.state?.layer ? setTimeout(look, 20) : resolve(true));
  look();
})"""

# Notes whether the next press was let go by: a guarded button prevents the default of such a one.
_WATCH_PRESS = """() => {
  window.__wentBy = false;
  addEventListener('click', event => { window.__wentBy = event.defaultPrevented; }, {once: true});
}"""


class ChatPage:
    """What a person does with the chat that a tab shows."""

    def __init__(self, tab: Tab) -> None:
        self.tab = tab
        self.page = tab.page

    @property
    def box(self) -> Locator:
        """Where messages are written."""
        return self.page.get_by_role("textbox", name="Message", exact=True)

    @property
    def transcript(self) -> Locator:
        """The chat's turns, from the oldest that is loaded."""
        return self.page.get_by_role("feed")

    def button(self, name: str | re.Pattern[str]) -> Locator:
        """A button by its name; of several, the one that came last."""
        found = self.page.get_by_role("button", name=name, exact=isinstance(name, str))
        return found.locator("visible=true").last

    async def say(self, text: str) -> None:
        """Write a message and send it."""
        await self.box.fill(text)
        await self.button(re.compile("^(Send|Queue)$")).click()

    async def press(self, name: str | re.Pattern[str]) -> None:
        """Press a button, once it may be."""
        await self._click(self.button(name))

    async def waiting(self) -> Locator:
        """Return where what waits is answered: its card, or on a phone the sheet that shows it."""
        if not self.tab.screen.touch:
            return self.transcript
        await self.press(re.compile("^Waiting"))
        return self.page.get_by_role("dialog").last

    async def answer(self, name: str) -> None:
        """Open what waits and press one of its buttons."""
        await self.confirm(await self.waiting(), name)

    async def confirm(self, place: Locator, name: str) -> None:
        """Press a button, once it is alive: a moment after it appeared where it is."""
        await self._click(place.get_by_role("button", name=name, exact=True).last)

    async def _click(self, button: Locator) -> None:
        """Press a button; one that moved just before lets the press go by, and is pressed again."""
        is_guarded = await button.evaluate("button => button.closest('.ui-guarded') !== null")
        while True:
            await self.page.evaluate(_WATCH_PRESS)
            await button.click()
            if not is_guarded or not await self.page.evaluate("window.__wentBy"):
                return

    async def reads(self, *texts: str | re.Pattern[str]) -> None:
        """Wait until the transcript shows texts."""
        for text in texts:
            await expect(self.transcript.get_by_text(text).last).to_be_visible()

    async def uncovered(self) -> None:
        """Wait until the page has gone back from what lay over it: going elsewhere meets that."""
        # Playwright's own way to wait for this asks again by `eval`, which the page's policy stops.
        await self.page.evaluate(_UNCOVERED)

    async def at_rest(self) -> None:
        """Wait until no turn runs."""
        await expect(self.page.get_by_role("button", name=re.compile("^Stop"))).to_have_count(0)
