"""Titles of chats and sessions, also of those that nobody has named yet (pure).

When a chat is named after its first message is decided in ``chat.consequences``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agenthost.host.channels.chat.extra import ChatChannel
    from agenthost.host.channels.session.kind import SessionChannel

# What a session and a chat are called until a first message names them.
UNTITLED_SESSION = "New session"
UNTITLED_CHAT = "New chat"
LONGEST_TITLE = 60


def title_from(message: str) -> str:
    """Return the title that a first message gives: its beginning, or nothing when it is blank."""
    return clipped(message, LONGEST_TITLE)


def clipped(text: str, most: int) -> str:
    """Return a text in one line of at most so many characters, with an ellipsis where it is cut."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def title_of(chat: ChatChannel, session: SessionChannel) -> str:
    """Return a chat's title, which only its entry in the session keeps true."""
    for entry in session.state["chats"]:
        if entry["resource"] == chat.uri:
            title: str = entry["title"]
            return title
    return str(chat.state["title"])
