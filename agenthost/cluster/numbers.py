"""How the realm's messages become sequence numbers of AHP.

Each message of the stream has room for 255 numbered writes, four numbers apart: an older protocol
may need several actions for one. What lies between the last write and the next message is free
for what a front sends without it being in the log.
"""

from __future__ import annotations

PER_MESSAGE = 1024
MOST_WRITES = 255
_APART = 4


def number(message: int, index: int) -> int:
    """Return the sequence number of a message's write."""
    return message * PER_MESSAGE + _APART * index + _APART


def message_of(number: int) -> int:
    """Return the last message that whoever saw this number has seen, at least in part."""
    return (number - _APART) // PER_MESSAGE
