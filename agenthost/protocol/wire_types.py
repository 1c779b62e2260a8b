"""Every wire type by its name, gathered from the modules that define them.

For those who hold a type's name rather than the type: fixtures, and checks against the published
schemas. Everyone else imports the type itself.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType, ModuleType
from typing import Any

from agenthost.protocol import (
    annotations,
    canvas,
    changeset,
    commands,
    common,
    envelopes,
    notifications,
    own_commands,
    params,
    resource_watch,
    resources,
    root,
    terminal,
)
from agenthost.protocol.automation import actions as automation_actions
from agenthost.protocol.automation import commands as automation_commands
from agenthost.protocol.automation import definition, run, run_actions
from agenthost.protocol.automation import state as automation_state
from agenthost.protocol.chat import actions as chat_actions
from agenthost.protocol.chat import background_work, input_state, messages, tool_state
from agenthost.protocol.chat import commands as chat_commands
from agenthost.protocol.chat import state as chat_state
from agenthost.protocol.schema import scalars
from agenthost.protocol.session import actions as session_actions
from agenthost.protocol.session import customizations
from agenthost.protocol.session import state as session_state

_MODULES = (
    common,
    messages,
    input_state,
    tool_state,
    background_work,
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
    terminal,
    canvas,
    definition,
    run,
    automation_state,
    automation_actions,
    run_actions,
    automation_commands,
    envelopes,
    params,
    commands,
    resources,
    notifications,
    own_commands,
)

# What is called otherwise here than in the protocol: ours -> the protocol's. Agents are given a
# ``Turn`` of another sort.
_SPEC_NAMES = {"CompletedTurn": "Turn"}


def _types_in(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """Yield what a module defines itself: its classes, and its aliases, which are annotated."""
    aliases = module.__annotations__
    for name, value in vars(module).items():
        is_class = isinstance(value, type) and value.__module__ == module.__name__
        if name[0].isupper() and (is_class or name in aliases):
            yield name, value


WIRE_TYPES: Mapping[str, Any] = MappingProxyType(
    # Of the scalars' module the aliases alone: its classes are the rules behind them.
    {name: getattr(scalars, name) for name in scalars.__annotations__}
    | {
        _SPEC_NAMES.get(name, name): value
        for module in _MODULES
        for name, value in _types_in(module)
    }
)
