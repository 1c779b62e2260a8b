"""The files of a session: read, write, list, copy, move, delete and watch them on the host.

Owns how a path becomes a URI and how content travels. Which folders this client may reach is for
the host to say: what is outside of them is refused with PermissionDenied.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote, urlsplit

from agenthost.client.errors import NotText
from agenthost.client.file_watch import FileWatch
from agenthost.client.optional_requests import ask
from agenthost.errors import RemoteProtocolError

if TYPE_CHECKING:
    from agenthost.client.state.client_core import ClientCore
    from agenthost.protocol.resources import DirectoryEntry, ResourceResolveResult

PathOrUri = str | os.PathLike[str]
"""A path below the session's first folder, an absolute path on the host, or any URI."""

WriteMode = Literal["truncate", "append", "insert"]

_LACKING = "files to offer"
# One letter would be a drive of Windows, and not a scheme.
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")


class SessionFiles:
    """The files that a session works on.

    A path is taken to be below the session's first working directory unless it is absolute, and a
    URI is taken as it is: ``files.read_text("src/main.py")``, or the URI of any content that a
    state names. A file whose name looks like a URI is ``./name:so``.

    All methods raise the errors of ``agenthost.errors`` with which a host refuses: NotFound,
    PermissionDenied outside of what this client may reach, AlreadyExists, Conflict, InvalidParams;
    and Unsupported where the host has no files to offer.
    """

    def __init__(self, core: ClientCore, folder: Callable[[], str | None]) -> None:
        """Reach files of a host; ``folder`` returns the URI below which paths are taken."""
        self._core = core
        self._folder = folder

    def uri(self, path: PathOrUri) -> str:
        """Return the URI of a path.

        Raises:
            ValueError: the path is relative, and the session has no folder.
        """
        text = os.fspath(path)
        if _URI.match(text):
            return text
        if text.startswith("/"):
            return _file_uri(PurePosixPath(text))
        folder = self._folder()
        if folder is None:
            raise ValueError(f"{text} is below no folder: the session has none")
        below = PurePosixPath(text)
        return folder if below == PurePosixPath() else f"{folder.rstrip('/')}/{_quoted(below)}"

    async def read_bytes(self, path: PathOrUri) -> bytes:
        """Return the content of a file."""
        return await self._read(path, "base64")

    async def read_text(self, path: PathOrUri) -> str:
        """Return the content of a file that is text in UTF-8.

        Raises:
            NotText: it is something else.
        """
        data = await self._read(path, "utf-8")
        try:
            return data.decode()
        except UnicodeDecodeError:
            raise NotText(self.uri(path)) from None

    async def write(
        self,
        path: PathOrUri,
        content: str | bytes,
        *,
        mode: WriteMode = "truncate",
        position: int = 0,
        create_only: bool = False,
        if_match: str | None = None,
    ) -> None:
        """Write a file, all of it or nothing; its folder has to be there.

        Args:
            path: the file; made where it is missing.
            content: what to write.
            mode: replace everything behind ``position``, insert at it, or append, where
                ``position`` counts from the end.
            position: a place in the file, in bytes.
            create_only: fail with AlreadyExists if there is such a file.
            if_match: fail with Conflict unless this is still the file's ``etag`` (see ``stat``).

        Raises:
            ConnectionLost: nobody can tell whether it was written.
        """
        params: dict[str, Any] = {"uri": self.uri(path), **_encoded(content)}
        if mode != "truncate":
            params["mode"] = mode
        if position:
            params["position"] = position
        if create_only:
            params["createOnly"] = True
        if if_match is not None:
            params["ifMatch"] = if_match
        # Written a second time, all of a file is the same; whatever depends on what was is not.
        repeat = mode == "truncate" and not create_only and if_match is None
        await self._ask("resourceWrite", params, repeat=repeat)

    async def list(self, path: PathOrUri = "") -> list[DirectoryEntry]:
        """Return what is in a folder, by default in the session's."""
        result = await self._ask("resourceList", {"uri": self.uri(path)})
        entries: list[DirectoryEntry] = result["entries"]
        return entries

    async def stat(self, path: PathOrUri, *, follow: bool = True) -> ResourceResolveResult:
        """Return what there is at a path: type, size, ``etag``; of a link itself if not followed.

        Raises:
            NotFound: there is nothing.
        """
        params: dict[str, Any] = {"uri": self.uri(path)}
        if not follow:
            params["followSymlinks"] = False
        result: ResourceResolveResult = await self._ask("resourceResolve", params)
        return result

    async def mkdir(self, path: PathOrUri) -> None:
        """Make a folder and those above it; it may be there already."""
        await self._ask("resourceMkdir", {"uri": self.uri(path)}, repeat=True)

    async def copy(
        self, source: PathOrUri, destination: PathOrUri, *, overwrite: bool = True
    ) -> None:
        """Copy a file or a folder; without ``overwrite`` nothing may be at the destination."""
        await self._ask("resourceCopy", self._both(source, destination, overwrite))

    async def move(
        self, source: PathOrUri, destination: PathOrUri, *, overwrite: bool = True
    ) -> None:
        """Move a file or a folder; without ``overwrite`` nothing may be at the destination."""
        await self._ask("resourceMove", self._both(source, destination, overwrite))

    async def delete(self, path: PathOrUri, *, recursive: bool = False) -> None:
        """Delete a file or an empty folder; ``recursive`` deletes what is in a folder too."""
        params: dict[str, Any] = {"uri": self.uri(path)}
        if recursive:
            params["recursive"] = True
        await self._ask("resourceDelete", params)

    async def watch(
        self,
        path: PathOrUri = "",
        *,
        recursive: bool = True,
        excludes: Sequence[str] = (),
        includes: Sequence[str] = (),
    ) -> FileWatch:
        """Watch a file or a folder; returns once every later change is told.

        ``excludes`` and ``includes`` are globs, relative to the path. Iterate over what this
        returns, and close it or use it in ``async with``::

            async with await session.files.watch("src") as watch:
                async for changes in watch:
                    ...
        """
        params: dict[str, Any] = {"uri": self.uri(path), "recursive": recursive}
        if excludes:
            params["excludes"] = {"items": list(excludes)}
        if includes:
            params["includes"] = {"items": list(includes)}
        watch = FileWatch(self._core, params)
        await watch.start()
        return watch

    async def _read(self, path: PathOrUri, encoding: str) -> bytes:
        result = await self._ask("resourceRead", {"uri": self.uri(path), "encoding": encoding})
        return _decoded(result)

    def _both(self, source: PathOrUri, destination: PathOrUri, overwrite: bool) -> dict[str, Any]:
        params: dict[str, Any] = {"source": self.uri(source), "destination": self.uri(destination)}
        return params if overwrite else {**params, "failIfExists": True}

    async def _ask(self, method: str, params: dict[str, Any], *, repeat: bool = False) -> Any:
        return await ask(self._core, method, params, lacking=_LACKING, repeat=repeat)


def folder_of(directories: Sequence[str] | None) -> str | None:
    """Return the folder below which a session's paths are taken: its first one on the host."""
    return next((uri for uri in directories or () if urlsplit(uri).scheme == "file"), None)


def _file_uri(path: PurePosixPath) -> str:
    return f"file://{_quoted(path)}"


def _quoted(path: PurePosixPath) -> str:
    # Bytes, because a name need not be text.
    return quote(os.fsencode(path))


def _encoded(content: str | bytes) -> dict[str, str]:
    if isinstance(content, str):
        return {"data": content, "encoding": "utf-8"}
    return {"data": base64.b64encode(content).decode(), "encoding": "base64"}


def _decoded(result: Any) -> bytes:
    match result:
        case {"data": str(data), "encoding": "utf-8"}:
            return data.encode()
        case {"data": str(data), "encoding": "base64"}:
            try:
                return base64.b64decode(data, validate=True)
            except binascii.Error:
                pass
    raise RemoteProtocolError("the host's answer to resourceRead is malformed")
