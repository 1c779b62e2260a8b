"""What a principal may do: one question per command, one per dispatched action.

``Policy`` is the seam that an embedder replaces; ``RolePolicy`` is what the host does by itself.
All it may need to know of the host arrives as ``PolicyContext``; where a path leads it asks
``workspace``, as whoever opens the file does. Whether a command is *valid* is asked elsewhere
(validation, reducers, the workspace's roots); here only whether *this* principal may try it.

What the roles may do with a session's workspace, of which this says the first half (the role), and
``channels.session.participants`` and ``files.reach`` the second (whose session, which folder):

==========================================  =======  =============================  ======
..                                          owner    operator                       viewer
==========================================  =======  =============================  ======
see terminals, changes and their content    yes      yes                            yes
read, list, write and watch files           yes      where it takes part            no
make, type into, end terminals              yes      its own, where it takes part   no
review changes, stage, revert, commit       yes      where it takes part            no
complete names of files                     yes      where it takes part            no
==========================================  =======  =============================  ======

Which methods belong to which line is a column of ``protocol.methods``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from agenthost.errors import PermissionDenied
from agenthost.host.trust.principals import Principal
from agenthost.protocol.methods import METHODS, Access
from agenthost.protocol.own_members import FORK
from agenthost.tokens import Role
from agenthost.workspace import file_path, resolve

if TYPE_CHECKING:
    from agenthost.protocol.common import JsonMapping

_URI_FIELDS = ("uri", "source", "destination")
# Kinds of channels that are the host itself, and what viewers may do in which.
_OWNERS_ONLY = frozenset({"root"})
_VIEWERS_MAY = frozenset({("session", "session/isReadChanged"), ("chat", "chat/isReadChanged")})
# Actions that bring a directory into a session -> the member that names it.
_NEW_DIRECTORY = {
    "session/workingDirectorySet": "directory",
    "session/workingDirectoryReplaced": "replacement",
}
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_OUTSIDE = "operators may work inside the host's roots only, and {} is not there"


def real_path(uri: str) -> str | None:
    """Return where a ``file:`` URI leads, or None when it names no file here or leads nowhere."""
    path = file_path(uri)
    try:
        return None if path is None else str(resolve(path))
    except OSError:
        return None


def _no_content(_uri: str) -> bool:
    return False


def _no_roots(_principal: Principal) -> tuple[str, ...]:
    return ()


@dataclass(frozen=True, slots=True)
class PolicyContext:
    """What a decision may need to know of the host."""

    # Real absolute paths of the folders of the sessions that a principal takes part in. Only for
    # an early refusal: whoever opens a file walks there inside of the same folders.
    resource_roots: Callable[[Principal], tuple[str, ...]] = _no_roots
    # Real absolute paths of the folders that the host was told to work in.
    host_roots: tuple[str, ...] = ()
    # Whether a URI names content that the host minted for a session, such as a large tool result.
    is_content: Callable[[str], bool] = _no_content
    # URI to real path, links resolved also where the last names do not exist yet; None if no file.
    real_path: Callable[[str], str | None] = real_path


class Policy(Protocol):
    """Asked before every command and every dispatched action; an embedder may bring its own."""

    def command(
        self, principal: Principal, method: str, params: JsonMapping, context: PolicyContext
    ) -> None:
        """Return when the principal may send this; raise PermissionDenied otherwise."""
        ...

    def dispatch(
        self,
        principal: Principal,
        channel_kind: str,
        action: JsonMapping,
        context: PolicyContext,
    ) -> str | None:
        """Return None when the principal may dispatch this, else a reason a person can read."""
        ...


class RolePolicy:
    """The host's own policy: the role decides, and for operators the folder."""

    def command(
        self, principal: Principal, method: str, params: JsonMapping, context: PolicyContext
    ) -> None:
        """Raise PermissionDenied, naming role and method, unless the role allows the command."""
        if principal.role is Role.OWNER:
            return
        access = METHODS[method].access if method in METHODS else Access.OWNER
        if access in (Access.EVERYONE, Access.DISPATCH):
            return
        if access is Access.CONTENT and _names_content(params, context):
            return
        if principal.role is not Role.OPERATOR or access is Access.OWNER:
            raise PermissionDenied(f"the role {principal.role.value} may not call {method}")
        if method == "createSession" and (params.get("_meta") or {}).get(FORK) is None:
            # A fork works where its source works, whatever else it asks for.
            for directory in params.get("workingDirectories", ()):
                if not _inside(directory, context, context.host_roots):
                    raise PermissionDenied(_OUTSIDE.format(directory))
        if access is not Access.OPERATE and not _inside_roots(principal, params, context):
            raise PermissionDenied(
                f"the role {principal.role.value} may call {method} only inside the folders of "
                "its sessions"
            )

    def dispatch(
        self,
        principal: Principal,
        channel_kind: str,
        action: JsonMapping,
        context: PolicyContext,
    ) -> str | None:
        """Return why the role may not dispatch the action, or None when it may."""
        kind = action.get("type")
        if principal.role is Role.OWNER:
            return None
        if principal.role is Role.OPERATOR:
            # By type too, should a channel be mislabelled.
            if _OWNERS_ONLY & {channel_kind, str(kind).partition("/")[0]}:
                return "operators may not change the host's configuration"
            member = _NEW_DIRECTORY.get(str(kind))
            directory = action.get(member) if member is not None else None
            if member is not None and not _inside(directory, context, context.host_roots):
                return _OUTSIDE.format(str(directory)[:200])
            return None
        if (channel_kind, str(kind)) in _VIEWERS_MAY:
            return None
        return f"the role {principal.role.value} may not dispatch {str(kind)[:80]}"


def _names_content(params: JsonMapping, context: PolicyContext) -> bool:
    uri = params.get("uri")
    return isinstance(uri, str) and context.is_content(uri)


def _inside_roots(principal: Principal, params: JsonMapping, context: PolicyContext) -> bool:
    named = [params[field] for field in _URI_FIELDS if field in params]
    here = [uri for uri in named if not _is_elsewhere(uri, context)]
    if not here:
        return bool(named)
    roots = context.resource_roots(principal)
    return all(_inside(uri, context, roots) for uri in here)


def _is_elsewhere(uri: object, context: PolicyContext) -> bool:
    """Say whether a URI may be a client's own: whoever asks that client knows whose it is."""
    scheme = _SCHEME.match(uri) if isinstance(uri, str) else None
    return scheme is not None and scheme[1].lower() != "file" and not context.is_content(str(uri))


def _inside(uri: object, context: PolicyContext, roots: tuple[str, ...]) -> bool:
    path = context.real_path(uri) if isinstance(uri, str) else None
    if path is None:
        return False
    return any(_within(path, root) for root in roots)


def _within(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellPolicy:
    """Which ways to a shell there are; whoever may take one is the role's affair."""

    # A message that begins with this is a command and no message to the agent; None for no such.
    prefix: str | None = None
