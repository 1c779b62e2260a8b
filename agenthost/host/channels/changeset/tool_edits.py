"""What a session's tools say that they edited: all that is known where there is no git (pure).

What commands did to files is missed. A file that was edited several times is one change, from what
it was at first to what it is in the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, cast

from agenthost.protocol.chat.parts import tool_calls
from agenthost.protocol.json_edits import carry

if TYPE_CHECKING:
    from agenthost.protocol.changeset import ChangesetFile
    from agenthost.protocol.chat.state import ActiveTurn, CompletedTurn
    from agenthost.protocol.common import FileEdit, FileEditSide


def edits_in(turns: Iterable[CompletedTurn | ActiveTurn]) -> Iterator[FileEdit]:
    """Yield the edits of tool calls that have succeeded, in order."""
    for turn in turns:
        for call in tool_calls(turn):
            if call["status"] != "completed" or not call["success"]:
                continue
            for block in call.get("content") or ():
                if block["type"] == "fileEdit":
                    edit = carry(block, "before", "after", "diff")
                    if "before" in edit or "after" in edit:
                        yield cast("FileEdit", edit)


def edited_files(turns: Iterable[CompletedTurn | ActiveTurn]) -> list[ChangesetFile]:
    """Return the files that tools have changed, each once."""
    # Where a file is now -> all that was done to it.
    known: dict[str, FileEdit] = {}
    for edit in edits_in(turns):
        before, after = edit.get("before"), edit.get("after")
        place = (after or before or _NOWHERE)["uri"]
        # A file that is renamed goes on with what was done to it under its former name.
        former = known.pop(before["uri"] if before is not None else place, None)
        joined = edit if former is None else _joined(former, edit)
        if joined is not None:
            known[place] = joined
    return [{"id": place, "edit": edit} for place, edit in known.items()]


def mark_of(file: ChangesetFile) -> str:
    """Return what differs as soon as a file has changed once more."""
    edit = file["edit"]
    side = edit.get("after") or edit.get("before") or _NOWHERE
    content = side["content"]
    gone = "" if "after" in edit else "gone "
    return gone + str(content.get("nonce") or content["uri"])


def _joined(first: FileEdit, last: FileEdit) -> FileEdit | None:
    """Return two edits of a file as one; None if it was made and is gone again.

    How many lines that changes is not known: the second edit may take the first one back.
    """
    joined: FileEdit = {}
    if "before" in first:
        joined["before"] = first["before"]
    if "after" in last:
        joined["after"] = last["after"]
    return joined or None


_NOWHERE: FileEditSide = {"uri": "", "content": {"uri": ""}}
