"""Identities: issuing, SafeBags, and the key chain that picks the signing key by the schema."""

import random

import pytest
from tests.trust_world import CHAINS, NOW, ROOT, SCHEMA, STREAM, World, data

from roost.errors import BadConfig, BadPacket, NoKey
from roost.machine import SECOND
from roost.naming import Name
from roost.trust import (
    Identity,
    KeyChain,
    certify,
    certify_request,
    export_safebag,
    generate,
    import_safebag,
    self_sign,
)
from roost.trust.explain import explain_name, explain_packet
from roost.trust.generate import KINDS, Kind
from roost.trust.identity import DAY, LIFETIME, request
from roost.wire import Data, DigestSigner, make_data
from roost.wire.certificate import Certificate
from roost.wire.safebag import SafeBag

PANEL1 = "/BigCompany/Building1/Electricity/Panel1"
BUILDING1 = "/BigCompany/Building1"


@pytest.fixture(scope="module")
def world() -> World:
    return World()


@pytest.fixture(scope="module")
def keychain(world: World) -> KeyChain:
    return KeyChain(SCHEMA, [world[name] for name in CHAINS] + [world[ROOT]])


def test_an_anchor_is_named_and_signed_as_ndn_cxx_does(world: World) -> None:
    certificate = world[ROOT].certificate
    assert str(certificate.issuer) == "self"
    assert certificate.is_self_signed
    assert certificate.data.signature.key_name == certificate.key_name  # ndn-packets.md §7: the key name, not the own
    assert certificate.data.freshness_ms == 3_600_000


def test_a_certificate_names_its_issuer_and_does_not_outlive_it(world: World) -> None:
    certificate = world[PANEL1].certificate
    assert str(certificate.issuer) == "Building1"
    assert certificate.data.signature.key_name == world[BUILDING1].certificate.name
    short = world.made(BUILDING1, world[ROOT], lifetime=DAY)
    key = generate(Name.parse(PANEL1), random.Random(1).randbytes)
    assert certify(short, key.name, key.public.spki, NOW, LIFETIME).not_after <= short.certificate.not_after
    with pytest.raises(BadConfig, match="not valid now"):
        certify(short, key.name, key.public.spki, NOW + 2 * DAY)


def test_a_fresh_certificate_is_valid_at_once(world: World) -> None:
    assert world[PANEL1].certificate.valid_at(NOW)
    assert world[PANEL1].certificate.valid_at(NOW - SECOND)


def test_requests_are_certified_only_if_the_key_was_there(world: World) -> None:
    key = generate(Name.parse(PANEL1), random.Random(2).randbytes)
    asked = request(key, NOW)
    made = certify_request(world[BUILDING1], asked, NOW)
    assert Identity(key, made).certificate.key_name == key.name
    spki = key.public.spki
    other = generate(Name.parse(PANEL1), random.Random(3).randbytes).public.spki
    swapped = Certificate.decode(Data.decode(asked.wire.replace(spki, other)))
    with pytest.raises(BadPacket, match="not signed by the key it holds"):
        certify_request(world[BUILDING1], swapped, NOW)
    with pytest.raises(BadConfig, match="not self-signed"):
        certify_request(world[BUILDING1], world[PANEL1].certificate, NOW)
    with pytest.raises(BadConfig, match="good for a day"):
        certify_request(world[BUILDING1], asked, NOW + 2 * 86_400 * SECOND)


def test_a_key_and_a_certificate_that_do_not_belong_together(world: World) -> None:
    with pytest.raises(BadConfig, match="does not belong"):
        Identity(world[PANEL1].key, world[BUILDING1].certificate)


@pytest.mark.parametrize("kind", KINDS)
def test_a_safebag_comes_back_as_it_was(kind: Kind) -> None:
    identity = self_sign(generate(Name.parse("/alice"), random.Random(1).randbytes, kind), NOW)
    wire = export_safebag(identity, b"correct horse")
    again = import_safebag(wire, b"correct horse")
    assert again.certificate.wire == identity.certificate.wire
    assert again.key.pkcs8() == identity.key.pkcs8()
    with pytest.raises(BadPacket, match="passphrase is wrong"):
        import_safebag(wire, b"battery staple")
    for passphrase in (b"",):
        with pytest.raises(BadConfig, match="passphrase"):
            export_safebag(identity, passphrase)
        with pytest.raises(BadConfig, match="passphrase"):
            import_safebag(wire, passphrase)


def test_a_safebag_is_encrypted_as_ndn_cxx_encrypts() -> None:
    identity = self_sign(generate(Name.parse("/alice"), random.Random(1).randbytes), NOW)
    encrypted = SafeBag.decode(export_safebag(identity, b"secret")).encrypted_key
    for what, oid in (
        ("PBES2", "06092a864886f70d01050d"),
        ("PBKDF2", "06092a864886f70d01050c"),
        ("HMAC-SHA256", "06082a864886f70d0209"),
        ("AES-256-CBC", "060960864801650304012a"),
        ("2048 rounds", "02020800"),
    ):
        assert bytes.fromhex(oid) in encrypted, what


