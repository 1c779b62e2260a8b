"""The host's own key for pushes (VAPID), and the encryption of each message for its browser.

The libraries are loaded by the first call, never by importing this.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field

CONTACT = "mailto:agenthost@example.org"
"""Whom a push service may write to. It wants to be told; hosts have no address of their own."""

AUTHORIZED_SECONDS = 12 * 3600
"""How long a signature holds; services take a day at most, and clocks differ."""

POINT_BYTES, AUTH_BYTES, RECORD_BYTES = 65, 16, 4096
"""A browser's key, its secret, and what one message may hold when it is encrypted."""

MOST_PLAIN_BYTES = RECORD_BYTES - 103
"""What is left of a record for the message: a header, a padding mark and a tag are in it too."""


class BadKey(ValueError):
    """Something that should be a key is none; the message says which."""


@dataclass(frozen=True, slots=True)
class VapidKeys:
    """The key by which push services know this host, as base64url."""

    private: str = field(repr=False)
    public: str


def new_keys() -> VapidKeys:
    """Make the key of a host."""
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    key = ec.generate_private_key(ec.SECP256R1())
    number = key.private_numbers().private_value.to_bytes(32, "big")
    point = key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    return VapidKeys(encoded(number), encoded(point))


def authorization(keys: VapidKeys, origin: str, now: float) -> str:
    """Return the header that tells the push service of an origin who is sending."""
    from py_vapid import Vapid02  # type: ignore[import-untyped]

    signer = Vapid02.from_raw(keys.private.encode())
    claims = {"sub": CONTACT, "aud": origin, "exp": int(now) + AUTHORIZED_SECONDS}
    return str(signer.sign(claims)["Authorization"])


def sealed(message: bytes, p256dh: str, auth: str) -> bytes:
    """Encrypt a message so that one browser alone can read it; the push service cannot."""
    import http_ece  # type: ignore[import-untyped]
    from cryptography.hazmat.primitives.asymmetric import ec

    sealed: bytes = http_ece.encrypt(
        message,
        private_key=ec.generate_private_key(ec.SECP256R1()),
        dh=decoded(p256dh),
        auth_secret=decoded(auth),
        version="aes128gcm",
        rs=RECORD_BYTES,
    )
    return sealed


def check_browser_keys(p256dh: str, auth: str) -> None:
    """Raise BadKey unless messages can be encrypted with what a browser gave."""
    from cryptography.hazmat.primitives.asymmetric import ec

    if len(decoded(auth)) != AUTH_BYTES:
        raise BadKey(f"auth is not {AUTH_BYTES} bytes in base64url")
    point = decoded(p256dh)
    try:
        if len(point) != POINT_BYTES:
            raise ValueError
        ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
    except ValueError:
        raise BadKey("p256dh is no point of P-256, uncompressed and in base64url") from None


def encoded(data: bytes) -> str:
    """Return bytes as base64url without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decoded(text: str) -> bytes:
    """Return the bytes that base64url means; none where anything in it is something else."""
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True)
    except (binascii.Error, ValueError):
        return b""
