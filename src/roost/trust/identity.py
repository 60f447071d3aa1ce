"""Identities: a private key with its certificate, how certificates are issued, and SafeBags to carry both.

An anchor signs its own certificate; everyone else's is signed by an issuer. SafeBags are those of ndn-cxx (`ndnsec
export`): PKCS#8 under PBES2, PBKDF2-HMAC-SHA256 with 2048 rounds, AES-256-CBC; so choose a long passphrase. What can be
read back is any PBES2 that OpenSSL knows. Whether an issuer *may* issue is the trust schema's question.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from roost.errors import BadConfig, BadPacket
from roost.machine import MS, SECOND
from roost.naming import Component, Name
from roost.trust.keys import PrivateKey, load_private, load_public, located
from roost.wire.certificate import SELF, Certificate, encode_certificate
from roost.wire.safebag import SafeBag

DAY: Final = 24 * 3600 * SECOND
ANCHOR_LIFETIME: Final = 20 * 365 * DAY  # as ndn-cxx
LIFETIME: Final = 365 * DAY
SKEW: Final = 60 * SECOND  # certificates begin this much earlier, for verifiers whose clock is behind


@dataclass(frozen=True, slots=True)
class Identity:
    """Someone who can sign: a key and the certificate of it."""

    key: PrivateKey
    certificate: Certificate
    signer: PrivateKey = field(init=False, repr=False, compare=False)  # names the certificate in its KeyLocator

    def __post_init__(self) -> None:
        if self.key.public.spki != self.certificate.public_key:
            raise BadConfig(
                f"the private key of {self.key.name} does not belong to certificate {self.certificate.name}"
            )
        object.__setattr__(self, "signer", located(self.key, self.certificate.name))

    @property
    def name(self) -> Name:
        return self.certificate.identity


def self_sign(key: PrivateKey, now: int, lifetime: int = ANCHOR_LIFETIME) -> Identity:
    """Make an anchor: a certificate that the key signs for itself."""
    wire = encode_certificate(
        key.name,
        key.public.spki,
        located(key, key.name),
        version=now // MS,
        not_before=now - SKEW,
        not_after=now + lifetime,
    )
    return Identity(key, Certificate.decode(wire))


def certify(issuer: Identity, key_name: Name, public_key: bytes, now: int, lifetime: int = LIFETIME) -> Certificate:
    """Sign a certificate for someone's key; it ends with its issuer's at the latest, being of no use after that."""
    if not issuer.certificate.valid_at(now):
        raise BadConfig(f"certificate {issuer.certificate.name} is not valid now, what it issues would not be either")
    load_public(public_key)
    wire = encode_certificate(
        key_name,
        public_key,
        issuer.signer,
        version=now // MS,
        not_before=max(now - SKEW, issuer.certificate.not_before),
        not_after=min(now + lifetime, issuer.certificate.not_after),
        issuer=issuer.name.at(-1) if issuer.name else Component(b"NA"),
    )
    return Certificate.decode(wire)


def request(key: PrivateKey, now: int) -> Certificate:
    """A self-signed certificate to hand to an issuer: proves that the key is held, good for a day."""
    return self_sign(key, now, DAY).certificate


def certify_request(issuer: Identity, request: Certificate, now: int, lifetime: int = LIFETIME) -> Certificate:
    """Sign the certificate that a self-signed one asks for, after checking that its key was really there."""
    data = request.data
    if not request.is_self_signed or request.issuer != SELF:
        raise BadConfig(f"{request.name} is not self-signed; a request is, and holds the key to certify")
    if not load_public(request.public_key).verify(data.signed_portion, data.signature_value):
        raise BadPacket(f"{request.name} is not signed by the key it holds; ask for it again")
    if not request.valid_at(now):
        raise BadConfig(f"the request {request.name} is good for a day from when it was made; have it made anew")
    return certify(issuer, request.key_name, request.public_key, now, lifetime)


def export_safebag(identity: Identity, passphrase: bytes) -> bytes:
    """Pack an identity for another machine or for `ndnsec import`."""
    if not passphrase:
        raise BadConfig("a SafeBag is encrypted: give a passphrase")
    return SafeBag(identity.certificate, identity.key.pkcs8(passphrase)).encode()


def import_safebag(wire: bytes, passphrase: bytes) -> Identity:
    """Unpack what `export_safebag` or `ndnsec export` has packed."""
    if not passphrase:
        raise BadConfig("a SafeBag is encrypted: give its passphrase")
    bag = SafeBag.decode(wire)
    return Identity(load_private(bag.certificate.key_name, bag.encrypted_key, passphrase), bag.certificate)
