"""The consequences of what happens in a session, as data: look again, release, tell, hand on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from agenthost.host.log.effects import Consequence

if TYPE_CHECKING:
    from agenthost.host.channels.session.kind import SessionChannel
    from agenthost.protocol.common import ChangesSummary, JsonMapping
    from agenthost.protocol.session.customizations import CustomizationEnablement
    from agenthost.protocol.session.state import SessionOrigin

# What a client may want of an MCP server.
McpRequest: TypeAlias = Literal["start", "stop", "background"]
# What has happened, after which a session may have other customizations.
CustomizationsCause: TypeAlias = Literal["loaded", "ready", "moved", "clients"]


@dataclass(frozen=True, slots=True)
class AwaitClients(Consequence):
    """Give clients that count as active in a session time to show up."""

    clients: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RefreshSummary(Consequence):
    """Bring a session's line in the catalogue up to date."""

    session: SessionChannel


@dataclass(frozen=True, slots=True)
class ReadDefaultChat(Consequence):
    """Mark the default chat of a session as read."""

    session: SessionChannel


@dataclass(frozen=True, slots=True)
class FailCallsOf(Consequence):
    """Fail what a client was to run in a session that it has left."""

    session: SessionChannel
    client_id: str


@dataclass(frozen=True, slots=True)
class TakePart(Consequence):
    """Let somebody take part in a session, who has written or become active in it."""

    session: SessionChannel
    principal: str


@dataclass(frozen=True, slots=True)
class RefreshGit(Consequence):
    """Look at the git repository of a session again."""

    session: SessionChannel


@dataclass(frozen=True, slots=True)
class EndUnreachableWatches(Consequence):
    """Watch no more files for those who may not reach them any longer."""


@dataclass(frozen=True, slots=True)
class DistrustPlace(Consequence):
    """Note that somebody else than an owner has chosen a directory of a session."""

    session: SessionChannel


@dataclass(frozen=True, slots=True)
class RefreshChangesets(Consequence):
    """Find out anew which changesets a session offers."""

    session: SessionChannel


@dataclass(frozen=True, slots=True)
class CountChanges(Consequence):
    """Tell in a session's line how much it changed."""

    session: SessionChannel
    changes: ChangesSummary


@dataclass(frozen=True, slots=True)
class CustomizationsMayDiffer(Consequence):
    """Look again what people brought to a session, after what has happened to it."""

    session: SessionChannel
    cause: CustomizationsCause


@dataclass(frozen=True, slots=True)
class ApprovalsChanged(Consequence):
    """Answer what waits for a yes and needs none by the session's settings, which have changed."""

    session: SessionChannel


@dataclass(frozen=True, slots=True)
class CustomizationToggled(Consequence):
    """Keep what a client decides about a customization, before the action that says so."""

    session: SessionChannel
    # The entry as it is shown, and the client that published it or what it is in.
    entry: JsonMapping
    publisher: str | None
    decisions: tuple[CustomizationEnablement, ...]


@dataclass(frozen=True, slots=True)
class AppFollowerCame(Consequence):
    """Give servers their side channels, now that somebody follows who can show their apps."""

    session: SessionChannel


@dataclass(frozen=True, slots=True)
class CheckMcpRequest(Consequence):
    """See whether a client may have what it wants of an MCP server; AgentError if not."""

    session: SessionChannel
    id: str
    request: McpRequest


@dataclass(frozen=True, slots=True)
class McpServerRequested(Consequence):
    """Do what a client wanted of an MCP server, now that all have been told; returns at once."""

    session: SessionChannel
    id: str
    request: McpRequest


@dataclass(frozen=True, slots=True)
class EndAgentSession(Consequence):
    """Let the agent go of a session that is gone."""

    session: SessionChannel
    had_turns: bool


@dataclass(frozen=True, slots=True)
class TellRunOfSession(Consequence):
    """Tell the run of an automation that its session is gone, or back from the trash."""

    session: str
    origin: SessionOrigin
    is_gone: bool


@dataclass(frozen=True, slots=True)
class ReleaseWorkspace(Consequence):
    """End what runs for a session that goes; ``keep`` what it needs should it come back."""

    session: str
    keep: bool


@dataclass(frozen=True, slots=True)
class LeaveDirectory(Consequence):
    """Take a directory that has left the session away from its chats."""

    session: SessionChannel
    directory: str


@dataclass(frozen=True, slots=True)
class ReplaceDirectory(Consequence):
    """Let a session's agent put a directory in the place of another."""

    session: SessionChannel
    directory: str
    replacement: str


@dataclass(frozen=True, slots=True)
class FollowReplacement(Consequence):
    """Let the chats of a session follow it to the directory that replaced another."""

    session: SessionChannel
    directory: str
    replacement: str
