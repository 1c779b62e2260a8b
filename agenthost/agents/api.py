"""The base class of agents: a name and a ``run``; the host does the protocol.

Owns the contract between host and agents. Does not know channels, clients or stores.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agenthost.errors import AgentHostError
from agenthost.workspace import file_path

if TYPE_CHECKING:
    from agenthost.agents.turn import Turn

_NO_CONFIG: Mapping[str, Any] = {"type": "object", "properties": {}}
_MANY_CHATS: Mapping[str, Any] = {"multipleChats": {"fork": True, "sideChat": True}}


class AgentError(AgentHostError):
    """An agent gives up on its turn; the message is shown to people, so it must be fit for them."""

    # A short name for programs.
    error_type = "agentError"

    # Whether the turn can be taken up again where it failed: its agent is then run once more, with
    # ``turn.is_resumed``.
    resumable = False

    def __init__(
        self, message: str, error_type: str | None = None, *, resumable: bool | None = None
    ) -> None:
        if error_type is not None:
            self.error_type = error_type
        if resumable is not None:
            self.resumable = resumable
        super().__init__(message)

    def __str__(self) -> str:
        # It travels, and UTF-8 cannot carry half a character.
        return super().__str__().encode(errors="replace").decode() or type(self).__name__


def agent_message(error: BaseException) -> AgentError | None:
    """Return the AgentError in an exception, also in an exception group; None if there is none.

    A group that holds any other error as well counts as that error.
    """
    if isinstance(error, BaseExceptionGroup):
        said = [agent_message(inner) for inner in error.exceptions]
        return said[0] if all(said) else None
    return error if isinstance(error, AgentError) else None


@dataclass(frozen=True, slots=True)
class SessionContext:
    """The session that an agent works in: folders and settings."""

    session: str
    # URIs, the primary one first.
    working_directories: Sequence[str] = ()
    config: Mapping[str, Any] = field(default_factory=dict)
    # What the agent kept for the session with ``turn.keep``, if anything.
    resume_state: Mapping[str, Any] | None = None

    @property
    def folder(self) -> str | None:
        """The path of the first working directory that is a folder of this machine."""
        paths = (file_path(uri) for uri in self.working_directories)
        return next((str(path) for path in paths if path is not None), None)


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """A command that people may begin a message with, as editors offer it."""

    # Without the slash.
    name: str
    description: str = ""
    # What stands behind it, for instance ``PATH TEXT``.
    argument_hint: str = ""


class Agent(ABC):
    """Base of every agent: give it a provider id and a display name, and implement ``run``."""

    # How clients name this agent; unique on a host.
    provider: str
    # How people name it.
    display_name: str
    description: str = ""
    # SessionModelInfo entries, as clients see them; the first is the default.
    models: Sequence[Mapping[str, Any]] = ()
    # ToolDefinition entries that are shown as the session's own tools.
    tools: Sequence[Mapping[str, Any]] = ()
    # What messages may begin with; the agent itself reads it out of the message.
    slash_commands: Sequence[SlashCommand] = ()
    # ProtectedResourceMetadata entries: what clients must bring a token for.
    protected_resources: Sequence[Mapping[str, Any]] = ()
    # AgentInfo.capabilities: several chats with forks and side chats work for every agent that
    # takes its history from ``turn.history``.
    capabilities: Mapping[str, Any] = _MANY_CHATS
    # Customizations that come with the agent, in the protocol's shapes; for every session of it.
    customizations: Sequence[Mapping[str, Any]] = ()
    # Whether turns of it are given the tools of MCP servers, which are started for them.
    uses_mcp: bool = False
    # Whether a turn can be taken up again that the host ended: over a stop, a crash or a silence.
    resumable: bool = False

    @abstractmethod
    async def run(self, turn: Turn) -> None:
        """Work on one turn; returning ends it, raising ends it with an error."""

    # Told when what clients are shown of this agent has changed; the host that offers it sets this.
    on_changed: Callable[[], None] | None = None

    # Told when agents are to be offered besides this one, and by their provider no more; the host
    # that offers it sets these. From any thread.
    on_offered: Callable[[Agent], None] | None = None
    on_withdrawn: Callable[[str], None] | None = None

    async def offered(self) -> None:
        """Begin what goes on while a host offers this agent; called once, on its own loop."""
        return None

    def changed(self) -> None:
        """Tell clients of other models, tools or commands than before; from any thread."""
        if self.on_changed is not None:
            self.on_changed()

    def info(self) -> dict[str, Any]:
        """Return the AgentInfo that clients are shown."""
        info: dict[str, Any] = {
            "provider": self.provider,
            "displayName": self.display_name,
            "description": self.description,
            "models": [dict(model) for model in self.models],
        }
        if self.capabilities:
            info["capabilities"] = dict(self.capabilities)
        if self.protected_resources:
            info["protectedResources"] = [dict(item) for item in self.protected_resources]
        if self.customizations:
            info["customizations"] = [dict(item) for item in self.customizations]
        return info

    def config_schema(
        self, values: Mapping[str, Any], working_directory: str | None
    ) -> Mapping[str, Any]:
        """Return the schema of a session's settings, given what is chosen so far."""
        return _NO_CONFIG

    async def complete_config(
        self, setting: str, query: str, values: Mapping[str, Any], working_directory: str | None
    ) -> Sequence[Mapping[str, Any]]:
        """Offer values for a setting: items with ``value`` and ``label``.

        Without an answer of its own an agent offers what the schema lists.
        """
        schema = self.config_schema(values, working_directory)["properties"].get(setting, {})
        return [{"value": str(item), "label": str(item)} for item in schema.get("enum") or ()]

    async def check_token(self, resource: str, token: str) -> None:
        """Check a token for one of the protected resources; raise AgentError to refuse it."""
        return None

    async def sample(self, params: Mapping[str, Any], turn: Turn) -> Mapping[str, Any]:
        """Let the agent's model answer an MCP server; params and result are those of MCP.

        People have agreed by then. Raises AgentError when there is no model to ask.
        """
        raise AgentError(f"{self.display_name} has no model that a server could ask", "noSampling")

    async def start_session(self, session: SessionContext) -> None:
        """Prepare for a new session; raise AgentError when it cannot be.

        Leaves the session's files alone: how they are before its first turn is noted meanwhile.
        """
        return None

    async def change_directory(self, session: str, directory: str, replacement: str) -> None:
        """Work in another folder of a session instead of one; raise AgentError when it cannot be.

        Awaited before anybody is told. The next turn is given the new folders in any case.
        """
        return None

    async def end_session(self, session: str) -> None:
        """Release whatever runs for a session that is disposed; if archived, it may come back."""
        return None

    async def close(self) -> None:
        """Release everything: the host is stopping."""
        return None
