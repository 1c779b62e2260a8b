"""The status bitset that sessions and chats share: one activity at a time, plus independent flags.

Owns the bits and how to set them while keeping those that it does not know. Knows neither channel:
``chat.active_turn`` computes a chat's activity, the session reducers write a session's.
"""

from __future__ import annotations

from typing import Final

# The activity. INPUT_NEEDED contains IN_PROGRESS, so compare under the mask.
IDLE: Final = 1
ERROR: Final = 2
IN_PROGRESS: Final = 8
INPUT_NEEDED: Final = 24
ACTIVITY_MASK: Final = 31

# Flags, independent of the activity and of each other.
IS_READ: Final = 32
IS_ARCHIVED: Final = 64


def with_activity(status: int, activity: int) -> int:
    """Return the status with its activity replaced and every flag kept, unknown ones too."""
    return status & ~ACTIVITY_MASK | activity


def with_flag(status: int, flag: int, on: bool) -> int:
    """Return the status with one flag set or cleared."""
    return status | flag if on else status & ~flag
