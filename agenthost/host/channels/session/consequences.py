"""The consequences of what happens in a session, as data: look again, release, tell, hand on."""

from __future__ import annotations

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


class AwaitClients(Consequence, frozen=True):
    """Give clients that count as active in a session time to show up."""

    clients: tuple[str, ...]


class RefreshSummary(Consequence, frozen=True):
    """Bring a session's line in the catalogue up to date."""

    session: SessionChannel


class ReadDefaultChat(Consequence, frozen=True):
    """Mark the default chat of a session as read."""

    session: SessionChannel


class FailCallsOf(Consequence, frozen=True):
    """Fail what a client was to run in a session that it has left."""

    session: SessionChannel
    client_id: str


class TakePart(Consequence, frozen=True):
    """Let somebody take part in a session, who has written or become active in it."""

    session: SessionChannel
    principal: str


class RefreshGit(Consequence, frozen=True):
    """Look at the git repository of a session again."""

    session: SessionChannel


class EndUnreachableWatches(Consequence, frozen=True):
    """Watch no more files for those who may not reach them any longer."""


class DistrustPlace(Consequence, frozen=True):
    """Note that somebody else than an owner has chosen a directory of a session."""

    session: SessionChannel


class RefreshChangesets(Consequence, frozen=True):
    """Find out anew which changesets a session offers."""

    session: SessionChannel


class CountChanges(Consequence, frozen=True):
    """Tell in a session's line how much it changed."""

    session: SessionChannel
    changes: ChangesSummary


class CustomizationsMayDiffer(Consequence, frozen=True):
    """Look again what people brought to a session, after what has happened to it."""

    session: SessionChannel
    cause: CustomizationsCause


class ApprovalsChanged(Consequence, frozen=True):
    """Answer what waits for a yes and needs none by the session's settings, which have changed."""

    session: SessionChannel


class CustomizationToggled(Consequence, frozen=True):
    """Keep what a client decides about a customization, before the action that says so."""

    session: SessionChannel
    # The entry as it is shown, and the client that published it or what it is in.
    entry: JsonMapping
    publisher: str | None
    decisions: tuple[CustomizationEnablement, ...]


class AppFollowerCame(Consequence, frozen=True):
    """Give servers their side channels, now that somebody follows who can show their apps."""

    session: SessionChannel


class CheckMcpRequest(Consequence, frozen=True):
    """See whether a client may have what it wants of an MCP server; AgentError if not."""

    session: SessionChannel
    id: str
    request: McpRequest


class McpServerRequested(Consequence, frozen=True):
    """Do what a client wanted of an MCP server, now that all have been told; returns at once."""

    session: SessionChannel
    id: str
    request: McpRequest


class EndAgentSession(Consequence, frozen=True):
    """Let the agent go of a session that is gone."""

    session: SessionChannel
    had_turns: bool


class TellRunOfSession(Consequence, frozen=True):
    """Tell the run of an automation that its session is gone, or back from the trash."""

    session: str
    origin: SessionOrigin
    is_gone: bool


class ReleaseWorkspace(Consequence, frozen=True):
    """End what runs for a session that goes; ``keep`` what it needs should it come back."""

    session: str
    keep: bool


class LeaveDirectory(Consequence, frozen=True):
    """Take a directory that has left the session away from its chats."""

    session: SessionChannel
    directory: str


class ReplaceDirectory(Consequence, frozen=True):
    """Let a session's agent put a directory in the place of another."""

    session: SessionChannel
    directory: str
    replacement: str


class FollowReplacement(Consequence, frozen=True):
    """Let the chats of a session follow it to the directory that replaced another."""

    session: SessionChannel
    directory: str
    replacement: str
