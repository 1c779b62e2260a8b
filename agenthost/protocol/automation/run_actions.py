"""Everything that can happen on the channel of an automation's run.

Types only. A request to cancel changes no state by itself: the host says when the run has ended.
"""

from typing import Annotated, Literal, NotRequired, TypeAlias

from typing_extensions import TypedDict

from agenthost.protocol.automation.run import AutomationRunLifecycle
from agenthost.protocol.schema.scalars import URI
from agenthost.protocol.schema.unions import Open


class AutomationRunLifecycleChangedAction(TypedDict):
    """The run got somewhere."""

    type: Literal["automationRun/lifecycleChanged"]
    lifecycle: AutomationRunLifecycle


class AutomationRunSessionSetAction(TypedDict):
    """The run made a session."""

    type: Literal["automationRun/sessionSet"]
    session: URI


class AutomationRunSessionRemovedAction(TypedDict):
    """A session of the run is gone."""

    type: Literal["automationRun/sessionRemoved"]
    session: URI


class AutomationRunPrimarySessionChangedAction(TypedDict):
    """Another session is the one to show; none when absent."""

    type: Literal["automationRun/primarySessionChanged"]
    primarySession: NotRequired[URI]


class AutomationRunCancelRequestedAction(TypedDict):
    """Somebody wants the run stopped."""

    type: Literal["automationRun/cancelRequested"]


AutomationRunAction: TypeAlias = Annotated[
    AutomationRunLifecycleChangedAction
    | AutomationRunSessionSetAction
    | AutomationRunSessionRemovedAction
    | AutomationRunPrimarySessionChangedAction
    | AutomationRunCancelRequestedAction,
    Open("type"),
]
