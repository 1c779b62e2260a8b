"""The canvas kind of channel: what is particular to pages that agents show."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from agenthost.host.log.channel import LiveChannel
from agenthost.host.log.kind import ChannelKind, Kept, Resumed

if TYPE_CHECKING:
    from agenthost.protocol.canvas import CanvasState

CanvasChannel: TypeAlias = "LiveChannel[CanvasState]"


class CanvasKind(ChannelKind["CanvasState"]):
    """A page that an agent shows; clients look at it, and only its agent changes it."""

    name = "canvas"
    # Its actions hold addresses, which are for those who look on and nowhere kept. What is kept
    # without one, ``canvases`` writes itself.
    kept = Kept.MEMORY
    resumed = Resumed.SNAPSHOT


CANVAS = CanvasKind()
