"""The step between 0.8.0 and 0.7.0."""

from __future__ import annotations

from agenthost.protocol.versions.step import Step


class Step080To070(Step):
    """Translates between 0.8.0 and 0.7.0."""

    newer = "0.8.0"
    older = "0.7.0"
