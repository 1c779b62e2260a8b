"""Words that clients show as they are: without the marks of markdown's code."""

from __future__ import annotations

import re
from typing import Final

# As in markdown: code stands between two runs of as many backticks.
_CODE: Final = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
# A longer text is no label, and looking for pairs in it could take long.
MOST_LOOKED_AT: Final = 4000


def plain(text: str) -> str:
    """Return a text whose code is not marked as such; what is inside of the marks stays."""
    if len(text) > MOST_LOOKED_AT:
        return text
    return _CODE.sub(lambda match: match[2].strip() if len(match[1]) > 1 else match[2], text)
