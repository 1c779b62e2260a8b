"""Customizations and MCP servers as rows of a table and as ``--json`` objects.

Pure. Names, descriptions and problems are strangers' words, of any length: whatever makes a cell
here has made it safe to print and short.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from agenthost.cli.format.state_format import directory_text
from agenthost.cli.format.terminal_text import Style, clip, one_line, text_lines
from agenthost.client.customizations import PROBLEM, CustomizationItem, customization_items

Json = Mapping[str, Any]

MOST_NAME = 40
"""Columns of a name in a table."""

MOST_WORDS = 200
"""Columns of a description or a problem where the terminal sets no limit."""

# Characters that are looked at for a cell; what a terminal obeys may take some of them.
_MOST_LOOKED_AT = 4_000

# Servers that are named in one line.
_MOST_SERVERS = 5

_KINDS = {"mcpServer": "server"}

_SCOPES = {"session": "in this session", "workspace": "in this folder", "global": "everywhere"}

_SERVER_STATES: Mapping[str, tuple[str, Style | None]] = {
    "starting": ("starting", "yellow"),
    "ready": ("ready", "green"),
    "authRequired": ("needs sign-in", "yellow"),
    "error": ("failed", "red"),
    "stopped": ("stopped", None),
}


def cell(text: str, most: int = MOST_WORDS) -> str:
    """Return a stranger's words as one short line that is safe to print."""
    return clip(one_line(text[:_MOST_LOOKED_AT]), most)


def kind_word(kind: str) -> str:
    """Return what a kind of customization is called."""
    return cell(_KINDS.get(kind, kind), 20)


def server_word(state: Json) -> tuple[str, Style | None]:
    """Return how a server fares, in a word, and its colour."""
    kind = str(state.get("kind"))
    return _SERVER_STATES.get(kind, (cell(kind, 20), None))


def state_word(item: CustomizationItem) -> tuple[str, Style | None]:
    """Return whether a customization counts, in a few words, and their colour."""
    if not item.enabled:
        return f"off {_where_off(item)}".rstrip(), "dim"
    # A server whose program failed can be used again; a declaration that cannot be read cannot.
    is_server = item.kind == "mcpServer"
    if PROBLEM in _meta(item) or (item.problem is not None and not is_server):
        return "unusable", "red"
    return server_word(_state(item)) if is_server else ("on", "green")


def _where_off(item: CustomizationItem) -> str:
    own = [decision for decision in item.decisions if not decision["enabled"]]
    if own and own[0] is item.decisions[0]:
        return _SCOPES.get(str(own[0]["kind"]), "")
    container: Json = item.container or {}
    decisions = container.get("enablement") or ()
    return _SCOPES.get(str(decisions[0].get("kind")), "") if decisions else ""


def about(item: CustomizationItem) -> str:
    """Return what is to be said of a customization: what is wrong, or what it is for."""
    if item.problem is not None:
        return cell(item.problem)
    state = _state(item) if item.kind == "mcpServer" else {}
    match state:
        case {"kind": "authRequired", "resource": {"resource": str(resource)}}:
            return cell(f"at {resource}")
        case {"kind": "starting", "blocking": True}:
            return "the turn waits for it"
    told = (trust_word(item), runs(item))
    return cell(item.description) or ": ".join(filter(None, told))


def runs(item: CustomizationItem) -> str:
    """Return what a server runs or reaches, as far as the host tells it."""
    return cell(str(_meta(item).get("agenthost/runs") or ""))


def problem_lines(item: CustomizationItem) -> list[str]:
    """Return what is wrong with a customization in full, below what it is and where it lies."""
    path = cell(directory_text(item.uri[:_MOST_LOOKED_AT]))
    first = f"{kind_word(item.kind)} {cell(item.name, MOST_NAME) or '(no name)'}  {path}"
    return [first, *(f"  {row}" for row in text_lines((item.problem or "")[:_MOST_LOOKED_AT]))]


def trust_word(item: CustomizationItem) -> str:
    """Return what is to be said of a server that nobody has trusted; nothing of any other."""
    trust = _meta(item).get("agenthost/trust")
    state = trust.get("state") if isinstance(trust, Mapping) else None
    words = {
        "untrusted": "not trusted yet",
        "asked": "waits for an answer whether to trust it",
        "refused": "not trusted: somebody said no",
    }
    return words.get(str(state), "")


def where(item: CustomizationItem, folders: Sequence[str]) -> str:
    """Return where a customization comes from, as short as the session's folders allow."""
    container: Json = item.container or item.value
    if container.get("clientId"):
        return f"client, plugin {cell(str(container['name']), MOST_NAME)}"
    if container.get("type") == "plugin":
        return f"plugin {cell(str(container['name']), MOST_NAME)}"
    path = directory_text(str(container["uri"])[:_MOST_LOOKED_AT])
    if path in map(directory_text, folders):
        return "."
    for folder in sorted(map(directory_text, folders), key=len, reverse=True):
        if path.startswith(folder.rstrip("/") + "/"):
            path = path[len(folder.rstrip("/")) + 1 :]
            break
    return cell(path, MOST_NAME)


def servers_text(session: Json) -> str:
    """Return the MCP servers of a session and how they fare, in one line; empty without any."""
    items = [item for item in customization_items(session) if item.kind == "mcpServer"]
    told = [f"{cell(item.name, 24)} {state_word(item)[0]}" for item in items[:_MOST_SERVERS]]
    more = [f"and {len(items) - _MOST_SERVERS} more"] if len(items) > _MOST_SERVERS else []
    return " · ".join([*told, *more])


def far_text(session: Json) -> str:
    """Return how to open a session where it runs, if that is at another host; else nothing."""
    far = (session.get("_meta") or {}).get("agenthost/far")
    match far:
        case {"host": str(host), "session": str(uri), "url": str(url)}:
            command = shlex.join(["agenthost", "chat", cell(uri), "--url", cell(url)])
            return f"{cell(host, MOST_NAME)}; there: {command}"
    return ""


def customization_json(item: CustomizationItem) -> dict[str, Any]:
    """Return a customization as a ``--json`` object."""
    shown: dict[str, Any] = {
        "id": item.id,
        "kind": item.kind,
        "name": item.name,
        "uri": item.uri,
        "description": item.description,
        "enabled": item.enabled,
        "decisions": list(item.decisions),
        "problem": item.problem,
        "container": None if item.container is None else item.container["id"],
    }
    if item.kind == "mcpServer":
        shown["state"] = _state(item)
        shown |= {
            key: _meta(item)[f"agenthost/{key}"]
            for key in ("trust", "runs", "log")
            if f"agenthost/{key}" in _meta(item)
        }
    return shown


def _state(item: CustomizationItem) -> Json:
    members: Json = item.value
    state = members.get("state")
    return state if isinstance(state, Mapping) else {}


def _meta(item: CustomizationItem) -> Json:
    members: Json = item.value
    return members.get("_meta") or {}
