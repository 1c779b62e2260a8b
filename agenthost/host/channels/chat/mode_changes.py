"""Answers the calls that wait for a yes when the mode of their session comes to cover them.

Which calls a mode covers is decided in ``auto_approvals``.
"""

from __future__ import annotations

from agenthost.host.channels.chat.auto_approvals import approvals_by_mode
from agenthost.host.channels.chat.kind import CHAT
from agenthost.host.channels.session.consequences import ApprovalsChanged
from agenthost.host.log.directory import Directory
from agenthost.host.log.effects import Effects
from agenthost.host.log.writer import Writer


class ModeChanges:
    """Answers what waits for a yes when the mode of its session comes to cover it."""

    def __init__(self, writer: Writer, directory: Directory, effects: Effects) -> None:
        self._writer = writer
        self._directory = directory
        effects.on(ApprovalsChanged, self._changed)

    def _changed(self, effect: ApprovalsChanged) -> None:
        session = effect.session
        for chat in self._directory.loaded(CHAT):
            if chat.session == session.uri:
                for answer in list(approvals_by_mode(chat.state, session.state)):
                    self._writer.apply(chat, answer)
