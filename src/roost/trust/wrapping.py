"""A content key wrapped for one consumer's public key.

    P-256, X25519   an ephemeral key pair, ECDH, HKDF-SHA256, AES-256-GCM (ECIES)
    RSA             OAEP with SHA-256

The name under which the wrapped key is published goes into the derivation (OAEP: the label), so it unwraps under that
name only. Ed25519 keys sign and cannot receive. The ephemeral key comes from handed-in entropy; OAEP's seed is the one
thing `cryptography` draws itself.

    WrappedKey = 136 { 137 method (NNI: 1 P-256, 2 X25519, 3 RSA), [138 ephemeral public key], 139 wrapped key }
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import Final, TypeAlias

from cryptography.exceptions import InternalError, InvalidTag, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ec import (
    ECDH,
    SECP256R1,
    EllipticCurvePrivateKey,
    EllipticCurvePublicKey,
)
from cryptography.hazmat.primitives.asymmetric.padding import MGF1, OAEP
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from roost.errors import BadConfig, BadPacket, Untrusted
from roost.naming import Name
from roost.naming.number import read_nni
from roost.trust.generate import Entropy, p256_key
from roost.trust.keys import MIN_RSA_BITS, PrivateKey
from roost.wire import tlv

KEY_BYTES: Final = 32

_WRAPPED: Final = 136
_METHOD: Final = 137
_EPHEMERAL: Final = 138
_VALUE: Final = 139

_P256: Final = 1
_X25519: Final = 2
_RSA: Final = 3

_ZERO_IV: Final = bytes(12)  # safe: every derived key wraps exactly once
_PURPOSE: Final = b"roost content key v1"

RawRecipient: TypeAlias = EllipticCurvePublicKey | X25519PublicKey | RSAPublicKey
RawReceiver: TypeAlias = EllipticCurvePrivateKey | X25519PrivateKey | RSAPrivateKey


class Recipient:
    """Whom a key is wrapped for: a consumer's public key; `digest` is the KeyDigest of its certificate's key."""

    __slots__ = ("_raw", "digest")

    def __init__(self, spki: bytes) -> None:
        try:
            raw = serialization.load_der_public_key(spki)
        except (ValueError, UnsupportedAlgorithm, InternalError):
            raise BadPacket("the consumer's public key is not a SubjectPublicKeyInfo that can be read") from None
        if not isinstance(raw, EllipticCurvePublicKey | X25519PublicKey | RSAPublicKey):
            raise BadConfig(
                f"a {type(raw).__name__} cannot receive content keys; give the consumer an ECDSA, X25519 or RSA key"
            )
        if isinstance(raw, EllipticCurvePublicKey) and not isinstance(raw.curve, SECP256R1):
            raise BadConfig(f"content keys are wrapped for P-256 keys, not {raw.curve.name}")
        if isinstance(raw, RSAPublicKey) and raw.key_size < MIN_RSA_BITS:
            raise BadConfig(f"content keys are wrapped for RSA keys of {MIN_RSA_BITS} bits or more, not {raw.key_size}")
        self._raw: Final[RawRecipient] = raw
        self.digest: Final = sha256(spki).digest()
        if not isinstance(raw, EllipticCurvePublicKey):  # whose points OpenSSL checks when it reads them
            # A key that cannot receive must fail here, not when a stream changes its key for all readers.
            self.wrap(bytes(KEY_BYTES), Name(), lambda size: b"\x01" * size)

    def wrap(self, key: bytes, name: Name, entropy: Entropy) -> bytes:
        """Wrap a content key, to be published under `name`."""
        raw = self._raw
        if isinstance(raw, RSAPublicKey):
            try:
                return _element(_RSA, b"", raw.encrypt(key, _oaep(name)))
            except ValueError:
                raise BadConfig(
                    f"the RSA key {self.digest.hex()} cannot encrypt: it is damaged; have it made anew"
                ) from None
        if isinstance(raw, X25519PublicKey):
            mine = X25519PrivateKey.from_private_bytes(entropy(KEY_BYTES))
            ephemeral = mine.public_key().public_bytes_raw()
            try:
                shared = mine.exchange(raw)
            except ValueError:  # a point of low order: everyone would know what is shared
                raise BadConfig(
                    f"the X25519 key {self.digest.hex()} can keep no secret; have the consumer's key made anew"
                ) from None
            method = _X25519
        else:
            pair = p256_key(entropy)
            ephemeral = _point(pair.public_key())
            shared = pair.exchange(ECDH(), raw)
            method = _P256
        sealed = _derived(shared, ephemeral, self.digest, name).encrypt(_ZERO_IV, key, None)
        return _element(method, ephemeral, sealed)


class Receiver:
    """The private half: unwraps what was wrapped for it."""

    __slots__ = ("_raw", "digest")

    def __init__(self, raw: RawReceiver) -> None:
        self._raw: Final = raw
        spki = raw.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        self.digest: Final = sha256(spki).digest()

    @staticmethod
    def of(key: PrivateKey) -> Receiver:
        """Receive with a signing key, as one certificate then serves for both."""
        if not isinstance(key.raw, EllipticCurvePrivateKey | RSAPrivateKey):
            raise BadConfig(
                f"{key.name} is an Ed25519 key, which cannot receive content keys; make an ECDSA one beside it"
            )
        return Receiver(key.raw)

    def unwrap(self, wrapped: bytes, name: Name) -> bytes:
        """Unwrap a content key that was published under `name`; `Untrusted` if it was not wrapped for this key."""
        method, ephemeral, value = _parse(wrapped)
        raw = self._raw
        try:
            if isinstance(raw, RSAPrivateKey) and method == _RSA:
                return _sized(raw.decrypt(value, _oaep(name)))
            if isinstance(raw, X25519PrivateKey) and method == _X25519:
                shared = raw.exchange(X25519PublicKey.from_public_bytes(ephemeral))
            elif isinstance(raw, EllipticCurvePrivateKey) and method == _P256:
                point = EllipticCurvePublicKey.from_encoded_point(SECP256R1(), ephemeral)
                shared = raw.exchange(ECDH(), point)
            else:
                raise Untrusted(f"{name} was wrapped for another kind of key than this consumer's")
            return _sized(_derived(shared, ephemeral, self.digest, name).decrypt(_ZERO_IV, value, None))
        except (ValueError, InvalidTag):
            raise Untrusted(f"{name} does not unwrap: it was wrapped for another key, or under another name") from None

    def __repr__(self) -> str:
        return f"<Receiver {self.digest.hex()[:16]}>"


def receiving(keys: Iterable[PrivateKey]) -> list[PrivateKey]:
    """Those of our keys for which content keys can be wrapped; each once."""
    able = [key for key in keys if isinstance(key.raw, EllipticCurvePrivateKey | RSAPrivateKey)]
    return list({key.public.digest: key for key in able}.values())


def _derived(shared: bytes, ephemeral: bytes, digest: bytes, name: Name) -> AESGCM:
    info = _PURPOSE + tlv.tlv(_EPHEMERAL, ephemeral) + digest + name.wire
    return AESGCM(HKDF(SHA256(), KEY_BYTES, None, info).derive(shared))


def _oaep(name: Name) -> OAEP:
    return OAEP(MGF1(SHA256()), SHA256(), label=_PURPOSE + name.wire)


def _point(key: EllipticCurvePublicKey) -> bytes:
    return key.public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)


def _sized(key: bytes) -> bytes:
    if len(key) != KEY_BYTES:
        raise Untrusted(f"a content key has {KEY_BYTES} bytes, the one that was wrapped has {len(key)}")
    return key


def _element(method: int, ephemeral: bytes, value: bytes) -> bytes:
    middle = tlv.tlv(_EPHEMERAL, ephemeral) if ephemeral else b""
    return tlv.tlv(_WRAPPED, tlv.number(_METHOD, method) + middle + tlv.tlv(_VALUE, value))


def _parse(wrapped: bytes) -> tuple[int, bytes, bytes]:
    low, high = tlv.outer(wrapped, _WRAPPED)
    parts = {type_: (start, end) for type_, start, end in tlv.elements(wrapped, low, high)}
    if _METHOD not in parts or _VALUE not in parts:
        raise BadPacket("a wrapped key says its method and holds a value")
    start, end = parts.get(_EPHEMERAL, (0, 0))
    value_low, value_high = parts[_VALUE]
    return read_nni(wrapped, *parts[_METHOD]), wrapped[start:end], wrapped[value_low:value_high]
