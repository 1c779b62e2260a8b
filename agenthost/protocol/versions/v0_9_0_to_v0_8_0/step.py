"""The step between 0.9.0 and 0.8.0."""

from __future__ import annotations

from agenthost.protocol.versions.step import Step


class Step090To080(Step):
    """Translates between 0.9.0 and 0.8.0."""

    newer = "0.9.0"
    older = "0.8.0"
