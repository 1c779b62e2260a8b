"""Settings before a session exists, and tokens for resources that an agent protects."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, cast

from agenthost.agents.api import AgentError
from agenthost.errors import AuthRequired, InternalError, InvalidParams
from agenthost.host.channels.settings import sanitize
from agenthost.host.clients.methods import handles

if TYPE_CHECKING:
    from agenthost.host.clients.connection import Connection
    from agenthost.protocol.common import JsonObject
    from agenthost.protocol.session.state import SessionConfigSchema

log = logging.getLogger(__name__)

# A picker shows no more.
MOST_COMPLETIONS = 50


@handles("resolveSessionConfig")
async def resolve_session_config(connection: Connection, params: JsonObject) -> JsonObject:
    """Return the settings a session may be created with, and their values so far."""
    values, directory = params.get("config", {}), params.get("workingDirectory")
    core, role = connection.core, connection.principal.role
    agent = core.sessions.agent(params.get("provider"))
    offered = await core.loops.read(agent, agent.config_schema, values, directory)
    place = directory or core.default_directory
    wanted = core.sessions.with_defaults(cast("SessionConfigSchema", dict(offered)))
    schema, values = await core.places.schema(wanted, values, place, role)
    return {"schema": schema, "values": sanitize(schema, values)}


@handles("sessionConfigCompletions")
async def session_config_completions(connection: Connection, params: JsonObject) -> JsonObject:
    """Offer values for one setting."""
    agent = connection.core.sessions.agent(params.get("provider"))
    loops, values = connection.core.loops, params.get("config", {})
    directory = params.get("workingDirectory")
    setting, query = params["property"], params.get("query", "")
    role, places = connection.principal.role, connection.core.places
    place = directory or connection.core.default_directory
    completed = await places.complete(setting, query, place, role, MOST_COMPLETIONS)
    if completed is not None:
        return {"items": completed}
    query = query.lower()
    schema = await loops.read(agent, agent.config_schema, values, directory)
    if setting not in schema["properties"]:
        raise InvalidParams(f"there is no setting {setting}", path="property")
    offered = await loops.ask(agent, agent.complete_config, setting, query, values, directory)
    matching = [dict(item) for item in offered if query in item["label"].lower()]
    matching.sort(key=lambda item: not item["label"].lower().startswith(query))
    return {"items": matching[:MOST_COMPLETIONS]}


@handles("authenticate")
async def authenticate(connection: Connection, params: JsonObject) -> JsonObject:
    """Take a token for a resource of an agent or an MCP server; an empty one takes it back."""
    core, resource, token = connection.core, params["resource"], params["token"]
    principal = connection.principal.name
    # It ages while its agent checks it.
    deadline = core.credentials.deadline(params.get("expiresIn"))
    wanting = [
        (agent, entry)
        for agent in core.agents.values()
        for entry in agent.protected_resources
        if entry["resource"] == resource
    ]
    if not wanting and not core.mcp.knows(resource):
        message = "no agent and no MCP server here protects that resource"
        raise InvalidParams(message, path="resource")
    if not token:
        core.credentials.drop(principal, resource)
        core.mcp.token_gone(principal, resource)
        return {}
    for agent, entry in wanting:
        try:
            await core.loops.ask(agent, agent.check_token, resource, token)
        except AgentError as error:
            raise AuthRequired([entry], str(error)) from error
        except Exception as error:
            # Agents quote whatever they hold, and this one holds a token that is kept nowhere yet.
            log.error("%s cannot check a token: %s", agent.provider, type(error).__name__)
            raise InternalError("the agent could not check the token") from None
    core.credentials.put(principal, resource, token, deadline=deadline, supplier=connection)
    core.mcp.token_arrived(connection, resource, token)
    return {}
