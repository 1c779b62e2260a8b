"""The session kind of channel: what is particular to sessions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NotRequired, TypeAlias, TypedDict, cast

from msgspec import Struct, field

from agenthost.host.channels.ruled_kind import Gathered, RuledKind
from agenthost.host.channels.session.consequences import (
    AppFollowerCame,
    ApprovalsChanged,
    AwaitClients,
    CheckMcpRequest,
    CustomizationsCause,
    CustomizationsMayDiffer,
    CustomizationToggled,
    DistrustPlace,
    EndUnreachableWatches,
    FailCallsOf,
    FollowReplacement,
    LeaveDirectory,
    McpRequest,
    McpServerRequested,
    ReadDefaultChat,
    RefreshChangesets,
    RefreshGit,
    RefreshSummary,
    ReplaceDirectory,
    TakePart,
)
from agenthost.host.channels.session.rules import decides_for_others, decisions_in_order
from agenthost.host.channels.session.shown_customizations import (
    entries_of_former_servers,
    find_customization,
)
from agenthost.host.channels.session.summary import (
    aggregated_status,
    annotations_summary,
    leading_chat,
)
from agenthost.host.log.channel import LiveChannel, OwnerChannel
from agenthost.host.log.effects import Apply, Consequence
from agenthost.host.log.kind import Applied, DeclinedAction, PreparedAction, Surroundings
from agenthost.host.log.stored_values import stored_value
from agenthost.protocol.json_edits import carry
from agenthost.protocol.versions import translator
from agenthost.tokens import Role

if TYPE_CHECKING:
    from agenthost.host.channels.session.summary import SummaryFacts
    from agenthost.host.log.receiver import Receiver
    from agenthost.host.store import WholeChannel
    from agenthost.protocol.common import Action, JsonObject
    from agenthost.protocol.session.state import SessionState, SessionSummary

SessionChannel: TypeAlias = "LiveChannel[SessionState]"

# The record of the tools that are allowed in a session.
PERMISSIONS = "permissions"
# The record of what a session's agent keeps to go on with it.
RESUME = "resume"
# The record of the names of those who take part in a session.
PARTICIPANTS = "participants"
# The record of who chose where a session works, and of the worktree that was made for it.
PLACES = "places"
# The record of what was decided in a session about customizations.
ENABLEMENT = "enablement"
# What a summary holds that the session's state does not.
_OWN_FIELDS = ("createdAt", "changes", "project", "_meta")
# Actions after which a session works elsewhere, and those of them that say where.
_MOVES = frozenset(
    {
        "session/workingDirectorySet",
        "session/workingDirectoryRemoved",
        "session/workingDirectoryReplaced",
    }
)
_CHOOSES = _MOVES - {"session/workingDirectoryRemoved"}
_CHANGES_WHERE = _MOVES | {"session/ready"}
# By which action a client may want what of an MCP server.
_MCP_REQUESTS: dict[str, McpRequest] = {
    "session/mcpServerStartRequested": "start",
    "session/mcpServerStopRequested": "stop",
    "session/mcpServerBackgroundRequested": "background",
}
# Actions after which a session may have other customizations -> what has happened.
_BRINGS: dict[str, CustomizationsCause] = {
    "session/ready": "ready",
    "session/activeClientSet": "clients",
    "session/activeClientRemoved": "clients",
    **dict.fromkeys(_MOVES, "moved"),
}


class WorktreeRecord(TypedDict):
    """A worktree for a session: where, on which branch, from which commit."""

    folder: str
    branch: str
    commit: str
    # The repository's own folder, which git is asked about it in.
    top: str
    # Whether it was there, the last time that anybody looked.
    made: bool
    # Whether it was made for this session, and not for one that this was forked from.
    own: bool


class PlaceRecord(TypedDict):
    """What is kept of the place of a session besides its state."""

    # Whether owners alone have chosen its directories.
    byOwner: bool
    worktree: NotRequired[WorktreeRecord]


class SessionExtra(Struct):
    """What is known of a session besides its state; replaced, never changed in place."""

    # Its line in the catalogue, and what that has and the state does not; None when it has none.
    summary: SessionSummary | None = None
    facts: SummaryFacts | None = None
    # Tools that run without asking; agents look at it from their threads.
    allowed: frozenset[str] = frozenset()
    # The names of those who take part in it; see ``participants``.
    participants: frozenset[str] = frozenset()
    # What the agent keeps to go on with the session, and which agent that was.
    resume: JsonObject | None = None
    # Where it works and who chose that; None for a session that is older than such records.
    place: PlaceRecord | None = None
    # What was decided here about customizations; see ``customizations.enablement``.
    decided: Mapping[str, bool] = field(default_factory=dict)
    # Set once the session has shown what customizations it has.
    customizations_read: asyncio.Event = field(default_factory=asyncio.Event)
    # Says why its agent cannot work here, where the session is shown all the same.
    why_no_turns: Callable[[], str | None] | None = None


class GatheredWithRole(Gathered, frozen=True):
    """What is needed to judge an action that not everybody may do all of."""

    role: Role = Role.VIEWER


class SessionKind(RuledKind["SessionState"]):
    """Session channels."""

    name = "session"
    buckets = (PERMISSIONS, PARTICIPANTS, RESUME, PLACES, ENABLEMENT)

    def extra(self) -> SessionExtra:
        """Make what a session keeps besides its state."""
        return SessionExtra()

    def restore(self, channel: SessionChannel, whole: WholeChannel) -> None:
        """Take up a session's summary, what its agent kept, what is allowed and who takes part."""
        extra = extra_of(channel)
        tools = whole.records.get(PERMISSIONS)
        if tools is not None:
            extra.allowed = frozenset(stored_value(tools, channel.uri))
        people = whole.records.get(PARTICIPANTS)
        if people is not None:
            extra.participants = frozenset(stored_value(people, channel.uri))
        kept = whole.records.get(RESUME)
        if kept is not None:
            extra.resume = stored_value(kept, channel.uri)
        place = whole.records.get(PLACES)
        if place is not None:
            extra.place = stored_value(place, channel.uri)
        decided = whole.records.get(ENABLEMENT)
        if decided is not None:
            extra.decided = stored_value(decided, channel.uri)
        if whole.summary is not None:
            summary: SessionSummary = stored_value(whole.summary, channel.uri)
            facts = cast("SummaryFacts", carry(summary, *_OWN_FIELDS))
            counts = summary.get("annotations")
            facts["annotationCount"] = counts.get("annotationCount", 0) if counts else 0
            facts["entryCount"] = counts.get("entryCount", 0) if counts else 0
            extra.summary, extra.facts = summary, facts

    def loaded(self, channel: SessionChannel) -> Sequence[Consequence]:
        """Await the active clients, and do what an earlier host left undone."""
        active = tuple(client["clientId"] for client in channel.state["activeClients"])
        effects: list[Consequence] = [AwaitClients(active)] if active else []
        if channel.state["lifecycle"] == "creating":
            message = "the host stopped while this session was being created"
            error = {"errorType": "hostRestarted", "message": message}
            effects.append(Apply(channel, {"type": "session/creationFailed", "error": error}))
        effects += (
            Apply(channel, {"type": "session/customizationUpdated", "customization": entry})
            for entry in list(entries_of_former_servers(channel.state))
        )
        if "changesets" not in channel.state:
            effects.append(RefreshChangesets(channel))
        effects.append(CustomizationsMayDiffer(channel, "loaded"))
        return effects

    def snapshot(
        self, channel: SessionChannel, owner: OwnerChannel | None, window: int
    ) -> SessionState:
        """Add what no action tells a session: what its chats do, its project, its annotations."""
        state, facts = channel.state, extra_of(channel).facts
        noted = annotations_summary(channel.uri, facts)
        shown: SessionState = {
            **state,
            "annotations": noted,
            "status": aggregated_status(state),
        }
        if facts is not None and "project" in facts:
            shown["project"] = facts["project"]
        return shown

    async def gather(
        self,
        channel: SessionChannel,
        owner: OwnerChannel | None,
        action: Action,
        around: Surroundings,
    ) -> Gathered:
        """Gather what the rules need to know, and load the chat that is read with its session."""
        if action["type"] == "session/isReadChanged" and "defaultChat" in channel.state:
            await around.find(channel.state["defaultChat"])
        gathered = await super().gather(channel, owner, action, around)
        if action["type"] == "session/customizationToggled":
            role = around.connection.principal.role
            return GatheredWithRole(
                gathered.rules, gathered.missing_tokens, gathered.no_agent, role=role
            )
        return gathered

    def judge(
        self, channel: SessionChannel, action: Action, context: Gathered
    ) -> DeclinedAction | None:
        """Return why an action is refused: by the rules, or because it is an owner's to do."""
        if isinstance(context, GatheredWithRole) and context.role is not Role.OWNER:
            refusal = decides_for_others(channel.state, action, context.rules)
            if refusal is not None:
                return DeclinedAction(refusal)
        return super().judge(channel, action, context)

    def prepare(
        self,
        channel: SessionChannel,
        owner: OwnerChannel | None,
        action: Action,
        as_sent: Action,
        now: str,
    ) -> PreparedAction:
        """Let chats leave the directory that the session leaves, and the agent change first."""
        if action["type"] == "session/workingDirectoryRemoved":
            return PreparedAction(action, later=LeaveDirectory(channel, action["directory"]))
        if action["type"] == "session/workingDirectoryReplaced":
            change = (channel, action["directory"], action["replacement"])
            if action["directory"] != action["replacement"]:
                return PreparedAction(
                    action, awaited=ReplaceDirectory(*change), later=FollowReplacement(*change)
                )
        if action["type"] == "session/customizationToggled":
            return _decided(channel, action)
        request = _MCP_REQUESTS.get(action["type"])
        if request is not None:
            wanted = (channel, action["id"], request)
            return PreparedAction(
                action, awaited=CheckMcpRequest(*wanted), later=McpServerRequested(*wanted)
            )
        return PreparedAction(action)

    def follow(
        self, applied: Applied[SessionState], owner: OwnerChannel | None
    ) -> Sequence[Consequence]:
        """Let a session say what the chat is doing that stands for it, and its line too."""
        session, action = applied.channel, applied.action
        follows: list[Consequence] = []
        lead = leading_chat(applied.after)
        activity = lead.get("activity") if lead is not None else None
        if applied.after.get("activity") != activity:
            shown = {"activity": activity} if activity else {}
            follows.append(Apply(session, {"type": "session/activityChanged", **shown}))
        follows.append(RefreshSummary(session))
        if _means_its_chat_too(applied):
            follows.append(ReadDefaultChat(session))
        if action["type"] == "session/activeClientSet" and applied.dispatch is not None:
            follows.append(TakePart(session, applied.dispatch.connection.principal.name))
        if action["type"] in _CHANGES_WHERE:
            follows.append(RefreshChangesets(session))
        if action["type"] == "session/activeClientRemoved":
            follows.append(FailCallsOf(session, action["clientId"]))
        if action["type"] == "session/configChanged":
            follows.append(ApprovalsChanged(session))
        cause = _BRINGS.get(action["type"])
        if cause is not None:
            follows.append(CustomizationsMayDiffer(session, cause))
        if action["type"] in _MOVES:
            if action["type"] in _CHOOSES and _is_from_another(applied):
                follows.append(DistrustPlace(session))
            follows += (RefreshGit(session), EndUnreachableWatches())
        return follows

    def came(self, channel: SessionChannel, receiver: Receiver) -> Sequence[Consequence]:
        """Let servers show their apps to a client that can."""
        return (AppFollowerCame(channel),) if "mcpApps" in receiver.capabilities else ()

    def unfollowed(self, channel: SessionChannel, client_id: str) -> Sequence[Consequence]:
        """Take an active client that leaves off the session."""
        removed = {"type": "session/activeClientRemoved", "clientId": client_id}
        return (Apply(channel, removed),)


