"""Work that a chat left running beside its turns: shells and other chats.

Types only. Such work outlives the turn that began it; who ends it is the agent's affair.
"""

from typing import Annotated, Literal, NotRequired, TypeAlias

from typing_extensions import TypedDict

from agenthost.protocol.common import JsonObject
from agenthost.protocol.schema.scalars import URI
from agenthost.protocol.schema.unions import Open


class BackgroundWorkBase(TypedDict):
    """What all background work shares."""

    id: str
    label: str
    startedAt: str
    _meta: NotRequired[JsonObject]


class BackgroundShellWork(BackgroundWorkBase):
    """A command that runs on, possibly in a terminal that can be followed."""

    kind: Literal["shell"]
    command: str
    terminal: NotRequired[URI]


class BackgroundSubagentWork(BackgroundWorkBase):
    """Another chat that works on."""

    kind: Literal["subagent"]
    chat: URI


BackgroundWork: TypeAlias = Annotated[BackgroundShellWork | BackgroundSubagentWork, Open("kind")]
