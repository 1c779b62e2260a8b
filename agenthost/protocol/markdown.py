"""Text that the protocol lets be a string or marked as markdown (``StringOrMarkdown``)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

# As in markdown: code stands between two runs of as many backticks.
_CODE: Final = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
# A longer text is no label, and looking for pairs in it could take long.
MOST_LOOKED_AT: Final = 4000


def markdown_of(value: Any) -> str:
    """Return the text of a string or of ``{"markdown": …}``; nothing when there is none."""
    if isinstance(value, Mapping):
        return str(value.get("markdown", ""))
    return "" if value is None else str(value)


def without_code_marks(text: str) -> str:
    """Return a text whose code is not marked as such; what is inside of the marks stays."""
    if len(text) > MOST_LOOKED_AT:
        return text
    return _CODE.sub(lambda match: match[2].strip() if len(match[1]) > 1 else match[2], text)
