"""The annotations of a session: conversations about places in its files."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from agenthost.client.handle import Handle

if TYPE_CHECKING:
    from agenthost.client.state.dispatches import Dispatch
    from agenthost.protocol.annotations import Annotation, AnnotationsState  # noqa: F401
    from agenthost.protocol.common import TextRange


class Annotations(Handle["AnnotationsState"]):
    """The annotations of one session that the client follows."""

    def __getitem__(self, annotation_id: str) -> Annotation:
        for annotation in self.state["annotations"]:
            if annotation["id"] == annotation_id:
                return annotation
        raise KeyError(annotation_id)

    def add(
        self,
        resource: str,
        text: str,
        *,
        turn_id: str,
        range: TextRange | None = None,
    ) -> tuple[str, Dispatch]:
        """Annotate a file, or a range of it, as a turn left it; return the annotation's id too."""
        id = str(uuid.uuid4())
        annotation: dict[str, Any] = {
            "id": id,
            "turnId": turn_id,
            "resource": resource,
            "resolved": False,
            "entries": [{"id": str(uuid.uuid4()), "text": text}],
        }
        if range is not None:
            annotation["range"] = range
        return id, self._dispatch({"type": "annotations/set", "annotation": annotation})

    def reply(self, annotation_id: str, text: str) -> Dispatch:
        """Add an entry to an annotation."""
        entry = {"id": str(uuid.uuid4()), "text": text}
        return self._dispatch(
            {"type": "annotations/entrySet", "annotationId": annotation_id, "entry": entry}
        )

    def resolve(self, annotation_id: str, resolved: bool = True) -> Dispatch:
        """Mark an annotation as resolved, or as open."""
        action = {"type": "annotations/updated", "annotationId": annotation_id}
        return self._dispatch({**action, "resolved": resolved})

    def remove(self, annotation_id: str) -> Dispatch:
        """Remove an annotation."""
        return self._dispatch({"type": "annotations/removed", "annotationId": annotation_id})

    def remove_entry(self, annotation_id: str, entry_id: str) -> Dispatch:
        """Remove one entry of an annotation."""
        action = {"type": "annotations/entryRemoved", "annotationId": annotation_id}
        return self._dispatch({**action, "entryId": entry_id})
