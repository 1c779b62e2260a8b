"""Which actions make of the tree that a session shows the one that it is to show (pure)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agenthost.protocol.common import Action
    from agenthost.protocol.session.customizations import Customization

# With more entries that differ the whole tree is told at once: one action costs less than many.
MOST_SINGLE = 16


def tree_actions(
    shown: Sequence[Customization] | None, wanted: Sequence[Customization]
) -> list[Action]:
    """Return what to apply to a session so that it shows a tree; nothing of what it shows already.

    Entries that are new come behind the others, so the order may differ from that of ``wanted``.
    """
    if shown is None:
        return [_whole(wanted)]
    before = {entry["id"]: entry for entry in shown}
    after = {entry["id"]: entry for entry in wanted}
    actions: list[Action] = [
        {"type": "session/customizationRemoved", "id": id} for id in before if id not in after
    ]
    actions += (
        {"type": "session/customizationUpdated", "customization": entry}
        for id, entry in after.items()
        if before.get(id) != entry
    )
    return actions if len(actions) <= MOST_SINGLE else [_whole(wanted)]


def _whole(wanted: Sequence[Customization]) -> Action:
    return {"type": "session/customizationsChanged", "customizations": list(wanted)}
