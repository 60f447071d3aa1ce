"""Every vector of the fact sheet [ndn-packets §4 – §8], decoded, and encoded again byte for byte."""

from __future__ import annotations

import hashlib
import hmac

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_der_public_key

from roost.naming import Name
from roost.naming.conventions import segment
from roost.wire import Data, DigestSigner, Interest, NullSigner, encode_data, encode_interest, sign_interest
from roost.wire.interest import matches
from roost.wire.signature import DIGEST_SHA256, ED25519, HMAC_SHA256, NULL, locator_of_name

HMAC_KEY = b"0123456789abcdef0123456789abcdef"
SEED = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
SPKI = bytes.fromhex("302a300506032b6570032100d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")


class HmacSigner:
    signature_type = HMAC_SHA256

    def __init__(self, key: bytes, locator: bytes) -> None:
        self.key = key
        self.key_locator = locator

    def sign(self, portion: bytes) -> bytes:
        return hmac.digest(self.key, portion, "sha256")


def test_interest() -> None:
    wire = bytes.fromhex("05200706080141080142210012001e0507030801480a04010203040c0203e8220140")
    interest = Interest.decode(wire)
    assert interest.name == Name.parse("/A/B")
    assert interest.can_be_prefix
    assert interest.must_be_fresh
    assert interest.hints == [Name.parse("/H")]
    assert interest.nonce == bytes.fromhex("01020304")
    assert interest.lifetime_ms == 1000
    assert interest.hop_limit == 64
    assert interest.parameters is None
    assert interest.signature is None
    encoded = encode_interest(
        Name.parse("/A/B"),
        nonce=bytes.fromhex("01020304"),
        can_be_prefix=True,
        must_be_fresh=True,
        hints=(Name.parse("/H"),),
        lifetime_ms=1000,
        hop_limit=64,
    )
    assert encoded == wire


def test_what_a_forwarder_changes_in_an_interest() -> None:
    wire = bytes.fromhex("051a0706080141080142210012001e0507030801480c0203e8220140")
    interest = Interest.decode(wire)
    with_nonce = Interest.decode(interest.with_nonce(bytes.fromhex("01020304")))
    assert with_nonce.wire.hex() == "05200706080141080142210012001e0507030801480a04010203040c0203e8220140"
    assert Interest.decode(with_nonce.with_hop_limit(63)).hop_limit == 63
    bare = Interest.decode(with_nonce.without_hint())
    assert not bare.has_hint
    assert bare.wire.hex() == "05190706080141080142210012000a04010203040c0203e8220140"


def test_data_with_digest_signature() -> None:
    wire = bytes.fromhex(
        "064407090801413601013201001409190203e81a03320100150568656c6c6f16031b010017206a0ac10320c16c259e2eb7f5283aca05"
        "94a2b6953c1973ce8f54d7b689c3675f"
    )
    data = Data.decode(wire)
    assert str(data.name) == "/A/v=1/seg=0"
    assert data.freshness_ms == 1000
    assert data.final_block == segment(0)
    assert data.content == b"hello"
    assert data.content_type == 0
    assert data.signature.type == DIGEST_SHA256
    assert hashlib.sha256(data.signed_portion).digest() == data.signature_value
    digest = "d4ff6b6b813ee8d690bd8af647374ee16faf94fe5bb56be5672d68492c366a7a"
    assert data.implicit_digest.hex() == digest
    assert str(data.full_name) == f"/A/v=1/seg=0/sha256digest={digest}"
    assert encode_data(data.name, b"hello", DigestSigner(), freshness_ms=1000, final_block=segment(0)) == wire


def test_data_with_hmac_signature() -> None:
    wire = bytes.fromhex(
        "063e070308014415017816121b01041c0d070b08016b08034b45590801021720401afd5cc106baf9a4df31ec6c4ddaf038672b667767"
        "93ad7e82e83955756965"
    )
    data = Data.decode(wire)
    assert data.signature.type == HMAC_SHA256
    assert data.signature.key_name == Name.parse("/k/KEY/%02")
    assert data.signature_value == hmac.digest(HMAC_KEY, data.signed_portion, "sha256")
    signer = HmacSigner(HMAC_KEY, locator_of_name(Name.parse("/k/KEY/%02")))
    assert encode_data(Name.parse("/D"), b"x", signer) == wire


def test_data_with_ed25519_signature() -> None:
    wire = bytes.fromhex(
        "065e070308014415017816121b01051c0d070b08016b08034b455908010117400350b2fa9f443c7e53cfbf5c82f3646e4758f29ec5c2"
        "348c308686c20a75bb114142871826288e5ddb2be62897c7c7b6b6501186355ad13786b550020c355307"
    )
    data = Data.decode(wire)
    assert data.signature.type == ED25519
    assert data.signature.key_name == Name.parse("/k/KEY/%01")
    key = Ed25519PrivateKey.from_private_bytes(SEED)
    assert key.public_key() == load_der_public_key(SPKI)
    key.public_key().verify(data.signature_value, data.signed_portion)


