"""Carrying out what somebody wants done with changes: stage, discard, commit.

One after the other in each working tree, never while a turn of the session changes files, and to
the end even if whoever asked leaves. Everybody who follows sees that it runs and how it ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import WeakValueDictionary

from agenthost.errors import (
    Conflict,
    InternalError,
    InvalidParams,
    NotFound,
    PermissionDenied,
    TurnInProgress,
    WireError,
)
from agenthost.host.channels.changeset.compute import FoundFile, Uncomputable
from agenthost.host.channels.changeset.kind import (
    CHANGESET,
    ChangesetChannel,
    changeset_extra,
)
from agenthost.host.channels.session.consequences import RefreshGit
from agenthost.host.channels.session.kind import SESSION, SessionChannel
from agenthost.host.channels.session.participants import takes_part
from agenthost.host.clients.methods import handles
from agenthost.host.clients.subscriptions import missing_channel
from agenthost.host.log.directory import Directory
from agenthost.host.log.effects import Effects
from agenthost.host.log.writer import Writer
from agenthost.tasks import Tasks
from agenthost.workspace.git.operations import commit_changes, known_paths, stage
from agenthost.workspace.git.program import GitFailed
from agenthost.workspace.git.repository import Repository

if TYPE_CHECKING:
    from agenthost.host.channels.changeset.changesets import Changesets
    from agenthost.host.clients.connection import Connection
    from agenthost.protocol.common import Action, ErrorInfo, JsonObject

log = logging.getLogger(__name__)

_LONGEST_MESSAGE = 300
# Takes the changeset, its session and the files; returns what to tell the one who asked.
Carry: TypeAlias = Callable[
    [ChangesetChannel, SessionChannel, Sequence[FoundFile]], Coroutine[Any, Any, str]
]


@handles("invokeChangesetOperation")
async def invoke_changeset_operation(connection: Connection, params: JsonObject) -> JsonObject:
    """Carry out an operation on a changeset or a file of it, and say what was done."""
    core = connection.core
    channel = await core.directory.find(params["channel"], CHANGESET)
    if channel is None and core.directory.get(params["channel"]) is not None:
        raise NotFound(f"{params['channel']} is no changeset")
    if channel is None:
        raise missing_channel(core, params["channel"])
    session = core.directory.get(channel.session or "", SESSION)
    if session is None or not takes_part(session, connection.principal):
        raise PermissionDenied("only those who take part in the session may change its files")
    operations = core.changesets.operations
    return await operations.invoke(channel, session, params["operationId"], params.get("target"))


class ChangesetOperations:
    """The operations that are being carried out."""

    def __init__(
        self,
        changesets: Changesets,
        writer: Writer,
        directory: Directory,
        effects: Effects,
        tasks: Tasks,
    ) -> None:
        self._changesets = changesets
        self._program = changesets.book.program
        self._writer = writer
        self._directory = directory
        self._effects = effects
        self._tasks = tasks
        # Changeset, operation and file -> the one that is being carried out.
        self._running: dict[tuple[str, str, str], asyncio.Task[JsonObject | WireError]] = {}
        # The top of a working tree -> held by whoever changes something in it.
        self._trees: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._carry: dict[str, Carry] = {
            "stage": self._stage,
            "discard-changes": self._discard,
            "commit": self._commit,
        }

    async def invoke(
        self,
        channel: ChangesetChannel,
        session: SessionChannel,
        id: str,
        target: JsonObject | None,
    ) -> JsonObject:
        """Carry out an operation; the same one that is under way already is shared.

        Raises:
            InvalidParams: it is not offered, not for that, or there is no such file.
            TurnInProgress: a turn changes the files of the session now.
            Conflict: a file is not what the changeset shows.
            InternalError: git says no.
        """
        # What whoever asks has seen, not what is found out just now.
        if changeset_extra(channel).found is None:
            await self._changesets.settled(channel)
        self._expect_rest(session)
        files = self._files(channel, id, target)
        key = (channel.uri, id, target["resource"] if target is not None else "")
        task = self._running.get(key)
        if task is None:
            # From here on it is carried out, whoever waits for it.
            work = self._carry_out(channel, session, id, files)
            task = self._running[key] = self._tasks.start(work, f"{id} in {channel.uri}")
            task.add_done_callback(lambda _: self._running.pop(key))
        done = await asyncio.shield(task)
        if isinstance(done, WireError):
            raise done
        return done

    def _files(
        self, channel: ChangesetChannel, id: str, target: JsonObject | None
    ) -> Sequence[FoundFile]:
        """Return the files that an operation is for, or raise why it is for none."""
        found = changeset_extra(channel).found
        offered = {each["id"]: each for each in channel.state.get("operations") or ()}
        if id not in offered or found is None or id not in self._carry:
            raise InvalidParams(f"this changeset has no operation {id}", path="operationId")
        wanted = "changeset" if target is None else target["kind"]
        if wanted not in offered[id]["scopes"]:
            raise InvalidParams(f"{offered[id]['label']} is not for that", path="target")
        files = [each for each in found.files if each.place is not None]
        if target is not None:
            files = [each for each in files if target["resource"] in _uris(each)]
            if not files:
                raise InvalidParams("is no file of this changeset", path="target.resource")
        return files

    def _expect_rest(self, session: SessionChannel) -> None:
        if not self._directory.has(session):
            raise NotFound("the session is gone")
        if self._changesets.is_busy(session):
            raise TurnInProgress("a turn of this session is changing files: wait until it ends")

    async def _carry_out(
        self,
        channel: ChangesetChannel,
        session: SessionChannel,
        id: str,
        files: Sequence[FoundFile],
    ) -> JsonObject | WireError:
        extra = changeset_extra(channel)
        extra.running.append(id)
        extra.failures.pop(id, None)
        self._tell(channel, id, "running")
        try:
            async with self._alone_in(files):
                self._expect_rest(session)
                told = await self._carry[id](channel, session, files)
                # Others see the effects before they see that it is over.
                self._changesets.refresh_all(session, {each.top for each in _places(files)})
                await self._changesets.settled(channel)
                self._effects.carry_out(RefreshGit(session))
        except Exception as error:
            refusal = _refusal(error)
            info: ErrorInfo = {"errorType": "operationFailed", "message": refusal.message}
            extra.failures[id] = info
            self._tell(channel, id, "error", info)
            return refusal
        finally:
            extra.running.remove(id)
        if id not in extra.running:
            self._tell(channel, id, "idle")
        if self._directory.has(channel):
            self._changesets.tell_operations(channel, session)
        return {"message": told}

    def _tell(
        self, channel: ChangesetChannel, id: str, status: str, error: ErrorInfo | None = None
    ) -> None:
        action: Action = {"type": "changeset/operationStatusChanged", "operationId": id}
        action["status"] = status
        if error is not None:
            action["error"] = error
        if self._directory.has(channel):
            self._writer.apply(channel, action)

    @contextlib.asynccontextmanager
    async def _alone_in(self, files: Iterable[FoundFile]) -> AsyncIterator[None]:
        """Wait until nobody else changes the working trees of files, always in one order."""
        async with contextlib.AsyncExitStack() as stack:
            for top in sorted({place.top for place in _places(files)}):
                lock = self._trees.setdefault(top, asyncio.Lock())
                await stack.enter_async_context(lock)
            yield

    # What they do.

    async def _stage(
        self, channel: ChangesetChannel, session: SessionChannel, files: Sequence[FoundFile]
    ) -> str:
        for repository, paths in _by_repository(files):
            known = await known_paths(self._program, repository, paths)
            await stage(self._program, repository, known)
        return f"Staged {_counted(files)}"

    async def _commit(
        self, channel: ChangesetChannel, session: SessionChannel, files: Sequence[FoundFile]
    ) -> str:
        title = session.state["title"]
        commits = []
        for repository, paths in _by_repository(files):
            known = await known_paths(self._program, repository, paths)
            commits.append(await commit_changes(self._program, repository, title, known))
        return f"Committed {', '.join(commit[:10] for commit in commits)}"

    async def _discard(
        self, channel: ChangesetChannel, session: SessionChannel, files: Sequence[FoundFile]
    ) -> str:
        name = changeset_extra(channel).name
        scope = await self._changesets.scope(name) if name is not None else None
        if name is None or scope is None:
            raise Conflict("the session is gone")
        # A checkpoint of all there is, so that what is discarded is not lost.
        now = await self._changesets.finder.find(name, scope)
        found = {each.file["id"]: each for each in now.files}
        page = await self._changesets.book.page(session.uri)
        for each in files:
            current = found.get(each.file["id"])
            if current is None or current.mark != each.mark:
                raise Conflict(f"{_shown(each)} has changed meanwhile: look at it again")
            if not each.base or each.change is None or each.change.is_submodule:
                raise InvalidParams(
                    f"{_shown(each)} is not kept here, so it cannot be discarded",
                    path="target.resource",
                )
            assert each.place is not None
            await page.checkpoints.restore(each.place.repository, each.base, _paths(each))
            log.info("discarded %s of %s, kept as %s", each.file["id"], channel.uri, each.mark)
        return f"Discarded the changes in {', '.join(map(_shown, files))}"


def _refusal(error: Exception) -> WireError:
    """Return what the one who asked is told of a failure."""
    if isinstance(error, WireError):
        return error
    if isinstance(error, GitFailed | Uncomputable):
        return InternalError(_text(str(error))[:_LONGEST_MESSAGE])
    if isinstance(error, OSError):
        return InternalError(error.strerror or "the files cannot be changed")
    log.error("an operation on a changeset failed", exc_info=error)
    return InternalError()


def _uris(file: FoundFile) -> set[str]:
    edit = file.file["edit"]
    sides = (edit.get("before"), edit.get("after"))
    return {file.file["id"], *(side["uri"] for side in sides if side is not None)}


def _places(files: Iterable[FoundFile]) -> list[Repository]:
    return [each.place.repository for each in files if each.place is not None]


def _paths(file: FoundFile) -> list[str]:
    change = file.change
    both = (change.old_path, change.new_path) if change is not None else ()
    return list(dict.fromkeys(path for path in both if path is not None))


def _by_repository(files: Iterable[FoundFile]) -> list[tuple[Repository, list[str]]]:
    found: dict[str, tuple[Repository, list[str]]] = {}
    for each in files:
        if each.place is not None:
            repository = each.place.repository
            found.setdefault(repository.top, (repository, []))[1].extend(_paths(each))
    return list(found.values())


def _counted(files: Sequence[FoundFile]) -> str:
    return _shown(files[0]) if len(files) == 1 else f"{len(files)} files"


def _shown(file: FoundFile) -> str:
    return _text(os.path.basename(_paths(file)[-1]))


def _text(name: str) -> str:
    """Return a text as JSON can say it."""
    return name.encode(errors="replace").decode()
