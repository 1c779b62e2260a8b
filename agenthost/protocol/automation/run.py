"""One run of an automation: why it started, how far it is, which sessions it made.

Types only.
"""

from typing import Annotated, Literal, NotRequired, TypeAlias

from typing_extensions import TypedDict

from agenthost.protocol.common import ErrorInfo, JsonObject, UsageInfo
from agenthost.protocol.schema.scalars import URI, Count
from agenthost.protocol.schema.unions import Open


class AutomationManualRunOrigin(TypedDict):
    """Somebody asked for the run."""

    kind: Literal["manual"]


class AutomationTriggeredRunOrigin(TypedDict):
    """A trigger started the run; ``catchUp`` if it makes up for times that were missed."""

    kind: Literal["trigger"]
    triggerId: str
    scheduledFor: NotRequired[str]
    catchUp: NotRequired[bool]
    event: NotRequired[JsonObject]


AutomationRunOrigin: TypeAlias = Annotated[
    AutomationManualRunOrigin | AutomationTriggeredRunOrigin, Open("kind")
]


class AutomationPendingRunLifecycle(TypedDict):
    """The run is claimed and has not begun."""

    status: Literal["pending"]
    createdAt: str


class AutomationRunningRunLifecycle(TypedDict):
    """The run is under way."""

    status: Literal["running"]
    createdAt: str
    startedAt: str


class AutomationCompletedRunLifecycle(TypedDict):
    """The run came to its end."""

    status: Literal["completed"]
    createdAt: str
    startedAt: str
    completedAt: str
    usage: NotRequired[UsageInfo]


class AutomationFailedRunLifecycle(TypedDict):
    """The run failed, perhaps before it began."""

    status: Literal["failed"]
    createdAt: str
    startedAt: NotRequired[str]
    completedAt: str
    error: ErrorInfo


class AutomationCancelledRunLifecycle(TypedDict):
    """The run was stopped, perhaps before it began."""

    status: Literal["cancelled"]
    createdAt: str
    startedAt: NotRequired[str]
    completedAt: str


AutomationRunLifecycle: TypeAlias = Annotated[
    AutomationPendingRunLifecycle
    | AutomationRunningRunLifecycle
    | AutomationCompletedRunLifecycle
    | AutomationFailedRunLifecycle
    | AutomationCancelledRunLifecycle,
    Open("status"),
]


class AutomationRunSummary(TypedDict):
    """A run as its automation lists it."""

    resource: URI
    automation: URI
    origin: AutomationRunOrigin
    lifecycle: AutomationRunLifecycle
    primarySession: NotRequired[URI]
    sessionCount: Count
    _meta: NotRequired[JsonObject]


class AutomationRunState(TypedDict):
    """Everything about one run."""

    resource: URI
    automation: URI
    origin: AutomationRunOrigin
    lifecycle: AutomationRunLifecycle
    sessions: list[URI]
    primarySession: NotRequired[URI]
    _meta: NotRequired[JsonObject]
