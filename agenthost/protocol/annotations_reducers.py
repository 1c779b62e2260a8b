"""Reducers of annotations; the types are in ``annotations``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from agenthost.protocol.json_edits import (
    carry_given,
    index_by,
    remove_by,
    replace_at,
    updated,
    upsert_by,
)
from agenthost.protocol.reducer_registry import reduces

if TYPE_CHECKING:
    from agenthost.protocol.annotations import (
        Annotation,
        AnnotationsEntryRemovedAction,
        AnnotationsEntrySetAction,
        AnnotationsRemovedAction,
        AnnotationsSetAction,
        AnnotationsState,
        AnnotationsUpdatedAction,
    )


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
    given = carry_given(action, "origin", "resource", "range", "resolved")
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
