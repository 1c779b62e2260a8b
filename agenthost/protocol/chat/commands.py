"""Params and results of the commands about chats: making them, paging them, completing input.

Types only; which sources and directories a host accepts is its policy.
"""

from typing import Annotated, Literal, NotRequired, TypeAlias

from typing_extensions import TypedDict

from agenthost.protocol.chat.messages import Message, MessageAttachment
from agenthost.protocol.chat.state import SideChatSelection
from agenthost.protocol.schema.scalars import URI, Channel, Count, Integer
from agenthost.protocol.schema.unions import Closed

CompletionItemKind: TypeAlias = Literal["userMessage"]


class FetchTurnsParams(TypedDict):
    """Load older turns of a chat."""

    channel: Channel
    cursor: NotRequired[str]


class FetchTurnsResult(TypedDict):
    """The turns were sent, as an action before this answer."""


class CompletionsParams(TypedDict):
    """Ask what could be inserted at a place; ``offset`` counts UTF-16 code units."""

    channel: Channel
    kind: CompletionItemKind
    text: str
    offset: Count


class CompletionItem(TypedDict):
    """One thing that could be inserted, and the attachment that comes with it."""

    insertText: str
    rangeStart: NotRequired[Integer]
    rangeEnd: NotRequired[Integer]
    attachment: MessageAttachment


class CompletionsResult(TypedDict):
    """What could be inserted."""

    items: list[CompletionItem]


class ForkChatSource(TypedDict):
    """The new chat continues another after a completed turn."""

    kind: Literal["fork"]
    chat: URI
    turnId: str


class SideChatSource(TypedDict):
    """The new chat starts empty but knows another up to a turn."""

    kind: Literal["sideChat"]
    chat: URI
    turnId: str
    selection: NotRequired[SideChatSelection]


ChatSource: TypeAlias = Annotated[ForkChatSource | SideChatSource, Closed("kind")]


class CreateChatParams(TypedDict):
    """Make a chat in a session, under a URI that the client chose."""

    channel: Channel
    chat: Channel
    initialMessage: NotRequired[Message]
    source: NotRequired[ChatSource]
    workingDirectories: NotRequired[list[URI]]


class DisposeChatParams(TypedDict):
    """Give up a chat."""

    channel: Channel
