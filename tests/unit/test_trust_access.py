"""Content encryption: sealing, wrapping for consumers, rotation, revocation, and what a stranger cannot do."""

import random

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ec import SECP384R1
from cryptography.hazmat.primitives.asymmetric.ec import generate_private_key as generate_ec
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from roost.errors import BadConfig, BadPacket, Untrusted
from roost.machine import MS, SECOND
from roost.naming import Name
from roost.naming.building import Company
from roost.trust import (
    KeyData,
    KeyWanted,
    Opened,
    Opener,
    Receiver,
    Recipient,
    Rejection,
    Sealer,
    building_schema,
    generate,
)
from roost.trust.access import MAX_CONSUMERS, parse_sealed
from roost.wire import Data, DigestSigner, make_data

NOW = 1_800_000_000 * SECOND
STREAM = Name.parse("/C/B/Electricity/Panel1/Heater/Voltage")
READING = STREAM / "1"


def pair(kind: str, seed: int = 1) -> tuple[Recipient, Receiver]:
    if kind == "x25519":
        raw = X25519PrivateKey.from_private_bytes(random.Random(seed).randbytes(32))
        spki = raw.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        return Recipient(spki), Receiver(raw)
    key = generate(Name.parse("/C/D/Alice/Phone"), random.Random(seed).randbytes, kind)  # type: ignore[arg-type]
    return Recipient(key.public.spki), Receiver.of(key)


def sealer(seed: int = 2, readings: int = 1000, period_ns: int = 1000 * SECOND) -> Sealer:
    return Sealer(STREAM, random.Random(seed).randbytes, readings=readings, period_ns=period_ns)


def published(key: KeyData) -> Data:
    return make_data(key.name, key.content, DigestSigner())


def opened(opener: Opener, name: Name, content: bytes) -> bytes:
    outcome = opener.open(name, content)
    assert isinstance(outcome, Opened), outcome
    return outcome.content


@pytest.mark.parametrize("kind", ["ecdsa", "x25519", "rsa"])
def test_a_consumer_fetches_its_key_and_reads(kind: str) -> None:
    recipient, receiver = pair(kind)
    assert recipient.digest == receiver.digest
    seals = sealer()
    assert seals.authorise(recipient) == ()
    sealed = seals.seal(READING, b"230.1 V", NOW)
    assert b"230.1" not in sealed.content
    opener = Opener([receiver])
    wanted = opener.open(READING, sealed.content)
    assert wanted == KeyWanted((sealed.keys[0].name,))
    assert opener.learn(published(sealed.keys[0])) is None
    assert opened(opener, READING, sealed.content) == b"230.1 V"
    following = seals.seal(STREAM / "2", b"230.2 V", NOW)
    assert following.keys == ()
    assert opened(opener, STREAM / "2", following.content) == b"230.2 V"


def test_the_names_are_the_documented_ones_and_the_schema_knows_them() -> None:
    recipient, _ = pair("ecdsa")
    seals = sealer()
    seals.authorise(recipient)
    key = seals.seal(READING, b"", NOW).keys[0]
    number = NOW // MS
    assert key.name.prefix(-1) == STREAM + Name.parse(f"/32=CK/v={number}/32=for")
    assert key.name[-1].value == recipient.digest
    assert parse_sealed(seals.seal(READING, b"", NOW).content)[2] == STREAM + Name.parse(f"/32=CK/v={number}")
    schema = building_schema(Company(Name.parse("/C"), frozenset({"B"})))
    assert [allowed.identity for allowed in schema.keys_for(key.name)] == ["/C/B/Electricity/Panel1"]


def test_the_key_changes_after_so_many_readings_and_after_so_long() -> None:
    recipient, _ = pair("ecdsa")
    seals = sealer(readings=3, period_ns=10 * SECOND)
    seals.authorise(recipient)
    fresh = [bool(seals.seal(STREAM / str(n), b"", NOW).keys) for n in range(7)]
    assert fresh == [True, False, False, True, False, False, True]
    assert not seals.seal(READING, b"", NOW + 10 * SECOND - 1).keys
    assert seals.seal(READING, b"", NOW + 10 * SECOND).keys


