"""The canvas channel: a page that an agent shows beside its chat.

State and actions; the reducer is in ``canvas_reducers``. Which pages there are, a chat lists.
"""

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from agenthost.protocol.schema.scalars import URI


class CanvasReference(TypedDict):
    """A canvas as its chat lists it."""

    resource: URI


class CanvasState(TypedDict):
    """What a canvas shows; without ``url`` there is nothing to open at the moment."""

    instanceId: str
    extensionId: str
    extensionName: NotRequired[str]
    canvasId: str
    title: NotRequired[str]
    status: NotRequired[str]
    url: NotRequired[URI]


class CanvasStateChangedAction(TypedDict):
    """The canvas shows something else: its state is replaced whole."""

    type: Literal["canvas/stateChanged"]
    canvas: CanvasState
