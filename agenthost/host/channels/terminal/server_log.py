"""The log of a program that runs beside a session, as a terminal that people can open and read.

Nothing runs in it and nobody types into it; it is in memory only, as long as its session is.
"""

from __future__ import annotations

import codecs
import uuid
from typing import TYPE_CHECKING

from agenthost.host.channels.terminal.kind import TERMINAL, TerminalChannel
from agenthost.host.log.directory import Directory
from agenthost.host.log.writer import Writer
from agenthost.protocol.uris import terminal_uri

if TYPE_CHECKING:
    from agenthost.protocol.terminal import TerminalSessionClaim, TerminalState


class LogTerminal:
    """A terminal that shows what a program prints."""

    def __init__(self, writer: Writer, directory: Directory, title: str, session: str, chat: str):
        self._writer = writer
        self._directory = directory
        # What is no UTF-8 is shown as such, and a character may come in two pieces.
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        claim: TerminalSessionClaim = {"kind": "session", "session": session, "chat": chat}
        state: TerminalState = {
            "title": title,
            "content": [],
            "lifecycle": {"status": "running"},
            "claim": claim,
            "isPty": False,
        }
        uri = terminal_uri(str(uuid.uuid4()))
        self._channel: TerminalChannel = directory.create(uri, TERMINAL, state)
        self._channel.holds += 1

    @property
    def uri(self) -> str:
        """The terminal's channel."""
        return self._channel.uri

    def write(self, data: bytes) -> None:
        """Show what a program printed."""
        self.note(self._decoder.decode(data))

    def note(self, text: str) -> None:
        """Show a text; its lines begin at the left, as in a terminal."""
        shown = text.replace("\r\n", "\n").replace("\n", "\r\n")
        if shown and self._directory.has(self._channel):
            self._writer.apply(self._channel, {"type": "terminal/data", "data": shown})

    def close(self) -> None:
        """Take the terminal away."""
        if self._directory.has(self._channel):
            self._writer.apply(self._channel, {"type": "terminal/exited"})
            self._channel.holds -= 1
            self._directory.drop(self._channel)
