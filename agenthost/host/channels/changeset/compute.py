"""Finds out what a changeset shows: which two moments it compares, and the files that differ.

Reads only, by git and by what tools said that they edited. A failure is never an empty answer.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from agenthost.host.channels.changeset.blobs import BlobUris, content_type_of
from agenthost.host.channels.changeset.catalogue import ChangesetName
from agenthost.host.channels.changeset.checkpoint_book import (
    NOT_KEPT,
    CheckpointBook,
    Page,
    Trees,
    TurnTrees,
)
from agenthost.host.channels.changeset.tool_edits import edited_files, mark_of
from agenthost.host.channels.chat.extra import ChatChannel
from agenthost.host.channels.chat.kind import CHAT
from agenthost.host.channels.session.kind import SessionChannel
from agenthost.host.channels.session.places import Workplace, Workplaces, folders_of
from agenthost.host.log.directory import Directory
from agenthost.protocol.chat.parts import turns_of
from agenthost.workspace import file_path
from agenthost.workspace.git.diffs import MOST_FILES, ChangedFile, changes_between
from agenthost.workspace.git.repository import (
    base_branch,
    commit_of,
    empty_tree,
    merge_base,
)

if TYPE_CHECKING:
    from agenthost.protocol.changeset import ChangesetFile
    from agenthost.protocol.chat.state import ActiveTurn, CompletedTurn
    from agenthost.protocol.common import ChangesSummary, ContentRef, FileEditSide


class Uncomputable(Exception):
    """A changeset cannot be shown; the message says why."""

    def __init__(self, error_type: str, message: str) -> None:
        super().__init__(message)
        self.error_type = error_type


class Scope(NamedTuple):
    """Whose changes are looked for: a session's, or those of one chat of it."""

    session: SessionChannel
    chat: ChatChannel | None = None

    @property
    def directories(self) -> Sequence[str]:
        """The folders that are worked in."""
        told = self.session.state.get("workingDirectories") or ()
        if self.chat is not None:
            told = self.chat.state.get("workingDirectories") or told
        return told


class FoundFile(NamedTuple):
    """A file that differs, as clients see it and as git does."""

    file: ChangesetFile
    # Differs as soon as the file is another one, so that it must be looked at again.
    mark: str
    # None for one that git knows nothing of.
    place: Workplace | None = None
    change: ChangedFile | None = None
    # The tree or commit that it is compared with.
    base: str = ""


class Found(NamedTuple):
    """What differs."""

    files: Sequence[FoundFile] = ()
    # Whether it is compared with the files as they are now, and so may change at any time.
    is_live: bool = False
    # The working trees that were looked at.
    tops: frozenset[str] = frozenset()


class _Compared(NamedTuple):
    """Two moments of one working tree."""

    place: Workplace
    before: str
    after: str
    # Files that have changed and that no tree has.
    left_out: tuple[str, ...] = ()


