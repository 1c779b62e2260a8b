"""Reducers of the catalogue of automations, and of the channels of their runs.

What clients request changes nothing here: the host judges it and says what came of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agenthost.protocol.json_edits import (
    copied_members,
    remove_by,
    updated,
    upsert_by,
    with_item,
    without,
    without_item,
)
from agenthost.protocol.reducer_registry import reduces

if TYPE_CHECKING:
    from agenthost.protocol.automation.actions import (
        AutomationCreateRequestedAction,
        AutomationRemovedAction,
        AutomationSetAction,
        AutomationUpdateRequestedAction,
    )
    from agenthost.protocol.automation.run import AutomationRunState
    from agenthost.protocol.automation.run_actions import (
        AutomationRunCancelRequestedAction,
        AutomationRunLifecycleChangedAction,
        AutomationRunPrimarySessionChangedAction,
        AutomationRunSessionRemovedAction,
        AutomationRunSessionSetAction,
    )
    from agenthost.protocol.automation.state import AutomationState


@reduces("automation/createRequested", "automation/updateRequested", client=True, touches=())
def requested(
    state: AutomationState,
    action: AutomationCreateRequestedAction | AutomationUpdateRequestedAction,
    now: str,
) -> AutomationState:
    """Change nothing: the host answers with an entry, or refuses."""
    return state


@reduces("automation/set")
def automation_set(
    state: AutomationState, action: AutomationSetAction, now: str
) -> AutomationState:
    """Replace the automation of that URI whole and in place, or append a new one."""
    return updated(state, entries=upsert_by(state["entries"], "resource", action["automation"]))


@reduces("automation/removed", client=True, touches=("entries",))
def automation_removed(
    state: AutomationState, action: AutomationRemovedAction, now: str
) -> AutomationState:
    """Drop the automation of that URI; its runs have channels of their own."""
    left = remove_by(state["entries"], "resource", action["resource"])
    return state if left is None else {**state, "entries": left}


@reduces("automationRun/lifecycleChanged")
def lifecycle_changed(
    state: AutomationRunState, action: AutomationRunLifecycleChangedAction, now: str
) -> AutomationRunState:
    """Replace how far the run is, whole."""
    return updated(state, lifecycle=action["lifecycle"])


@reduces("automationRun/sessionSet")
def session_set(
    state: AutomationRunState, action: AutomationRunSessionSetAction, now: str
) -> AutomationRunState:
    """List a session that the run made."""
    return with_item(state, "sessions", action["session"])


@reduces("automationRun/sessionRemoved")
def session_removed(
    state: AutomationRunState, action: AutomationRunSessionRemovedAction, now: str
) -> AutomationRunState:
    """Unlist a session, and show none when it was the one to show."""
    removed = without_item(state, "sessions", action["session"])
    if removed is state or state.get("primarySession") != action["session"]:
        return removed
    return without(removed, "primarySession")


@reduces("automationRun/primarySessionChanged")
def primary_session_changed(
    state: AutomationRunState, action: AutomationRunPrimarySessionChangedAction, now: str
) -> AutomationRunState:
    """Name the session to show; an absent one clears it."""
    return copied_members(state, action, "primarySession")


@reduces("automationRun/cancelRequested", client=True, touches=())
def cancel_requested(
    state: AutomationRunState, action: AutomationRunCancelRequestedAction, now: str
) -> AutomationRunState:
    """Change nothing: the host stops the run and says so."""
    return state
