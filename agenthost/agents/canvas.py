"""Canvases: web pages that an agent shows beside its chat, such as a preview of what it builds.

The host tells those who look on where the page is, and nobody else: an address may let everybody
in who knows it, so it is neither stored nor logged.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from agenthost.agents.api import AgentError
from agenthost.agents.sanitize import valid_text

if TYPE_CHECKING:
    from agenthost.agents.turn_port import TurnPort

# Characters of an address, and of every other text of a canvas.
LONGEST_URL = 8192
LONGEST_TEXT = 1024
# What no address has: spaces, and what browsers take out of one or read as a slash.
_UNFIT = re.compile(r"[\x00-\x20\x7f\\]")


class Unchanged:
    """Stands for what an update leaves as it is, where None takes it away."""


UNCHANGED: Final = Unchanged()


class Canvas:
    """A page that the agent shows; it may be changed and closed after its turn, too."""

    def __init__(self, port: TurnPort, uri: str) -> None:
        self._port = port
        # The URI of its channel.
        self.uri = uri

    async def update(
        self,
        *,
        title: str | Unchanged | None = UNCHANGED,
        status: str | Unchanged | None = UNCHANGED,
        url: str | Unchanged | None = UNCHANGED,
    ) -> None:
        """Change what is given; None takes it away, and without ``url`` there is no page.

        Raises AgentError for a ``url`` that is not http or https, and once the canvas is closed.
        """
        changes: dict[str, str | None] = {}
        for name, value in (("title", title), ("status", status)):
            if not isinstance(value, Unchanged):
                changes[name] = None if value is None else _text(name, value)
        if not isinstance(url, Unchanged):
            changes["url"] = None if url is None else _page(url)
        if changes:
            await self._port.update_canvas(self.uri, changes)

    async def close(self) -> None:
        """Take the canvas away; idempotent."""
        await self._port.close_canvas(self.uri)


async def open_canvas(
    port: TurnPort,
    kind: str,
    *,
    title: str | None,
    status: str | None,
    url: str | None,
    instance_id: str | None,
) -> Canvas:
    """Show a canvas beside the chat of a turn."""
    described = {
        "canvasId": _text("kind", kind),
        "instanceId": port.new_id("canvas") if instance_id is None else _text("id", instance_id),
    }
    if title is not None:
        described["title"] = _text("title", title)
    if status is not None:
        described["status"] = _text("status", status)
    if url is not None:
        described["url"] = _page(url)
    return Canvas(port, await port.open_canvas(described))


def _text(what: str, value: str) -> str:
    text = valid_text(value)
    if what in ("kind", "id") and not text:
        raise AgentError(f"the {what} of a canvas cannot be empty", "badCanvas")
    if len(text) > LONGEST_TEXT:
        message = f"the {what} of a canvas has at most {LONGEST_TEXT} characters"
        raise AgentError(message, "badCanvas")
    return text


def _page(url: str) -> str:
    """Return the address of a page; AgentError, which does not quote it, if it is none."""
    text = valid_text(url)
    if len(text) > LONGEST_URL:
        message = f"the url of a canvas has at most {LONGEST_URL} characters"
        raise AgentError(message, "badCanvas")
    if not _leads_to_page(text):
        raise AgentError("a canvas shows a page by its absolute http or https url", "badCanvas")
    return text


def _leads_to_page(url: str) -> bool:
    if _UNFIT.search(url):
        return False
    try:
        parts = urlsplit(url)
        # Reading the port checks it.
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
