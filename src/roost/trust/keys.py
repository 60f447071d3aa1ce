"""Key pairs that sign and verify: Ed25519, ECDSA P-256 and RSA [NDN-packet-spec, signature].

A thin coat over `cryptography` (OpenSSL): the cost of a signature is OpenSSL's. Public keys are SubjectPublicKeyInfo,
private keys PKCS#8. ECDSA nonces are those of RFC 6979, so nothing here draws randomness; making keys is in
`generate.py`, shared secrets are in `secret.py`, and key files are `roost.host`'s.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from hashlib import sha256
from typing import Final, Generic, TypeAlias, TypeVar

from cryptography.exceptions import InternalError, InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ec import (
    ECDSA,
    SECP256R1,
    SECP384R1,
    SECP521R1,
    EllipticCurvePrivateKey,
    EllipticCurvePublicKey,
)
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey
from cryptography.hazmat.primitives.hashes import SHA256

from roost.errors import BadPacket
from roost.naming import Name
from roost.wire.signature import ED25519, SHA256_ECDSA, SHA256_RSA, SIGNATURE_NAMES, locator_of_name

MIN_RSA_BITS: Final = 2048

_UNREADABLE: Final = (ValueError, UnsupportedAlgorithm, InternalError)  # what OpenSSL says of damaged keys
_CURVES: Final = (SECP256R1, SECP384R1, SECP521R1)  # P-256 is the one every peer has; the others we only read
_ECDSA_SIGN: Final = ECDSA(SHA256(), deterministic_signing=True)
_ECDSA_VERIFY: Final = ECDSA(SHA256())
_RSA_PADDING: Final = PKCS1v15()
_SHA256: Final = SHA256()

RawPublic = TypeVar("RawPublic", Ed25519PublicKey, EllipticCurvePublicKey, RSAPublicKey)
RawPrivate = TypeVar("RawPrivate", Ed25519PrivateKey, EllipticCurvePrivateKey, RSAPrivateKey)


class _Public(ABC, Generic[RawPublic]):
    """What checks signatures of one key pair; `digest` is what a KeyDigest locator holds."""

    __slots__ = ("_digest", "_spki", "raw")
    signature_type: int

    def __init__(self, raw: RawPublic) -> None:
        self.raw: RawPublic = raw
        self._spki = b""
        self._digest = b""

    @property
    def spki(self) -> bytes:
        """The SubjectPublicKeyInfo, which is the content of a certificate."""
        if not self._spki:
            self._spki = self.raw.public_bytes(
                serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
            )
        return self._spki

    @property
    def digest(self) -> bytes:
        """The SHA-256 of the SubjectPublicKeyInfo."""
        if not self._digest:
            self._digest = sha256(self.spki).digest()
        return self._digest

    @abstractmethod
    def verify(self, portion: bytes, value: bytes) -> bool:
        """Whether `value` is this key's signature over `portion`."""

    def __repr__(self) -> str:
        return f"<{SIGNATURE_NAMES[self.signature_type]} public key {self.digest.hex()[:16]}>"


class Ed25519Public(_Public[Ed25519PublicKey]):
    """Ed25519: 64 bytes over the portion itself."""

    __slots__ = ()
    signature_type = ED25519

    def verify(self, portion: bytes, value: bytes) -> bool:
        try:
            self.raw.verify(value, portion)
        except InvalidSignature:
            return False
        return True


class EcdsaPublic(_Public[EllipticCurvePublicKey]):
    """ECDSA over SHA-256: a DER sequence of two integers."""

    __slots__ = ()
    signature_type = SHA256_ECDSA

    def verify(self, portion: bytes, value: bytes) -> bool:
        try:
            self.raw.verify(value, portion, _ECDSA_VERIFY)
        except InvalidSignature:
            return False
        return True


class RsaPublic(_Public[RSAPublicKey]):
    """RSA over SHA-256, PKCS#1 v1.5."""

    __slots__ = ()
    signature_type = SHA256_RSA

    def verify(self, portion: bytes, value: bytes) -> bool:
        try:
            self.raw.verify(value, portion, _RSA_PADDING, _SHA256)
        except InvalidSignature:
            return False
        return True


class _Private(ABC, Generic[RawPrivate]):
    """What signs, as `roost.wire.Signer`; the KeyLocator is the key name until `located` gives it a certificate's."""

    __slots__ = ("key_locator", "name", "raw")
    signature_type: int

    def __init__(self, name: Name, raw: RawPrivate, locator: Name | None = None) -> None:
        self.name: Final = name
        self.raw: RawPrivate = raw
        self.key_locator: Final = locator_of_name(name if locator is None else locator)

    @property
    @abstractmethod
    def public(self) -> PublicKey:
        """The other half of the pair."""

    @abstractmethod
    def sign(self, portion: bytes) -> bytes:
        """Sign the portion."""

    def pkcs8(self, passphrase: bytes = b"") -> bytes:
        """The private key as PKCS#8 DER, encrypted (PBES2, AES-256-CBC, HMAC-SHA256) if there is a passphrase."""
        encryption = serialization.BestAvailableEncryption(passphrase) if passphrase else serialization.NoEncryption()
        return self.raw.private_bytes(serialization.Encoding.DER, serialization.PrivateFormat.PKCS8, encryption)

    def __repr__(self) -> str:
        return f"<{SIGNATURE_NAMES[self.signature_type]} private key {self.name}>"


