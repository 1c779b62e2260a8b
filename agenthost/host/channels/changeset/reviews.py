"""Which files people have reviewed, in which version: kept over restarts.

A file that changes is to be reviewed again; one that is as it was is reviewed as it was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agenthost.host.channels.changeset.catalogue import fixed_uris
from agenthost.host.channels.changeset.compute import FoundFile
from agenthost.host.channels.changeset.kind import (
    CHANGESET,
    ChangesetChannel,
    KeepReviews,
    changeset_extra,
)
from agenthost.host.log.effects import Effects
from agenthost.host.log.ledger import Ledger
from agenthost.host.log.stored_values import stored_value
from agenthost.host.store import DropRecord, PutRecord, Store
from agenthost.protocol.jsonrpc import dumps

if TYPE_CHECKING:
    from agenthost.protocol.changeset import ChangesetFile

REVIEWS = "reviews"
# Files of one changeset that are remembered, the latest of them.
MOST_REMEMBERED = 5000


class Reviews:
    """The files that were reviewed, by changeset."""

    def __init__(self, store: Store, ledger: Ledger, effects: Effects) -> None:
        self._store = store
        self._ledger = ledger
        effects.on(KeepReviews, self._keep)

    async def read(self, uri: str) -> dict[str, str]:
        """Return the files of a changeset that were reviewed, and what they were then."""
        if self._ledger.backlog:
            await self._ledger.settle()
        stored = await self._store.record(REVIEWS, uri)
        return stored_value(stored, uri) if stored is not None else {}

    def forget(self, session: str) -> None:
        """Forget what was reviewed of a session."""
        self._ledger.write(*(DropRecord(REVIEWS, uri) for uri in fixed_uris(session)))

    def _keep(self, effect: KeepReviews) -> None:
        extra = changeset_extra(effect.channel)
        marks = {each.file["id"]: each.mark for each in extra.found.files} if extra.found else {}
        for id in effect.files:
            # Behind those that were reviewed earlier.
            extra.reviewed.pop(id, None)
            if effect.reviewed and id in marks:
                extra.reviewed[id] = marks[id]
        while len(extra.reviewed) > MOST_REMEMBERED:
            del extra.reviewed[next(iter(extra.reviewed))]
        self._ledger.write(PutRecord(REVIEWS, effect.channel.uri, dumps(extra.reviewed)))


def shown_files(channel: ChangesetChannel, files: list[FoundFile]) -> list[ChangesetFile]:
    """Return files with what people have reviewed of them.

    One whose flag was told once goes on having one: absent and false are not the same.
    """
    extra = changeset_extra(channel)
    if not CHANGESET.is_reviewable(channel):
        return [each.file for each in files]
    flagged = {file["id"] for file in channel.state["files"] if "reviewed" in file}
    shown: list[ChangesetFile] = []
    for each in files:
        id = each.file["id"]
        if extra.reviewed.get(id) == each.mark:
            shown.append({**each.file, "reviewed": True})
        else:
            shown.append({**each.file, "reviewed": False} if id in flagged else each.file)
    return shown
