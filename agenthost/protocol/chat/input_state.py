"""Elicitation: the questions an agent asks, the answers people give.

Types only. Whether an answer fits its question is decided by the host when it is submitted.
"""

from typing import Annotated, Literal, NotRequired, TypeAlias

from typing_extensions import TypedDict

from agenthost.protocol.schema.scalars import URI, Integer, Number, OpenWord
from agenthost.protocol.schema.unions import Closed, Open

ChatInputResponseKind: TypeAlias = Annotated[Literal["accept", "decline", "cancel"], OpenWord()]


class ChatInputOption(TypedDict):
    """One choice of a select question."""

    id: str
    label: str
    description: NotRequired[str]
    recommended: NotRequired[bool]


class ChatInputQuestionBase(TypedDict):
    """What all questions share."""

    id: str
    title: NotRequired[str]
    message: str
    required: NotRequired[bool]


class ChatInputTextQuestion(ChatInputQuestionBase):
    """Asks for text; ``min`` and ``max`` bound its length."""

    kind: Literal["text"]
    format: NotRequired[str]
    min: NotRequired[Integer]
    max: NotRequired[Integer]
    defaultValue: NotRequired[str]


class ChatInputNumberQuestion(ChatInputQuestionBase):
    """Asks for a number, or for a whole one."""

    kind: Literal["number", "integer"]
    min: NotRequired[Number]
    max: NotRequired[Number]
    defaultValue: NotRequired[Number]


class ChatInputBooleanQuestion(ChatInputQuestionBase):
    """Asks yes or no."""

    kind: Literal["boolean"]
    defaultValue: NotRequired[bool]


class ChatInputSingleSelectQuestion(ChatInputQuestionBase):
    """Asks for one of several options."""

    kind: Literal["single-select"]
    options: list[ChatInputOption]
    allowFreeformInput: NotRequired[bool]


class ChatInputMultiSelectQuestion(ChatInputQuestionBase):
    """Asks for any of several options; ``min`` and ``max`` bound how many."""

    kind: Literal["multi-select"]
    options: list[ChatInputOption]
    allowFreeformInput: NotRequired[bool]
    min: NotRequired[Integer]
    max: NotRequired[Integer]


ChatInputQuestion: TypeAlias = Annotated[
    ChatInputTextQuestion
    | ChatInputNumberQuestion
    | ChatInputBooleanQuestion
    | ChatInputSingleSelectQuestion
    | ChatInputMultiSelectQuestion,
    Open("kind"),
]


class ChatInputTextAnswerValue(TypedDict):
    """A text that was entered."""

    kind: Literal["text"]
    value: str


class ChatInputNumberAnswerValue(TypedDict):
    """A number that was entered, whole or not."""

    kind: Literal["number"]
    value: Number


class ChatInputBooleanAnswerValue(TypedDict):
    """A yes or a no."""

    kind: Literal["boolean"]
    value: bool


class ChatInputSelectedAnswerValue(TypedDict):
    """The one option chosen, or free text in its place."""

    kind: Literal["selected"]
    value: str
    freeformValues: NotRequired[list[str]]


class ChatInputSelectedManyAnswerValue(TypedDict):
    """The options chosen, and free text besides."""

    kind: Literal["selected-many"]
    value: list[str]
    freeformValues: NotRequired[list[str]]


ChatInputAnswerValue: TypeAlias = Annotated[
    ChatInputTextAnswerValue
    | ChatInputNumberAnswerValue
    | ChatInputBooleanAnswerValue
    | ChatInputSelectedAnswerValue
    | ChatInputSelectedManyAnswerValue,
    Closed("kind"),
]


class ChatInputAnswered(TypedDict):
    """An answer, still a draft or submitted."""

    state: Literal["draft", "submitted"]
    value: ChatInputAnswerValue


class ChatInputSkipped(TypedDict):
    """A question that was passed over."""

    state: Literal["skipped"]
    freeformValues: NotRequired[list[str]]


ChatInputAnswer: TypeAlias = Annotated[ChatInputAnswered | ChatInputSkipped, Closed("state")]


class ChatInputRequest(TypedDict):
    """A set of questions, or a page to visit, with the answers so far by question id."""

    id: str
    message: NotRequired[str]
    url: NotRequired[URI]
    questions: NotRequired[list[ChatInputQuestion]]
    answers: NotRequired[dict[str, ChatInputAnswer]]
