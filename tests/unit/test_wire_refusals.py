"""Everything the packet format forbids, with the reason that is given [ndn-packets §1, §3 – §6, §8]."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256

import pytest

from roost.errors import BadPacket
from roost.naming import Name
from roost.wire import DigestSigner, decode_lp, encode_data, encode_interest, sign_interest
from roost.wire.data import decode_data
from roost.wire.interest import decode_interest
from roost.wire.tlv import MAX_PACKET_BYTES, element, elements, tlv

NAME = "0703080141"
DIGEST_INFO = "16031b0100"
VALUE = "1720" + "00" * 32


def interest(body: str) -> bytes:
    return tlv(5, bytes.fromhex(body))


def data(body: str) -> bytes:
    return tlv(6, bytes.fromhex(body))


def lp(body: str) -> bytes:
    return tlv(100, bytes.fromhex(body))


def with_digest(tail: str, suffix: str = "", digest: str = "") -> bytes:
    """An Interest /A/<params digest>/<suffix> with the digest of `tail`."""
    component = "0220" + (digest or sha256(bytes.fromhex(tail)).hexdigest())
    return interest(tlv(7, bytes.fromhex("080141" + component + suffix)).hex() + tail)


INTERESTS: list[tuple[str, bytes, str]] = [
    ("nothing", b"", "number was expected"),
    ("another type", data(NAME), "element 5 was expected"),
    ("type 0", bytes.fromhex("0000"), "outside 1"),
    ("type not shortest", bytes.fromhex("fd000500"), "shortest"),
    ("length not shortest", bytes.fromhex("05fd0005") + bytes.fromhex(NAME), "shortest"),
    ("type over 32 bits", bytes.fromhex("ff000000010000000000"), "outside 1"),
    ("cut off", interest(NAME)[:-1], "only 4 are there"),
    ("followed by a byte", interest(NAME) + b"\0", "1 bytes follow"),
    ("over the limit", interest(NAME + "fdfff0fd2260" + "00" * 0x2260), "limit is 8800"),
    ("empty", interest(""), "number was expected"),
    ("no name", interest("2100"), "starts with its Name"),
    ("empty name", interest("0700"), "at least one component"),
    ("bad component", interest("0702 0200".replace(" ", "")), "32 bytes"),
    ("CanBePrefix with value", interest(NAME + "210100"), "flag"),
    ("MustBeFresh with value", interest(NAME + "120100"), "flag"),
    ("flags out of order: MustBeFresh is before CanBePrefix", interest(NAME + "12002100"), "critical element 33"),
    ("CanBePrefix twice", interest(NAME + "21002100"), "critical element 33"),
    ("name twice", interest(NAME + NAME), "critical element 7"),
    ("empty hint", interest(NAME + "1e00"), "at least one Name"),
    ("hint with a critical stranger", interest(NAME + "1e07" + NAME + "1f00"), "holds one Name"),
    ("hint with an odd stranger", interest(NAME + "1e07" + NAME + "8100"), "critical element 129"),
    ("nonce of 3 bytes", interest(NAME + "0a03010203"), "4 bytes"),
    ("nonce of 5 bytes", interest(NAME + "0a050102030405"), "4 bytes"),
    ("nonce after lifetime", interest(NAME + "0c0101" + "0a0401020304"), "critical element 10"),
    ("lifetime of 3 bytes", interest(NAME + "0c03010203"), "1, 2, 4 or 8"),
    ("lifetime of 0 bytes", interest(NAME + "0c00"), "1, 2, 4 or 8"),
    ("hop limit of 2 bytes", interest(NAME + "22020001"), "1 byte"),
    ("unknown critical, low", interest(NAME + "1300"), "critical element 19"),
    ("unknown critical, odd", interest(NAME + "fdfff100"), "critical element 65521"),
    ("parameters without digest", interest(NAME + "2400"), "no parameters digest"),
    ("digest without parameters", with_digest("", digest="00" * 32), "no ApplicationParameters"),
    ("wrong digest", with_digest("240161", digest="00" * 32), "does not match"),
    (
        "digest ignores trailing element",
        with_digest("2400fdfff000", digest=sha256(b"\x24\x00").hexdigest()),
        "not match",
    ),
    ("two digests", with_digest("2400", suffix="0220" + "00" * 32), "at most one"),
    ("signature info alone", with_digest("24002c031b0100"), "come together"),
    ("signature value alone", with_digest("24002e00"), "come together"),
    ("signed, digest not last", with_digest("24002c031b01c82e00", suffix="080142"), "last component"),
    ("signed without parameters", interest(NAME + "2c031b01c82e00"), "has ApplicationParameters"),
    ("signature nonce empty", with_digest("24002c051b01c826002e00"), "SignatureNonce is empty"),
]

DATAS: list[tuple[str, bytes, str]] = [
    ("another type", interest(NAME), "element 6 was expected"),
    ("no name", data("1400" + DIGEST_INFO + VALUE), "starts with its Name"),
    ("no signature info", data(NAME + "1500" + VALUE), "SignatureInfo was expected"),
    ("no signature value", data(NAME + "1500" + DIGEST_INFO), "number was expected"),
    ("name only", data(NAME), "number was expected"),
    ("meta info after content", data(NAME + "15001400" + DIGEST_INFO + VALUE), "SignatureInfo was expected"),
    ("content twice", data(NAME + "15001500" + DIGEST_INFO + VALUE), "SignatureInfo was expected"),
    ("signature value twice", data(NAME + DIGEST_INFO + VALUE + VALUE), "critical element 23"),
    ("critical stranger before the end", data(NAME + DIGEST_INFO + VALUE + "8100"), "critical element 129"),
    ("critical stranger in the middle", data(NAME + "8100" + DIGEST_INFO + VALUE), "critical element 129"),
    ("freshness before content type", data(NAME + "1406190101180101" + DIGEST_INFO + VALUE), "critical element 24"),
    ("freshness of 3 bytes", data(NAME + "14051903000000" + DIGEST_INFO + VALUE), "1, 2, 4 or 8"),
    ("final block empty", data(NAME + "14021a00" + DIGEST_INFO + VALUE), "exactly one"),
    ("final block of two", data(NAME + "14081a06080141080142" + DIGEST_INFO + VALUE), "exactly one"),
    ("final block is no component", data(NAME + "14051a03000101" + DIGEST_INFO + VALUE), "component type 0"),
    ("no signature type", data(NAME + "1600" + VALUE), "no SignatureType"),
    ("signature type twice", data(NAME + "16061b01001b0100" + VALUE), "critical element 27"),
    ("ECDSA without locator", data(NAME + "16031b0103" + VALUE), "needs a KeyLocator"),
    ("RSA without locator", data(NAME + "16031b0101" + VALUE), "needs a KeyLocator"),
    ("Ed25519 without locator", data(NAME + "16031b0105" + VALUE), "needs a KeyLocator"),
    ("locator empty", data(NAME + "16051b01031c00" + VALUE), "KeyLocator is empty"),
    ("locator of a stranger", data(NAME + "16071b01031c028000" + VALUE), "not element 128"),
    ("locator twice filled", data(NAME + "160c1b01031c07" + NAME + "1d00" + VALUE), "critical element 29"),
    ("key digest of 31 bytes", data(NAME + "16261b01031c211d1f" + "00" * 31 + VALUE), "32 bytes"),
    ("locator before type", data(NAME + "160a1c05" + NAME + "1b0103" + VALUE), "critical element 27"),
    (
        "validity of one time",
        data(NAME + "161a1b0100fd00fd13fd00fe0f" + b"20260101T000000".hex() + VALUE),
        "NotBefore and",
    ),
    ("validity is no time", data(NAME + "161a1b0100fd00fd13fd00fe0f" + b"20260101 000000".hex() + VALUE), "YYYYMMDD"),
]

SEQUENCE = "51080000000000000001"
LINKS: list[tuple[str, bytes, str]] = [
    ("another type", interest(NAME), "element 100 was expected"),
    ("followed by a byte", lp("") + b"\0", "1 bytes follow"),
    ("fragment empty", lp("5000"), "is empty"),
    ("fragment not last", lp("5001006201aa"), "not the last"),
    ("fragment twice", lp("500100500100"), "not the last"),
    ("headers out of order", lp("6201aa" + SEQUENCE), "out of order"),
    ("header twice", lp("6201aa6201aa"), "repeated"),
    ("sequence of 1 byte", lp("510101"), "8 bytes"),
    ("sequence of 9 bytes", lp("5109" + "00" * 9), "8 bytes"),
    ("ack of 4 bytes", lp("fd03440400000000"), "8 bytes"),
    ("tx sequence of 1 byte", lp("fd03480100"), "8 bytes"),
    ("token empty", lp("6200"), "1 to 32"),
    ("token of 33 bytes", lp("6221" + "00" * 33), "1 to 32"),
    ("index not below count", lp(SEQUENCE + "520102530102" + "500100"), "cannot be"),
    ("count of 0", lp(SEQUENCE + "530100" + "500100"), "cannot be"),
    ("fragment without sequence", lp("520100530102" + "500100"), "has a Sequence"),
    ("unknown header, low", lp("600100"), "may not be ignored"),
    ("unknown header, not a multiple of 4", lp("fd032100"), "may not be ignored"),
    ("unknown header, above 959", lp("fd03c000"), "may not be ignored"),
    ("index of 3 bytes", lp(SEQUENCE + "5203000000"), "1, 2, 4 or 8"),
    ("nack reason of 3 bytes", lp("fd032007fd032103000000"), "1, 2, 4 or 8"),
    ("nack that holds something else", lp("fd0320028000"), "element 801 was expected"),
    ("nack reason twice", lp("fd03200afd03210196fd03210132"), "critical element 801"),
    ("nack reason followed by half an element", lp("fd032006fd0321019605"), "number was expected"),
    ("cache policy empty", lp("fd033400"), "CachePolicyType"),
    ("cache policy without type", lp("fd0334028000"), "element 821 was expected"),
    ("announcement empty", lp("fd035000"), "it holds a Data"),
    ("non-discovery with a value", lp("fd034c0100"), "flag"),
]


def _table(rows: list[tuple[str, bytes, str]], decode: Callable[[bytes], object]) -> list[object]:
    return [pytest.param(decode, wire, reason, id=f"{decode.__name__}: {what}") for what, wire, reason in rows]


@pytest.mark.parametrize(
    ("decode", "wire", "reason"),
    [*_table(INTERESTS, decode_interest), *_table(DATAS, decode_data), *_table(LINKS, decode_lp)],
)
def test_refused(decode: Callable[[bytes], object], wire: bytes, reason: str) -> None:
    with pytest.raises(BadPacket, match=reason):
        decode(wire)


@pytest.mark.parametrize(
    ("decode", "wire"),
    [
        pytest.param(decode_interest, interest(NAME + "fdfff000"), id="Interest: even stranger"),
        pytest.param(
            decode_interest, interest(NAME + "0c01012201052201 06".replace(" ", "")), id="Interest: HopLimit twice"
        ),
        pytest.param(decode_interest, with_digest("2400" + "220105"), id="Interest: late HopLimit is ignored"),
        pytest.param(decode_interest, interest(NAME + "1e0a1f081e0100" + NAME), id="Interest: old Delegation"),
        pytest.param(
            decode_data,
            data(NAME + "8000" + "1400" + "8000" + "1500" + "8000" + DIGEST_INFO + VALUE),
            id="Data: strangers",
        ),
        pytest.param(decode_data, data(NAME + DIGEST_INFO + "8000" + VALUE + "8000"), id="Data: strangers at the end"),
        pytest.param(decode_data, data(NAME + "1403200100" + DIGEST_INFO + VALUE), id="MetaInfo: stranger"),
        pytest.param(decode_data, data("0700" + DIGEST_INFO + VALUE), id="Data: empty name"),
        pytest.param(decode_data, data(NAME + "160a1b01001c05" + NAME + VALUE), id="digest with a locator"),
        pytest.param(decode_data, data(NAME + "16031b0104" + VALUE), id="HMAC without a locator"),
        pytest.param(decode_lp, lp("fd03a000"), id="LpPacket: header 928 may be ignored"),
        pytest.param(decode_lp, lp("fd0344080000000000000001fd0344080000000000000002"), id="LpPacket: Ack repeats"),
        pytest.param(decode_lp, lp("fd032007fd032101968000"), id="LpPacket: stranger behind a Nack's reason"),
        pytest.param(decode_lp, lp(""), id="LpPacket: idle"),
    ],
)
def test_accepted(decode: Callable[[bytes], object], wire: bytes) -> None:
    decode(wire)


def test_a_late_hop_limit_says_nothing() -> None:
    assert decode_interest(with_digest("2400" + "220105")).hop_limit == -1


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: encode_interest(Name()), "at least one component"),
        (lambda: encode_interest(Name.parse("/A"), nonce=b"123"), "4 bytes"),
        (lambda: encode_interest(Name.parse("/A"), hop_limit=256), "at most 255"),
        (lambda: encode_interest(Name.parse("/A"), lifetime_ms=-1), "negative"),
        (lambda: encode_interest(Name.parse("/params-sha256=" + "00" * 32)), "already has a parameters digest"),
        (lambda: encode_interest(Name.parse("/params-sha256=" + "00" * 32), parameters=b""), "already has"),
        (lambda: encode_data(Name.parse("/A"), bytes(MAX_PACKET_BYTES), DigestSigner()), "use segments"),
        (lambda: sign_interest(Name.parse("/A"), DigestSigner(), parameters=bytes(MAX_PACKET_BYTES)), "limit"),
    ],
    ids=[
        "no name",
        "nonce",
        "hop limit",
        "lifetime",
        "digest",
        "digest and parameters",
        "large data",
        "large interest",
    ],
)
def test_what_cannot_be_encoded(make: Callable[[], bytes], reason: str) -> None:
    with pytest.raises(BadPacket, match=reason):
        make()


def test_the_limit_itself_is_allowed() -> None:
    room = MAX_PACKET_BYTES - len(encode_data(Name.parse("/A"), bytes(8000), DigestSigner())) + 8000
    wire = encode_data(Name.parse("/A"), bytes(room), DigestSigner())
    assert len(wire) == MAX_PACKET_BYTES
    assert len(decode_data(wire).content) == room
    with pytest.raises(BadPacket, match="limit"):
        encode_data(Name.parse("/A"), bytes(room + 1), DigestSigner())


def test_elements() -> None:
    wire = bytes.fromhex("0701aafd010000fe0001000001bb")
    assert elements(wire) == [(7, 2, 3), (256, 7, 7), (65536, 13, 14)]
    assert elements(wire, 3, 7) == [(256, 7, 7)]
    with pytest.raises(BadPacket, match="only 0 are there"):
        element(b"\x07\x01", 0, 2)
