"""Certificates and SafeBags [ndn-packets §7]."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, EllipticCurvePublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_der_public_key

from roost.errors import BadName, BadPacket
from roost.machine import SECOND
from roost.naming import Component, Name
from roost.wire import Data, DigestSigner, encode_data
from roost.wire.certificate import Certificate, encode_certificate, key_name_of, text_of, time_of, told_of
from roost.wire.safebag import SafeBag, from_text, to_text
from roost.wire.signature import SHA256_ECDSA, locator_of_name, validity_element

ALICE = bytes.fromhex(
    "06fd012307260805616c69636508034b45590808d9e9579b927fd96b080473656c663608000001a1e0a1a790140918010219040036ee80155b"
    "3059301306072a8648ce3d020106082a8648ce3d03010703420004b5a74d459d094883ce1abc3d0dc6957da302eaf86936b9bce259e0d2d5fd"
    "5c33fa7844e83c8b58b2eb2a72bc772f563474a995f53f72662a62dc2064acf5c10916471b01031c1807160805616c69636508034b45590808"
    "d9e9579b927fd96bfd00fd26fd00fe0f323032363131313554313931343133fd00ff0f32303436313131305431393134313317483046022100"
    "db1011afabdcadfc5f83d0387830dea86be17813a3d769f6b7144f62a96b6b9e02210094dea9e6f5993f5097b8b260a9cf0bf62d9d10d05fb3"
    "d0a54e84a3660e0dcc9a"
)
KEY_NAME = Name.parse("/alice/KEY/%D9%E9W%9B%92%7F%D9k")
NOT_BEFORE = 1794770053 * SECOND
NOT_AFTER = 2425490053 * SECOND


class Recorded:
    """A signer that gives the signature of the vector."""

    signature_type = SHA256_ECDSA
    key_locator = locator_of_name(KEY_NAME)

    def sign(self, portion: bytes) -> bytes:
        assert portion == Data.decode(ALICE).signed_portion
        return Data.decode(ALICE).signature_value


def test_the_certificate_of_ndn_cxx() -> None:
    certificate = Certificate.decode(ALICE)
    assert certificate.identity == Name.parse("/alice")
    assert certificate.key_name == KEY_NAME
    assert certificate.key_id == KEY_NAME.at(-1)
    assert certificate.issuer == Component(b"self")
    assert certificate.version == 0x1A1E0A1A790
    assert (certificate.not_before, certificate.not_after) == (NOT_BEFORE, NOT_AFTER)
    assert certificate.issued_by == KEY_NAME
    assert certificate.is_self_signed
    assert certificate.description == {}
    key = load_der_public_key(certificate.public_key)
    assert isinstance(key, EllipticCurvePublicKey)
    key.verify(certificate.data.signature_value, certificate.data.signed_portion, ECDSA(SHA256()))


def test_the_certificate_of_ndn_cxx_encoded_again() -> None:
    certificate = Certificate.decode(ALICE)
    wire = encode_certificate(
        KEY_NAME,
        certificate.public_key,
        Recorded(),
        version=certificate.version,
        not_before=NOT_BEFORE,
        not_after=NOT_AFTER,
    )
    assert wire == ALICE


def test_validity_is_inclusive() -> None:
    certificate = Certificate.decode(ALICE)
    assert certificate.valid_at(NOT_BEFORE)
    assert certificate.valid_at(NOT_AFTER)
    assert not certificate.valid_at(NOT_BEFORE - 1)
    assert not certificate.valid_at(NOT_AFTER + 1)


def make(description: dict[str, str] | None = None, **times: int) -> bytes:
    return encode_certificate(
        Name.parse("/a/KEY/k"),
        b"\x30\x00",
        DigestSigner(),
        version=1,
        not_before=times.get("not_before", 0),
        not_after=times.get("not_after", SECOND),
        issuer=Component(b"boss"),
        description=description,
    )


def test_fractions_of_seconds_are_rounded_into_the_period() -> None:
    certificate = Certificate.decode(make(not_before=1, not_after=3 * SECOND - 1))
    assert (certificate.not_before, certificate.not_after) == (SECOND, 2 * SECOND)


def test_additional_description_sorted_and_back() -> None:
    wire = make({"role": "Zähler", "email": "a@b"})
    certificate = Certificate.decode(wire)
    assert certificate.description == {"email": "a@b", "role": "Zähler"}
    assert wire == make({"email": "a@b", "role": "Zähler"})
    assert bytes.fromhex("fd0102") in wire
    assert not certificate.is_self_signed
    assert certificate.issued_by is None


GOOD = "/a/KEY/k/self/v=1"
PERIOD = validity_element("20260101T000000", "20270101T000000")


@pytest.mark.parametrize(
    ("name", "content", "content_type", "freshness_ms", "extra", "reason"),
    [
        ("/a/KEY/k/self/5", b"k", 2, 1, PERIOD, "no certificate name"),
        ("/a/key/k/self/v=1", b"k", 2, 1, PERIOD, "no certificate name"),
        ("/KEY/k/v=1", b"k", 2, 1, PERIOD, "no certificate name"),
        ("/a/KEY/k/self/54=abc", b"k", 2, 1, PERIOD, "does not carry a number"),
        (GOOD, b"k", 0, 1, PERIOD, "ContentType 0"),
        (GOOD, b"k", 2, 0, PERIOD, "no FreshnessPeriod"),
        (GOOD, b"", 2, 1, PERIOD, "no public key"),
        (GOOD, b"k", 2, 1, b"", "no ValidityPeriod"),
        (GOOD, b"k", 2, 1, validity_element("20260101T000000", "20250101T000000"), "before it begins"),
        (GOOD, b"k", 2, 1, validity_element("20261301T000000", "20270101T000000"), "no date and time"),
        (GOOD, b"k", 2, 1, validity_element("20260101T000000", "20270101T246060"), "no date and time"),
        (GOOD, b"k", 2, 1, PERIOD + bytes.fromhex("fd010204fd020000"), "a key and a value"),
        (GOOD, b"k", 2, 1, PERIOD + bytes.fromhex("fd010209fd020005fd020101ff"), "not UTF-8"),
        (GOOD, b"k", 2, 1, PERIOD + bytes.fromhex("fd010204fd020100"), "critical element 513"),
        (GOOD, b"k", 2, 1, PERIOD + bytes.fromhex("fd010300"), "critical element 259"),
    ],
    ids=lambda value: value if isinstance(value, str) and " " in value else None,
)
def test_what_is_no_certificate(
    name: str, content: bytes, content_type: int, freshness_ms: int, extra: bytes, reason: str
) -> None:
    wire = encode_data(
        Name.parse(name),
        content,
        DigestSigner(),
        content_type=content_type,
        freshness_ms=freshness_ms,
        info_extra=extra,
    )
    with pytest.raises(BadPacket, match=reason):
        Certificate.decode(wire)


def test_what_cannot_be_made_a_certificate() -> None:
    with pytest.raises(BadPacket, match="before it begins"):
        make(not_before=5 * SECOND)
    with pytest.raises(BadPacket, match="years 1 to 9999"):
        make(not_after=10**30)
    with pytest.raises(BadName, match="no key name"):
        encode_certificate(Name.parse("/a"), b"k", DigestSigner(), version=1, not_before=0, not_after=1)
    with pytest.raises(BadPacket, match="public key"):
        encode_certificate(KEY_NAME, b"", DigestSigner(), version=1, not_before=0, not_after=1)
    with pytest.raises(BadPacket, match="above 0"):
        encode_certificate(KEY_NAME, b"k", DigestSigner(), version=1, not_before=0, not_after=1, freshness_ms=0)


@pytest.mark.parametrize(
    ("locator", "key"),
    [
        ("/a/KEY/k", "/a/KEY/k"),
        ("/a/KEY/k/self", "/a/KEY/k"),
        ("/a/KEY/k/self/v=1", "/a/KEY/k"),
        ("/a/KEY/k/KEY/v=1", "/a/KEY/k"),
        ("/a/KEY/b/KEY/k", "/a/KEY/b/KEY/k"),
        ("/KEY/k", "/KEY/k"),
    ],
)
def test_key_locators_come_down_to_key_names(locator: str, key: str) -> None:
    assert key_name_of(Name.parse(locator)) == Name.parse(key)


@pytest.mark.parametrize("locator", ["/", "/a", "/a/KEY", "/a/KEY/k/self/x/v=1"])
def test_a_locator_that_names_no_key(locator: str) -> None:
    with pytest.raises(BadName, match="names no key"):
        key_name_of(Name.parse(locator))


def test_times() -> None:
    assert time_of("19700101T000000") == 0
    assert text_of(0) == "19700101T000000"
    assert told_of(0) == "1970-01-01 00:00:00 UTC"
    assert time_of(text_of(NOT_AFTER)) == NOT_AFTER
    assert text_of(time_of("00010101T000000")) == "00010101T000000"


def test_safe_bag_there_and_back() -> None:
    bag = SafeBag(Certificate.decode(ALICE), b"\x30\x01\x00")
    wire = bag.encode()
    assert wire[0] == 128
    again = SafeBag.decode(wire)
    assert again.certificate.wire == ALICE
    assert again.encrypted_key == b"\x30\x01\x00"
    text = to_text(wire)
    assert {len(line) for line in text.splitlines()[:-1]} == {64}
    assert from_text(text) == from_text(text.replace("\n", "\r\n")) == wire
    assert from_text(to_text(b"")) == b""


@pytest.mark.parametrize(
    ("wire", "reason"),
    [
        (ALICE, "one element 128"),
        (b"\x80\x00\x00", "1 bytes follow"),
        (b"\x80\x02\x81\x00", "starts with its certificate"),
        (b"\x80\xfd" + (len(ALICE)).to_bytes(2, "big") + ALICE, "no encrypted key"),
        (b"\x80\xfd" + (len(ALICE) + 2).to_bytes(2, "big") + ALICE + b"\x83\x00", "critical element 131"),
        (b"\x80\xfd" + (len(ALICE) + 6).to_bytes(2, "big") + ALICE + b"\x81\x01a\x81\x01b", "critical element 129"),
    ],
    ids=["data", "trailing", "no certificate", "no key", "stranger", "two keys"],
)
def test_what_is_no_safe_bag(wire: bytes, reason: str) -> None:
    with pytest.raises(BadPacket, match=reason):
        SafeBag.decode(wire)


@pytest.mark.parametrize("text", ["a", "-----BEGIN-----", "ab=c", "\u00e9", "A" * 70000])
def test_what_is_no_key_file(text: str) -> None:
    with pytest.raises(BadPacket):
        from_text(text)