class ChangeFinder:
    """Compares the files of sessions."""

    def __init__(
        self,
        directory: Directory,
        book: CheckpointBook,
        workplaces: Workplaces,
        blobs: BlobUris,
        most: int = MOST_FILES,
    ) -> None:
        self._program = book.program
        self._directory = directory
        self._book = book
        self._workplaces = workplaces
        self._blobs = blobs
        self._most = most

    async def find(self, name: ChangesetName, scope: Scope) -> Found:
        """Return what a changeset shows.

        Raises:
            Uncomputable: there is no such turn, or nothing to compare.
            GitFailed: git gave no answer.
        """
        places = await self._workplaces.find(scope.session, scope.directories)
        page = await self._book.page(scope.session.uri)
        page.places |= {place.top: place.repository for place in places}
        match name.kind:
            case "uncommitted" | "branch":
                compared = [await self._with_now(page, each, scope, name) for each in places]
                if not compared:
                    raise Uncomputable("noRepository", "there is no git repository here any more")
                return await self._found(scope, page, compared, is_live=True)
            case "session":
                return await self._whole(scope, page, places)
            case "turn":
                return await self._turn(scope, page, places, name.turns[0])
            case "compare":
                return await self._compare(scope, page, places, name.turns)

    async def counts(self, scope: Scope, now: Trees) -> ChangesSummary:
        """Count what a session or a chat has changed, up to some moment."""
        places = await self._workplaces.find(scope.session, scope.directories)
        page = await self._book.page(scope.session.uri)
        before = self._beginning(scope, page)
        _expect_all(before, scope, page, places)
        compared = [
            await self._between(page, place, before[place.top], now)
            for place in places
            if place.top in before and place.top in now
        ]
        changes = [change for each in compared for change in await self._changes(page, each)]
        edited = await self._edited(scope, places)
        files = [each["edit"].get("diff") or {} for each in edited]
        lines = [(each.added, each.removed) for each in changes]
        lines += [(diff.get("added"), diff.get("removed")) for diff in files]
        return {
            "additions": sum(added or 0 for added, _ in lines),
            "deletions": sum(removed or 0 for _, removed in lines),
            "files": len(lines),
        }

    # Which moments are compared.

    async def _whole(self, scope: Scope, page: Page, places: Sequence[Workplace]) -> Found:
        before = self._beginning(scope, page)
        _expect_all(before, scope, page, places)
        after = self._ending(scope, page)
        compared = [
            await self._between(page, place, before[place.top], after)
            for place in places
            if place.top in before
        ]
        edited = await self._edited(scope, places)
        return await self._found(scope, page, compared, edited, is_live=after is None)

    def _beginning(self, scope: Scope, page: Page) -> Trees:
        if scope.chat is None:
            _expect_here(page)
            return page.start
        before: dict[str, str] = {}
        known = self._turns_of(scope.chat, page)
        if {turn["id"] for turn in turns_of(scope.chat.state)} - {each.turn for each in known}:
            _expect_here(page)
        for trees in known:
            before = {**trees.before, **before}
        return before

    def _ending(self, scope: Scope, page: Page) -> Trees | None:
        """Return the files at the end of a chat's last turn; None = as they are now."""
        if scope.chat is None or scope.chat.state.get("activeTurn") is not None:
            return None
        known = self._turns_of(scope.chat, page)
        return page.after(known[-1]) if known else None

    def _turns_of(self, chat: ChatChannel, page: Page) -> list[TurnTrees]:
        # By what the chat shows: a fork shows turns of another one, and others were taken back.
        ids = {turn["id"] for turn in turns_of(chat.state)}
        return [trees for trees in page.turns if trees.turn in ids]

    async def _turn(
        self, scope: Scope, page: Page, places: Sequence[Workplace], turn: str
    ) -> Found:
        trees, shown = _find(page, scope, turn), await self._shown_turn(scope, turn)
        if trees is None and shown is None:
            raise Uncomputable("unknownTurn", "there is no such turn")
        edited = _outside([shown] if shown is not None else [], places if trees else ())
        if trees is None:
            _expect_here(page)
            # Of another session, or from before there were checkpoints.
            return await self._found(scope, page, (), edited, is_live=False)
        _expect_all(trees.before, scope, page, places)
        after = page.after(trees)
        compared = [
            await self._between(page, place, trees.before[place.top], after)
            for place in places
            if place.top in trees.before
        ]
        if not compared:
            message = "the repository of this turn is not there any more"
            raise Uncomputable("noRepository", message)
        return await self._found(scope, page, compared, edited, is_live=after is None)

    async def _compare(
        self, scope: Scope, page: Page, places: Sequence[Workplace], turns: Sequence[str]
    ) -> Found:
        known = [_find(page, scope, turn) for turn in turns]
        for trees, turn in zip(known, turns, strict=True):
            if trees is None and await self._shown_turn(scope, turn) is None:
                raise Uncomputable("unknownTurn", "there is no such turn")
        one, other = known
        if one is None or other is None:
            _expect_here(page)
            raise Uncomputable("notKept", "what the files were after one of these turns is unknown")
        before, after = page.after(one), page.after(other)
        if before is None:
            raise Uncomputable("notKept", "the first of these turns is not over")
        compared = [
            await self._between(page, place, before[place.top], after)
            for place in places
            if place.top in before
        ]
        if not compared:
            raise Uncomputable("notKept", "these turns were not in a git repository")
        return await self._found(scope, page, compared, is_live=after is None)

    async def _between(
        self, page: Page, place: Workplace, before: str, after: Trees | None
    ) -> _Compared:
        if before == NOT_KEPT:
            raise Uncomputable("notKept", "what the files were before could not be kept")
        if after is not None:
            tree = after.get(place.top, before)
            if tree == NOT_KEPT:
                raise Uncomputable("notKept", "what the files were afterwards could not be kept")
            return _Compared(place, before, tree)
        now = await page.checkpoints.take(place.repository, place.folders)
        return _Compared(place, before, now.tree)

    async def _with_now(
        self, page: Page, place: Workplace, scope: Scope, name: ChangesetName
    ) -> _Compared:
        program, repository = self._program, place.repository
        if name.kind == "branch":
            base = await base_branch(program, repository, wanted_base(scope.session))
            before = await merge_base(program, repository, base) if base is not None else None
            if before is None:
                raise Uncomputable("noBase", "there is no branch to compare with")
        else:
            before = await commit_of(program, repository) or await empty_tree(program, repository)
        now = await page.checkpoints.take(repository, place.folders)
        return _Compared(place, before, now.tree, now.left_out)

    # What differs.

    async def _changes(self, page: Page, compared: _Compared) -> list[ChangedFile]:
        place = compared.place
        return await changes_between(
            self._program,
            place.repository,
            compared.before,
            compared.after,
            env=page.checkpoints.environment(place.repository),
            folders=place.folders,
            most=self._most,
        )

    async def _found(
        self,
        scope: Scope,
        page: Page,
        compared: Sequence[_Compared],
        edited: Iterable[ChangesetFile] = (),
        *,
        is_live: bool,
    ) -> Found:
        files: list[FoundFile] = []
        for each in compared:
            changes = await self._changes(page, each)
            blobs = {blob for c in changes for blob in (c.old_blob, c.new_blob) if blob is not None}
            sizes = await page.checkpoints.sizes(each.place.repository, blobs) if blobs else {}
            session = scope.session.uri
            files += [self._file(session, each, change, sizes) for change in changes]
            files += [_left_out(each.place, path) for path in each.left_out]
        files += [FoundFile(file, mark_of(file)) for file in edited]
        if len(files) > self._most:
            raise Uncomputable(
                "tooManyFiles", f"{len(files)} files have changed; {self._most} at most are shown"
            )
        return Found(files, is_live, frozenset(each.place.top for each in compared))

    def _file(
        self, session: str, compared: _Compared, change: ChangedFile, sizes: Mapping[str, int]
    ) -> FoundFile:
        place = compared.place
        is_text = change.added is not None

        def side(path: str, blob: str) -> FileEditSide:
            uri, name = file_uri(place.top, path), os.path.basename(path)
            content: ContentRef = {"uri": uri}
            if blob in sizes:
                content = {
                    "uri": self._blobs.mint(session, blob, os.path.join(place.top, path)),
                    "nonce": blob,
                    "sizeHint": sizes[blob],
                    "contentType": content_type_of(name, is_text=is_text),
                }
            return {"uri": uri, "content": content}

        file: ChangesetFile = {"id": "", "edit": {}}
        if change.old_path is not None and change.old_blob is not None:
            file["edit"]["before"] = side(change.old_path, change.old_blob)
            file["id"] = file["edit"]["before"]["uri"]
        if change.new_path is not None and change.new_blob is not None:
            file["edit"]["after"] = side(change.new_path, change.new_blob)
            file["id"] = file["edit"]["after"]["uri"]
        if change.added is not None and change.removed is not None:
            file["edit"]["diff"] = {"added": change.added, "removed": change.removed}
        mark = change.new_blob or f"gone {change.old_blob}"
        return FoundFile(file, mark, place, change, compared.before)

    # What tools said.

    async def _edited(self, scope: Scope, places: Sequence[Workplace]) -> list[ChangesetFile]:
        turns: list[CompletedTurn | ActiveTurn] = []
        # Where all folders are in repositories nothing else is looked for.
        if not _all_inside(folders_of(scope.directories), places):
            for chat in await self._chats(scope):
                turns += turns_of(chat.state)
        return _outside(turns, places)

    async def _shown_turn(self, scope: Scope, id: str) -> CompletedTurn | ActiveTurn | None:
        for chat in await self._chats(scope):
            for turn in turns_of(chat.state):
                if turn["id"] == id:
                    return turn
        return None

    async def _chats(self, scope: Scope) -> list[ChatChannel]:
        if scope.chat is not None:
            return [scope.chat]
        uris = [entry["resource"] for entry in scope.session.state["chats"]]
        chats = [await self._directory.find(uri, CHAT) for uri in uris]
        return [chat for chat in chats if chat is not None]


