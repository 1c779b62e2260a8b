"""How the realm's messages become sequence numbers of AHP.

Each message of the stream has room for 255 numbered writes, four numbers apart: an older protocol
may need several actions for one, and empty writes go before one that becomes more than fit. What
lies between the last write and the next message is free for what a front sends without it being in
the log.
"""

from __future__ import annotations

PER_MESSAGE = 1024
MOST_WRITES = 255
_APART = 4
# As how many actions a write can be told: its first number is for what must be shown before it.
MOST_ACTIONS = _APART - 1
# Empty writes that may go before one; what would need more is told as a snapshot.
MOST_ROOM = 200


def number(message: int, index: int) -> int:
    """Return the sequence number of a message's write."""
    return message * PER_MESSAGE + _APART * index + _APART


def message_of(number: int) -> int:
    """Return the last message that whoever saw this number has seen, at least in part."""
    return (number - _APART) // PER_MESSAGE


def room_for(actions: int) -> int:
    """Return how many empty writes go before one that older versions are told as so many."""
    room = -(-(actions - MOST_ACTIONS) // _APART)
    return room if 0 < room <= MOST_ROOM else 0
