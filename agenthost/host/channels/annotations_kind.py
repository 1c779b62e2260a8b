"""The annotations kind of channel: what is particular to sessions' annotations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from agenthost.host.channels.ruled_kind import RuledKind, chats_of_turns
from agenthost.host.log.channel import LiveChannel, OwnerChannel
from agenthost.host.log.effects import Consequence
from agenthost.host.log.kind import Applied, Find
from agenthost.protocol.versions import Whereabouts

if TYPE_CHECKING:
    from agenthost.protocol.annotations import AnnotationsState
    from agenthost.protocol.common import Action

AnnotationsChannel: TypeAlias = "LiveChannel[AnnotationsState]"


class CountAnnotations(Consequence, frozen=True):
    """Tell in a session's line how many annotations it has."""

    session: OwnerChannel
    annotations: AnnotationsState


class AnnotationsKind(RuledKind["AnnotationsState"]):
    """The annotations of a session."""

    name = "annotations"

    async def place(
        self, channel: AnnotationsChannel, owner: OwnerChannel | None, sent: Action, find: Find
    ) -> Whereabouts:
        """Find the chats of the session's turns, which older versions name without their chats."""
        annotation = sent.get("annotation", sent)
        if owner is None or not isinstance(annotation, dict) or not annotation.get("turnId"):
            return Whereabouts(channel.session or "")
        return Whereabouts(owner.uri, (await chats_of_turns(find, owner)).get)

    def follow(
        self, applied: Applied[AnnotationsState], owner: OwnerChannel | None
    ) -> Sequence[Consequence]:
        """Count them."""
        return (CountAnnotations(owner, applied.after),) if owner is not None else ()


ANNOTATIONS = AnnotationsKind()
