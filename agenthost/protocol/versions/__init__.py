"""Protocol versions: negotiation, and the ladder of translations between the versions spoken."""

from agenthost.protocol.versions.echo import echo, is_void
from agenthost.protocol.versions.ladder import Translator, numbers_needed, translator
from agenthost.protocol.versions.negotiation import Negotiated, negotiate
from agenthost.protocol.versions.reduction import reduce, touched_in
from agenthost.protocol.versions.step import ReadText, Sender, Untranslatable
from agenthost.protocol.versions.supported import (
    NEWEST,
    SUPPORTED_VERSIONS,
    exists_in,
    parse_version,
)
from agenthost.protocol.versions.v0_5_1_to_v0_5_0 import turns_page

__all__ = [
    "NEWEST",
    "SUPPORTED_VERSIONS",
    "Negotiated",
    "ReadText",
    "Sender",
    "Translator",
    "Untranslatable",
    "echo",
    "exists_in",
    "is_void",
    "negotiate",
    "numbers_needed",
    "parse_version",
    "reduce",
    "touched_in",
    "translator",
    "turns_page",
]
