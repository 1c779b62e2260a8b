"""The output of a terminal as one stream of text, each character told once.

Owns how a snapshot that comes after a reconnect joins what was told before it. Hosts keep only the
end of what a terminal printed and number nothing, so the two are laid over each other: what the
snapshot begins with was the end of what was told.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any

from agenthost.client.state.channel import Reset

if TYPE_CHECKING:
    from agenthost.client.state.channel import Channel
    from agenthost.protocol.terminal import TerminalState

# Characters of what was told that are remembered; more than hosts keep themselves.
_REMEMBERED = 256 * 1024


def printed(state: Mapping[str, Any]) -> str:
    """Return all output that a terminal's state holds."""
    return "".join(part.get("output") or part.get("value") or "" for part in state["content"])


async def told_output(channel: Channel[TerminalState]) -> AsyncIterator[str]:
    """Yield a terminal's output, from what its state holds until its process has ended.

    Raises:
        ChannelGone: the terminal went while its process ran.
        Lagged: it was read too slowly.
    """
    # Nothing can come between these two.
    reader = channel.envelopes()
    state = channel.confirmed
    told = ToldText()
    if text := told.joined(printed(state)):
        yield text
    while not _ended(state):
        item = await anext(reader)
        if isinstance(item, Reset):
            state = item.state
            text = told.joined(printed(state))
        elif item.get("rejectionReason") is None:
            text, over = _told(item["action"], told)
            if over:
                return
        else:
            continue
        if text:
            yield text


def _told(action: Mapping[str, Any], told: ToldText) -> tuple[str, bool]:
    """Return what an action adds to the output, and whether it is the last one."""
    match action:
        case {"type": "terminal/data", "data": str(text)}:
            told.add(text)
            return text, False
        case {"type": "terminal/cleared"}:
            told.forget()
        case {"type": "terminal/exited"}:
            return "", True
    return "", False


def _ended(state: Mapping[str, Any]) -> bool:
    return bool(state["lifecycle"]["status"] == "exited")


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
    # How long a beginning of ``after`` ends at each of its characters, but not at its first.
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
