"""What editors offer when they connect, and so which version they speak with a host. Pure.

Known from what they send, not from what they promise: see docs/protocol-versions.md.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

EDITOR_OFFERS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("VS Code 1.139", ("0.9.0", "0.7.0", "0.6.0", "0.5.2", "0.5.1")),
    ("newer VS Code", ("1.0.0", "0.9.0")),
)
"""The versions that each offers, newest first."""


def spoken_by_editors(versions: Collection[str]) -> dict[str, str | None]:
    """Return for each editor what it speaks with a host of these versions; None: it cannot."""
    return {
        editor: next((version for version in offered if version in versions), None)
        for editor, offered in EDITOR_OFFERS
    }
