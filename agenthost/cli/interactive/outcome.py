"""How a conversation ends: for good, or for another one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Leave:
    """The user is done, or nothing is left to do; ``error`` says why in the latter case."""

    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class SwitchTo:
    """The user wants another chat: that of a session, its default one unless it is named."""

    session: str
    chat: str | None = None


ConversationOutcome: TypeAlias = Leave | SwitchTo
