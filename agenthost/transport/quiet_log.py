"""A logger for libraries whose details hold secrets."""

from __future__ import annotations

import logging


class QuietLogger(logging.LoggerAdapter[logging.Logger]):
    """A logger that hides debug output, which holds requests with their tokens."""

    def isEnabledFor(self, level: int) -> bool:
        """Say no to everything that is not a warning at least."""
        return level > logging.INFO and super().isEnabledFor(level)
