"""The catalogue of automations: each with its definition, its runs, and what may be done to it.

Types only.
"""

from typing import Annotated, Literal, NotRequired, TypeAlias

from typing_extensions import TypedDict

from agenthost.protocol.automation.definition import AutomationDefinition
from agenthost.protocol.automation.run import AutomationRunSummary
from agenthost.protocol.common import JsonObject
from agenthost.protocol.schema.scalars import URI, Count, OpenWord
from agenthost.protocol.session.customizations import PluginCustomization

AutomationOperation: TypeAlias = Annotated[Literal["update", "remove", "run"], OpenWord()]


class AutomationEntry(TypedDict):
    """One automation as the catalogue holds it; ``runsNextCursor`` says that older runs exist."""

    resource: URI
    definition: AutomationDefinition
    nextRunAt: NotRequired[str]
    runCount: NotRequired[Count]
    runs: list[AutomationRunSummary]
    runsNextCursor: NotRequired[str]
    operations: list[AutomationOperation]
    customizations: NotRequired[list[PluginCustomization]]
    createdAt: str
    modifiedAt: str
    _meta: NotRequired[JsonObject]


class AutomationState(TypedDict):
    """All automations of a host."""

    entries: list[AutomationEntry]
    _meta: NotRequired[JsonObject]
