"""Params and results of the commands about chats: making, moving, paging, completing input.

Types only; which sources and directories a host accepts is its policy.
"""

from typing import Annotated, Literal, NotRequired, TypeAlias

from typing_extensions import TypedDict

from agenthost.protocol.chat.messages import Message, MessageAttachment
from agenthost.protocol.chat.state import SideChatSelection
from agenthost.protocol.params import BaseParams
from agenthost.protocol.schema.scalars import URI, Channel, Count, Integer
from agenthost.protocol.schema.unions import Closed, Open

CompletionItemKind: TypeAlias = Literal["userMessage"]


class FetchTurnsParams(BaseParams):
    """Load older turns of a chat."""

    cursor: NotRequired[str]


class FetchTurnsResult(TypedDict):
    """The turns were sent, as an action before this answer."""


class CompletionsParams(BaseParams):
    """Ask what could be inserted at a place; ``offset`` counts UTF-16 code units."""

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


class CreateChatParams(BaseParams):
    """Make a chat in a session, under a URI that the client chose."""

    chat: Channel
    initialMessage: NotRequired[Message]
    source: NotRequired[ChatSource]
    workingDirectories: NotRequired[list[URI]]


class DisposeChatParams(BaseParams):
    """Give up a chat."""


class ChatMoveToSessionDestination(TypedDict):
    """The chat goes to a session that is there, behind a given chat or to the end."""

    kind: Literal["session"]
    session: URI
    after: NotRequired[URI]


class ChatMoveToNewSessionDestination(TypedDict):
    """The chat becomes a session of its own."""

    kind: Literal["newSession"]


# Open, so that a host can say in words that it does not know a destination.
ChatMoveDestination: TypeAlias = Annotated[
    ChatMoveToSessionDestination | ChatMoveToNewSessionDestination, Open("kind")
]


class MoveChatParams(BaseParams):
    """Move a chat, with those that belong to it, to another session."""

    destination: ChatMoveDestination


class MoveChatResult(TypedDict):
    """The session in which the chat is now."""

    session: URI
