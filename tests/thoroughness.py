"""How many random examples a test of an invariant takes: few in a usual run, more on request.

Every run draws others, so many runs find what one long run would; ``make test THOROUGH=1`` is that
long run.
"""

from __future__ import annotations

import os

from hypothesis import settings

THOROUGH = bool(os.environ.get("THOROUGH"))


def examples(most: int) -> settings:
    """Return the settings of a test: ``most`` examples in a thorough run, else a third of them."""
    return settings(max_examples=most if THOROUGH else -(-most // 3))
