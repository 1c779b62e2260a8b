"""What running terminals of tool calls print, followed so that the chat can show the end of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from agenthost.cli.format.state_format import running_terminals
from agenthost.client import ChannelGone, Client
from agenthost.errors import AgentHostError

if TYPE_CHECKING:
    from agenthost.client.terminals import TerminalView

Json = Mapping[str, Any]

LONGEST = 8_000
"""Characters at the end of an output that are looked at; a screen shows fewer."""


class TerminalTails:
    """Follows the terminals of running tool calls."""

    def __init__(self, client: Client, on_change: Callable[[], None]) -> None:
        self._client = client
        self._on_change = on_change
        # By URI; None until it is open.
        self._views: dict[str, TerminalView | None] = {}
        self._following: dict[str, asyncio.Task[None]] = {}

    def follow(self, calls: Iterable[Json]) -> None:
        """Follow the terminals in which these calls run, and no others."""
        running = {uri for call in calls for uri in running_terminals(call)}
        for uri in running - self._following.keys():
            task = asyncio.create_task(self._follow(uri), name="follow a terminal")
            self._following[uri] = task
        for uri in self._following.keys() - running:
            self._following.pop(uri).cancel()

    def tail(self, uri: str) -> str | None:
        """Return the end of what a terminal printed; None if it is not known."""
        view = self._views.get(uri)
        return None if view is None else end_of_output(view.channel.confirmed)

    async def close(self) -> None:
        """Stop following."""
        tasks = list(self._following.values())
        self.follow(())
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _follow(self, uri: str) -> None:
        # A terminal that cannot be seen is shown as it was before there were any: at its end.
        try:
            async with await self._client.terminals.open(uri) as view:
                self._views[uri] = view
                async for _ in view.channel.states():
                    self._on_change()
        except (ChannelGone, AgentHostError, TimeoutError):
            pass
        finally:
            self._views.pop(uri, None)


def end_of_output(state: Json) -> str:
    """Return the end of a terminal's output, from the beginning of a line on if it was cut."""
    pieces: list[str] = []
    length = 0
    for part in reversed(state["content"]):
        text = str(part.get("output" if part["type"] == "command" else "value") or "")
        pieces.append(text[-LONGEST:])
        length += len(text)
        if length > LONGEST:
            break
    whole = "".join(reversed(pieces))
    if length <= LONGEST:
        return whole
    whole = whole[-LONGEST:]
    # The middle of an escape sequence would be shown as text.
    return whole.partition("\n")[2] or whole
