"""The annotations' room: what is particular to the channels of sessions' annotations."""

from __future__ import annotations

from typing import TypeAlias

from agenthost.host.log.channel import LiveChannel
from agenthost.host.log.kind import ChannelKind
from agenthost.protocol.annotations import AnnotationsState

AnnotationsChannel: TypeAlias = LiveChannel[AnnotationsState]


class AnnotationsKind(ChannelKind[AnnotationsState]):
    """The annotations of a session."""

    name = "annotations"


ANNOTATIONS = AnnotationsKind()
