"""A canvas: a web page that an agent shows beside its chat."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from agenthost.client.handle import Handle

if TYPE_CHECKING:
    from agenthost.protocol.canvas import CanvasState


class CanvasView(Handle["CanvasState"]):
    """One canvas that the client follows; iterate over it to see each of its states."""

    @property
    def title(self) -> str:
        """What people call it; the agent's word for such canvases where it has no title."""
        return self.state.get("title") or self.state["canvasId"]

    @property
    def status(self) -> str | None:
        """What the agent says of it, in a few words."""
        return self.state.get("status")

    @property
    def url(self) -> str | None:
        """Where the page is; None while there is none. Keep it out of files and logs."""
        return self.state.get("url")

    def __aiter__(self) -> AsyncIterator[CanvasState]:
        return self.channel.__aiter__()
