"""The two signers that need no key: the SHA-256 digest and the null signature.

Not compiled on purpose: a call from interpreted code into a compiled method costs more than this method does.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from roost.wire.signature import DIGEST_SHA256, NULL


class DigestSigner:
    """The SHA-256 digest: integrity, no identity."""

    signature_type: Final = DIGEST_SHA256
    key_locator: Final = b""

    def sign(self, portion: bytes) -> bytes:
        """Hash the signed portion."""
        return sha256(portion).digest()


class NullSigner:
    """No signature at all (type 200), for packets that something else protects."""

    signature_type: Final = NULL
    key_locator: Final = b""

    def sign(self, portion: bytes) -> bytes:  # noqa: ARG002  a signer's shape
        """Return the empty value."""
        return b""