SESSION = SessionKind()


def _decided(session: SessionChannel, action: Action) -> PreparedAction:
    """Let what a client decides be kept, and told in the order in which it counts."""
    found = find_customization(session.state, action["id"])
    if found is None:
        return PreparedAction(action)
    entry, publisher = found
    ordered = decisions_in_order(action["enablement"])
    kept = CustomizationToggled(session, entry, publisher, tuple(ordered))
    if ordered == action["enablement"]:
        return PreparedAction(action, (kept,))
    return PreparedAction({**action, "enablement": ordered}, (kept,), rewritten=True)


def _means_its_chat_too(applied: Applied[SessionState]) -> bool:
    """Say whether a session was read by a client that cannot say so of its chat."""
    action, dispatch = applied.action, applied.dispatch
    if dispatch is None or action["type"] != "session/isReadChanged" or not action["isRead"]:
        return False
    return not translator(dispatch.connection.spoken).exists("chat/isReadChanged")


def _is_from_another(applied: Applied[SessionState]) -> bool:
    """Say whether a client dispatched something that is no owner's."""
    dispatch = applied.dispatch
    return dispatch is not None and dispatch.connection.principal.role is not Role.OWNER


def extra_of(session: SessionChannel) -> SessionExtra:
    """Return what is known of a session besides its state."""
    extra = session.extra
    assert isinstance(extra, SessionExtra)
    return extra
