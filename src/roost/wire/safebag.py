"""SafeBag: a certificate and its encrypted private key in one element, and the text of key files [ndn-cxx].

    SafeBag = 128 { the certificate, a Data;  129 EncryptedKey = PKCS #8 EncryptedPrivateKeyInfo }

Files of keys and certificates hold the base64 of such an element in lines of 64 columns, without header. Encrypting and
decrypting the key is `roost.trust`'s.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import Final

from roost.errors import BadPacket
from roost.wire.certificate import Certificate
from roost.wire.tlv import DATA, element, skip, tlv

SAFE_BAG: Final = 128
ENCRYPTED_KEY: Final = 129
MAX_TEXT: Final = 65_536
_COLUMNS: Final = 64


@dataclass(frozen=True, slots=True)
class SafeBag:
    """A certificate with the private key of it, encrypted."""

    certificate: Certificate
    encrypted_key: bytes

    def encode(self) -> bytes:
        return tlv(SAFE_BAG, self.certificate.wire + tlv(ENCRYPTED_KEY, self.encrypted_key))

    @staticmethod
    def decode(wire: bytes) -> SafeBag:
        """Check and open a SafeBag; raises `BadPacket` with the reason."""
        type_, start, end = element(wire, 0, len(wire))
        if type_ != SAFE_BAG or end != len(wire):
            raise BadPacket(
                f"a SafeBag is one element {SAFE_BAG}, this is element {type_}, {len(wire) - end} bytes follow"
            )
        type_, low, position = element(wire, start, end)
        if type_ != DATA:
            raise BadPacket("a SafeBag starts with its certificate")
        certificate = Certificate.decode(wire[start:position])
        key = b""
        while position < end:
            at = position
            type_, low, position = element(wire, at, end)
            if type_ == ENCRYPTED_KEY and not key:
                key = wire[low:position]
            else:
                skip(type_, at, "SafeBag")
        if not key:
            raise BadPacket("the SafeBag holds no encrypted key")
        return SafeBag(certificate, key)


def to_text(wire: bytes) -> str:
    """Write a certificate or SafeBag as base64 in lines of 64 columns."""
    text = base64.b64encode(wire).decode()
    return "".join([text[low : low + _COLUMNS] + "\n" for low in range(0, len(text), _COLUMNS)])


def from_text(text: str) -> bytes:
    """Read base64 text, in whatever lines."""
    if len(text) > MAX_TEXT:
        raise BadPacket(f"the text has {len(text)} characters, a key or certificate has at most {MAX_TEXT}")
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadPacket(f"the text is not base64 ({error}); a key file holds base64 and nothing else") from None
