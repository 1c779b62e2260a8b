"""The ``resource*`` methods: read, write, list, copy, move, delete, resolve, make folders, ask.

Decides nothing about paths: ``reach`` says which folders somebody has, the workspace walks inside
of them. Files are worked on in threads, so many at once of all clients together.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from agenthost.errors import InvalidParams, NotFound
from agenthost.host.channels.resource_watch.watches import WatchedPlace, check_patterns, find_place
from agenthost.host.clients.methods import EncodedResult, Handler, handles
from agenthost.host.files.client_resources import is_clients
from agenthost.host.files.content import is_content, stored_content
from agenthost.host.files.reach import Reach, ReachableFolders
from agenthost.host.files.refusals import wire_errors
from agenthost.host.trust import Limits, Role
from agenthost.protocol.jsonrpc import dumps
from agenthost.workspace import file_path
from agenthost.workspace.files import FileLimits, FileLocks, Files, content_type

if TYPE_CHECKING:
    from agenthost.host.clients.connection import Connection
    from agenthost.host.trust import Principal
    from agenthost.protocol.common import JsonObject

_T = TypeVar("_T")


class ResourceFiles:
    """Works on files for clients, beside the event loop."""

    def __init__(self, reach: Reach, limits: Limits) -> None:
        self.reach = reach
        self._limits = FileLimits(
            read_bytes=limits.max_resource_bytes,
            list_entries=limits.max_list_entries,
            copy_entries=limits.max_copy_entries,
            copy_bytes=limits.max_copy_bytes,
        )
        self._locks = FileLocks()
        # Its own threads: those that all share must not wait for a disk that hangs.
        self._executor = ThreadPoolExecutor(limits.file_threads, thread_name_prefix="files")
        self._threads = asyncio.Semaphore(limits.file_threads)
        # An operator has half of them at most; there are no more of these than tokens.
        self._share = max(1, limits.file_threads // 2)
        self._shares: dict[str, asyncio.Semaphore] = {}

    async def work(self, principal: Principal, work: Callable[[Files], _T]) -> _T:
        """Do something with the files that somebody may reach, in a thread."""
        taken = [self._threads]
        if principal.role is not Role.OWNER:
            share = self._shares.setdefault(principal.name, asyncio.Semaphore(self._share))
            taken.insert(0, share)
        async with contextlib.AsyncExitStack() as stack:
            for semaphore in taken:
                await stack.enter_async_context(semaphore)
            running = asyncio.get_running_loop().run_in_executor(
                self._executor, self._carry_out, self.reach.folders(principal), work
            )
            # Whoever leaves meanwhile does not end the thread, and so does not make room either.
            stack.pop_all()
            running.add_done_callback(lambda _: self._ended(running, taken))
        return await asyncio.shield(running)

    def close(self) -> None:
        """Begin nothing more."""
        self._executor.shutdown(wait=False, cancel_futures=True)

    def _carry_out(self, folders: ReachableFolders, work: Callable[[Files], _T]) -> _T:
        return work(Files(self.reach.roots(folders), locks=self._locks, limits=self._limits))

    def _ended(self, running: asyncio.Future[Any], taken: list[asyncio.Semaphore]) -> None:
        for semaphore in taken:
            semaphore.release()
        if not running.cancelled():
            # Perhaps nobody waits for it any more.
            running.exception()


async def _work(
    connection: Connection,
    params: JsonObject,
    work: Callable[[Files], _T],
    *,
    member: str = "uri",
    writes: bool = False,
) -> _T:
    uri = params[member]
    request: JsonObject | None = None
    if connection.principal.role is not Role.VIEWER:
        request = {"channel": params["channel"], "uri": uri, "write" if writes else "read": True}
    with wire_errors(member, uri, request):
        return await connection.core.files.work(connection.principal, work)


def _serves(method: str) -> Callable[[Handler], Handler]:
    """Register a handler for what is the host's own; the rest is asked of clients."""

    def register(handler: Handler) -> Handler:
        async def serve(connection: Connection, params: JsonObject) -> object:
            if is_clients(params["uri"]):
                return await connection.core.client_resources.pass_on(connection, method, params)
            return await handler(connection, params)

        handles(method)(serve)
        return handler

    return register


def _path(params: JsonObject, member: str = "uri") -> Path:
    uri = params[member]
    path = file_path(uri)
    if path is None:
        if uri.partition(":")[0].lower() == "file":
            raise InvalidParams("is no absolute path of a file here", path=member)
        raise NotFound(f"nobody here knows {uri}")
    return path


@_serves("resourceRead")
async def resource_read(connection: Connection, params: JsonObject) -> EncodedResult:
    """Return a file or stored content, as text where that is asked for and possible."""
    uri, encoding = params["uri"], params.get("encoding")
    if is_content(uri):
        blob = await stored_content(connection.core, uri)
        return await asyncio.to_thread(encode_read, blob.data, blob.content_type, encoding)
    path = _path(params)

    def read(files: Files) -> EncodedResult:
        data = files.read(path).data
        return encode_read(data, content_type(path.name, data), encoding)

    return await _work(connection, params, read)


def encode_read(data: bytes, kind: str | None, encoding: str | None) -> EncodedResult:
    """Encode the answer to ``resourceRead``, the same in all versions, with few copies of it."""
    rest = b"}" if kind is None else b',"contentType":%b}' % dumps(kind)
    text = _as_text(data) if encoding != "base64" else None
    if text is not None:
        return EncodedResult(b'{"encoding":"utf-8","data":', text, rest)
    encoded = binascii.b2a_base64(data, newline=False)
    return EncodedResult(b'{"encoding":"base64","data":"', encoded, b'"', rest)