def _find(page: Page, scope: Scope, turn: str) -> TurnTrees | None:
    """Return what is known of a turn: of a chat's own, and else of one that it took over."""
    own = page.find(turn, {scope.chat.uri}) if scope.chat is not None else None
    return own or page.find(turn)


def _expect_here(page: Page) -> None:
    """Raise Uncomputable if what came before was kept by another machine, or is gone here."""
    if page.elsewhere is not None and page.elsewhere == page.here:
        raise Uncomputable(
            "notKept",
            "what the files were before is not kept on this machine any more; turns from now on "
            "can be compared",
        )
    if page.elsewhere is not None:
        raise Uncomputable(
            "notKept",
            f"the session worked on another machine before ({page.elsewhere}), which alone knows "
            "what the files were then; turns from now on can be compared here",
        )


def _expect_all(before: Trees, scope: Scope, page: Page, places: Sequence[Workplace]) -> None:
    """Raise Uncomputable if a repository in the folders was there and is not seen any more.

    Others stay in those that their sessions have left.
    """
    folders, seen = folders_of(scope.directories), {place.top for place in places}
    for top in before:
        if top not in seen and top in page.places and page.places[top].inside(folders):
            message = f"the repository {os.path.basename(top)} is not there, or does not answer"
            raise Uncomputable("noRepository", message)