class Ed25519Private(_Private[Ed25519PrivateKey]):
    """Signs with Ed25519; ndn-cxx peers cannot check it."""

    __slots__ = ()
    signature_type = ED25519

    @property
    def public(self) -> PublicKey:
        return Ed25519Public(self.raw.public_key())

    def sign(self, portion: bytes) -> bytes:
        return self.raw.sign(portion)


class EcdsaPrivate(_Private[EllipticCurvePrivateKey]):
    """Signs with ECDSA, which every peer can check."""

    __slots__ = ()
    signature_type = SHA256_ECDSA

    @property
    def public(self) -> PublicKey:
        return EcdsaPublic(self.raw.public_key())

    def sign(self, portion: bytes) -> bytes:
        return self.raw.sign(portion, _ECDSA_SIGN)


class RsaPrivate(_Private[RSAPrivateKey]):
    """Signs with RSA."""

    __slots__ = ()
    signature_type = SHA256_RSA

    @property
    def public(self) -> PublicKey:
        return RsaPublic(self.raw.public_key())

    def sign(self, portion: bytes) -> bytes:
        return self.raw.sign(portion, _RSA_PADDING, _SHA256)


PublicKey: TypeAlias = Ed25519Public | EcdsaPublic | RsaPublic
PrivateKey: TypeAlias = Ed25519Private | EcdsaPrivate | RsaPrivate


def located(key: PrivateKey, locator: Name) -> PrivateKey:
    """The same key with another name in its KeyLocator, a certificate's say."""
    return _wrap(key.name, key.raw, locator)


def load_public(spki: bytes) -> PublicKey:
    """Read a SubjectPublicKeyInfo; `BadPacket` says what is wrong with it."""
    try:
        raw = serialization.load_der_public_key(spki)
    except _UNREADABLE as error:
        why = "" if isinstance(error, InternalError) else f": {error}"  # that one prints OpenSSL's whole error stack
        raise BadPacket(f"the public key is not a SubjectPublicKeyInfo that can be read{why}") from None
    if isinstance(raw, Ed25519PublicKey):
        return Ed25519Public(raw)
    if isinstance(raw, EllipticCurvePublicKey):
        _check_curve(raw)
        return EcdsaPublic(raw)
    if isinstance(raw, RSAPublicKey):
        _check_bits(raw)
        return RsaPublic(raw)
    raise BadPacket(f"a {type(raw).__name__} does not sign; Ed25519, ECDSA and RSA keys do")


def load_private(name: Name, pkcs8: bytes, passphrase: bytes = b"") -> PrivateKey:
    """Read a PKCS#8 private key, encrypted or not; errors never repeat key material."""
    try:
        raw = serialization.load_der_private_key(pkcs8, passphrase or None)
    except TypeError:
        what = "is encrypted: give its passphrase" if not passphrase else "is not encrypted: give no passphrase"
        raise BadPacket(f"the private key of {name} {what}") from None
    except _UNREADABLE:
        why = "the passphrase is wrong or the file is damaged" if passphrase else "it is not PKCS#8"
        raise BadPacket(f"the private key of {name} cannot be read: {why}") from None
    if isinstance(raw, Ed25519PrivateKey | EllipticCurvePrivateKey | RSAPrivateKey):
        return _wrap(name, raw)
    raise BadPacket(f"the private key of {name} does not sign; Ed25519, ECDSA and RSA keys do")


def _wrap(
    name: Name, raw: Ed25519PrivateKey | EllipticCurvePrivateKey | RSAPrivateKey, locator: Name | None = None
) -> PrivateKey:
    if isinstance(raw, Ed25519PrivateKey):
        return Ed25519Private(name, raw, locator)
    if isinstance(raw, EllipticCurvePrivateKey):
        _check_curve(raw)
        return EcdsaPrivate(name, raw, locator)
    _check_bits(raw)
    return RsaPrivate(name, raw, locator)


def _check_curve(raw: EllipticCurvePublicKey | EllipticCurvePrivateKey) -> None:
    if not isinstance(raw.curve, _CURVES):
        raise BadPacket(f"an ECDSA key uses P-256 (or reads P-384, P-521), not {raw.curve.name}")


def _check_bits(raw: RSAPublicKey | RSAPrivateKey) -> None:
    if raw.key_size < MIN_RSA_BITS:
        raise BadPacket(f"an RSA key has at least {MIN_RSA_BITS} bits, this one has {raw.key_size}")
