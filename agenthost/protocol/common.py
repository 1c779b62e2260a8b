"""Wire types that several channels share: content references, edits, usage, errors, config schemas.

Types only, in wire spelling; channel states and actions live beside their reducers, and scalars in
``schema.scalars``.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired, TypeAlias

from typing_extensions import TypedDict

from agenthost.protocol.schema.scalars import (
    URI,
    Count,
    Integer,
    JsonPrimitive,
    OpenWord,
)
from agenthost.protocol.schema.unions import StringOr

# A free-form map: its values, null included, belong to whoever wrote them.
JsonObject: TypeAlias = dict[str, Any]

# The same where it is only read. Not annotated as aliases, this and the next: ``wire_types``
# gathers those, and the protocol has no types of these names.
JsonMapping = Mapping[str, Any]

# An action of any channel as it travels; what it holds goes by its ``type``.
Action = dict[str, Any]

# A bitset, see ``status``; bits that are not known yet must survive.
SessionStatus: TypeAlias = Integer


class Markdown(TypedDict):
    """Text to be rendered as Markdown."""

    markdown: str


StringOrMarkdown: TypeAlias = Annotated[str | Markdown, StringOr()]


class Icon(TypedDict):
    """An image that stands for something, possibly for one colour theme only."""

    src: URI
    contentType: NotRequired[str]
    sizes: NotRequired[list[str]]
    theme: NotRequired[Annotated[Literal["light", "dark"], OpenWord()]]


class TextPosition(TypedDict):
    """A zero-based place in a text."""

    line: Integer
    character: Integer


class TextRange(TypedDict):
    """A stretch of text from ``start`` up to ``end``."""

    start: TextPosition
    end: TextPosition


class TextSelection(TypedDict):
    """The part of a resource that its user selected."""

    range: TextRange


class ContentRef(TypedDict):
    """Content kept outside the state, to be fetched by its URI."""

    uri: URI
    sizeHint: NotRequired[Integer]
    contentType: NotRequired[str]
    nonce: NotRequired[str]


class FileEditSide(TypedDict):
    """Where a file is on one side of an edit, and where its content can be read."""

    uri: URI
    content: ContentRef


class FileEditDiffStats(TypedDict):
    """How many lines an edit adds and removes; an absent number is unknown, not zero."""

    added: NotRequired[Integer]
    removed: NotRequired[Integer]


class FileEdit(TypedDict):
    """One file's change: only ``after`` creates it, only ``before`` deletes it."""

    before: NotRequired[FileEditSide]
    after: NotRequired[FileEditSide]
    diff: NotRequired[FileEditDiffStats]


class FileEditCollection(TypedDict):
    """The edits that a tool call is about to make."""

    items: list[FileEdit]


class ChangesSummary(TypedDict):
    """How much a session or a chat changed."""

    additions: NotRequired[Integer]
    deletions: NotRequired[Integer]
    files: NotRequired[Integer]


class UsageInfo(TypedDict):
    """Tokens that one turn consumed, as its agent reported them."""

    inputTokens: NotRequired[Integer]
    outputTokens: NotRequired[Integer]
    model: NotRequired[str]
    cacheReadTokens: NotRequired[Integer]
    _meta: NotRequired[JsonObject]


class ErrorInfo(TypedDict):
    """A failure as it is shown in state."""

    errorType: str
    message: str
    stack: NotRequired[str]
    _meta: NotRequired[JsonObject]


class ModelSelection(TypedDict):
    """The model chosen for a message, with its settings."""

    id: str
    config: NotRequired[dict[str, JsonPrimitive]]


class AgentSelection(TypedDict):
    """The custom agent chosen for a message."""

    uri: URI


class ProtectedResourceMetadata(TypedDict):
    """What a client must know to obtain a token for a protected resource (RFC 9728)."""

    resource: str
    resource_name: NotRequired[str]
    authorization_servers: NotRequired[list[str]]
    jwks_uri: NotRequired[str]
    scopes_supported: NotRequired[list[str]]
    bearer_methods_supported: NotRequired[list[str]]
    resource_signing_alg_values_supported: NotRequired[list[str]]
    resource_documentation: NotRequired[str]
    resource_policy_uri: NotRequired[str]
    resource_tos_uri: NotRequired[str]
    required: NotRequired[bool]


ConfigValueType: TypeAlias = Annotated[
    Literal["string", "number", "boolean", "array", "object"], OpenWord()
]


class ConfigPropertySchema(TypedDict):
    """One setting: its type, its label, and the values it may take."""

    type: ConfigValueType
    title: str
    description: NotRequired[str]
    default: NotRequired[Any]
    enum: NotRequired[list[JsonPrimitive]]
    enumLabels: NotRequired[list[str]]
    enumDescriptions: NotRequired[list[str]]
    readOnly: NotRequired[bool]
    items: NotRequired["ConfigPropertySchema"]
    minItems: NotRequired[Count]
    maxItems: NotRequired[Count]
    properties: NotRequired[dict[str, "ConfigPropertySchema"]]
    required: NotRequired[list[str]]
    additionalProperties: NotRequired["ConfigPropertySchema"]


class ConfigSchema(TypedDict):
    """A group of settings by name."""

    type: Literal["object"]
    properties: dict[str, ConfigPropertySchema]
    required: NotRequired[list[str]]


class AuthRequiredErrorData(TypedDict):
    """What an authentication error tells: the resources that need a token."""

    resources: list[ProtectedResourceMetadata]


class UnsupportedProtocolVersionErrorData(TypedDict):
    """What a failed negotiation tells: the versions that would have worked."""

    supportedVersions: list[str]