def wanted_base(session: SessionChannel) -> str | None:
    """Return the branch that a session was told to start from, if it was."""
    config = session.state.get("config")
    branch = (config.get("values") or {}).get("branch") if config else None
    return branch if isinstance(branch, str) and branch else None


def file_uri(top: str, path: str) -> str:
    """Return the URI of a file below the top of a working tree, whatever bytes its name has."""
    return "file://" + quote(os.fsencode(os.path.join(top, path)))


def _left_out(place: Workplace, path: str) -> FoundFile:
    """Return a file that is too large to be kept: as it is now, with nothing to compare it with."""
    uri = file_uri(place.top, path)
    name = os.path.basename(path)
    content: ContentRef = {"uri": uri, "contentType": content_type_of(name, is_text=False)}
    file: ChangesetFile = {"id": uri, "edit": {"after": {"uri": uri, "content": content}}}
    change = ChangedFile(None, path, None, None, None, None)
    return FoundFile(file, "too large", place, change)


def _outside(
    turns: Iterable[CompletedTurn | ActiveTurn], places: Sequence[Workplace]
) -> list[ChangesetFile]:
    """Return the files that tools edited and that are in none of the repositories."""
    return [file for file in edited_files(turns) if not _is_inside(file["id"], places)]


def _is_inside(uri: str, places: Sequence[Workplace]) -> bool:
    path = file_path(uri)
    return path is not None and _all_inside([str(path)], places)


def _all_inside(folders: Sequence[str], places: Sequence[Workplace]) -> bool:
    return all(any(place.repository.inside([folder]) for place in places) for folder in folders)
