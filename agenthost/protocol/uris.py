"""Channel URIs: the two that are fixed, and those that a host mints itself.

A channel is what was *registered* under a URI, whatever its scheme: clients choose session and
chat URIs freely, so nothing here guesses a channel's kind from its spelling.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import Final

ROOT: Final = "ahp-root://"

# Real clients normalise the root URI in these ways; all mean the one root channel.
_ROOT_SPELLINGS = frozenset({ROOT, "ahp-root:", "ahp-root:/", "ahp-root:///"})

# The catalogue of automations. Clients write it with or without slashes and a name behind them.
AUTOMATIONS: Final = "ahp-automations://"
_AUTOMATIONS_SCHEME = "ahp-automations:"
_AUTOMATION_SCHEME = "ahp-automation:"

# The side channels to MCP servers.
_MCP_SCHEME = "mcp:"

# Characters that a channel's name may have.
_LONGEST = 2_048

_DEFAULT_CHAT = "ahp-chat://default/"
_WORKER_CHAT = "ahp-chat://subagent/"
# What no client escapes in a URI.
_PLAIN = re.compile(r"[A-Za-z0-9._~-]+")


def is_root(uri: str) -> bool:
    """Say whether a URI is the root channel, in any spelling that clients use."""
    return uri in _ROOT_SPELLINGS


def is_automations(uri: str) -> bool:
    """Say whether a URI is the catalogue of automations, in any spelling that clients use."""
    return uri.startswith(_AUTOMATIONS_SCHEME)


def is_automation(uri: str) -> bool:
    """Say whether a URI names an automation: an identifier in the catalogue, never a channel."""
    return uri.startswith(_AUTOMATION_SCHEME)


def is_mcp(uri: str) -> bool:
    """Say whether a URI is the side channel to an MCP server, by which MCP's own messages go."""
    return uri.startswith(_MCP_SCHEME)


def is_nameable(uri: str) -> bool:
    """Say whether a channel may be named so: a URI of sane length, without control characters.

    Names end up in listings, logs and terminals, where such characters mislead people.
    """
    return 0 < len(uri) <= _LONGEST and uri.isprintable()


def canonical(uri: str) -> str:
    """Return the spelling under which a channel is registered; only the fixed ones have several."""
    if uri in _ROOT_SPELLINGS:
        return ROOT
    return AUTOMATIONS if is_automations(uri) else uri


def session_uri(id: str) -> str:
    """Return the URI of a session that this side names."""
    return f"ahp-session:/{id}"


def chat_uri(session: str, id: str) -> str:
    """Return the URI of a further chat of a session that this side names.

    Editors read the session out of a chat's name, so every name that we give has it.
    """
    return f"ahp-chat://{id}/{_encoded(session)}"


def default_chat_uri(session: str) -> str:
    """Return the URI of a session's default chat, which clients may use before they are told."""
    return f"{_DEFAULT_CHAT}{_encoded(session)}"


def session_of_default_chat(uri: str) -> str | None:
    """Return the session whose default chat has this name, or None if it is no such name."""
    return _decoded(uri.removeprefix(_DEFAULT_CHAT)) if uri.startswith(_DEFAULT_CHAT) else None


def worker_chat_uri(session: str, tool_call_id: str) -> str | None:
    """Return the URI of the chat that a tool call's worker has, where that can be written plainly.

    Clients compare names as strings and escape what is special, so nothing may need it.
    """
    if _PLAIN.fullmatch(tool_call_id) is None:
        return None
    return f"{_WORKER_CHAT}{_encoded(session)}/{tool_call_id}"


def worker_of(uri: str) -> tuple[str, str] | None:
    """Return the session and the tool call that a worker chat's name tells, or None."""
    if not uri.startswith(_WORKER_CHAT):
        return None
    encoded, slash, call = uri.removeprefix(_WORKER_CHAT).partition("/")
    session = _decoded(encoded)
    return (session, call) if session is not None and slash and call else None


def _encoded(session: str) -> str:
    return base64.urlsafe_b64encode(session.encode()).decode().rstrip("=")


def _decoded(encoded: str) -> str | None:
    if _PLAIN.fullmatch(encoded) is None:
        return None
    try:
        return base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None


def annotations_uri(session: str) -> str:
    """Return the URI of a session's annotations channel."""
    return f"{session}/annotations"


def automation_run_uri(id: str) -> str:
    """Return the URI of the channel of an automation's run."""
    return f"ahp-automation-run:/{id}"


def canvas_uri(id: str) -> str:
    """Return the URI of the channel of a canvas."""
    return f"ahp-canvas:/{id}"


def resource_watch_uri(id: str) -> str:
    """Return the URI of the channel of a watch."""
    return f"ahp-resource-watch:/{id}"


def terminal_uri(id: str) -> str:
    """Return the URI of the channel of a terminal that the host makes itself."""
    return f"ahp-terminal:/{id}"


def content_uri(id: str, name: str | None = None) -> str:
    """Return the URI of a content blob that the host keeps outside of the state.

    It has the path of the file that it is the content of, or else ends in its name, where that
    needs no escaping: editors show it, and take two paths for two files.
    """
    folder, _, name = (name or "").rpartition("/")
    if not _is_plain(name):
        return f"ahp-content:/{id}"
    if folder.startswith("/") and all(map(_is_plain, folder[1:].split("/"))):
        return f"ahp-content:{folder}/{name}?{id}"
    return f"ahp-content:/{id}/{name}"


def content_name(uri: str) -> str | None:
    """Return the path or the name in the URI of a content blob, if it has one."""
    path, query, _ = uri.removeprefix("ahp-content:").partition("?")
    return path if query else path[1:].partition("/")[2] or None


def _is_plain(name: str) -> bool:
    return _PLAIN.fullmatch(name) is not None and bool(name.strip("."))
