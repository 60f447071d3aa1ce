"""Signatures without a key pair: HMAC-SHA256 with a shared secret, and the plain SHA-256 digest.

An HMAC says "someone who has the secret", a digest says nothing about who. Both signers fit `roost.wire.Signer`; the
digest signer itself is `roost.wire.DigestSigner`.
"""

from __future__ import annotations

from hashlib import sha256
from hmac import compare_digest
from typing import Final

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.hmac import HMAC

from roost.errors import BadConfig
from roost.naming import Name
from roost.wire.signature import HMAC_SHA256, locator_of_name

MIN_SECRET_BYTES: Final = 16


class HmacKey:
    """A shared secret that signs and verifies; the padded key is hashed once and copied for each packet."""

    __slots__ = ("_keyed", "key_locator", "name")
    signature_type: Final = HMAC_SHA256

    def __init__(self, name: Name, secret: bytes) -> None:
        if len(secret) < MIN_SECRET_BYTES:
            raise BadConfig(f"HMAC key {name} has {len(secret)} bytes; use at least {MIN_SECRET_BYTES}, 32 is usual")
        self.name: Final = name
        self.key_locator: Final = locator_of_name(name)
        self._keyed: Final = HMAC(secret, SHA256())

    def sign(self, portion: bytes) -> bytes:
        """Compute the code over the portion."""
        keyed = self._keyed.copy()
        keyed.update(portion)
        return keyed.finalize()

    def verify(self, portion: bytes, value: bytes) -> bool:
        """Whether `value` is the code over `portion`, compared in constant time."""
        return compare_digest(self.sign(portion), value)

    def __repr__(self) -> str:
        return f"<HMAC-SHA256 key {self.name}>"


def digest_matches(portion: bytes, value: bytes) -> bool:
    """Whether `value` is the SHA-256 of `portion`: the packet is whole, nothing more."""
    return sha256(portion).digest() == value
