"""The reading envelope and SenML values [RFC 8428]."""

from __future__ import annotations

import cbor2
import pytest

from roost.errors import BadPacket
from roost.naming import Name
from roost.wire.reading import MAX_INPUTS, OCTET_STREAM, SENML_CBOR, Lineage, Reading, decode_reading
from roost.wire.senml import MAX_RECORDS, Quality, Value, decode_values, encode_values
from roost.wire.tlv import tlv

TIME = 1_736_266_473_123_456_789
DIGEST = bytes(range(32))
TIME_ELEMENT = "a108181875287df1a715"


def test_a_reading_byte_for_byte() -> None:
    reading = Reading(TIME, SENML_CBOR, b"abc")
    assert reading.encode().hex() == "a012" + TIME_ELEMENT + "a30170" + "a503616263"
    assert Reading.decode(reading.encode()) == reading


def test_a_virtual_reading_names_its_inputs_and_its_program() -> None:
    lineage = Lineage((Name.parse("/a/seq=1"), Name.parse("/b/seq=2")), DIGEST)
    reading = Reading(TIME, OCTET_STREAM, b"", lineage)
    assert Reading.decode(reading.encode()) == reading


GOOD = TIME_ELEMENT + "a30170a500"
LINEAGE = "0703080161a920" + DIGEST.hex()


def envelope(body: str) -> bytes:
    return tlv(160, bytes.fromhex(body))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "number was expected"),
        (b"{}", "cut off|number|element"),
        (b"\x15\x00", "element 160, this is 21"),
        (envelope(GOOD) + b"\0", "1 bytes follow"),
        (envelope(""), "in this order"),
        (envelope(TIME_ELEMENT + "a30170"), "in this order"),
        (envelope(TIME_ELEMENT + "a500"), "in this order"),
        (envelope("a30170a500"), "in this order"),
        (envelope("a30170" + TIME_ELEMENT + "a500"), "critical element 161"),
        (envelope(GOOD + "a500"), "critical element 165"),
        (envelope(GOOD + "a700"), "critical element 167"),
        (envelope("a103000000a30170a500"), "1, 2, 4 or 8"),
        (envelope(TIME_ELEMENT + "a30400010000a500"), "0 to 65535"),
        (envelope(GOOD + "a600"), "1 to 256 inputs"),
        (envelope(GOOD + "a6050703080161"), "32 bytes"),
        (envelope(GOOD + "a622a920" + DIGEST.hex()), "1 to 256 inputs"),
        (envelope(GOOD + tlv(0xA6, bytes.fromhex(LINEAGE) * 2).hex()), "critical element 7"),
        (envelope(GOOD + tlv(0xA6, bytes.fromhex(LINEAGE) + b"\xab\x00").hex()), "critical element 171"),
    ],
    ids=range(18),
)
def test_what_is_no_reading(content: bytes, reason: str) -> None:
    with pytest.raises(BadPacket, match=reason):
        decode_reading(content)


def test_strangers_that_are_not_critical_are_ignored() -> None:
    lineage = tlv(0xA6, bytes.fromhex(LINEAGE) + b"\xb6\x00").hex()
    reading = decode_reading(envelope("b600" + GOOD + lineage + "b600" + lineage))
    assert reading == Reading(TIME, SENML_CBOR, b"", Lineage((Name.parse("/a"),), DIGEST))


@pytest.mark.parametrize(
    "reading", [Reading(-1, 0, b""), Reading(2**64, 0, b""), Reading(0, -1, b""), Reading(0, 65536, b"")], ids=repr
)
def test_what_cannot_be_a_reading(reading: Reading) -> None:
    with pytest.raises(BadPacket):
        reading.encode()


def test_lineage_is_bounded() -> None:
    with pytest.raises(BadPacket, match="inputs"):
        Lineage((Name.parse("/a"),) * (MAX_INPUTS + 1), DIGEST)


@pytest.mark.parametrize(
    ("value", "wire"),
    [
        (Value(230, "V"), "81a20161560218e6"),
        (Value(21.5, "Cel"), "81a2016343656c02f94d60"),
        (Value(0.1), "81a102fb3fb999999999999a"),
        (Value(True, quality=Quality.BAD), "81a204f5677175616c69747902"),
        (Value("open", name="door"), "81a20064646f6f7203646f70656e"),
        (Value(b"\x01\xff"), "81a1084201ff"),
        (Value(None, "J", total=5), "81a201614a0505"),
        (Value(1, time_s=-5, update_s=60), "81a30201062407183c"),
        (Value(1, quality=Quality.UNCERTAIN), "81a20201677175616c69747901"),
    ],
    ids=repr,
)
def test_values_there_and_back(value: Value, wire: str) -> None:
    assert encode_values([value]).hex() == wire
    assert decode_values(bytes.fromhex(wire)) == [value]
    assert type(decode_values(bytes.fromhex(wire))[0].value) is type(value.value)


