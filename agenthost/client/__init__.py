"""The client SDK: connect to a host, mirror it, act on it, and come back after every drop."""

from agenthost.client.annotations import Annotations
from agenthost.client.automations import AutomationRun, Automations, define_automation
from agenthost.client.canvas import CanvasView
from agenthost.client.chat import Chat, TurnStream
from agenthost.client.client import Client, connect
from agenthost.client.errors import (
    CannotConnect,
    ChannelGone,
    ClientClosed,
    ClientError,
    ConnectionLost,
    CreationFailed,
    DispatchFailed,
    GivenUp,
    Lagged,
    NoCommonVersion,
    NotAdmitted,
    NotSent,
    Rejected,
    Superseded,
    TurnFailed,
    Uncertain,
    Unsupported,
)
from agenthost.client.events import (
    ChatEvent,
    ConfirmationNeeded,
    PartAdded,
    Question,
    QuestionClosed,
    Reasoning,
    Redrawn,
    Text,
    ToolCallChanged,
    TurnEnded,
    TurnResumed,
    TurnStarted,
    UsageReported,
)
from agenthost.client.link.backoff import Backoff
from agenthost.client.link.connection_status import (
    Closed,
    Connected,
    Connecting,
    ConnectionState,
    Reconnecting,
)
from agenthost.client.link.transports import FindHost, command, endpoint, websocket
from agenthost.client.resources import MemoryResources, ResourceProvider
from agenthost.client.sessions import Session, Sessions
from agenthost.client.state.channel import Channel, Reset
from agenthost.client.state.dispatches import Dispatch
from agenthost.client.state.mirror import Mirror
from agenthost.client.tools import ToolFailure, ToolResult, ToolRun
from agenthost.clock import Clock, SystemClock

__all__ = [
    "Annotations",
    "AutomationRun",
    "Automations",
    "Backoff",
    "CannotConnect",
    "CanvasView",
    "Channel",
    "ChannelGone",
    "Chat",
    "ChatEvent",
    "Client",
    "ClientClosed",
    "ClientError",
    "Clock",
    "Closed",
    "ConfirmationNeeded",
    "Connected",
    "Connecting",
    "ConnectionLost",
    "ConnectionState",
    "CreationFailed",
    "Dispatch",
    "DispatchFailed",
    "FindHost",
    "GivenUp",
    "Lagged",
    "MemoryResources",
    "Mirror",
    "NoCommonVersion",
    "NotAdmitted",
    "NotSent",
    "PartAdded",
    "Question",
    "QuestionClosed",
    "Reasoning",
    "Reconnecting",
    "Redrawn",
    "Rejected",
    "Reset",
    "ResourceProvider",
    "Session",
    "Sessions",
    "Superseded",
    "SystemClock",
    "Text",
    "ToolCallChanged",
    "ToolFailure",
    "ToolResult",
    "ToolRun",
    "TurnEnded",
    "TurnFailed",
    "TurnResumed",
    "TurnStarted",
    "TurnStream",
    "Uncertain",
    "Unsupported",
    "UsageReported",
    "command",
    "connect",
    "define_automation",
    "endpoint",
    "websocket",
]
