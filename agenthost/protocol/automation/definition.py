"""What an automation does and when: its message, its session, its triggers.

Types only. What an expression of a schedule means, and whether a host can do what is defined, is
the host's affair.
"""

from typing import Annotated, Literal, NotRequired, TypeAlias

from typing_extensions import TypedDict

from agenthost.protocol.chat.messages import Message
from agenthost.protocol.common import AgentSelection, ConfigSchema, JsonObject, ModelSelection
from agenthost.protocol.schema.lists import UniqueBy
from agenthost.protocol.schema.scalars import URI, OpenWord, Positive
from agenthost.protocol.schema.unions import Open
from agenthost.protocol.session.customizations import ClientPluginCustomization

AutomationMisfirePolicy: TypeAlias = Annotated[Literal["skip", "runOnce"], OpenWord()]


class AutomationSchedule(TypedDict):
    """Recurring minutes: a cron expression of five fields, read in a time zone of the IANA's."""

    expression: str
    timeZone: str


class AutomationScheduleTrigger(TypedDict):
    """Runs at given times; ``misfirePolicy`` says what becomes of those that were missed."""

    id: str
    kind: Literal["schedule"]
    schedule: AutomationSchedule
    misfirePolicy: NotRequired[AutomationMisfirePolicy]


class AutomationTriggerEventDefinition(TypedDict):
    """Something that may happen, by a name and in words."""

    id: str
    title: str
    description: NotRequired[str]


class AutomationEventTrigger(TypedDict):
    """Runs when something happens that the host knows of."""

    id: str
    kind: Literal["event"]
    type: str
    title: str
    description: NotRequired[str]
    events: list[AutomationTriggerEventDefinition]
    config: NotRequired[JsonObject]


AutomationTrigger: TypeAlias = Annotated[
    AutomationScheduleTrigger | AutomationEventTrigger, Open("kind")
]


class AutomationTriggerDefinition(TypedDict):
    """A kind of event trigger that a host offers."""

    type: str
    title: str
    description: NotRequired[str]
    events: list[AutomationTriggerEventDefinition]
    configSchema: NotRequired[ConfigSchema]


class AutomationAfterRunsCondition(TypedDict):
    """The automation is switched off after so many runs that it started by itself."""

    kind: Literal["afterRuns"]
    max: Positive


class AutomationAfterDateCondition(TypedDict):
    """The automation is switched off at a date."""

    kind: Literal["afterDate"]
    date: str


AutomationDisableCondition: TypeAlias = Annotated[
    AutomationAfterRunsCondition | AutomationAfterDateCondition, Open("kind")
]


# Not annotated as an alias: the protocol has no type of this name.
DisableConditions = Annotated[list[AutomationDisableCondition], UniqueBy("kind")]


class AutomationSessionTemplate(TypedDict):
    """How the session of a run is made."""

    provider: NotRequired[str]
    model: NotRequired[ModelSelection]
    agent: NotRequired[AgentSelection]
    workingDirectories: NotRequired[list[URI]]
    config: NotRequired[JsonObject]
    customizations: NotRequired[list[ClientPluginCustomization]]


class AutomationDefinition(TypedDict):
    """What somebody wants done, and when."""

    title: str
    message: Message
    session: AutomationSessionTemplate
    enabled: bool
    triggers: list[AutomationTrigger]
    disableConditions: NotRequired[DisableConditions]
    _meta: NotRequired[JsonObject]
