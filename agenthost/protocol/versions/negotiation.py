"""Choosing the version of a connection from what its client offers.

Owns the rule only. Who answers the handshake, and closes a connection for which nothing fits, is
the host's affair.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from agenthost.errors import InvalidParams, UnsupportedProtocolVersion
from agenthost.protocol.versions.supported import SUPPORTED_VERSIONS, Version, parse_version

MOST_OFFERED = 100
"""Versions in an offer: several times as many as the protocol will ever have at once."""

# What builds announced that were made of 1.0.0 before it was released. No version was ever
# published under this number, so nobody is told that we speak it.
_BEFORE_1_0_0: Final = "0.10.0"

BASELINES: Final[Mapping[str, str]] = {
    **{version: version for version in SUPPORTED_VERSIONS},
    _BEFORE_1_0_0: "1.0.0",
}
"""Versions whose compatible range is accepted, with the rung that is spoken to it."""


class Negotiated(Struct, frozen=True):
    """The outcome of a negotiation."""

    # What to answer: one of the offered strings, as the client spelled it.
    answer: str
    # The rung to speak: one of SUPPORTED_VERSIONS.
    version: str


def negotiate(offered: object, *, baselines: Mapping[str, str] = BASELINES) -> Negotiated:
    """Pick the highest offered version that is compatible with one of the baselines.

    ``baselines`` are versions, each with the rung to speak. The order of the offer says nothing. A
    malformed entry spoils the whole offer (InvalidParams): a client that garbles one version may
    have garbled the one it meant. Nothing in common raises UnsupportedProtocolVersion.
    """
    versions = _parsed(offered)
    for version in sorted(versions, reverse=True):
        rung = _rung(version, baselines)
        if rung is not None:
            return Negotiated(answer=versions[version], version=rung)
    raise UnsupportedProtocolVersion(SUPPORTED_VERSIONS)


def _parsed(offered: object) -> dict[Version, str]:
    if not isinstance(offered, list):
        raise InvalidParams("protocolVersions is not a list", path="protocolVersions")
    if len(offered) > MOST_OFFERED:
        message = f"a client may offer {MOST_OFFERED} versions"
        raise InvalidParams(message, path="protocolVersions")
    versions: dict[Version, str] = {}
    for index, text in enumerate(offered):
        path = f"protocolVersions[{index}]"
        if not isinstance(text, str):
            raise InvalidParams("a protocol version is not a string", path=path)
        try:
            versions.setdefault(parse_version(text), text)
        except ValueError:
            message = "a protocol version is not of the form MAJOR.MINOR.PATCH"
            raise InvalidParams(message, path=path) from None
    return versions


def _rung(version: Version, baselines: Mapping[str, str]) -> str | None:
    """Return the rung of the greatest baseline that a version is compatible with."""
    compatible = [
        (baseline, rung)
        for baseline, rung in ((parse_version(text), rung) for text, rung in baselines.items())
        if _in_caret_range(version, baseline)
    ]
    return max(compatible)[1] if compatible else None


def _in_caret_range(version: Version, baseline: Version) -> bool:
    """Say whether a version is the baseline or a later one that promises to be compatible.

    Before 1.0.0 only patches promise that.
    """
    alike = 1 if baseline[0] > 0 else 2
    return version >= baseline and version[:alike] == baseline[:alike]
