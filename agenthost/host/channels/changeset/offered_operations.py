"""What can be done with a changeset, and with single files of it (pure)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from agenthost.host.channels.changeset.kind import ChangesetChannel, changeset_extra

if TYPE_CHECKING:
    from agenthost.protocol.changeset import ChangesetOperation

OperationId = Literal["stage", "discard-changes", "commit"]

_OPERATIONS: dict[OperationId, ChangesetOperation] = {
    "commit": {
        "id": "commit",
        "label": "Commit",
        "description": "Commits what is staged, or else all files that are listed here",
        "scopes": ["changeset"],
        "status": "idle",
        "icon": "git-commit",
        "group": "primary",
    },
    "stage": {
        "id": "stage",
        "label": "Stage",
        "scopes": ["resource", "changeset"],
        "status": "idle",
        "icon": "add",
        "group": "inline",
    },
    "discard-changes": {
        "id": "discard-changes",
        "label": "Discard Changes",
        "scopes": ["resource"],
        "status": "idle",
        "confirmation": "Discard the changes in {0}?",
        "icon": "discard",
        "group": "inline",
    },
}
_OF_KIND: dict[str, tuple[OperationId, ...]] = {
    "uncommitted": ("commit", "stage", "discard-changes"),
    "branch": ("commit", "stage"),
    "session": ("discard-changes",),
}


def offered_operations(channel: ChangesetChannel, is_busy: bool) -> list[ChangesetOperation]:
    """Return what can be done with a changeset; nothing while a turn changes the files."""
    extra = changeset_extra(channel)
    if extra.name is None or extra.found is None or not extra.is_sessions:
        return []
    # What git knows nothing of can only be looked at. What runs is told until it is over.
    if not extra.running and not any(each.place is not None for each in extra.found.files):
        return []
    offered: list[ChangesetOperation] = []
    for id in _OF_KIND.get(extra.name.kind, ()):
        operation: ChangesetOperation = {**_OPERATIONS[id]}
        if id in extra.running:
            operation["status"] = "running"
        elif is_busy:
            operation["status"] = "disabled"
        elif id in extra.failures:
            operation["status"], operation["error"] = "error", extra.failures[id]
        offered.append(operation)
    return offered
