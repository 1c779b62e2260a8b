"""Wire types of action envelopes, origins, snapshots and JSON-RPC messages.

Types only, over all channels at once. Ordering and delivery are the host's affair; reading and
writing frames is ``jsonrpc``'s.
"""

from typing import Annotated, Any, Literal, NotRequired, TypeAlias

from typing_extensions import TypedDict

from agenthost.protocol.annotations import AnnotationsAction, AnnotationsState
from agenthost.protocol.automation.actions import AutomationAction
from agenthost.protocol.automation.run import AutomationRunState
from agenthost.protocol.automation.run_actions import AutomationRunAction
from agenthost.protocol.automation.state import AutomationState
from agenthost.protocol.canvas import CanvasState, CanvasStateChangedAction
from agenthost.protocol.changeset import ChangesetAction, ChangesetState
from agenthost.protocol.chat.actions import ChatAction
from agenthost.protocol.chat.state import ChatState
from agenthost.protocol.kind_detection import STATE_MARKS
from agenthost.protocol.resource_watch import ResourceWatchChangedAction, ResourceWatchState
from agenthost.protocol.root import RootAction, RootState
from agenthost.protocol.schema.scalars import URI, Channel, Count, Integer
from agenthost.protocol.schema.unions import ByKeys, Open
from agenthost.protocol.session.actions import SessionAction
from agenthost.protocol.session.state import SessionState
from agenthost.protocol.terminal import TerminalAction, TerminalState

StateAction: TypeAlias = Annotated[
    RootAction
    | SessionAction
    | ChatAction
    | ChangesetAction
    | AnnotationsAction
    | TerminalAction
    | ResourceWatchChangedAction
    | AutomationAction
    | AutomationRunAction
    | CanvasStateChangedAction,
    Open("type"),
]

# In the order of the table that tells them apart.
ChannelState: TypeAlias = Annotated[
    RootState
    | AutomationRunState
    | SessionState
    | ChatState
    | TerminalState
    | CanvasState
    | AutomationState
    | ChangesetState
    | ResourceWatchState
    | AnnotationsState,
    ByKeys(tuple(marks for _, marks in STATE_MARKS), is_open=True),
]


class ActionOrigin(TypedDict):
    """The client that dispatched an action, and its number for it."""

    clientId: str
    clientSeq: Integer


class ActionEnvelope(TypedDict):
    """An action in its place in the host's order; with ``rejectionReason`` nobody applies it."""

    channel: Channel
    action: StateAction
    serverSeq: Count
    origin: NotRequired[ActionOrigin]
    rejectionReason: NotRequired[str]


class Snapshot(TypedDict):
    """A channel's state as of ``fromSeq``; later actions have higher numbers."""

    resource: URI
    state: ChannelState
    fromSeq: Integer


class JsonRpcRequest(TypedDict):
    """A call that wants an answer."""

    jsonrpc: Literal["2.0"]
    id: Any
    method: str
    params: NotRequired[Any]


class JsonRpcNotification(TypedDict):
    """A call that wants none."""

    jsonrpc: Literal["2.0"]
    method: str
    params: NotRequired[Any]


class JsonRpcError(TypedDict):
    """Why a call failed."""

    code: Integer
    message: str
    data: NotRequired[Any]


class JsonRpcErrorResponse(TypedDict):
    """The answer to a call that failed."""

    jsonrpc: Literal["2.0"]
    id: Any
    error: JsonRpcError


class JsonRpcSuccessResponse(TypedDict):
    """The answer to a call that succeeded."""

    jsonrpc: Literal["2.0"]
    id: Any
    result: Any


JsonRpcMessage: TypeAlias = Annotated[
    JsonRpcRequest | JsonRpcNotification | JsonRpcErrorResponse | JsonRpcSuccessResponse,
    ByKeys((("method", "id"), ("method",), ("error",), ("result",))),
]
