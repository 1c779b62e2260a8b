"""The protocol core: exact, pure, and in every version. No I/O, no clock, no randomness."""

from agenthost.protocol.versions import NEWEST, SUPPORTED_VERSIONS, negotiate, reduce, translator

__all__ = ["NEWEST", "SUPPORTED_VERSIONS", "negotiate", "reduce", "translator"]
