"""Signing and verifying with each kind of key, against the vectors of ndn-packets.md §6 and §7."""

import random
from hashlib import sha256

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa, x25519

from roost.errors import BadConfig, BadPacket
from roost.naming import Name
from roost.trust.generate import KINDS, generate
from roost.trust.keys import Ed25519Private, load_private, load_public, located
from roost.trust.secret import HmacKey, digest_matches
from roost.wire import Data, Signer, encode_data
from roost.wire.signature import SignatureInfo

HMAC_DATA = bytes.fromhex(
    "063e070308014415017816121b01041c0d070b08016b08034b45590801021720"
    "401afd5cc106baf9a4df31ec6c4ddaf038672b66776793ad7e82e83955756965"
)
ED25519_DATA = bytes.fromhex(
    "065e070308014415017816121b01051c0d070b08016b08034b45590801011740"
    "0350b2fa9f443c7e53cfbf5c82f3646e4758f29ec5c2348c308686c20a75bb11"
    "4142871826288e5ddb2be62897c7c7b6b6501186355ad13786b550020c355307"
)
ED25519_SEED = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
ED25519_SPKI = bytes.fromhex("302a300506032b6570032100d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
ALICE = bytes.fromhex(
    "06fd012307260805616c69636508034b45590808d9e9579b927fd96b080473656c663608000001a1e0a1a790140918010219040036ee80"
    "155b3059301306072a8648ce3d020106082a8648ce3d03010703420004b5a74d459d094883ce1abc3d0dc6957da302eaf86936b9bce259"
    "e0d2d5fd5c33fa7844e83c8b58b2eb2a72bc772f563474a995f53f72662a62dc2064acf5c10916471b01031c1807160805616c69636508"
    "034b45590808d9e9579b927fd96bfd00fd26fd00fe0f323032363131313554313931343133fd00ff0f3230343631313130543139313431"
    "3317483046022100db1011afabdcadfc5f83d0387830dea86be17813a3d769f6b7144f62a96b6b9e02210094dea9e6f5993f5097b8b260"
    "a9cf0bf62d9d10d05fb3d0a54e84a3660e0dcc9a"
)

D = Name.parse("/D")


def verifies(key: object, data: Data) -> bool:
    return bool(key.verify(data.signed_portion, data.signature_value))  # type: ignore[attr-defined]


def test_hmac_vector_is_made_and_checked() -> None:
    key = HmacKey(Name.parse("/k/KEY/%02"), b"0123456789abcdef0123456789abcdef")
    assert encode_data(D, b"x", key) == HMAC_DATA
    assert verifies(key, Data.decode(HMAC_DATA))
    assert not verifies(HmacKey(key.name, b"another secret of 32 bytes......"), Data.decode(HMAC_DATA))


def test_ed25519_vector_is_made_and_checked() -> None:
    raw = ed25519.Ed25519PrivateKey.from_private_bytes(ED25519_SEED)
    key = Ed25519Private(Name.parse("/k/KEY/%01"), raw)
    assert key.public.spki == ED25519_SPKI
    assert encode_data(D, b"x", key) == ED25519_DATA
    assert verifies(load_public(ED25519_SPKI), Data.decode(ED25519_DATA))


def test_the_certificate_that_ndn_cxx_made_verifies_with_its_own_key() -> None:
    data = Data.decode(ALICE)
    assert verifies(load_public(data.content), data)


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_signs_verifies_and_survives_pkcs8(kind: str) -> None:
    identity = Name.parse("/BigCompany/Building1")
    key = generate(identity, random.Random(7).randbytes, kind)  # type: ignore[arg-type]
    assert key.name.prefix(-2) == identity
    assert str(key.name.at(-2)) == "KEY"
    assert len(key.name.at(-1).value) == 8
    signer: Signer = key
    data = Data.decode(encode_data(D, b"content", signer))
    info: SignatureInfo = data.signature
    assert info.key_name == key.name
    public = load_public(key.public.spki)
    assert verifies(public, data)
    assert public.digest == sha256(key.public.spki).digest()
    for passphrase in (b"", b"correct horse"):
        again = load_private(key.name, key.pkcs8(passphrase), passphrase)
        assert verifies(again.public, Data.decode(encode_data(D, b"content", again)))
    altered = Data.decode(data.wire.replace(b"content", b"c0ntent"))
    assert not verifies(public, altered)
    assert not public.verify(data.signed_portion, b"")
    assert not public.verify(data.signed_portion, data.signature_value[:-1])
    assert key.public.spki.hex() not in repr(key)


def test_the_same_entropy_makes_the_same_key_and_the_same_signatures() -> None:
    for kind in ("ecdsa", "ed25519"):
        one = generate(D, random.Random(1).randbytes, kind)
        two = generate(D, random.Random(1).randbytes, kind)
        assert one.name == two.name
        assert encode_data(D, b"x", one) == encode_data(D, b"x", two)
        assert one.public.spki != generate(D, random.Random(2).randbytes, kind).public.spki


def test_a_located_key_names_its_certificate() -> None:
    key = generate(D, random.Random(1).randbytes)
    certificate = key.name / "self" / "v1"
    data = Data.decode(encode_data(D, b"x", located(key, certificate)))
    assert data.signature.key_name == certificate
    assert verifies(key.public, data)


def der(raw: object) -> bytes:
    return raw.public_bytes(  # type: ignore[attr-defined, no-any-return]
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )


@pytest.mark.parametrize(
    ("spki", "reason"),
    [
        (b"", "SubjectPublicKeyInfo"),
        (b"\x30\x03abc", "SubjectPublicKeyInfo"),
        (der(rsa.generate_private_key(65537, 1024).public_key()), "2048"),
        (der(ec.generate_private_key(ec.SECP256K1()).public_key()), "P-256"),
        (der(x25519.X25519PrivateKey.generate().public_key()), "does not sign"),
    ],
    ids=["empty", "garbage", "short RSA", "odd curve", "X25519"],
)
def test_a_key_that_will_not_do_is_refused_with_the_reason(spki: bytes, reason: str) -> None:
    with pytest.raises(BadPacket, match=reason):
        load_public(spki)


def test_private_key_errors_say_what_to_do_and_show_nothing() -> None:
    key = generate(D, random.Random(1).randbytes)
    with pytest.raises(BadPacket, match="give its passphrase"):
        load_private(D, key.pkcs8(b"secret"))
    with pytest.raises(BadPacket, match="wrong or the file is damaged") as wrong:
        load_private(D, key.pkcs8(b"secret"), b"guess")
    assert "guess" not in str(wrong.value)
    with pytest.raises(BadPacket, match="give no passphrase"):
        load_private(D, key.pkcs8(), b"secret")
    with pytest.raises(BadPacket, match="not PKCS#8"):
        load_private(D, b"nonsense")


def test_settings_that_cannot_be_used() -> None:
    with pytest.raises(BadConfig, match="at least 16"):
        HmacKey(D, b"short")
    with pytest.raises(BadConfig, match="2048"):
        generate(D, random.Random(1).randbytes, "rsa", 1024)
    with pytest.raises(BadConfig, match="one of ecdsa"):
        generate(D, random.Random(1).randbytes, "dsa")  # type: ignore[arg-type]
    with pytest.raises(BadConfig, match="entropy"):
        generate(D, lambda _: b"", "ecdsa")


def test_digest() -> None:
    assert digest_matches(b"abc", sha256(b"abc").digest())
    assert not digest_matches(b"abd", sha256(b"abc").digest())
