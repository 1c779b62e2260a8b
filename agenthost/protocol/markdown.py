"""Text that the protocol lets be a string or marked as markdown (``StringOrMarkdown``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def markdown_of(value: Any) -> str:
    """Return the text of a string or of ``{"markdown": …}``; nothing when there is none."""
    if isinstance(value, Mapping):
        return str(value.get("markdown", ""))
    return "" if value is None else str(value)
