"""What was decided about customizations: for one session, for a workspace, or for everything.

Decisions are kept by what a customization is and where it lies, not by its id in a session, so they
hold in other sessions and when it comes back after it was gone.

They outlive a restart: what was decided for one session is stored with it; the rest is in memory
while the host runs, for every session needs it. Written in the same commit as the action that
decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from agenthost.host.channels.session.kind import SessionChannel, extra_of
from agenthost.host.channels.session.records import (
    first_directory,
    forget_decisions,
    keep_decisions,
)
from agenthost.host.log.ledger import Ledger
from agenthost.host.log.shared_records import SharedRecords
from agenthost.host.log.stored_values import stored_value
from agenthost.host.store import DropRecord, PutRecord, Store
from agenthost.protocol.jsonrpc import dumps

if TYPE_CHECKING:
    from agenthost.protocol.session.customizations import CustomizationEnablement

Scope: TypeAlias = Literal["session", "workspace", "global"]
# What was decided in one scope: see ``decision_key``.
Decided: TypeAlias = Mapping[str, bool]

# The one that counts first.
SCOPES: Final[tuple[Scope, ...]] = ("session", "workspace", "global")
# Kept of one scope: far more than anybody decides, and little to write with each decision.
MOST_DECIDED = 2_000
# Types whose decisions are told by scope; of the others only what they come to.
TELLS_SCOPES = frozenset({"plugin", "mcpServer"})
# The record of what was decided for workspaces (their URI), and for everything.
SHARED = "shared enablement"
_EVERYWHERE = "global"
_WORKSPACE = "workspace:"


def decision_key(type: str, uri: str, name: str, contents: str | None = None) -> str:
    """Return under which key decisions about a customization are kept."""
    if type == "mcpServer":
        # One file declares several.
        return f"{type} {uri}#{name}"
    # One folder may hold several kinds, each of which is a directory.
    return f"{type} {uri} {contents}" if type == "directory" else f"{type} {uri}"


class SessionDecisions(Struct, frozen=True):
    """All decisions that count in one session."""

    session: Decided = field(default_factory=dict)
    workspace: Decided = field(default_factory=dict)
    everywhere: Decided = field(default_factory=dict)
    # The directory that the session works in before all others, if it has one.
    workspace_uri: str | None = None

    def of(self, key: str, everywhere: bool | None = None) -> list[CustomizationEnablement]:
        """Return what was decided about a customization, what counts first before the rest.

        ``everywhere`` is what the client that brings it has decided for all sessions.
        """
        decided: list[CustomizationEnablement] = []
        if (session := self.session.get(key)) is not None:
            decided.append({"kind": "session", "enabled": session})
        workspace = self.workspace.get(key)
        if workspace is not None and self.workspace_uri is not None:
            decided.append({"kind": "workspace", "uri": self.workspace_uri, "enabled": workspace})
        general = everywhere if everywhere is not None else self.everywhere.get(key)
        if general is not None:
            decided.append({"kind": "global", "enabled": general})
        return decided

    def decided(
        self,
        key: str,
        decisions: Sequence[CustomizationEnablement],
        *,
        shown: Sequence[CustomizationEnablement] | None,
    ) -> SessionDecisions:
        """Return the same after somebody's decisions about one customization.

        ``shown`` are those that the client saw, where it sees the decisions of all scopes. What it
        only repeats of them stays as it is by now: others may have decided since, and who may not
        decide for them must not do so by an old list. Where a client sees only what they come to
        (None), it cannot repeat those that it does not know: they stay, but for those that would
        count before its own.
        """
        named, seen = by_scope(decisions), by_scope(shown)
        first = next((scope for scope in SCOPES if scope in named), None)
        unseen = SCOPES[SCOPES.index(first) :] if first is not None else ()
        kept: dict[Scope, Decided] = {}
        for scope in SCOPES:
            before = self._of_scope(scope)
            if shown is not None:
                stays = named.get(scope) is seen.get(scope)
            else:
                stays = scope not in named and scope in unseen
            kept[scope] = before if stays else with_decision(before, key, named.get(scope))
        return replace(
            self,
            session=kept["session"],
            workspace=kept["workspace"],
            everywhere=kept["global"],
        )

    def _of_scope(self, scope: Scope) -> Decided:
        if scope == "session":
            return self.session
        return self.workspace if scope == "workspace" else self.everywhere


def with_decision(decided: Decided, key: str, enabled: bool | None) -> Decided:
    """Return decisions with one more, or with one taken back; the same where nothing changes."""
    if decided.get(key) is enabled:
        return decided
    kept = {each: value for each, value in decided.items() if each != key}
    if enabled is not None:
        kept[key] = enabled
    # The oldest are forgotten first.
    return dict(list(kept.items())[-MOST_DECIDED:])


def is_on(decisions: Sequence[CustomizationEnablement]) -> bool:
    """Say what decisions come to: the first counts, and without any it is on."""
    return not decisions or decisions[0]["enabled"]


def by_scope(decisions: Iterable[CustomizationEnablement] | None) -> dict[Scope, bool]:
    """Return what decisions say for each scope that they name."""
    return {each["kind"]: each["enabled"] for each in decisions or ()}


def global_decision(decisions: Iterable[CustomizationEnablement] | None) -> bool | None:
    """Return what a client that brings something has decided for all sessions, if it says so."""
    for each in decisions or ():
        if each["kind"] == "global":
            return each["enabled"]
    return None


class EnablementRecords:
    """The decisions of all scopes."""

    def __init__(self, store: Store, ledger: Ledger) -> None:
        self._ledger = ledger
        self._records = SharedRecords(store, ledger, SHARED)
        # ``global``, or ``workspace:`` and its URI -> what was decided there.
        self._shared: dict[str, Decided] = {}

    async def open(self) -> bool:
        """Take up what was decided for workspaces, and for everything; False if that is known."""
        before, stored = self._shared, await self._records.read()
        self._shared = {key: stored_value(kept, key) for key, kept in stored.items()}
        return self._shared != before

    def of(self, session: SessionChannel) -> SessionDecisions:
        """Return what counts in a session."""
        workspace = first_directory(session.state)
        return SessionDecisions(
            extra_of(session).decided,
            self._shared.get(_WORKSPACE + workspace, {}) if workspace is not None else {},
            self._shared.get(_EVERYWHERE, {}),
            workspace,
        )

    def decide(
        self,
        session: SessionChannel,
        key: str,
        decisions: Sequence[CustomizationEnablement],
        *,
        shown: Sequence[CustomizationEnablement] | None,
    ) -> Scope | None:
        """Keep what somebody decided in a session about one customization.

        ``shown`` are the decisions that it was seen with; None where those are not told. Returns
        the widest scope in which anything is decided otherwise than before.
        """
        before = self.of(session)
        after = before.decided(key, decisions, shown=shown)
        widest: Scope | None = None
        if after.session is not before.session:
            keep_decisions(self._ledger, session, after.session)
            widest = "session"
        if after.workspace is not before.workspace and before.workspace_uri is not None:
            self._keep(_WORKSPACE + before.workspace_uri, after.workspace)
            widest = "workspace"
        if after.everywhere is not before.everywhere:
            self._keep(_EVERYWHERE, after.everywhere)
            widest = "global"
        return widest

    def forget(self, session: str) -> None:
        """Forget what was decided for a session that is gone for good."""
        forget_decisions(self._ledger, session)

    def _keep(self, key: str, decided: Decided) -> None:
        if decided:
            self._shared[key] = decided
            self._records.write(PutRecord(SHARED, key, dumps(decided)))
        else:
            self._shared.pop(key, None)
            self._records.write(DropRecord(SHARED, key))
