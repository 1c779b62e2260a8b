"""Params and results of the commands about automations, and what a host says it can do with them.

Types only. Making, changing and removing automations goes by actions.
"""

from typing import NotRequired

from typing_extensions import TypedDict

from agenthost.protocol.automation.definition import AutomationTriggerDefinition
from agenthost.protocol.common import JsonObject
from agenthost.protocol.params import CatalogueParams, RootParams
from agenthost.protocol.schema.scalars import URI, Count, NonEmptyString, NonNegative


class AutomationCreateCapability(TypedDict):
    """Clients may make automations."""


class AutomationScheduleCapabilities(TypedDict):
    """Automations may run at given times, no more often than so many minutes."""

    minIntervalMinutes: NotRequired[NonNegative]


class AutomationRunCancellationCapability(TypedDict):
    """Runs can be stopped."""


class AutomationCustomizationsCapability(TypedDict):
    """The sessions of runs can have plugins that a client brought."""


class AutomationCapabilities(TypedDict):
    """What a host can do with automations; a present key means yes."""

    create: NotRequired[AutomationCreateCapability]
    schedules: NotRequired[AutomationScheduleCapabilities]
    runCancellation: NotRequired[AutomationRunCancellationCapability]
    runHistoryLimit: NotRequired[Count]
    customizations: NotRequired[AutomationCustomizationsCapability]


class ListAutomationTriggerDefinitionsParams(RootParams):
    """Ask which event triggers there are, for sessions made so."""

    provider: NotRequired[str]
    workingDirectories: NotRequired[list[URI]]
    sessionConfig: NotRequired[JsonObject]


class ListAutomationTriggerDefinitionsResult(TypedDict):
    """The event triggers that there are."""

    items: list[AutomationTriggerDefinition]


class RunAutomationParams(CatalogueParams):
    """Run an automation now; the same ``requestId`` again means the same run."""

    automation: URI
    requestId: NonEmptyString


class RunAutomationResult(TypedDict):
    """The channel of the run."""

    resource: URI


class FetchAutomationRunsParams(CatalogueParams):
    """Load older runs of an automation."""

    automation: URI
    cursor: NotRequired[str]


class FetchAutomationRunsResult(TypedDict):
    """The runs were sent, as an action before this answer."""
