"""What each method does, one module per area; importing this registers them all."""

from agenthost.host import other_machines, token_commands
from agenthost.host.channels.automation import commands as automations
from agenthost.host.channels.changeset import operations as changesets
from agenthost.host.channels.chat import commands as chats
from agenthost.host.channels.chat import completions
from agenthost.host.channels.chat import move_commands as moves
from agenthost.host.channels.session import commands as sessions
from agenthost.host.channels.session import config_commands as configuration
from agenthost.host.channels.terminal import commands as terminals
from agenthost.host.clients import dispatch as actions
from agenthost.host.clients import handshake, subscriptions
from agenthost.host.files import commands as resources
from agenthost.host.mcp import commands as servers
from agenthost.host.push import commands as pushes

MODULES = (
    token_commands,
    actions,
    automations,
    changesets,
    chats,
    completions,
    configuration,
    handshake,
    other_machines,
    moves,
    pushes,
    resources,
    servers,
    sessions,
    subscriptions,
    terminals,
)
