"""Protocol versions: negotiation, and the ladder of translations between the versions spoken."""

from typing import TYPE_CHECKING, Any

from agenthost.protocol.versions.echo import changes_nothing, echo
from agenthost.protocol.versions.ladder import Translator, sequence_numbers_needed, translator
from agenthost.protocol.versions.negotiation import Negotiated, negotiate
from agenthost.protocol.versions.reduction import reduce, touched_in
from agenthost.protocol.versions.step import (
    NOWHERE,
    Sender,
    Untranslatable,
    Whereabouts,
)
from agenthost.protocol.versions.supported import (
    NEWEST,
    SUPPORTED_VERSIONS,
    exists_in,
    parse_version,
)

__all__ = [
    "NEWEST",
    "NOWHERE",
    "SUPPORTED_VERSIONS",
    "Negotiated",
    "Sender",
    "Translator",
    "Untranslatable",
    "Whereabouts",
    "changes_nothing",
    "echo",
    "exists_in",
    "negotiate",
    "parse_version",
    "reduce",
    "sequence_numbers_needed",
    "touched_in",
    "translator",
    "turns_page",
]

if TYPE_CHECKING:
    from agenthost.protocol.versions.v0_5_1_to_v0_5_0 import turns_page
else:

    def __getattr__(name: str) -> Any:
        # Late, like every module of an older version.
        if name != "turns_page":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from agenthost.protocol.versions.v0_5_1_to_v0_5_0 import turns_page

        return turns_page