def test_the_schema_picks_the_key(keychain: KeyChain, world: World) -> None:
    for name, identity in (
        (f"{STREAM}/seq=1", PANEL1),
        (f"{STREAM}/seq=2", PANEL1),
        ("/BigCompany/Building1/Electricity/Repo/Repo2/seq=1", "/BigCompany/Building1/Electricity/Repo/Repo2"),
        ("/BigCompany/Water/KEY/1/NA/v=1", ROOT),
        (f"{PANEL1}/KEY/1/NA/v=1", BUILDING1),
    ):
        assert keychain.identity_for(Name.parse(name), NOW).certificate == world[identity].certificate
    signer = keychain.signer_for(Name.parse(f"{STREAM}/seq=1"), NOW)
    made = make_data(Name.parse(f"{STREAM}/seq=1"), b"", signer)
    assert made.signature.key_name == world[PANEL1].certificate.name


def test_no_key_says_which_rule_wants_which(keychain: KeyChain) -> None:
    with pytest.raises(NoKey) as caught:
        keychain.signer_for(Name.parse("/BigCompany/Building1/Electricity/Panel9/A/B/seq=1"), NOW)
    assert "#reading" in str(caught.value)
    assert "/BigCompany/Building1/Electricity/Panel9" in str(caught.value)
    assert "#panel" in str(caught.value)
    with pytest.raises(NoKey, match="by anyone"):
        keychain.signer_for(Name.parse("/Nowhere"), NOW)
    with pytest.raises(NoKey, match="ended at"):
        keychain.signer_for(Name.parse(f"{STREAM}/seq=1"), NOW + 2 * LIFETIME)
    with pytest.raises(NoKey, match="no key at all"):
        KeyChain(SCHEMA).signer_for(Name.parse(f"{STREAM}/seq=1"), NOW)


def test_of_two_certificates_the_one_that_ends_last_signs(world: World) -> None:
    old = world[PANEL1]
    later = NOW + DAY
    renewed = Identity(old.key, certify(world[BUILDING1], old.key.name, old.key.public.spki, later))
    keychain = KeyChain(SCHEMA, [old])
    name = Name.parse(f"{STREAM}/seq=1")
    assert keychain.identity_for(name, later).certificate == old.certificate
    keychain.add(renewed)
    longest = max(old.certificate, renewed.certificate, key=lambda held: held.not_after)
    assert keychain.identity_for(name, later).certificate.not_after == longest.not_after
    keychain.add(renewed)
    assert len(keychain.identities) == 2


def test_explaining_a_name(keychain: KeyChain) -> None:
    held = explain_name(Name.parse(f"{STREAM}/seq=1"), keychain, NOW)
    assert held.good
    assert "#reading" in held.text
    assert f"{PANEL1}/KEY/<any>/<any>/<any> (rule #panel)" in held.text
    other = explain_name(Name.parse("/BigCompany/Building1/Electricity/Panel9/A/B/seq=1"), keychain, NOW)
    assert not other.good
    assert "none of these keys is here" in other.text
    assert "roost key make /BigCompany/Building1/Electricity/Panel9" in other.text
    ended = explain_name(Name.parse(f"{STREAM}/seq=1"), keychain, NOW + 2 * LIFETIME)
    assert not ended.good
    assert "NOT VALID NOW" in ended.text
    assert "should follow" in explain_name(Name.parse("/Nowhere"), keychain, NOW).text
    assert "a stream: its readings" in explain_name(Name.parse(STREAM), keychain, NOW).text
    assert "rule #site lets nobody sign it" in explain_name(Name.parse(BUILDING1), keychain, NOW).text
    assert "anchor" in explain_name(Name.parse(f"{ROOT}/KEY/1/self/v=1"), keychain, NOW).text


def test_explaining_a_packet(world: World) -> None:
    verifier = world.verifier()
    packet = data(f"{STREAM}/seq=1", world[PANEL1])
    early = explain_packet(packet, verifier, NOW)
    assert not early.good
    assert "not yet" in early.text
    assert f"fetch {world[PANEL1].certificate.name}" in early.text
    for certificate in world.certificates():
        verifier.learn(certificate.data, NOW)
    yes = explain_packet(packet, verifier, NOW)
    assert yes.good
    assert f"issuer  {world[ROOT].certificate.name} (anchor)" in yes.text
    no = explain_packet(data("/BigCompany/Building1/Electricity/Panel2/A/B/seq=1", world[PANEL1]), verifier, NOW)
    assert not no.good
    for word in ("reason", "#reading", "fix", "/BigCompany/Building1/Electricity/Panel2"):
        assert word in no.text
    digest = explain_packet(make_data(Name.parse(f"{STREAM}/seq=1"), b"", DigestSigner()), verifier, NOW)
    assert "by nobody in particular" in digest.text
