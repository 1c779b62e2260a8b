"""Everything that can happen on the catalogue of automations.

Types only. What clients request changes no state by itself: the host answers by
``automation/set``.
"""

from typing import Annotated, Literal, NotRequired, TypeAlias

from typing_extensions import TypedDict

from agenthost.protocol.automation.definition import (
    AutomationDefinition,
    AutomationSessionTemplate,
    AutomationTrigger,
    DisableConditions,
)
from agenthost.protocol.automation.state import AutomationEntry
from agenthost.protocol.chat.messages import Message
from agenthost.protocol.common import JsonObject
from agenthost.protocol.schema.scalars import URI
from agenthost.protocol.schema.unions import Open


class AutomationDefinitionPatch(TypedDict):
    """The members of a definition that change; each is replaced whole."""

    title: NotRequired[str]
    message: NotRequired[Message]
    session: NotRequired[AutomationSessionTemplate]
    enabled: NotRequired[bool]
    triggers: NotRequired[list[AutomationTrigger]]
    disableConditions: NotRequired[DisableConditions]
    _meta: NotRequired[JsonObject]


class AutomationCreateRequestedAction(TypedDict):
    """Somebody wants an automation, under a URI that they chose."""

    type: Literal["automation/createRequested"]
    resource: URI
    definition: AutomationDefinition


class AutomationUpdateRequestedAction(TypedDict):
    """Somebody wants an automation changed."""

    type: Literal["automation/updateRequested"]
    resource: URI
    changes: AutomationDefinitionPatch


class AutomationSetAction(TypedDict):
    """An automation is added, or replaced whole."""

    type: Literal["automation/set"]
    automation: AutomationEntry


class AutomationRemovedAction(TypedDict):
    """An automation is gone."""

    type: Literal["automation/removed"]
    resource: URI


AutomationAction: TypeAlias = Annotated[
    AutomationCreateRequestedAction
    | AutomationUpdateRequestedAction
    | AutomationSetAction
    | AutomationRemovedAction,
    Open("type"),
]
