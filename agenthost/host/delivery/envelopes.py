"""Outgoing envelopes: encoded once per protocol version and shared by all who receive them.

Owns the bytes of ``action`` messages and what may be merged for a slow reader. Does not know who
receives them: ``fanout`` does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

from agenthost.protocol.appending import (
    AppendKey,
    GrowingText,
    append_key,
    appended_text,
    with_text,
)
from agenthost.protocol.jsonrpc import dumps
from agenthost.transport import Encoded

if TYPE_CHECKING:
    from agenthost.protocol.common import Action

_A = TypeVar("_A")
# The channel, and what in it is appended to.
TextKey = tuple[str, AppendKey]


class Envelope(Encoded):
    """One encoded ``action`` message with what fan-out needs to know of it."""

    __slots__ = ("action", "channel", "plain", "seq")

    def __init__(
        self, payload: bytes, channel: str, seq: int, action: Action, *, plain: bool
    ) -> None:
        super().__init__(payload)
        self.channel = channel
        self.seq = seq
        self.action = action
        # Whether the action is all it says. One with an origin or a rejection speaks of exactly
        # this action, which a client may have made up.
        self.plain = plain


class MergedText:
    """Neighbouring text appends gathered for a reader that cannot keep up."""

    __slots__ = ("_first", "_more", "_seq", "key", "size")

    def __init__(self, key: TextKey, first: Envelope) -> None:
        self.key = key
        # About how many bytes this will be once encoded.
        self.size = len(first.payload)
        self._first = first
        # What comes behind the first one's text.
        self._more = GrowingText()
        self._seq = first.seq

    def absorb(self, envelope: Envelope) -> int:
        """Append a neighbour and return by how many bytes this grew."""
        text = appended_text(envelope.action)
        self._more.append(text)
        self._seq = envelope.seq
        grown = len(text.encode())
        self.size += grown
        return grown

    def encode(self) -> Envelope:
        """Return one envelope that carries all the text, numbered like its last part."""
        if not self._more:
            return self._first
        first = self._first.action
        action = with_text(first, appended_text(first) + str(self._more))
        return encode_envelope(self._first.channel, action, self._seq)


def text_key(envelope: Envelope) -> TextKey | None:
    """Say what an envelope appends to, or None when it must stay by itself."""
    key = append_key(envelope.action) if envelope.plain else None
    return None if key is None else (envelope.channel, key)


def numbered(actions: Sequence[_A], seq: int) -> Iterator[tuple[_A, int, bool]]:
    """Give each of the actions that one has become its number, and say whether it is the last.

    The last has the number of the action itself, and with it its origin: one action has one answer.
    The others have the numbers before, which were taken for them.
    """
    first = seq - len(actions) + 1
    for number, action in enumerate(actions, first):
        yield action, number, number == seq


def encode_envelope(
    channel: str,
    action: Action,
    seq: int,
    origin: Mapping[str, object] | None = None,
    rejection: str | None = None,
    *,
    action_json: bytes | None = None,
) -> Envelope:
    """Encode an ``action`` message, reusing the action's JSON where the log has made it already."""
    head = _envelope_head(channel)
    content = action_json if action_json is not None else dumps(action)
    if origin is None and rejection is None:
        payload = b'%b%b,"serverSeq":%d}}' % (head, content, seq)
        return Envelope(payload, channel, seq, action, plain=True)
    pieces: Sequence[bytes] = (
        head,
        content,
        b',"serverSeq":%d' % seq,
        b',"origin":' + dumps(origin) if origin is not None else b"",
        b',"rejectionReason":' + dumps(rejection) if rejection is not None else b"",
        b"}}",
    )
    return Envelope(b"".join(pieces), channel, seq, action, plain=False)


# A stream has one channel for thousands of envelopes.
@lru_cache(maxsize=64)
def _envelope_head(channel: str) -> bytes:
    return b'{"jsonrpc":"2.0","method":"action","params":{"channel":%b,"action":' % dumps(channel)
