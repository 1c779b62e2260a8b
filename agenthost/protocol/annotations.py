"""The annotations channel: conversations anchored to a session's turns and files.

State, actions and reducers. Who may annotate, and that an annotation keeps at least one entry, is
policy and decided by the host.
"""

from collections.abc import Callable
from typing import Annotated, Literal, NotRequired, TypeAlias

from typing_extensions import TypedDict

from agenthost.protocol.common import URI, Integer, JsonObject, StringOrMarkdown, TextRange
from agenthost.protocol.registry import reduces
from agenthost.protocol.structure import (
    carry_given,
    index_by,
    remove_by,
    replace_at,
    updated,
    upsert_by,
)
from agenthost.protocol.unions import Open

__all__ = [
    "Annotation",
    "AnnotationEntry",
    "AnnotationsAction",
    "AnnotationsEntryRemovedAction",
    "AnnotationsEntrySetAction",
    "AnnotationsRemovedAction",
    "AnnotationsSetAction",
    "AnnotationsState",
    "AnnotationsSummary",
    "AnnotationsUpdatedAction",
    "annotation_removed",
    "annotation_set",
    "annotation_updated",
    "entry_removed",
    "entry_set",
]


class AnnotationsSummary(TypedDict):
    """How much is annotated, and on which channel."""

    resource: URI
    annotationCount: Integer
    entryCount: Integer


class AnnotationEntry(TypedDict):
    """One contribution to an annotation."""

    id: str
    text: StringOrMarkdown
    _meta: NotRequired[JsonObject]


class Annotation(TypedDict):
    """A conversation about a place in a file as a turn left it; no range means the whole file."""

    id: str
    turnId: str
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
    turnId: NotRequired[str]
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


@reduces("annotations/set", client=True)
def annotation_set(
    state: AnnotationsState, action: AnnotationsSetAction, now: str
) -> AnnotationsState:
    """Replace the annotation of that id in place, or append a new one."""
    return updated(state, annotations=upsert_by(state["annotations"], "id", action["annotation"]))


@reduces("annotations/updated", client=True)
def annotation_updated(
    state: AnnotationsState, action: AnnotationsUpdatedAction, now: str
) -> AnnotationsState:
    """Overwrite what the action gives; what it leaves out stays."""
    given = carry_given(action, "turnId", "resource", "range", "resolved")
    return _edit(state, action["annotationId"], lambda annotation: updated(annotation, **given))


@reduces("annotations/removed", client=True)
def annotation_removed(
    state: AnnotationsState, action: AnnotationsRemovedAction, now: str
) -> AnnotationsState:
    """Drop the annotation of that id."""
    annotations = remove_by(state["annotations"], "id", action["annotationId"])
    return state if annotations is None else {**state, "annotations": annotations}


@reduces("annotations/entrySet", client=True)
def entry_set(
    state: AnnotationsState, action: AnnotationsEntrySetAction, now: str
) -> AnnotationsState:
    """Replace the entry of that id in place, or append a new one."""
    entry = action["entry"]

    def with_entry(annotation: Annotation) -> Annotation:
        return updated(annotation, entries=upsert_by(annotation["entries"], "id", entry))

    return _edit(state, action["annotationId"], with_entry)


@reduces("annotations/entryRemoved", client=True)
def entry_removed(
    state: AnnotationsState, action: AnnotationsEntryRemovedAction, now: str
) -> AnnotationsState:
    """Drop the entry of that id; the list may become empty."""
    entry_id = action["entryId"]

    def without_entry(annotation: Annotation) -> Annotation:
        entries = remove_by(annotation["entries"], "id", entry_id)
        return annotation if entries is None else {**annotation, "entries": entries}

    return _edit(state, action["annotationId"], without_entry)


def _edit(
    state: AnnotationsState, annotation_id: str, edit: Callable[[Annotation], Annotation]
) -> AnnotationsState:
    index = index_by(state["annotations"], "id", annotation_id)
    if index is None:
        return state
    before = state["annotations"][index]
    after = edit(before)
    if after is before:
        return state
    return {**state, "annotations": replace_at(state["annotations"], index, after)}
