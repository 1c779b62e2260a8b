"""Tool calls: their states from streamed parameters to the result, and what a result contains.

Types only. Which action leads from one state to which other is the chat reducer's affair.
"""

from typing import Annotated, Literal, NotRequired, TypeAlias

from typing_extensions import TypedDict

from agenthost.protocol.chat.messages import Message
from agenthost.protocol.common import (
    ContentRef,
    FileEdit,
    FileEditCollection,
    JsonObject,
    StringOrMarkdown,
)
from agenthost.protocol.schema.scalars import URI, Integer, Number, OpenWord
from agenthost.protocol.schema.unions import Open, StringOr
from agenthost.protocol.session.customizations import McpAuthRequirement

ToolCallRiskAssessmentKind: TypeAlias = Annotated[Literal["judge"], OpenWord()]
ConfirmationOptionKind: TypeAlias = Annotated[Literal["approve", "deny"], OpenWord()]
ToolCallConfirmationReason: TypeAlias = Annotated[
    Literal["not-needed", "user-action", "setting"], OpenWord()
]
ToolCallCancellationReason: TypeAlias = Annotated[
    Literal["denied", "skipped", "result-denied"], OpenWord()
]

# Inline parameters, or a reference to them where they are large.
ToolInput: TypeAlias = Annotated[str | ContentRef, StringOr()]


class ToolCallRiskAssessmentBase(TypedDict):
    """What risk assessments share: how they are made."""

    kind: ToolCallRiskAssessmentKind


class ToolCallRiskAssessmentLoadingState(ToolCallRiskAssessmentBase):
    """The risk is being judged."""

    status: Literal["loading"]


class ToolCallRiskAssessmentCompleteState(ToolCallRiskAssessmentBase):
    """The verdict: ``safety`` runs from 0, unsafe, to 1, safe."""

    status: Literal["complete"]
    reason: StringOrMarkdown
    safety: Number


ToolCallRiskAssessment: TypeAlias = Annotated[
    ToolCallRiskAssessmentLoadingState | ToolCallRiskAssessmentCompleteState, Open("status")
]


class ConfirmationOption(TypedDict):
    """One way to answer a confirmation; another ``group`` suggests a divider."""

    id: str
    label: str
    kind: ConfirmationOptionKind
    group: NotRequired[Integer]


class ToolCallClientContributor(TypedDict):
    """The tool belongs to a client, which runs it."""

    kind: Literal["client"]
    clientId: str


class ToolCallMcpContributor(TypedDict):
    """The tool belongs to an MCP server."""

    kind: Literal["mcp"]
    customizationId: str


ToolCallContributor: TypeAlias = Annotated[
    ToolCallClientContributor | ToolCallMcpContributor, Open("kind")
]


class ToolResultTextContent(TypedDict):
    """Text that a tool returned."""

    type: Literal["text"]
    text: str


class ToolResultEmbeddedResourceContent(TypedDict):
    """Data that a tool returned, as base64."""

    type: Literal["embeddedResource"]
    data: str
    contentType: str


class ToolResultResourceContent(ContentRef):
    """A resource that a tool returned, to be fetched."""

    type: Literal["resource"]


class ToolResultFileEditContent(FileEdit):
    """An edit that a tool made."""

    type: Literal["fileEdit"]


class TerminalCommandResult(TypedDict):
    """How a command in a terminal ended, with the tail of its output."""

    exitCode: NotRequired[Integer]
    preview: NotRequired[str]
    truncated: NotRequired[bool]


class ToolResultTerminalContent(TypedDict):
    """A terminal in which a tool works; without ``result`` the command has not ended."""

    type: Literal["terminal"]
    resource: URI
    title: str
    isPty: NotRequired[bool]
    result: NotRequired[TerminalCommandResult]


class ToolResultSubagentContent(TypedDict):
    """A worker chat that a tool started."""

    type: Literal["subagent"]
    resource: URI
    title: str
    agentName: NotRequired[str]
    description: NotRequired[str]


