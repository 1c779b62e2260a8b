"""Messages of a chat and what may be attached to them.

Types only. Which origins a client may claim is policy and decided by the host.
"""

from typing import Annotated, Literal, NotRequired, TypeAlias

from typing_extensions import TypedDict

from agenthost.protocol.common import (
    AgentSelection,
    ContentRef,
    JsonObject,
    ModelSelection,
    TextRange,
    TextSelection,
)
from agenthost.protocol.schema.scalars import URI, OpenWord
from agenthost.protocol.schema.unions import Open

MessageKind: TypeAlias = Annotated[
    Literal["user", "agent", "tool", "systemNotification", "automation"], OpenWord()
]
PendingMessageKind: TypeAlias = Literal["steering", "queued"]


class MessageOrigin(TypedDict):
    """Who wrote a message."""

    kind: MessageKind


class MessageAttachmentBase(TypedDict):
    """What all attachments share; ``range`` is the mention inside the message text."""

    label: str
    range: NotRequired[TextRange]
    displayKind: NotRequired[str]
    _meta: NotRequired[JsonObject]


class SimpleMessageAttachment(MessageAttachmentBase):
    """An attachment that is nothing but what the model reads of it."""

    type: Literal["simple"]
    modelRepresentation: NotRequired[str]


class MessageEmbeddedResourceAttachment(MessageAttachmentBase):
    """A resource carried inside the message as base64."""

    type: Literal["embeddedResource"]
    data: str
    contentType: str
    selection: NotRequired[TextSelection]


class MessageResourceAttachment(MessageAttachmentBase, ContentRef):
    """A resource that the host fetches by its URI."""

    type: Literal["resource"]
    selection: NotRequired[TextSelection]


class MessageAnnotationsAttachment(MessageAttachmentBase):
    """Annotations of a session, all of them unless some are named."""

    type: Literal["annotations"]
    resource: URI
    annotationIds: NotRequired[list[str]]


class MessageChatAttachment(MessageAttachmentBase):
    """Another chat's transcript, up to and including ``endTurn``."""

    type: Literal["chat"]
    resource: URI
    endTurn: NotRequired[str]


MessageAttachment: TypeAlias = Annotated[
    SimpleMessageAttachment
    | MessageEmbeddedResourceAttachment
    | MessageResourceAttachment
    | MessageAnnotationsAttachment
    | MessageChatAttachment,
    Open("type"),
]


class Message(TypedDict):
    """Something said in a chat, with the model and agent it asks for."""

    text: str
    origin: MessageOrigin
    attachments: NotRequired[list[MessageAttachment]]
    model: NotRequired[ModelSelection]
    agent: NotRequired[AgentSelection]
    _meta: NotRequired[JsonObject]


class PendingMessage(TypedDict):
    """A message that waits for its moment."""

    id: str
    message: Message
