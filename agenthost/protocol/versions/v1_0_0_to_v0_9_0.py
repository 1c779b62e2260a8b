"""The step between 1.0.0 and 0.9.0."""

from __future__ import annotations

from agenthost.protocol.versions.step import Step


class Step100To090(Step):
    """Translates between 1.0.0 and 0.9.0."""

    newer = "1.0.0"
    older = "0.9.0"
