"""Channel URIs: the fixed root, and the URIs that a host mints itself.

A channel is what was *registered* under a URI, whatever its scheme: clients choose session and
chat URIs freely, so nothing here guesses a channel's kind from its spelling.
"""

from __future__ import annotations

from typing import Final

__all__ = [
    "ROOT",
    "annotations_uri",
    "canonical",
    "chat_uri",
    "content_uri",
    "is_nameable",
    "is_root",
    "session_uri",
]

ROOT: Final = "ahp-root://"

# Real clients normalise the root URI in these ways; all mean the one root channel.
_ROOT_SPELLINGS = frozenset({ROOT, "ahp-root:", "ahp-root:/", "ahp-root:///"})

# Characters that a channel's name may have.
_LONGEST = 2_048


def is_root(uri: str) -> bool:
    """Say whether a URI is the root channel, in any spelling that clients use."""
    return uri in _ROOT_SPELLINGS


def is_nameable(uri: str) -> bool:
    """Say whether a channel may be named so: a URI of sane length, without control characters.

    Names end up in listings, logs and terminals, where such characters mislead people.
    """
    return 0 < len(uri) <= _LONGEST and uri.isprintable()


def canonical(uri: str) -> str:
    """Return the spelling under which a channel is registered; only the root has several."""
    return ROOT if uri in _ROOT_SPELLINGS else uri


def session_uri(id: str) -> str:
    """Return the URI of a session that this side names."""
    return f"ahp-session:/{id}"


def chat_uri(id: str) -> str:
    """Return the URI of a chat that this side names."""
    return f"ahp-chat:/{id}"


def annotations_uri(session: str) -> str:
    """Return the URI of a session's annotations channel."""
    return f"{session}/annotations"


def content_uri(id: str) -> str:
    """Return the URI of a content blob that the host keeps outside of the state."""
    return f"ahp-content:/{id}"
