"""New keys and their names: `/<identity>/KEY/<8 random bytes>` [NDN-packet-spec, certificate §name].

Entropy is handed in as `entropy(size) -> bytes`, so a simulation makes the same keys from the same seed. RSA is the one
exception: `cryptography` draws its primes itself and cannot be handed any.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal, TypeAlias

from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey, derive_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key

from roost.errors import BadConfig
from roost.naming import Component, Name
from roost.naming.conventions import KEY
from roost.trust.keys import MIN_RSA_BITS, EcdsaPrivate, Ed25519Private, PrivateKey, RsaPrivate

Entropy: TypeAlias = Callable[[int], bytes]
Kind: TypeAlias = Literal["ecdsa", "ed25519", "rsa"]
KINDS: Final[tuple[Kind, ...]] = ("ecdsa", "ed25519", "rsa")

KEY_ID_BYTES: Final = 8
_P256_ORDER: Final = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
_P256_BYTES: Final = 40  # 64 bits more than the order, so that the remainder is even [FIPS 186-5, A.2.1]


def generate(identity: Name, entropy: Entropy, kind: Kind = "ecdsa", bits: int = MIN_RSA_BITS) -> PrivateKey:
    """Make a key for an identity; ECDSA P-256 unless told, because every NDN stack can check it."""
    name = identity / KEY / Component(_exactly(entropy, KEY_ID_BYTES))
    if kind == "ecdsa":
        return EcdsaPrivate(name, p256_key(entropy))
    if kind == "ed25519":
        return Ed25519Private(name, Ed25519PrivateKey.from_private_bytes(_exactly(entropy, 32)))
    if kind == "rsa":
        if bits < MIN_RSA_BITS:
            raise BadConfig(f"an RSA key has at least {MIN_RSA_BITS} bits, not {bits}")
        return RsaPrivate(name, generate_private_key(65537, bits))
    raise BadConfig(f"a key is one of {', '.join(KINDS)}, not {kind!r}")


def p256_key(entropy: Entropy) -> EllipticCurvePrivateKey:
    """Draw a P-256 private key."""
    secret = int.from_bytes(_exactly(entropy, _P256_BYTES), "big") % (_P256_ORDER - 1) + 1
    return derive_private_key(secret, SECP256R1())


def _exactly(entropy: Entropy, size: int) -> bytes:
    drawn = entropy(size)
    if len(drawn) != size:
        raise BadConfig(f"the entropy source gave {len(drawn)} bytes, {size} were asked for")
    return drawn
