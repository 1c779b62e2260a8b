"""The output of a terminal as one stream of text, each character told once.

Owns how a snapshot that comes after a reconnect joins what was told before it. Hosts keep only the
end of what a terminal printed and number nothing, so the two are laid over each other: what the
snapshot begins with was the end of what was told.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from agenthost.client.errors import Lagged
from agenthost.client.state.channel import Reset
from agenthost.client.state.scrollback import printed

if TYPE_CHECKING:
    from agenthost.client.state.channel import Channel
    from agenthost.protocol.envelopes import ActionEnvelope
    from agenthost.protocol.terminal import TerminalState

# Characters of what was told that are remembered; more than hosts keep themselves.
_REMEMBERED = 256 * 1024

# Actions that may wait to be read. Whoever is slower goes on with what the state still holds.
_MOST_WAITING = 512


async def told_output(channel: Channel[TerminalState]) -> AsyncIterator[str]:
    """Yield a terminal's output, from what its state holds until its process has ended.

    Raises:
        ChannelGone: the terminal went while its process ran.
    """
    # Nothing can come between these two.
    reader = channel.envelopes(_MOST_WAITING)
    output = _Output(channel)
    text = output.begin()
    while True:
        if text:
            yield text
        if output.ended:
            return
        try:
            text = output.told(await anext(reader))
        except Lagged:
            reader = channel.envelopes(_MOST_WAITING)
            text = output.catch_up()


class _Output:
    """How far somebody has read a terminal's output."""

    def __init__(self, channel: Channel[TerminalState]) -> None:
        self._channel = channel
        self._told = ToldText()
        # As the mirror counts them.
        self._position = self._epoch = 0
        self.ended = False

    def begin(self) -> str:
        """Return what the state holds now, as far as it was not told."""
        scrollback = self._channel.mirror.scrollback
        assert scrollback is not None
        self._position, self._epoch = scrollback.total, scrollback.epoch
        return self._joined(self._channel.confirmed)

    def told(self, item: ActionEnvelope | Reset[TerminalState]) -> str:
        """Return what an item of the channel adds to the output."""
        if isinstance(item, Reset):
            self._epoch += 1
            return self._joined(item.state)
        if item.get("rejectionReason") is not None:
            return ""
        match item["action"]:
            case {"type": "terminal/data", "data": str(text)}:
                self._position += len(text)
                self._told.add(text)
                return text
            case {"type": "terminal/cleared"}:
                self._told.forget()
            case {"type": "terminal/exited"}:
                self.ended = True
        return ""

    def catch_up(self) -> str:
        """Return what came since this was last read, as far as the state still holds it."""
        scrollback = self._channel.mirror.scrollback
        assert scrollback is not None
        if scrollback.epoch != self._epoch:
            return self.begin()
        missed, self._position = scrollback.total - self._position, scrollback.total
        state = self._channel.confirmed
        self.ended = _has_ended(state)
        text = printed(state)
        text = text[max(0, len(text) - missed) :]
        self._told.add(text)
        return text

    def _joined(self, state: TerminalState) -> str:
        self.ended = _has_ended(state)
        return self._told.joined(printed(state))


def _has_ended(state: TerminalState) -> bool:
    return state["lifecycle"]["status"] == "exited"


class ToldText:
    """What was told of an output, as far as it is needed to go on after a reconnect."""

    def __init__(self, remembered: int = _REMEMBERED) -> None:
        self._most = remembered
        self._pieces: list[str] = []
        self._length = 0
        # Whether this is not everything that was told.
        self._cut = False

    def add(self, text: str) -> None:
        """Remember that this was told."""
        self._pieces.append(text)
        self._length += len(text)
        if self._length > 2 * self._most:
            self._pieces = [self._all()[-self._most :]]
            self._length = self._most
            self._cut = True

    def forget(self) -> None:
        """Forget what was told: the terminal was cleared."""
        self._pieces, self._length, self._cut = [], 0, False

    def joined(self, printed: str) -> str:
        """Return what is new in all output that a host still has; it is told from then on."""
        told = self._all()
        if self._cut and (found := printed.find(told)) >= 0:
            # The host remembers more than we do.
            new = printed[found + len(told) :]
        else:
            new = printed[overlap(told, printed) :]
        self.add(new)
        return new

    def _all(self) -> str:
        return "".join(self._pieces)


def overlap(before: str, after: str) -> int:
    """Return how many characters at the end of one text are the beginning of another, at most.

    In a time that grows with the texts and not with what they repeat.
    """
    before = before[-len(after) :] if after else ""
    if after.startswith(before):
        return len(before)
    # How long a beginning of ``after`` ends at each of its characters, itself left out.
    borders = [0] * len(after)
    length = 0
    for index in range(1, len(after)):
        while length and after[index] != after[length]:
            length = borders[length - 1]
        if after[index] == after[length]:
            length += 1
        borders[index] = length
    length = 0
    for character in before:
        while length and (length == len(after) or character != after[length]):
            length = borders[length - 1]
        if character == after[length]:
            length += 1
    return length
