"""How a conversation ended: leave, switch to another chat, or start a new session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Leave:
    """Leave the chat; ``error`` says why if the user did not choose to."""

    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class SwitchTo:
    """Switch to another chat: a session's default chat, or the one named."""

    session: str
    chat: str | None = None


@dataclass(frozen=True, slots=True)
class StartSession:
    """Start a new session where this one works, with the agent named or else the same one."""

    agent: str | None = None


ConversationOutcome: TypeAlias = Leave | SwitchTo | StartSession
