"""What the two sides of an enrolment say to each other, sealed with keys that only the code gives.

    master = scrypt(secret, salt "roost enrolment v1", N 2^14, r 8, p 1)            32 bytes, 16 MiB for each guess
    key    = HKDF-SHA256(master, info = label)                                      one for each kind of message
    id     = HKDF-SHA256(master, info "identifier"), 8 bytes                        the invitation's public name
    box    = IV (12 bytes) || AES-256-GCM(key, IV, content, associated data = id || what the box answers)

A box opens with the secret it was made with, as the kind of message it was made as, and as the answer to nothing but
what it answered. What is sent by somebody who has not the secret therefore counts for nothing, and what is said is read
by nobody else.
"""

from __future__ import annotations

from hashlib import scrypt
from typing import Final, Literal, TypeAlias

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from roost.errors import Untrusted
from roost.trust.generate import Entropy

Label: TypeAlias = Literal["offer", "claim", "grant", "done"]

IDENTIFIER_BYTES: Final = 8
IV_BYTES: Final = 12

_SALT: Final = b"roost enrolment v1"
_COST: Final = 1 << 14
_KEY_BYTES: Final = 32
_TAG_BYTES: Final = 16


class Seal:
    """Closes and opens boxes with one secret."""

    __slots__ = ("_master", "identifier")

    def __init__(self, secret: bytes) -> None:
        room = 64 << 20  # OpenSSL counts a little beside the memory itself
        self._master: Final = scrypt(secret, salt=_SALT, n=_COST, r=8, p=1, maxmem=room, dklen=_KEY_BYTES)
        self.identifier: Final = self._derived("identifier", IDENTIFIER_BYTES)

    def close(self, label: Label, content: bytes, entropy: Entropy, answers: bytes = b"") -> bytes:
        """Seal a message of this kind, as the answer to another box or to none."""
        nonce = entropy(IV_BYTES)
        return nonce + self._cipher(label).encrypt(nonce, content, self.identifier + answers)

    def open(self, label: Label, box: bytes, answers: bytes = b"") -> bytes:
        """Open a box; `Untrusted` if it was not made so, with this secret."""
        if len(box) < IV_BYTES + _TAG_BYTES:
            raise Untrusted(f"the {label} is cut off: {len(box)} bytes hold no message")
        try:
            return self._cipher(label).decrypt(box[:IV_BYTES], box[IV_BYTES:], self.identifier + answers)
        except InvalidTag:
            raise Untrusted(
                f"the {label} was not made with this code, or was altered on the way: somebody is in between, or the "
                "code is another invitation's"
            ) from None

    def _cipher(self, label: Label) -> AESGCM:
        return AESGCM(self._derived(label, _KEY_BYTES))

    def _derived(self, info: str, size_bytes: int) -> bytes:
        return HKDF(SHA256(), size_bytes, None, info.encode()).derive(self._master)

    def __repr__(self) -> str:
        return f"<Seal {self.identifier.hex()}>"
