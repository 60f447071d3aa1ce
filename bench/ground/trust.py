"""Sign and verify with each algorithm, beside the bare calls of `cryptography` and `hashlib` that do the same work.

The portion is a reading's: name, SenML-sized content and SignatureInfo. `check` is what a subscriber pays for a whole
packet once the chain of certificates is known: schema, period and signature, beside the signature alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from hashlib import sha256

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.hmac import HMAC

from bench.figure import Figure, alternate, rate
from roost.naming import Name
from roost.naming.building import Company
from roost.trust import Accepted, HmacKey, Identity, Verifier, building_schema, certify, generate, self_sign
from roost.trust.keys import EcdsaPrivate, Ed25519Private, RsaPrivate
from roost.trust.secret import digest_matches
from roost.wire import DigestSigner, make_data

NOW = 1_800_000_000_000_000_000
PORTION = os.urandom(200)
SECRET = os.urandom(32)
SECONDS = 0.03  # short turns, many of them: a busy neighbour then disturbs both alike
ROUNDS = 21

Call = Callable[[], object]


def run() -> Iterable[Figure]:
    for name, ours, bare in pairs():
        measured = alternate(timed(ours), timed(bare), rounds=ROUNDS, label=name, pick=max)
        yield Figure(f"trust.{name}", measured.ours, "1/s", "openssl", measured.peer)


def timed(call: Call) -> Callable[[], float]:
    return lambda: rate(call, seconds=SECONDS)


def pairs() -> Iterable[tuple[str, Call, Call]]:
    name = Name.parse("/bench")
    ecdsa = generate(name, os.urandom, "ecdsa")
    assert isinstance(ecdsa, EcdsaPrivate)
    ed25519 = generate(name, os.urandom, "ed25519")
    assert isinstance(ed25519, Ed25519Private)
    rsa = generate(name, os.urandom, "rsa")
    assert isinstance(rsa, RsaPrivate)
    algorithm, hashed, padding = ECDSA(SHA256()), SHA256(), PKCS1v15()

    raw_ecdsa, public, value = ecdsa.raw, ecdsa.public, ecdsa.sign(PORTION)
    raw_public = raw_ecdsa.public_key()
    yield "ecdsa_sign", lambda: ecdsa.sign(PORTION), lambda: raw_ecdsa.sign(PORTION, algorithm)
    yield (
        "ecdsa_verify",
        lambda: public.verify(PORTION, value),
        lambda: checked(lambda: raw_public.verify(value, PORTION, algorithm)),
    )

    raw_ed, ed_public, ed_value = ed25519.raw, ed25519.public, ed25519.sign(PORTION)
    raw_ed_public = raw_ed.public_key()
    yield "ed25519_sign", lambda: ed25519.sign(PORTION), lambda: raw_ed.sign(PORTION)
    yield (
        "ed25519_verify",
        lambda: ed_public.verify(PORTION, ed_value),
        lambda: checked(lambda: raw_ed_public.verify(ed_value, PORTION)),
    )

    raw_rsa, rsa_public, rsa_value = rsa.raw, rsa.public, rsa.sign(PORTION)
    raw_rsa_public = raw_rsa.public_key()
    yield "rsa_sign", lambda: rsa.sign(PORTION), lambda: raw_rsa.sign(PORTION, padding, hashed)
    yield (
        "rsa_verify",
        lambda: rsa_public.verify(PORTION, rsa_value),
        lambda: checked(lambda: raw_rsa_public.verify(rsa_value, PORTION, padding, hashed)),
    )

    hmac = HmacKey(name, SECRET)
    code = hmac.sign(PORTION)
    yield "hmac_sign", lambda: hmac.sign(PORTION), bare_hmac
    yield "hmac_verify", lambda: hmac.verify(PORTION, code), lambda: bare_hmac_verify(code)

    digest = sha256(PORTION).digest()
    signer = DigestSigner()
    yield "digest_sign", lambda: signer.sign(PORTION), lambda: sha256(PORTION).digest()
    yield "digest_verify", lambda: digest_matches(PORTION, digest), lambda: sha256(PORTION).digest() == digest
    yield whole_check()


def checked(verify: Call) -> bool:
    """The bare call as an application writes it: a wrong signature must not be an exception there."""
    try:
        verify()
    except InvalidSignature:
        return False
    return True


def bare_hmac() -> bytes:
    code = HMAC(SECRET, SHA256())
    code.update(PORTION)
    return code.finalize()


def bare_hmac_verify(value: bytes) -> None:
    code = HMAC(SECRET, SHA256())
    code.update(PORTION)
    code.verify(value)


def whole_check() -> tuple[str, Call, Call]:
    company = Company(Name.parse("/BigCompany"), frozenset({"Building1"}))
    panel = company.group("Building1", "Electricity").panel("Panel1")
    root = self_sign(generate(company.root.name, os.urandom), NOW)
    building = issued(root, company.building("Building1").name)
    key = issued(building, panel.name)
    verifier = Verifier(building_schema(company), [root.certificate])
    for certificate in (building.certificate, key.certificate):
        verifier.learn(certificate.data, NOW)
    packet = make_data(panel.group.stream("Panel1", "Heater", "Voltage").reading(1), bytes(100), key.signer)
    assert isinstance(verifier.check(packet, NOW), Accepted)
    public, portion, value = key.key.public, packet.signed_portion, packet.signature_value
    return "check_ecdsa", lambda: verifier.check(packet, NOW), lambda: public.verify(portion, value)


def issued(issuer: Identity, name: Name) -> Identity:
    key = generate(name, os.urandom)
    return Identity(key, certify(issuer, key.name, key.public.spki, NOW))
