"""The kinds of channels that this host has; a new one is one more line."""

from __future__ import annotations

from agenthost.host.channels.annotations_kind import ANNOTATIONS
from agenthost.host.channels.automation.kinds import CATALOGUE, RUN
from agenthost.host.channels.canvas.kind import CANVAS
from agenthost.host.channels.changeset.kind import CHANGESET
from agenthost.host.channels.chat.kind import CHAT
from agenthost.host.channels.otlp_kind import OTLP
from agenthost.host.channels.resource_watch.kind import RESOURCE_WATCH
from agenthost.host.channels.root_kind import ROOT_KIND
from agenthost.host.channels.session.kind import SESSION
from agenthost.host.channels.terminal.kind import TERMINAL
from agenthost.host.log.kind import AnyKind

KINDS: tuple[AnyKind, ...] = (
    ROOT_KIND,
    SESSION,
    CHAT,
    ANNOTATIONS,
    CATALOGUE,
    RUN,
    CANVAS,
    RESOURCE_WATCH,
    TERMINAL,
    CHANGESET,
    OTLP,
)
