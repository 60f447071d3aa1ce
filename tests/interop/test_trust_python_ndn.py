"""Signatures, certificates, SafeBag keys and Light VerSec both ways with python-ndn 0.5."""

import random

import ndn.encoding as theirs
import pytest
from Cryptodome.PublicKey import ECC, RSA
from ndn.app_support.light_versec import DEFAULT_USER_FNS, Checker, compile_lvs
from ndn.app_support.security_v2 import parse_certificate, self_sign
from ndn.security import verify_ecdsa, verify_ed25519, verify_hmac, verify_rsa
from ndn.security.signer import HmacSha256Signer, Sha256WithEcdsaSigner, Sha256WithRsaSigner
from ndn.security.signer.ed25519_signer import Ed25519Signer
from tests.trust_world import NOW, SCHEMA, STREAM, World

from roost.naming import Component, Name
from roost.trust import HmacKey, generate, load_private, load_public
from roost.trust.generate import KINDS, Kind
from roost.wire import Data, Interest, encode_data, sign_interest
from roost.wire.certificate import Certificate

READING = Name.parse(f"{STREAM}/seq=1")
SECRET = bytes(range(32))


def formal(name: Name) -> list[bytes]:
    return [part.wire for part in name]


def their_public(kind: Kind, spki: bytes) -> object:
    return RSA.import_key(spki) if kind == "rsa" else ECC.import_key(spki)


@pytest.mark.parametrize("kind", KINDS)
def test_python_ndn_verifies_our_data(kind: Kind) -> None:
    key = generate(READING.prefix(-3), random.Random(1).randbytes, kind)
    _, _, _, pointers = theirs.parse_data(encode_data(READING, b"21.5", key))
    verify = {"ecdsa": verify_ecdsa, "ed25519": verify_ed25519, "rsa": verify_rsa}[kind]
    assert verify(their_public(kind, key.public.spki), pointers)
    _, _, _, altered = theirs.parse_data(encode_data(READING, b"21.5", key).replace(b"21.5", b"21.6"))
    assert not verify(their_public(kind, key.public.spki), altered)


@pytest.mark.parametrize("kind", KINDS)
def test_python_ndn_verifies_our_signed_interests(kind: Kind) -> None:
    key = generate(READING.prefix(-3), random.Random(2).randbytes, kind)
    wire = sign_interest(READING, key, time_ms=NOW // 10**6, signature_nonce=b"12345678", parameters=b"p")
    _, _, _, pointers = theirs.parse_interest(wire)
    verify = {"ecdsa": verify_ecdsa, "ed25519": verify_ed25519, "rsa": verify_rsa}[kind]
    assert verify(their_public(kind, key.public.spki), pointers)


def test_python_ndn_verifies_our_hmac() -> None:
    key = HmacKey(Name.parse("/k/KEY/1"), SECRET)
    _, _, _, pointers = theirs.parse_data(encode_data(READING, b"x", key))
    assert verify_hmac(SECRET, pointers)
    assert not verify_hmac(bytes(32), pointers)


def their_signer(kind: Kind) -> tuple[object, bytes]:
    name = formal(Name.parse("/k/KEY/%01"))
    if kind == "rsa":
        rsa = RSA.generate(2048)
        return Sha256WithRsaSigner(name, rsa.export_key("DER", pkcs=8)), rsa.public_key().export_key("DER")
    ecc = ECC.generate(curve="P-256" if kind == "ecdsa" else "Ed25519")
    made = Sha256WithEcdsaSigner if kind == "ecdsa" else Ed25519Signer
    private = ecc.export_key(format="DER", use_pkcs8=True)
    return made(name, private), ecc.public_key().export_key(format="DER")


@pytest.mark.parametrize("kind", KINDS)
def test_we_verify_what_python_ndn_signs(kind: Kind) -> None:
    signer, spki = their_signer(kind)
    key = load_public(spki)
    data = Data.decode(bytes(theirs.make_data(formal(READING), theirs.MetaInfo(), b"21.5", signer)))
    assert key.verify(data.signed_portion, data.signature_value)
    assert str(data.signature.key_name) == "/k/KEY/%01"
    interest = Interest.decode(
        bytes(theirs.make_interest(formal(READING), theirs.InterestParam(nonce=1), b"params", signer))
    )
    assert interest.signature is not None
    assert key.verify(interest.signed_portion, interest.signature_value)


def test_we_verify_their_hmac() -> None:
    signer = HmacSha256Signer(formal(Name.parse("/k/KEY/1")), SECRET)
    data = Data.decode(bytes(theirs.make_data(formal(READING), theirs.MetaInfo(), b"21.5", signer)))
    assert HmacKey(Name.parse("/k/KEY/1"), SECRET).verify(data.signed_portion, data.signature_value)


def test_python_ndn_reads_our_certificates() -> None:
    certificate = World()["/BigCompany/Building1"].certificate
    parsed = parse_certificate(certificate.wire)
    assert [bytes(part) for part in parsed.name] == formal(certificate.name)
    assert bytes(parsed.content) == certificate.public_key
    period = parsed.signature_info.validity_period
    assert bytes(period.not_before) == certificate.data.signature.validity[0].encode()  # type: ignore[index]


def test_we_read_certificates_of_python_ndn() -> None:
    ecc = ECC.generate(curve="P-256")
    name = formal(Name.parse("/alice/KEY/%01"))
    signer = Sha256WithEcdsaSigner(name, ecc.export_key(format="DER", use_pkcs8=True))
    _, wire = self_sign(name, ecc.public_key().export_key(format="DER"), signer)
    certificate = Certificate.decode(bytes(wire))
    assert str(certificate.identity) == "/alice"
    data = certificate.data
    assert load_public(certificate.public_key).verify(data.signed_portion, data.signature_value)


def test_encrypted_keys_travel_both_ways() -> None:
    ours = generate(Name.parse("/alice"), random.Random(3).randbytes)
    assert ECC.import_key(ours.pkcs8(b"secret"), "secret").public_key().export_key(format="DER") == ours.public.spki
    ecc = ECC.generate(curve="P-256")
    encrypted = ecc.export_key(
        format="DER", passphrase=b"secret", use_pkcs8=True, protection="PBKDF2WithHMAC-SHA256AndAES256-CBC"
    )
    loaded = load_private(Name.parse("/alice/KEY/1"), encrypted, b"secret")
    assert loaded.public.spki == ecc.public_key().export_key(format="DER")


def test_their_checker_agrees_on_every_chain_of_the_company() -> None:
    world = World()
    checker = Checker(compile_lvs(SCHEMA.text), DEFAULT_USER_FNS)
    names = [certificate.name for certificate in world.certificates()]
    names += [READING, Name.parse("/BigCompany/Building1/Electricity/Repo/Repo1/seq=1"), READING / Component(b"x")]
    agreed = 0
    for name in names:
        for certificate in world.certificates():
            verdict = SCHEMA.rule_for(name, certificate.name) is not None
            assert verdict == checker.check(formal(name), formal(certificate.name))
            agreed += verdict
    assert agreed >= len(world.certificates())
