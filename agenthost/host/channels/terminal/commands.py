"""Terminals by command: start a shell, end one."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from agenthost.errors import (
    InvalidParams,
    MethodNotFound,
    NotFound,
    PermissionDenied,
    SessionNotFound,
)
from agenthost.host.channels.chat.kind import CHAT
from agenthost.host.channels.session.kind import SESSION
from agenthost.host.channels.session.participants import takes_part
from agenthost.host.channels.terminal.claims import session_of, why_not_asked
from agenthost.host.channels.terminal.kind import (
    BELONGS_TO_OTHERS,
    TERMINAL,
    around_session,
    may_use,
)
from agenthost.host.channels.terminal.terminals import file_uri
from agenthost.host.clients.methods import handles, looks_around
from agenthost.host.trust import Role
from agenthost.protocol.uris import is_nameable
from agenthost.protocol.versions import NOWHERE, Whereabouts
from agenthost.workspace import file_path
from agenthost.workspace.pty.sizes import clamped
from agenthost.workspace.roots import OutsideRoots

if TYPE_CHECKING:
    from agenthost.host.clients.connection import Connection
    from agenthost.protocol.common import JsonObject
    from agenthost.protocol.terminal import TerminalClaim

log = logging.getLogger(__name__)

COLS, ROWS = 80, 24


@handles("createTerminal")
async def create_terminal(connection: Connection, params: JsonObject) -> None:
    """Start a shell for a client, which may type as soon as this is answered."""
    uri, claim = params["channel"], params["claim"]
    if sys.platform != "linux":
        raise MethodNotFound("this host serves no terminals: they need Linux")
    if not is_nameable(uri):
        raise InvalidParams("is no name for a channel", path="channel")
    await _check_claim(connection, claim)
    folder, path = await _folder(connection, claim, params.get("cwd"))
    try:
        await connection.core.terminals.create(
            uri,
            claim,
            maker=connection.principal.name,
            name=params.get("name"),
            folder=folder,
            cwd=file_uri(path),
            cols=clamped(params.get("cols", COLS)),
            rows=clamped(params.get("rows", ROWS)),
        )
    finally:
        os.close(folder)
    session = session_of(claim)
    if session is not None:
        # It holds something now.
        connection.core.drafts.forget(session)


@looks_around("createTerminal")
async def look_around(connection: Connection, params: JsonObject) -> Whereabouts:
    """Find the chat that a session is to hold a terminal for, which older versions do not name."""
    claim = params.get("claim")
    session = claim.get("session") if isinstance(claim, dict) else None
    if not isinstance(session, str):
        return NOWHERE
    return await around_session(session, connection.core.directory.find)


@handles("disposeTerminal")
async def dispose_terminal(connection: Connection, params: JsonObject) -> None:
    """End a terminal, with all that runs in it."""
    core, uri = connection.core, params["channel"]
    channel = await core.directory.find(uri, TERMINAL)
    if channel is None:
        raise NotFound(f"there is no terminal {uri}")
    if not await may_use(channel, connection.principal, core.directory.find):
        raise PermissionDenied(BELONGS_TO_OTHERS)
    terminal = core.terminals.get(channel.uri)
    if terminal is None:
        what = "part of a result" if channel.state.get("isPty", True) else "a log"
        raise PermissionDenied(f"this terminal is {what}, and stays with its session")
    await core.terminals.dispose(terminal)


async def _check_claim(connection: Connection, claim: TerminalClaim) -> None:
    refusal = why_not_asked(claim, connection.client_id)
    if refusal is not None:
        raise InvalidParams(refusal, path="claim")
    if claim["kind"] != "session":
        return
    directory = connection.core.directory
    session = await directory.find(claim["session"], SESSION)
    if session is None:
        raise SessionNotFound(f"there is no session {claim['session']}")
    chat = await directory.find(claim["chat"], CHAT)
    if chat is None or chat.session != session.uri:
        raise InvalidParams("is no chat of the session", path="claim.chat")
    if not takes_part(session, connection.principal):
        raise PermissionDenied("you take no part in that session")


async def _folder(connection: Connection, claim: TerminalClaim, cwd: str | None) -> tuple[int, str]:
    """Open the folder that a shell starts in; where that cannot be, the host's own."""
    core = connection.core
    usual = file_path(core.default_directory)
    session = session_of(claim)
    if session is not None:
        found = core.directory.get(session, SESSION)
        directories = found.state.get("workingDirectories") if found is not None else None
        usual = (file_path(directories[0]) if directories else None) or usual
    wanted = file_path(cwd) if cwd is not None else usual
    for path in dict.fromkeys((wanted, usual, Path(core.roots[0]))):
        if path is None:
            continue
        try:
            return await _opened(connection, path, is_asked_for=cwd is not None and path == wanted)
        except OSError as error:
            log.info("%s: no terminal in %s: %s", connection.name, ascii(str(path)), error)
    raise NotFound("the host's own folder is gone")


async def _opened(connection: Connection, path: Path, *, is_asked_for: bool) -> tuple[int, str]:
    if not is_asked_for or connection.principal.role is Role.OWNER:
        flags = os.O_PATH | os.O_DIRECTORY
        return await _opening(lambda: os.open(path, flags)), str(path)
    try:
        return await _opening(lambda: _open_inside(connection, path)), str(path)
    except OutsideRoots:
        raise PermissionDenied("that is outside of the folders that you may reach") from None


async def _opening(open_folder: Callable[[], int]) -> int:
    """Open a descriptor in a thread; what comes after its client has left is closed."""
    opening = asyncio.ensure_future(asyncio.to_thread(open_folder))
    try:
        return await asyncio.shield(opening)
    except asyncio.CancelledError:
        opening.add_done_callback(_close_unwanted)
        raise


def _close_unwanted(opened: asyncio.Future[int]) -> None:
    if not opened.cancelled() and opened.exception() is None:
        os.close(opened.result())


def _open_inside(connection: Connection, path: Path) -> int:
    reach = connection.core.files.reach
    with reach.roots(reach.folders(connection.principal)).walk(path) as place:
        if place.leaf is None or place.info is None or not stat.S_ISDIR(place.info.st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        return os.dup(place.leaf)
