"""The client SDK: connect to a host, mirror it, act on it, and come back after every drop."""

from importlib import import_module
from typing import TYPE_CHECKING

from agenthost.client.annotations import Annotations
from agenthost.client.automations import AutomationRun, Automations, define_automation
from agenthost.client.canvas import CanvasView
from agenthost.client.chat import Chat, TurnStream
from agenthost.client.client import Client, connect
from agenthost.client.errors import (
    CannotConnect,
    ChangesFailed,
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
    NotText,
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

# What only those need who work with files is loaded when somebody asks for it.
if TYPE_CHECKING:
    from agenthost.client.changes import ChangesCatalogue, ChangesView
    from agenthost.client.file_watch import FileWatch, WatchInterrupted
    from agenthost.client.files import SessionFiles
    from agenthost.client.terminals import ClientTerminals, TerminalView
else:
    _LATE = {
        "ChangesCatalogue": "changes",
        "ChangesView": "changes",
        "ClientTerminals": "terminals",
        "FileWatch": "file_watch",
        "SessionFiles": "files",
        "TerminalView": "terminals",
        "WatchInterrupted": "file_watch",
    }

    def __getattr__(name: str) -> object:
        if name not in _LATE:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_LATE[name]}"), name)


__all__ = [
    "Annotations",
    "AutomationRun",
    "Automations",
    "Backoff",
    "CannotConnect",
    "CanvasView",
    "ChangesCatalogue",
    "ChangesFailed",
    "ChangesView",
    "Channel",
    "ChannelGone",
    "Chat",
    "ChatEvent",
    "Client",
    "ClientClosed",
    "ClientError",
    "ClientTerminals",
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
    "FileWatch",
    "FindHost",
    "GivenUp",
    "Lagged",
    "MemoryResources",
    "Mirror",
    "NoCommonVersion",
    "NotAdmitted",
    "NotSent",
    "NotText",
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
    "SessionFiles",
    "Sessions",
    "Superseded",
    "SystemClock",
    "TerminalView",
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
    "WatchInterrupted",
    "command",
    "connect",
    "define_automation",
    "endpoint",
    "websocket",
]