ToolResultContent: TypeAlias = Annotated[
    ToolResultTextContent
    | ToolResultEmbeddedResourceContent
    | ToolResultResourceContent
    | ToolResultFileEditContent
    | ToolResultTerminalContent
    | ToolResultSubagentContent,
    Open("type"),
]


class ToolCallError(TypedDict):
    """Why a tool call failed."""

    message: str
    code: NotRequired[str]


class ToolCallResult(TypedDict):
    """What a finished tool call brought."""

    success: bool
    pastTenseMessage: StringOrMarkdown
    content: NotRequired[list[ToolResultContent]]
    structuredContent: NotRequired[JsonObject]
    error: NotRequired[ToolCallError]


class ToolCallBase(TypedDict):
    """What a tool call keeps through all its states."""

    toolCallId: str
    toolName: str
    displayName: str
    intention: NotRequired[str]
    contributor: NotRequired[ToolCallContributor]
    _meta: NotRequired[JsonObject]


class ToolCallParameterFields(TypedDict):
    """What is known once the parameters are complete."""

    invocationMessage: StringOrMarkdown
    toolInput: NotRequired[ToolInput]


class ToolCallPostConfirmationFields(TypedDict):
    """What is known once the call may run."""

    confirmed: ToolCallConfirmationReason
    selectedOption: NotRequired[ConfirmationOption]


class ToolCallStreamingState(ToolCallBase):
    """The parameters are still arriving."""

    status: Literal["streaming"]
    partialInput: NotRequired[str]
    invocationMessage: NotRequired[StringOrMarkdown]


class ToolCallPendingConfirmationState(ToolCallBase, ToolCallParameterFields):
    """The call waits for someone to allow it."""

    status: Literal["pending-confirmation"]
    confirmationTitle: NotRequired[StringOrMarkdown]
    riskAssessment: NotRequired[ToolCallRiskAssessment]
    edits: NotRequired[FileEditCollection]
    editable: NotRequired[bool]
    options: NotRequired[list[ConfirmationOption]]


class ToolCallRunningState(ToolCallBase, ToolCallParameterFields, ToolCallPostConfirmationFields):
    """The call runs; ``content`` is what it has shown so far."""

    status: Literal["running"]
    content: NotRequired[list[ToolResultContent]]


class ToolCallAuthRequiredState(ToolCallParameterFields, ToolCallPostConfirmationFields):
    """The call stopped half-way because its MCP server wants a token."""

    # Spelled out rather than inherited: here the contributor is required and always MCP.
    toolCallId: str
    toolName: str
    displayName: str
    intention: NotRequired[str]
    contributor: ToolCallMcpContributor
    _meta: NotRequired[JsonObject]
    status: Literal["auth-required"]
    auth: McpAuthRequirement
    content: NotRequired[list[ToolResultContent]]


class ToolCallPendingResultConfirmationState(
    ToolCallBase, ToolCallParameterFields, ToolCallResult, ToolCallPostConfirmationFields
):
    """The call is done and someone must approve its result."""

    status: Literal["pending-result-confirmation"]


class ToolCallCompletedState(
    ToolCallBase, ToolCallParameterFields, ToolCallResult, ToolCallPostConfirmationFields
):
    """The call is over, well or badly."""

    status: Literal["completed"]


class ToolCallCancelledState(ToolCallBase, ToolCallParameterFields):
    """The call did not run to its end, or its result was refused."""

    status: Literal["cancelled"]
    reason: ToolCallCancellationReason
    reasonMessage: NotRequired[StringOrMarkdown]
    userSuggestion: NotRequired[Message]
    selectedOption: NotRequired[ConfirmationOption]


ToolCallState: TypeAlias = Annotated[
    ToolCallStreamingState
    | ToolCallPendingConfirmationState
    | ToolCallRunningState
    | ToolCallAuthRequiredState
    | ToolCallPendingResultConfirmationState
    | ToolCallCompletedState
    | ToolCallCancelledState,
    Open("status"),
]

ToolCallConfirmationState: TypeAlias = Annotated[
    ToolCallPendingConfirmationState | ToolCallPendingResultConfirmationState, Open("status")
]