def _as_text(data: bytes) -> bytes | None:
    """Return bytes as a JSON string; None for what is no text, or six times as long as one."""
    try:
        text = dumps(data.decode())
    except UnicodeDecodeError:
        return None
    # Quotes and line ends double at most: more has control characters, which no text is full of.
    return text if len(text) <= 2 * len(data) + 2 else None


@_serves("resourceWrite")
async def resource_write(connection: Connection, params: JsonObject) -> JsonObject:
    """Write a file, all of it or not at all."""
    path, data = _path(params), _sent(params)
    if len(data) > connection.core.limits.max_resource_bytes:
        raise InvalidParams("is more than this host writes at once", path="data")

    def write(files: Files) -> str:
        return files.write(
            path,
            data,
            mode=params.get("mode", "truncate"),
            position=params.get("position", 0),
            create_only=params.get("createOnly", False),
            if_match=params.get("ifMatch"),
        )

    await _work(connection, params, write, writes=True)
    return {}


def _sent(params: JsonObject) -> bytes:
    text: str = params["data"]
    try:
        if params["encoding"] == "base64":
            return base64.b64decode(text, validate=True)
        return text.encode()
    except (binascii.Error, ValueError):
        # UnicodeEncodeError is a ValueError: half of a surrogate pair.
        raise InvalidParams(f"is no {params['encoding']}", path="data") from None


@_serves("resourceList")
async def resource_list(connection: Connection, params: JsonObject) -> JsonObject:
    """Return what is in a folder."""
    path = _path(params)
    entries = await _work(connection, params, lambda files: files.list(path))
    # A name that is no UTF-8 cannot be said in JSON, and so not be asked for either.
    told = [entry for entry in entries if _is_text(entry.name)]
    return {"entries": [{"name": entry.name, "type": entry.kind} for entry in told]}


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


@handles("resourceCopy")
async def resource_copy(connection: Connection, params: JsonObject) -> JsonObject:
    """Copy a file or a folder."""
    source, target = _path(params, "source"), _path(params, "destination")
    fails = params.get("failIfExists", False)
    # Alone, so that a refusal names the one of the two that it is about.
    await _work(connection, params, lambda files: files.details(source), member="source")
    await _work(
        connection,
        params,
        lambda files: files.copy(source, target, fail_if_exists=fails),
        member="destination",
        writes=True,
    )
    return {}


@handles("resourceMove")
async def resource_move(connection: Connection, params: JsonObject) -> JsonObject:
    """Move a file or a folder."""
    source, target = _path(params, "source"), _path(params, "destination")
    fails = params.get("failIfExists", False)
    # Alone, so that a refusal names the one of the two that it is about.
    await _work(
        connection,
        params,
        lambda files: files.details(source, follow=False),
        member="source",
        writes=True,
    )
    await _work(
        connection,
        params,
        lambda files: files.move(source, target, fail_if_exists=fails),
        member="destination",
        writes=True,
    )
    return {}


@_serves("resourceDelete")
async def resource_delete(connection: Connection, params: JsonObject) -> JsonObject:
    """Remove a file or a folder."""
    path, recursive = _path(params), params.get("recursive", False)
    await _work(
        connection, params, lambda files: files.delete(path, recursive=recursive), writes=True
    )
    return {}


@_serves("resourceMkdir")
async def resource_mkdir(connection: Connection, params: JsonObject) -> JsonObject:
    """Make a folder and those above it."""
    path = _path(params)
    await _work(connection, params, lambda files: files.make_folder(path), writes=True)
    return {}


@_serves("resourceResolve")
async def resource_resolve(connection: Connection, params: JsonObject) -> JsonObject:
    """Say what a URI stands for."""
    uri = params["uri"]
    if is_content(uri):
        blob = await stored_content(connection.core, uri)
        result: JsonObject = {"uri": uri, "type": "file", "size": len(blob.data)}
        if blob.content_type is not None:
            result["contentType"] = blob.content_type
        return result
    path, follow = _path(params), params.get("followSymlinks", True)
    found = await _work(connection, params, lambda files: files.details(path, follow=follow))
    modified = datetime.fromtimestamp(found.modified // 1_000_000 / 1000, UTC)
    return {
        "uri": "file://" + quote(bytes(found.real)),
        "type": found.kind,
        "size": found.size,
        "mtime": modified.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "etag": found.etag,
    }


@handles("resourceRequest")
async def resource_request(connection: Connection, params: JsonObject) -> JsonObject:
    """Say that somebody may reach a URI; whoever may not is refused."""
    if is_content(params["uri"]) and not params.get("write", False):
        return {}
    path = _path(params)
    writes = params.get("write", False)
    await _work(connection, params, lambda files: files.expect_inside(path), writes=writes)
    return {}


@handles("createResourceWatch")
async def create_resource_watch(connection: Connection, params: JsonObject) -> JsonObject:
    """Begin to watch a file or a folder; what changes there is told on a channel of its own."""
    if is_content(params["uri"]):
        raise NotFound(f"there is nothing to watch at {params['uri']}: it never changes")
    core, principal, path = connection.core, connection.principal, _path(params)
    folders = core.files.reach.folders(principal).paths

    def find(files: Files) -> WatchedPlace:
        check_patterns(params)
        return find_place(files.roots, folders, path, core.files.reach.host.is_hidden)

    found = await _work(connection, params, find)
    with found.place, wire_errors("uri", params["uri"]):
        channel = await core.watches.create(connection.name, principal, params, found)
    return {"channel": channel}
