"""Browsers at a real host: contexts of a size, tabs that keep what went wrong in them.

Elements are found by role and name, as people and screen readers find them; every wait is for
something that shows, never for time to pass.
"""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Dialog,
    Locator,
    Page,
    Request,
)

from agenthost.client import Client, Session, connect
from agenthost.host.http.assets import STATIC
from tests.wire.hosting import ServedHost

__all__ = [
    "DESKTOP",
    "FLAGS",
    "NOT_RUN",
    "PATIENCE",
    "PHONE",
    "PICTURES",
    "ROOT",
    "TABLET",
    "Screen",
    "Tab",
    "at_host",
    "context_of",
    "new_session",
    "open_tab",
    "page_required",
    "place",
]

ROOT = Path(__file__).parents[2]
# Where pictures land to be looked at; those of the README are copied from here by hand.
PICTURES = ROOT / "build" / "pictures"
# Begins the reason for which a test was skipped; the summary (tests/conftest.py) looks for it.
NOT_RUN = "BROWSER TESTS DID NOT RUN"

# Milliseconds that anything may take to show before the test is broken rather than slow.
PATIENCE = 60_000.0

FLAGS = [
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
    # The browser's own way to keep pages in does not work for root, as which containers run.
    *(["--no-sandbox"] if os.geteuid() == 0 else []),
]

page_required = pytest.mark.skipif(
    not (STATIC / "index.html").exists(), reason=f"{NOT_RUN}: the web page is not built: make web"
)

# Keeps what the policy stopped, and when the page began, to see that it was not loaded anew.
_WATCH = """
window.__boot = performance.timeOrigin;
window.__violations = [];
document.addEventListener('securitypolicyviolation', (event) => {
  window.__violations.push([event.violatedDirective, event.blockedURI, event.sample].join(' '));
});
"""


@dataclass(frozen=True)
class Screen:
    """What somebody looks at the page with."""

    name: str
    width: int
    height: int
    dark: bool = False
    touch: bool = False

    def options(self) -> dict[str, Any]:
        """Return it as Playwright takes it."""
        return {
            "viewport": {"width": self.width, "height": self.height},
            "color_scheme": "dark" if self.dark else "light",
            "has_touch": self.touch,
            "is_mobile": self.touch,
            "device_scale_factor": 2 if self.touch else 1,
        }


DESKTOP = Screen("desktop", 1440, 900)
TABLET = Screen("tablet", 820, 1180)
PHONE = Screen("phone", 390, 844, dark=True, touch=True)


@dataclass
class Tab:
    """A page in a browser, and what happened in it that should not have."""

    host: ServedHost
    page: Page
    screen: Screen
    # Errors on the console, errors of scripts, requests to anywhere else, dialogs, new windows.
    faults: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.set_default_timeout(PATIENCE)
        self.page.on("console", self._note_console)
        self.page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        self.page.on("request", self._note_request)
        self.page.on("dialog", self._note_dialog)
        self.page.on("popup", lambda window: self.faults.append(f"window: {window.url}"))

    async def open(self, path: str = "/", *, signed_in: bool = True) -> None:
        """Load a place of the page."""
        token = f"#tkn={self.host.token}" if signed_in else ""
        await self.page.goto(f"http://{self.host.address}{path}{token}")

    async def shows(self, text: str | re.Pattern[str], *, count: int | None = None) -> Locator:
        """Wait until a text is seen; return the last place where it is."""
        found = self.page.get_by_text(text).locator("visible=true")
        await found.last.wait_for()
        if count is not None:
            assert await found.count() == count
        return found.last

    async def installed(self) -> None:
        """Wait until the page's worker has all files, so that a host may go without being asked."""
        await self.page.evaluate("navigator.serviceWorker.ready.then(() => true)")

    async def violations(self) -> list[str]:
        """Return what the page's policy has stopped."""
        stopped: list[str] = await self.page.evaluate("window.__violations")
        return stopped

    async def assert_clean(self, *, but: str = "$^") -> None:
        """Nothing went wrong, except for faults of which a pattern says that they must be."""
        faults = [fault for fault in self.faults if not re.search(but, fault)]
        assert not faults, faults
        assert await self.violations() == []

    async def picture(self, name: str) -> Path:
        """Take a picture to be looked at."""
        path = PICTURES / f"{name}-{self.screen.name}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        await self.page.screenshot(path=path, animations="disabled", caret="hide")
        return path

    async def _note_dialog(self, dialog: Dialog) -> None:
        self.faults.append(f"dialog: {dialog.message[:500]}")
        await dialog.dismiss()

    def _note_console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.faults.append(f"console: {message.text[:500]} at {message.location['url']}")

    def _note_request(self, request: Request) -> None:
        own = (f"http://{self.host.address}/", "blob:", "data:,")
        if not request.url.startswith(own):
            self.faults.append(f"request: {request.url[:500]}")


@asynccontextmanager
async def context_of(
    browser: Browser, screen: Screen, **options: Any
) -> AsyncIterator[BrowserContext]:
    """Give a browser's memory of its own: storage, permissions, tabs."""
    context = await browser.new_context(**{**screen.options(), **options})
    await context.add_init_script(_WATCH)
    try:
        yield context
    finally:
        await context.close()


@asynccontextmanager
async def open_tab(
    browser: Browser, host: ServedHost, screen: Screen = DESKTOP, path: str = "/", **options: Any
) -> AsyncIterator[Tab]:
    """Give a tab of its own context, at a place, signed in."""
    async with context_of(browser, screen, **options) as context:
        tab = Tab(host, await context.new_page(), screen)
        await tab.open(path)
        yield tab


@asynccontextmanager
async def at_host(host: ServedHost) -> AsyncIterator[Client]:
    """Be at the host as another client, to prepare what the page is to show."""
    async with connect(host.address, token=host.token) as client:
        yield client


async def new_session(client: Client, name: str, folder: Path | None = None) -> Session:
    """Make a session of the demo agent, under a name by which it can be addressed."""
    directories = () if folder is None else (folder.as_uri(),)
    uri = f"ahp-session:/{name}"
    return await client.sessions.create("demo", uri=uri, directories=directories, keep=True)


def place(session: Session | str) -> str:
    """Return where the page shows a session."""
    uri = session if isinstance(session, str) else session.uri
    return f"/s/{uri.removeprefix('ahp-session:/')}"
