"""Choosing the version of a connection from what its client offers.

Owns the rule only. Who answers the handshake, and closes a connection for which nothing fits, is
the host's affair.
"""

from __future__ import annotations

from dataclasses import dataclass

from agenthost.errors import InvalidParams, UnsupportedProtocolVersion
from agenthost.protocol.versions.supported import SUPPORTED_VERSIONS, Version, parse_version

MOST_OFFERED = 100
"""Versions in an offer: several times as many as the protocol will ever have at once."""


@dataclass(frozen=True)
class Negotiated:
    """The outcome of a negotiation."""

    # What to answer: one of the offered strings, as the client spelled it.
    answer: str
    # The rung to speak: one of SUPPORTED_VERSIONS.
    version: str


def negotiate(offered: object) -> Negotiated:
    """Pick the highest offered version that we speak, or that is a later patch of one we speak.

    A malformed entry spoils the whole offer (InvalidParams): a client that garbles one version may
    have garbled the one it meant. Nothing in common raises UnsupportedProtocolVersion.
    """
    versions = _parsed(offered)
    for version in sorted(versions, reverse=True):
        rung = _rung(version)
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


def _rung(version: Version) -> str | None:
    """Return the greatest rung that is not above ``version`` and shares its MAJOR and MINOR."""
    for rung in SUPPORTED_VERSIONS:
        spoken = parse_version(rung)
        if spoken[:2] == version[:2] and spoken <= version:
            return rung
    return None