def test_base_fields_are_resolved() -> None:
    # RFC 8428 §5.1.2 in CBOR: two measurements that share a base name and time.
    pack = [
        {-2: "urn:dev:ow:10e2073a01080063:", -3: 1.320067464e9, -4: "%RH", 0: "a", 2: 21.2},
        {6: 10, 2: 21.3, 0: "b"},
        {1: "Cel", 2: 7},
        {-2: "x", -5: 100, 2: 1},
        {},
        {5: 3},
    ]
    values = decode_values(cbor2.dumps(pack))
    assert values[0] == Value(21.2, "%RH", name="urn:dev:ow:10e2073a01080063:a", time_s=1.320067464e9)
    assert values[1] == Value(21.3, "%RH", name="urn:dev:ow:10e2073a01080063:b", time_s=1.320067474e9)
    assert (values[2].unit, values[2].value) == ("Cel", 7)
    assert (values[3].name, values[3].value) == ("x", 101)
    assert (values[4].value, values[4].total) == (100, 3)
    assert len(values) == 5


def test_other_encoders_are_understood() -> None:
    assert (
        decode_values(bytes.fromhex("9fbf02c48220190109ffff"))[0].value == 26.5
    )  # indefinite lengths, decimal fraction
    assert decode_values(cbor2.dumps([{-1: 10, 2: 1, "other": [1, {"a": None}], 99: 1}])) == [Value(1)]


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (b"", "not CBOR"),
        (b"\xff", "not CBOR|array"),
        (b"\x81", "not CBOR"),
        (b"\x81" * 500, "not CBOR"),
        (b"\x81\xa2\x02\x01\x02\x01", "not CBOR"),
        (b"\x81\xa1\x02\x01\x00", "1 bytes follow"),
        (cbor2.dumps({2: 1}), "array of 1"),
        (cbor2.dumps([]), "array of 1"),
        (cbor2.dumps([{2: 1}] * (MAX_RECORDS + 1)), "array of 1"),
        (cbor2.dumps([1]), "record is a map"),
        (cbor2.dumps([{-2: "a"}]), "base fields only"),
        (cbor2.dumps([{0: "a"}]), "has neither"),
        (cbor2.dumps([{2: 1, 3: "a"}]), "has several"),
        (cbor2.dumps([{2: "1"}]), "a str where a number"),
        (cbor2.dumps([{2: True}]), "a bool where a number"),
        (cbor2.dumps([{2: None}]), "a NoneType where a number"),
        (cbor2.dumps([{2: float("nan")}]), "finite"),
        (cbor2.dumps([{2: float("inf")}]), "finite"),
        (cbor2.dumps([{2: 2**70}]), "between"),
        (cbor2.dumps([{-5: 1e308, 2: 1e308}]), "finite"),
        (cbor2.dumps([{3: 1}]), "label 3 holds a int"),
        (cbor2.dumps([{4: 1}]), "label 4 holds a int"),
        (cbor2.dumps([{8: "a"}]), "label 8 holds a str"),
        (cbor2.dumps([{2: 1, 1: 5}]), "a int where text"),
        (cbor2.dumps([{2: 1, 0: "x" * 256}]), "255 characters"),
        (cbor2.dumps([{2: 1, "must_": 1}]), "must be understood"),
        (cbor2.dumps([{2: 1, 1.5: 1}]), "integer or text"),
        (cbor2.dumps([{2: 1, -1: 11}]), "newer than 10"),
        (cbor2.dumps([{2: 1, "quality": 3}]), "quality"),
        (cbor2.dumps([{2: 1, "quality": [1]}]), "quality"),
        (b"\x81\xa1\x02\xc4\x82\x1b\x7f\xff\xff\xff\xff\xff\xff\xff\x01", "not CBOR|finite"),
    ],
    ids=range(31),
)
def test_what_is_no_senml(payload: bytes, reason: str) -> None:
    with pytest.raises(BadPacket, match=reason):
        decode_values(payload)


@pytest.mark.parametrize(
    "values",
    [
        [],
        [Value(1)] * (MAX_RECORDS + 1),
        [Value(None)],
        [Value(float("nan"))],
        [Value(2**64)],
        [Value(1, unit="x" * 256)],
        [Value("\ud800")],
        [Value(1, name="\udfff")],
        [Value(1, time_s=float("inf"))],
    ],
    ids=range(9),
)
def test_what_cannot_be_senml(values: list[Value]) -> None:
    with pytest.raises(BadPacket):
        encode_values(values)
