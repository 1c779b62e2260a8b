"""The annotations channel: conversations anchored to a session's turns and files.

State and actions; the reducers are in ``annotations_reducers``. Who may annotate, and that an
annotation keeps at least one entry, is policy and decided by the host.
"""

from typing import Annotated, Literal, NotRequired, TypeAlias

from typing_extensions import TypedDict

from agenthost.protocol.common import JsonObject, StringOrMarkdown, TextRange
from agenthost.protocol.schema.scalars import URI, Integer
from agenthost.protocol.schema.unions import Open


class AnnotationsSummary(TypedDict):
    """How much is annotated, and on which channel."""

    resource: URI
    annotationCount: Integer
    entryCount: Integer


class AnnotationOrigin(TypedDict):
    """What an annotation is about: a session, perhaps one chat of it, perhaps one turn."""

    session: URI
    chat: NotRequired[URI]
    turnId: NotRequired[str]


class AnnotationEntry(TypedDict):
    """One contribution to an annotation."""

    id: str
    text: StringOrMarkdown
    _meta: NotRequired[JsonObject]


class Annotation(TypedDict):
    """A conversation about a place in a file as its origin left it; no range: the whole file."""

    id: str
    origin: AnnotationOrigin
    resource: URI
    range: NotRequired[TextRange]
    resolved: bool
    entries: list[AnnotationEntry]
    _meta: NotRequired[JsonObject]


class AnnotationsState(TypedDict):
    """All annotations of a session."""

    annotations: list[Annotation]


class AnnotationsSetAction(TypedDict):
    """An annotation is added, or replaced whole."""

    type: Literal["annotations/set"]
    annotation: Annotation


class AnnotationsUpdatedAction(TypedDict):
    """Some of an annotation's anchors or its resolution changed."""

    type: Literal["annotations/updated"]
    annotationId: str
    origin: NotRequired[AnnotationOrigin]
    resource: NotRequired[URI]
    range: NotRequired[TextRange]
    resolved: NotRequired[bool]


class AnnotationsRemovedAction(TypedDict):
    """An annotation is gone."""

    type: Literal["annotations/removed"]
    annotationId: str


class AnnotationsEntrySetAction(TypedDict):
    """An entry is added, or replaced whole."""

    type: Literal["annotations/entrySet"]
    annotationId: str
    entry: AnnotationEntry


class AnnotationsEntryRemovedAction(TypedDict):
    """An entry is gone."""

    type: Literal["annotations/entryRemoved"]
    annotationId: str
    entryId: str


AnnotationsAction: TypeAlias = Annotated[
    AnnotationsSetAction
    | AnnotationsUpdatedAction
    | AnnotationsRemovedAction
    | AnnotationsEntrySetAction
    | AnnotationsEntryRemovedAction,
    Open("type"),
]