def test_versions_grow_even_when_the_clock_does_not() -> None:
    recipient, _ = pair("ecdsa")
    seals = sealer(readings=1)
    seals.authorise(recipient)
    numbers = [seals.seal(READING, b"", NOW).keys[0].name.at(-3).number() for _ in range(3)]
    assert numbers == [NOW // MS, NOW // MS + 1, NOW // MS + 2]


def test_a_revoked_consumer_reads_nothing_that_comes_next() -> None:
    alice, alice_key = pair("ecdsa", 1)
    bob, bob_key = pair("ecdsa", 2)
    seals = sealer()
    seals.authorise(alice)
    seals.authorise(bob)
    before = seals.seal(READING, b"old", NOW)
    openers = {"alice": Opener([alice_key]), "bob": Opener([bob_key])}
    for key in before.keys:
        outcomes = [opener.learn(published(key)) for opener in openers.values()]
        assert [outcome is None for outcome in outcomes].count(True) == 1
    assert seals.revoke(bob.digest)
    assert not seals.revoke(bob.digest)
    after = seals.seal(STREAM / "2", b"new", NOW)
    assert [key.name.at(-1).value for key in after.keys] == [alice.digest]
    assert openers["alice"].learn(published(after.keys[0])) is None
    assert opened(openers["alice"], STREAM / "2", after.content) == b"new"
    assert isinstance(openers["bob"].open(STREAM / "2", after.content), KeyWanted)
    assert isinstance(openers["bob"].learn(published(after.keys[0])), Rejection)
    assert opened(openers["bob"], READING, before.content) == b"old"


def test_a_consumer_that_comes_later_gets_the_current_key() -> None:
    alice, alice_key = pair("ecdsa")
    seals = sealer()
    sealed = seals.seal(READING, b"x", NOW)
    assert sealed.keys == ()
    late = seals.authorise(alice)
    opener = Opener([alice_key])
    assert opener.learn(published(late[0])) is None
    assert opened(opener, READING, sealed.content) == b"x"
    assert seals.consumers == [alice.digest]


def test_what_was_altered_does_not_open() -> None:
    recipient, receiver = pair("ecdsa")
    seals = sealer()
    seals.authorise(recipient)
    sealed = seals.seal(READING, b"230.1 V", NOW)
    opener = Opener([receiver])
    opener.learn(published(sealed.keys[0]))
    for position in range(4, 20):
        altered = bytearray(sealed.content)
        altered[position] ^= 1
        assert isinstance(opener.open(READING, bytes(altered)), Rejection)
    assert isinstance(opener.open(STREAM / "2", sealed.content), Rejection), "content is bound to its name"
    elsewhere = Name.parse("/C/B/Electricity/Panel2/Heater/Voltage/1")
    assert "not a content key of its stream" in str(opener.open(elsewhere, sealed.content))


@pytest.mark.parametrize("content", [b"", b"plain text", b"\x82\x00", b"\x82\x05\x84\x03abc"])
def test_content_that_is_not_sealed_is_refused(content: bytes) -> None:
    assert isinstance(Opener([]).open(READING, content), Rejection)


@pytest.mark.parametrize("kind", ["ecdsa", "x25519", "rsa"])
def test_a_wrapped_key_unwraps_only_for_its_consumer_and_under_its_name(kind: str) -> None:
    recipient, receiver = pair(kind)
    key, name = bytes(range(32)), STREAM / "key"
    wrapped = recipient.wrap(key, name, random.Random(4).randbytes)
    assert receiver.unwrap(wrapped, name) == key
    assert key not in wrapped
    with pytest.raises(Untrusted, match="does not unwrap"):
        receiver.unwrap(wrapped, STREAM / "other")
    with pytest.raises(Untrusted, match=r"does not unwrap|another kind"):
        pair("ecdsa", 77)[1].unwrap(wrapped, name)
    with pytest.raises((Untrusted, BadPacket)):
        receiver.unwrap(wrapped[:-1] + bytes([wrapped[-1] ^ 1]), name)
    with pytest.raises(BadPacket):
        receiver.unwrap(b"\x88\x00", name)


def test_names_that_bring_no_key() -> None:
    _, receiver = pair("ecdsa")
    opener = Opener([receiver])
    for name in (READING, STREAM, Name.parse("/32=CK")):
        assert "not the name of a wrapped" in str(opener.learn(make_data(name, b"", DigestSigner())))


def test_the_key_cache_is_bounded_and_forgets_the_oldest() -> None:
    recipient, receiver = pair("x25519")
    seals = sealer(readings=1)
    seals.authorise(recipient)
    opener = Opener([receiver], keys=2)
    batch = [seals.seal(READING, b"x", NOW) for _ in range(3)]
    for sealed in batch:
        opener.learn(published(sealed.keys[0]))
    assert opener.forgotten == 1
    assert isinstance(opener.open(READING, batch[0].content), KeyWanted)
    assert opened(opener, READING, batch[2].content) == b"x"


def test_settings_that_cannot_be_used() -> None:
    with pytest.raises(BadConfig, match="cannot receive"):
        pair("ed25519")
    with pytest.raises(BadConfig, match="Ed25519"):
        Receiver.of(generate(STREAM, random.Random(1).randbytes, "ed25519"))
    other_curve = generate_ec(SECP384R1()).public_key()
    with pytest.raises(BadConfig, match="P-256"):
        Recipient(other_curve.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo))
    with pytest.raises(BadPacket, match="SubjectPublicKeyInfo"):
        Recipient(b"nothing")
    with pytest.raises(BadConfig, match="readings"):
        sealer(readings=0)
    with pytest.raises(BadConfig, match="does not belong"):
        sealer().seal(Name.parse("/elsewhere/1"), b"", NOW)
    seals = sealer()
    seals._consumers.update({bytes([n % 256, n // 256]): pair("x25519")[0] for n in range(MAX_CONSUMERS)})
    with pytest.raises(BadConfig, match="limit"):
        seals.authorise(pair("x25519", 3)[0])


def test_a_key_that_can_keep_no_secret_cannot_read_and_hinders_nobody() -> None:
    low_order = X25519PublicKey.from_public_bytes(bytes(32)).public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    with pytest.raises(BadConfig, match="can keep no secret"):
        Recipient(low_order)


def test_secrets_stay_out_of_what_is_printed() -> None:
    recipient, receiver = pair("ecdsa")
    seals = sealer()
    seals.authorise(recipient)
    seals.seal(READING, b"x", NOW)
    for thing in (seals, receiver, Opener([receiver])):
        assert seals._key.hex() not in repr(thing)
        assert str(seals._key) not in repr(thing)