def test_data_of_ndnd_with_signature_time_and_explicit_content_type() -> None:
    wire = bytes.fromhex(
        "0661070d08036e646e08037376733601031403180100151ac918ca1607090807676f2d6e6f6465d209d4046afa03f1d60101160d1b01"
        "002808000001a1e09f72f817209b86219ac497f39eff06c9eec09a7ffbc3b1898e7d57e8912068d7e118ec47aa"
    )
    data = Data.decode(wire)
    assert data.content_type == 0
    assert data.signature.time_ms == 0x1A1E09F72F8
    assert hashlib.sha256(data.signed_portion).digest() == data.signature_value


SVS_PARAMETERS = bytes.fromhex("c918ca0a070508036f6e65cc0101ca0a0705080374776fcc0102")
SVS_NULL = (
    "055b0728080167360102022017081ff2fdea74292f8f4db7a6d071598f2cad1acb55b0746103f69773ea8dda210012000a04010203040c02"
    "03e7241ac918ca0a070508036f6e65cc0101ca0a0705080374776fcc01022c031b01c82e00"
)
SVS_DIGEST = (
    "057b072808016736010202201dbc88bb9746cdd42a2167e7c3daea2fbb0d3afd976d215b68e2719dcd503a0c210012000a04010203040c02"
    "03e7241ac918ca0a070508036f6e65cc0101ca0a0705080374776fcc01022c031b01002e20db97672d5e67c7fdb204d31acc62e23f6fc559"
    "4254aa149558d2a9f3cbfcd200"
)
SVS_HMAC = (
    "057b07280801673601020220ba5c4a5e3737b203c06975656174849a40822170997dbc3fa416f03b0239497f210012000a04010203040c02"
    "03e7241ac918ca0a070508036f6e65cc0101ca0a0705080374776fcc01022c031b01042e2007c142f9fa626fa0c2d4d06d9151e515540daf"
    "60d2a75d74ab179ff42613d6a6"
)


@pytest.mark.parametrize(
    ("expected", "signer", "type_"),
    [
        (SVS_NULL, NullSigner(), NULL),
        (SVS_DIGEST, DigestSigner(), DIGEST_SHA256),
        (SVS_HMAC, HmacSigner(b"this is a secret message", b""), HMAC_SHA256),
    ],
    ids=["null", "digest", "hmac"],
)
def test_signed_interests(expected: str, signer: DigestSigner | NullSigner | HmacSigner, type_: int) -> None:
    wire = sign_interest(
        Name.parse("/g/v=2"),
        signer,
        nonce=bytes.fromhex("01020304"),
        can_be_prefix=True,
        must_be_fresh=True,
        lifetime_ms=999,
        parameters=SVS_PARAMETERS,
    )
    assert wire.hex() == expected
    interest = Interest.decode(wire)
    assert interest.parameters == SVS_PARAMETERS
    assert interest.signature is not None
    assert interest.signature.type == type_
    assert signer.sign(interest.signed_portion) == interest.signature_value
    # Signing again replaces the parameters digest instead of adding a second one.
    again = sign_interest(interest.name, signer, parameters=SVS_PARAMETERS)
    assert Interest.decode(again).name == interest.name


def test_signed_interest_fields() -> None:
    wire = sign_interest(Name.parse("/a"), DigestSigner(), signature_nonce=b"12345678", time_ms=1000, sequence=7)
    info = Interest.decode(wire).signature
    assert info is not None
    assert (info.nonce, info.time_ms, info.sequence) == (b"12345678", 1000, 7)


def test_the_hmac_interest_of_cpp_with_its_key_locator() -> None:
    wire = bytes.fromhex(
        "05b6072f08036e646e08037376733601020220e4f44f91e2561515a0566bdf12c3b868d793b4398a5dd278db1e02fc7905e47b0a042d71"
        "92fa0c01002412c90cca0a07050803637070cc0101cd0207002c441b01041c3f073d08096c6f63616c686f737408086964656e74697479"
        "0804686d616308203f98b95c16476f0b2fc37e8e664a11312966b635f60537f1f5ed75216fa0c0602e2035c5b69cd24e2950b783b604f6"
        "b43d4678e7ccab1f72e3fe5d2f11fe5b433dae"
    )
    interest = Interest.decode(wire)
    assert interest.signature_value == hmac.digest(b"this is a secret message", interest.signed_portion, "sha256")
    assert interest.signature is not None
    assert str(interest.signature.key_name).startswith("/localhost/identity/hmac/")


def test_matching() -> None:
    data = Data.decode(encode_data(Name.parse("/A/B"), b"", DigestSigner()))
    digest = data.implicit_digest

    def asks(uri: str, *, prefix: bool = False) -> bool:
        interest = Interest.decode(encode_interest(Name.parse(uri), can_be_prefix=prefix))
        return matches(interest, data.name, digest)

    assert asks("/A/B")
    assert not asks("/A")
    assert asks("/A", prefix=True)
    assert not asks("/A/B/C", prefix=True)
    assert asks(str(data.full_name))
    assert not asks(f"/A/B/sha256digest={'00' * 32}")
    assert not asks(f"/A/sha256digest={digest.hex()}", prefix=True)
