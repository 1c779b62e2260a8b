"""The annotations kind of channel: what is particular to sessions' annotations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from agenthost.host.channels.ruled_kind import RuledKind
from agenthost.host.log.channel import LiveChannel, OwnerChannel
from agenthost.host.log.effects import Consequence
from agenthost.host.log.kind import Applied

if TYPE_CHECKING:
    from agenthost.protocol.annotations import AnnotationsState

AnnotationsChannel: TypeAlias = "LiveChannel[AnnotationsState]"


@dataclass(frozen=True, slots=True)
class CountAnnotations(Consequence):
    """Tell in a session's line how many annotations it has."""

    session: OwnerChannel
    annotations: AnnotationsState


class AnnotationsKind(RuledKind["AnnotationsState"]):
    """The annotations of a session."""

    name = "annotations"

    def follow(
        self, applied: Applied[AnnotationsState], owner: OwnerChannel | None
    ) -> Sequence[Consequence]:
        """Count them."""
        return (CountAnnotations(owner, applied.after),) if owner is not None else ()


ANNOTATIONS = AnnotationsKind()
