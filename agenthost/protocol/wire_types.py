"""Every wire type by its name, gathered from the modules that define them.

For those who hold a type's name rather than the type: fixtures, and checks against the published
schemas. Everyone else imports the type itself.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from agenthost.protocol import (
    annotations,
    changeset,
    commands,
    common,
    envelopes,
    notifications,
    resource_watch,
    resources,
    root,
    telemetry,
    terminal,
)
from agenthost.protocol.chat import actions as chat_actions
from agenthost.protocol.chat import commands as chat_commands
from agenthost.protocol.chat import input_state, messages, tool_state
from agenthost.protocol.chat import state as chat_state
from agenthost.protocol.session import actions as session_actions
from agenthost.protocol.session import customizations
from agenthost.protocol.session import state as session_state

__all__ = ["WIRE_TYPES"]

_MODULES = (
    common,
    messages,
    input_state,
    tool_state,
    chat_state,
    chat_actions,
    chat_commands,
    customizations,
    session_state,
    session_actions,
    annotations,
    changeset,
    resource_watch,
    root,
    telemetry,
    terminal,
    envelopes,
    commands,
    resources,
    notifications,
)

# Types are capitalised; what lives beside some of them is not.
WIRE_TYPES: Mapping[str, Any] = MappingProxyType(
    {
        name: getattr(module, name)
        for module in _MODULES
        for name in module.__all__
        if name[0].isupper()
    }
)
