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
    McpServerFailed,
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
from agenthost.client.link.addresses import FindHost, HostPlace, dial, endpoint
from agenthost.client.link.backoff import Backoff
from agenthost.client.link.connection_status import (
    Closed,
    Connected,
    Connecting,
    ConnectionState,
    Reconnecting,
)
from agenthost.client.link.transports import command, websocket
from agenthost.client.resources import MemoryResources, ResourceProvider
from agenthost.client.sessions import Session, Sessions
from agenthost.client.state.channel import Channel, Reset
from agenthost.client.state.dispatches import Dispatch
from agenthost.client.state.mirror import Mirror
from agenthost.client.tool_results import ToolResult
from agenthost.client.tools import ToolFailure, ToolRun
from agenthost.clock import Clock, SystemClock
from agenthost.local_host import NoHost

# What only those need who work with files is loaded when somebody asks for it.
if TYPE_CHECKING:
    from agenthost.client.changes import ChangesCatalogue, ChangesView
    from agenthost.client.customizations import CustomizationCatalogue, CustomizationItem
    from agenthost.client.file_watch import FileWatch, WatchInterrupted
    from agenthost.client.files import SessionFiles
    from agenthost.client.mcp import McpServerView
    from agenthost.client.terminals import ClientTerminals, TerminalView
    from agenthost.client.trusted_folders import TrustedFolders
else:
    _LATE = {
        "ChangesCatalogue": "changes",
        "ChangesView": "changes",
        "ClientTerminals": "terminals",
        "CustomizationItem": "customizations",
        "FileWatch": "file_watch",
        "McpServerView": "mcp",
        "CustomizationCatalogue": "customizations",
        "SessionFiles": "files",
        "TerminalView": "terminals",
        "TrustedFolders": "trusted_folders",
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
    "CustomizationCatalogue",
    "CustomizationItem",
    "Dispatch",
    "DispatchFailed",
    "FileWatch",
    "FindHost",
    "GivenUp",
    "HostPlace",
    "Lagged",
    "McpServerFailed",
    "McpServerView",
    "MemoryResources",
    "Mirror",
    "NoCommonVersion",
    "NoHost",
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
    "TrustedFolders",
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
    "dial",
    "endpoint",
    "websocket",
]
