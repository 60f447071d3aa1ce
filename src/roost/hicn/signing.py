"""Signing and verifying packets with Roost's keys.

A signature covers name, payload, algorithm, time and key id. What forwarders change or may change is not covered:
lifetime, path label, flags, locator, hop limit. So the signed bytes are the packet with everything in its header
cleared but the name, and with the padding length and the signature field cleared. In the TCP form this is hICN's rule;
for the compact form, whose path label hICN's own rule would cover, the same parts count.

The key id is the SHA-256 of the SubjectPublicKeyInfo; of a shared secret, which must not leave a hash behind, it is
the SHA-256 of the key's name. Which key may sign which name is the business of whoever verifies.
"""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from typing import Final, TypeVar

from roost.errors import BadPacket
from roost.hicn.head import COMPACT_BYTES, TCP_BYTES
from roost.hicn.packet import Data, Form, Interest, payload_of
from roost.hicn.signature import ECDSA_SHA256, ED25519, HMAC_SHA256, RSA_SHA256, Signature
from roost.trust.keys import EcdsaPrivate, EcdsaPublic, Ed25519Private, Ed25519Public, PrivateKey, PublicKey, RsaPublic
from roost.trust.secret import HmacKey

_DER_BYTES: Final = 8  # of the sequence and the two integers around an ECDSA signature, at most
_VERIFIED_BY: Final = {Ed25519Public: ED25519, EcdsaPublic: ECDSA_SHA256, RsaPublic: RSA_SHA256, HmacKey: HMAC_SHA256}

Packet = TypeVar("Packet", Interest, Data)


def sign(packet: Packet, key: PrivateKey | HmacKey, time_ms: int) -> Packet:
    """Return the packet with this key's signature."""
    checker = key if isinstance(key, HmacKey) else key.public
    field_bytes = (_largest(key) + 3) // 4 * 4
    blank = Signature(_VERIFIED_BY[type(checker)], time_ms, key_id(checker), bytes(field_bytes), field_bytes)
    value = key.sign(signed_portion(replace(packet, signature=blank)))
    return replace(packet, signature=replace(blank, value=value))


def verify(packet: Interest | Data, key: PublicKey | HmacKey) -> bool:
    """Whether a packet is signed, and by this key."""
    signature = packet.signature
    if signature is None or signature.algorithm != _VERIFIED_BY[type(key)] or signature.key_id != key_id(key):
        return False
    return key.verify(signed_portion(packet), signature.value)


def key_id(key: PublicKey | HmacKey) -> bytes:
    """Return the 32 bytes by which a packet says who signed it."""
    return sha256(key.name.value).digest() if isinstance(key, HmacKey) else key.digest


def signed_portion(packet: Interest | Data) -> bytes:
    """Return the bytes that the signature of a packet covers."""
    if packet.signature is None:
        raise BadPacket("a packet without a signature has no signed bytes")
    name = packet.name
    if packet.form is Form.COMPACT:
        header = bytes(8) + name.key + bytes(COMPACT_BYTES - 28)
    else:
        addresses = name.prefix + bytes(16) if isinstance(packet, Data) else bytes(16) + name.prefix
        header = bytes(8) + addresses + bytes(4) + name.key[16:] + bytes(TCP_BYTES - 48)
    return header + packet.signature.covered() + payload_of(packet)


def _largest(key: PrivateKey | HmacKey) -> int:
    """Return the most bytes that a signature of this key has."""
    if isinstance(key, HmacKey):
        return 32
    if isinstance(key, Ed25519Private):
        return 64
    if isinstance(key, EcdsaPrivate):
        return 2 * ((key.raw.curve.key_size + 7) // 8) + _DER_BYTES
    return key.raw.key_size // 8
