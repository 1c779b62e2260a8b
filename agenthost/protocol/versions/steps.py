"""The steps of the ladder in their order, and those that lead to a version.

Each older version takes a few modules, so they are loaded for the first peer that speaks one.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from agenthost.protocol.versions.supported import NEWEST, SUPPORTED_VERSIONS

if TYPE_CHECKING:
    from agenthost.protocol.versions.step import Step


@cache
def all_steps() -> tuple[Step, ...]:
    """Return every step, newest first; each begins where the one before it ends."""
    from agenthost.protocol.versions.v0_5_1_to_v0_5_0 import Step051To050
    from agenthost.protocol.versions.v0_5_2_to_v0_5_1 import Step052To051
    from agenthost.protocol.versions.v0_6_0_to_v0_5_2 import Step060To052
    from agenthost.protocol.versions.v0_7_0_to_v0_6_0 import Step070To060
    from agenthost.protocol.versions.v0_8_0_to_v0_7_0.step import Step080To070
    from agenthost.protocol.versions.v0_9_0_to_v0_8_0.step import Step090To080
    from agenthost.protocol.versions.v1_0_0_to_v0_9_0 import Step100To090

    return (
        *(Step100To090(), Step090To080(), Step080To070(), Step070To060()),
        *(Step060To052(), Step052To051(), Step051To050()),
    )


def steps_to(version: str) -> tuple[Step, ...]:
    """Return the steps from the newest version down to that one; ValueError if it is not ours."""
    if version not in SUPPORTED_VERSIONS:
        raise ValueError(f"{version!r} is not a supported protocol version")
    return () if version == NEWEST else all_steps()[: SUPPORTED_VERSIONS.index(version)]
