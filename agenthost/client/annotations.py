"""The annotations of a session: conversations about places in its files."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from agenthost.client.handle import Handle
from agenthost.protocol.chat.parts import turns_of

if TYPE_CHECKING:
    from agenthost.client.state.dispatches import Dispatch
    from agenthost.protocol.annotations import (
        Annotation,
        AnnotationOrigin,
        AnnotationsState,  # noqa: F401
    )
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
        turn_id: str | None = None,
        chat: str | None = None,
        range: TextRange | None = None,
    ) -> tuple[str, Dispatch]:
        """Annotate a file, or a range of it, and return the annotation's id too.

        ``turn_id`` says which turn left the file so; ``chat`` is its chat's URI, which need not be
        given where the client follows that chat.
        """
        id = str(uuid.uuid4())
        annotation: dict[str, Any] = {
            "id": id,
            "origin": self._origin(turn_id, chat),
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

    def _origin(self, turn_id: str | None, chat: str | None) -> AnnotationOrigin:
        session = self.channel.mirror.around.session
        origin: AnnotationOrigin = {"session": session}
        if chat is None and turn_id is not None:
            chat = self._chat_of(session, turn_id)
        if chat is not None:
            origin["chat"] = chat
        if turn_id is not None:
            origin["turnId"] = turn_id
        return origin

    def _chat_of(self, session: str, turn_id: str) -> str | None:
        """Return the chat in which a turn took place, among those that the client follows."""
        for channel in self._core.channels.values():
            if channel.owner != session or channel.kind != "chat":
                continue
            if any(turn["id"] == turn_id for turn in turns_of(channel.state)):
                return channel.uri
        return None
