"""What a session, a turn or a branch changed in files: which changes there are, and one of them.

Owns how an entry of the catalogue becomes a channel, and what can be done there. Finding changes
and carrying out operations is the host's affair.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote

from agenthost.client.errors import ChangesFailed, Unsupported
from agenthost.client.files import SessionFiles
from agenthost.client.handle import Handle
from agenthost.client.optional_requests import ask
from agenthost.errors import NotFound

if TYPE_CHECKING:
    from agenthost.client.state.channel import Channel
    from agenthost.client.state.client_core import ClientCore
    from agenthost.client.state.dispatches import Dispatch
    from agenthost.protocol.changeset import (
        Changeset,
        ChangesetFile,
        ChangesetOperation,
        ChangesetState,
    )
    from agenthost.protocol.chat.state import ChatState
    from agenthost.protocol.commands import InvokeChangesetOperationResult
    from agenthost.protocol.common import FileEditSide
    from agenthost.protocol.session.state import SessionState

LISTING_PATIENCE = 2.0
"""Seconds to wait for a set of changes that a new session, or a turn, does not list yet."""

_LACKING = "operations on changes"
_VARIABLE = re.compile(r"\{([^{}]*)\}")


class ChangesCatalogue:
    """The sets of changes that a session or a chat has."""

    def __init__(
        self,
        core: ClientCore,
        channel: Channel[SessionState] | Channel[ChatState],
        session: str | None,
    ) -> None:
        """Reach the sets of changes that a channel's state lists."""
        self._core = core
        self._channel = channel
        self._session = session

    @property
    def catalogue(self) -> list[Changeset]:
        """The sets that there are, as the host lists them; ``changeKind`` tells them apart."""
        return self._channel.state.get("changesets") or []

    async def open(
        self,
        kind: str | None = None,
        *,
        turn: str | None = None,
        compare: tuple[str, str] | None = None,
    ) -> ChangesView:
        """Follow a set of changes; it may still be computed, which ``ready`` waits for.

        Args:
            kind: one of the catalogue's kinds, such as ``branch``, ``uncommitted`` or
                ``session``, which is the default.
            turn: the id of a turn, for what that turn changed.
            compare: the ids of two turns, for the difference between what each of them left.

        Raises:
            NotFound: there is no such set, or no such turn.
            Unsupported: the host lists no changes at all.
        """
        values = _values(turn, compare)
        kind = kind or _kind(turn, compare)
        found = self._find(kind, values) or await self._awaited(kind, values)
        if found is not None:
            return await self._follow(*found)
        if self._channel.state.get("changesets") is None:
            raise Unsupported(
                "this host lists no changes here; one that can does so where a session works in "
                "a repository, or has changed something"
            )
        kinds = ", ".join(entry["changeKind"] for entry in self.catalogue) or "none"
        raise NotFound(f"there are no changes of the kind {kind} here; there are: {kinds}")

    def _find(self, kind: str, values: dict[str, str]) -> tuple[str, Changeset] | None:
        for entry in self.catalogue:
            uri = expanded(entry["uriTemplate"], values)
            if entry["changeKind"] == kind and uri is not None:
                return uri, entry
        return None

    async def _awaited(self, kind: str, values: dict[str, str]) -> tuple[str, Changeset] | None:
        """Wait for a set that is not listed yet: a host looks for a repository beside its work."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LISTING_PATIENCE):
                await self._channel.until(lambda _: self._find(kind, values))
        return self._find(kind, values)

    async def _follow(self, uri: str, entry: Changeset) -> ChangesView:
        channel = await self._core.subscribe(uri, owner=self._session)
        return ChangesView(self._core, channel, entry)


class ChangesView(Handle["ChangesetState"]):
    """One set of changes that the client follows, live; iterate over it to see each state."""

    def __init__(
        self, core: ClientCore, channel: Channel[ChangesetState], entry: Changeset
    ) -> None:
        super().__init__(core, channel)
        # How the catalogue describes it.
        self.entry = entry

    @property
    def status(self) -> str:
        """How far the host is: computing, recomputing, ready or error."""
        return self.state["status"]

    @property
    def files(self) -> list[ChangesetFile]:
        """The changed files."""
        return self.state["files"]

    @property
    def operations(self) -> list[ChangesetOperation]:
        """What can be done, with all of it or with a file."""
        return self.state.get("operations") or []

    @property
    def counts(self) -> tuple[int, int]:
        """How many lines are added and removed in all files, as far as that is known."""
        diffs = [file["edit"].get("diff") or {} for file in self.files]
        added = sum(diff.get("added") or 0 for diff in diffs)
        return added, sum(diff.get("removed") or 0 for diff in diffs)

    def __aiter__(self) -> AsyncIterator[ChangesetState]:
        return self.channel.__aiter__()

    async def ready(self) -> list[ChangesetFile]:
        """Wait until the host knows what was changed, and return the files.

        Raises:
            ChangesFailed: it cannot find out, and says why.
        """
        state = await self.channel.until(lambda state: state["status"] in ("ready", "error"))
        if state["status"] == "error":
            raise ChangesFailed(state.get("error"))
        return state["files"]

    def file(self, name: str) -> ChangesetFile:
        """Return a file by its id, by its URI on either side, or by the end of its path.

        Raises:
            LookupError: there is none, or more than one.
        """
        found = [file for file in self.files if name in (file["id"], *_uris(file))]
        ending = "/" + quote(name.lstrip("/"))
        found = found or [f for f in self.files if any(uri.endswith(ending) for uri in _uris(f))]
        if len(found) != 1:
            many = "several changed files are" if found else "no changed file is"
            raise LookupError(f"{many} called {name}")
        return found[0]

    async def contents(self, file: ChangesetFile | str) -> tuple[bytes | None, bytes | None]:
        """Return a file before and after; None where it was not there, or is not any more.

        Raises:
            NotFound: the host has the content no longer.
        """
        before, after = self._sides(file)
        files = SessionFiles(self._core, lambda: None)

        async def read(side: FileEditSide | None) -> bytes | None:
            return None if side is None else await files.read_bytes(side["content"]["uri"])

        return await read(before), await read(after)

    async def texts(self, file: ChangesetFile | str) -> tuple[str | None, str | None]:
        """Return the text of a file before and after; None where it was not, or is no more.

        Raises:
            NotText: one of them is no text.
            NotFound: the host has the content no longer.
        """
        before, after = self._sides(file)
        files = SessionFiles(self._core, lambda: None)

        async def read(side: FileEditSide | None) -> str | None:
            return None if side is None else await files.read_text(side["content"]["uri"])

        return await read(before), await read(after)

    def review(self, *files: ChangesetFile | str, reviewed: bool = True) -> Dispatch:
        """Mark files as reviewed, or as not; without any, all of them.

        Raises:
            Unsupported: the host's version has no such thing.

        Raises, when awaited:
            Rejected: these changes are not for review.
        """
        chosen = [self._found(file) for file in files] or self.files
        ids = [file["id"] for file in chosen]
        return self._dispatch(
            {"type": "changeset/filesReviewChanged", "files": ids, "reviewed": reviewed}
        )

    async def invoke(
        self, operation: str, file: ChangesetFile | str | None = None
    ) -> InvokeChangesetOperationResult:
        """Carry out an operation by its id, on a file or, without one, on all changes.

        Whoever calls this has asked the user, where the operation has a ``confirmation``.

        Raises:
            InvalidParams: there is no such operation, or not for this, or not now.
            TurnInProgress: a turn runs in the session.
            ConnectionLost: it may have been carried out.
        """
        params: dict[str, Any] = {"channel": self.uri, "operationId": operation}
        if file is not None:
            found = self._found(file)
            side = "after" if "after" in found["edit"] else "before"
            target = {"kind": "resource", "resource": _uris(found)[0], "side": side}
            params["target"] = target
        result = await ask(self._core, "invokeChangesetOperation", params, lacking=_LACKING)
        return cast("InvokeChangesetOperationResult", result or {})

    def _found(self, file: ChangesetFile | str) -> ChangesetFile:
        return self.file(file) if isinstance(file, str) else file

    def _sides(self, file: ChangesetFile | str) -> tuple[FileEditSide | None, FileEditSide | None]:
        edit = self._found(file)["edit"]
        return edit.get("before"), edit.get("after")


def expanded(template: str, values: dict[str, str]) -> str | None:
    """Return the URI that a template gives, or None unless it has exactly these variables."""
    if set(_VARIABLE.findall(template)) != set(values):
        return None
    return _VARIABLE.sub(lambda found: quote(values[found[1]], safe=""), template)


def _values(turn: str | None, compare: tuple[str, str] | None) -> dict[str, str]:
    if turn is not None and compare is not None:
        raise ValueError("either one turn, or two to compare")
    if compare is not None:
        return {"originalTurnId": compare[0], "modifiedTurnId": compare[1]}
    return {} if turn is None else {"turnId": turn}


def _kind(turn: str | None, compare: tuple[str, str] | None) -> str:
    if compare is not None:
        return "compare-turns"
    return "session" if turn is None else "turn"


def _uris(file: ChangesetFile) -> list[str]:
    """Return where a file is, and where it was."""
    edit = file["edit"]
    sides = (edit.get("after"), edit.get("before"))
    return [side["uri"] for side in sides if side is not None]
