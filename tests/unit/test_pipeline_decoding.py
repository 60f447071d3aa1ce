"""Packets as rows: what each kind becomes, and that an odd one among many alike is seen."""

from __future__ import annotations

import struct
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import cbor2
import pytest

from roost.columns import decoding
from roost.columns.decoding import decode, empty_batch
from roost.columns.decoding_exact import Meaning, Row, read_packet
from roost.columns.readings import ABSENT, MISSING, READINGS
from roost.naming import Component, Name
from roost.naming.conventions import sequence
from roost.pipeline import decoding_few
from roost.pipeline.decoding_few import Entry, decode_few
from roost.trust.access import Sealer
from roost.wire import NullSigner, tlv
from roost.wire.data import encode_data
from roost.wire.reading import OCTET_STREAM, SENML_CBOR, TEXT, InputDigest, InputRange, Lineage, Reading
from roost.wire.senml import Quality, Scalar, Value, encode_values
from roost.wire.signature import locator_of_name

STREAM = Name.parse("/BigCompany/Building1/Electricity/Panel1/Heater/Voltage")
TIME = 1_736_266_473_123_456_789
TIME_US = datetime(2025, 1, 7, 16, 14, 33, 123_456, tzinfo=UTC)
ARRIVAL_US = TIME // 1000 + 5_000_000


class PanelSigner:
    """Says whose key it is, and does not sign: signatures are not looked at."""

    signature_type = 3

    def __init__(self, key: str) -> None:
        self.key_locator = locator_of_name(Name.parse(key))

    def sign(self, portion: bytes) -> bytes:
        return portion[:1] * 70


SIGNER = PanelSigner("/BigCompany/Building1/Electricity/Panel1/KEY/%01/issuer/v=1")


def packet(number: int, payload: bytes, format_: int = SENML_CBOR, lineage: Lineage | None = None) -> bytes:
    return sent(number, Reading(TIME, format_, payload, lineage).encode())


def sent(number: int, content: bytes) -> bytes:
    return encode_data(STREAM / sequence(number), content, SIGNER, freshness_ms=1000)


def senml(value: Scalar, unit: str = "V", quality: Quality = Quality.GOOD) -> bytes:
    return encode_values([Value(value, unit, quality)])


def rows(*packets: tuple[int, bytes], stream: Name = STREAM, verified: bool = True) -> list[dict[str, Any]]:
    batch = decode(stream, packets, arrival_us=ARRIVAL_US, verified=verified)
    batch.validate(full=True)
    assert batch.schema == READINGS
    found: list[dict[str, Any]] = batch.to_pylist()
    return found


def row(wire: bytes, number: int = 7) -> dict[str, Any]:
    return rows((number, wire))[0]


def test_a_reading_is_a_row() -> None:
    payload = senml(229.5, quality=Quality.UNCERTAIN)
    assert row(packet(7, payload)) == {
        "stream": "/BigCompany/Building1/Electricity/Panel1/Heater/Voltage",
        "seq": 7,
        "event_time": TIME_US,
        "arrival_time": TIME_US.replace(second=38, microsecond=123_456),
        "value": 229.5,
        "payload": payload,
        "unit": "V",
        "quality": "uncertain",
        "panel": "Panel1",
        "device": "Heater",
        "metric": "Voltage",
        "signer": "/BigCompany/Building1/Electricity/Panel1",
        "verified": True,
        "expected": 1,
        "received": 1,
    }


@pytest.mark.parametrize(
    ("format_", "payload", "value", "quality"),
    [
        (SENML_CBOR, senml(-3), -3.0, "good"),
        (SENML_CBOR, senml(2**63 + 1), 2.0**63, "good"),
        (SENML_CBOR, senml(True), 1.0, "good"),
        (SENML_CBOR, senml(False), 0.0, "good"),
        (SENML_CBOR, senml(1.5, quality=Quality.BAD), 1.5, "bad"),
        (SENML_CBOR, senml("21.5"), None, "unreadable"),
        (SENML_CBOR, senml(b"21.5"), None, "unreadable"),
        (SENML_CBOR, cbor2.dumps([{2: float("nan")}]), None, "unreadable"),
        (SENML_CBOR, cbor2.dumps([{2: float("-inf")}]), None, "unreadable"),
        (SENML_CBOR, encode_values([Value(None, total=5)]), None, "unreadable"),
        (SENML_CBOR, b"", None, "unreadable"),
        (TEXT, b"21.5", 21.5, "good"),
        (TEXT, b" -.5e1\n", -5.0, "good"),
        (OCTET_STREAM, b"21", 21.0, "good"),
        (OCTET_STREAM, b"", None, "empty"),
        (TEXT, b"", None, "unreadable"),
        (TEXT, b"nan", None, "unreadable"),
        (TEXT, b"1e999", None, "unreadable"),
        (TEXT, b"1_000", None, "unreadable"),
        (TEXT, "٣".encode(), None, "unreadable"),
        (TEXT, b"21.5 V", None, "unreadable"),
        (50, b"21.5", 21.5, "good"),
        (50, b"{}", None, "unreadable"),
    ],
)
def test_what_a_payload_says(format_: int, payload: bytes, value: float | None, quality: str) -> None:
    found = row(packet(7, payload, format_))
    assert (found["value"], found["quality"], found["payload"]) == (value, quality, payload)
    assert (found["event_time"], found["expected"], found["received"]) == (TIME_US, 1, 1)


def window(expected: Scalar, received: Scalar, *first: Value) -> bytes:
    return encode_values([*first, Value(expected, name="expected"), Value(received, name="received")])


@pytest.mark.parametrize(
    ("payload", "said"),
    [
        (window(60, 58, Value(1.5, "V")), (1.5, "good", "V", 60, 58)),
        (window(60, 0), (None, "empty", None, 60, 0)),
        (window(-1, 0, Value(1.5)), (None, "unreadable", None, 1, 1)),
        (window(60.5, 0, Value(1.5)), (None, "unreadable", None, 1, 1)),
        (window(True, 0, Value(1.5)), (None, "unreadable", None, 1, 1)),
        (window(60, 2**63, Value(1.5)), (None, "unreadable", None, 1, 1)),
    ],
)
def test_a_window_says_its_own_counts(payload: bytes, said: tuple[object, ...]) -> None:
    found = row(packet(7, payload))
    assert tuple(found[name] for name in ("value", "quality", "unit", "expected", "received")) == said


def test_poison_is_a_row_without_a_value() -> None:
    content = Reading(TIME, TEXT, b"1").encode()
    for wire, payload, verified in [
        (b"", None, False),
        (b"\x05\x00", None, False),
        (packet(7, b"1", TEXT)[:-1], None, False),
        (packet(8, b"1", TEXT), content, False),
        (encode_data(STREAM / Component(b"\0\x07", 58), content, SIGNER), content, False),
        (sent(7, b"hello"), b"hello", True),
        (sent(7, b""), b"", True),
    ]:
        found = row(wire)
        assert (found["quality"], found["value"], found["event_time"]) == ("unreadable", None, None)
        assert (found["payload"], found["verified"]) == (payload, verified)
        assert (found["expected"], found["received"]) == (1, 1)


def test_a_sealed_reading_is_expected_and_not_received() -> None:
    name = STREAM / sequence(7)
    content = Sealer(STREAM, bytes).seal(name, b"secret", TIME).content
    found = row(encode_data(name, content, SIGNER))
    assert (found["quality"], found["payload"], found["value"], found["event_time"]) == ("sealed", None, None, None)
    assert (found["expected"], found["received"], found["verified"]) == (1, 0, True)
    assert found["signer"] == "/BigCompany/Building1/Electricity/Panel1"


def test_who_signed_is_null_where_no_key_is_named() -> None:
    content = Reading(TIME, TEXT, b"1").encode()
    assert row(encode_data(STREAM / sequence(7), content, NullSigner()))["signer"] is None


@pytest.mark.parametrize(
    ("name", "levels"),
    [
        ("/a/b/c/d", ["b", "c", "d"]),
        ("/b/c", [None, "b", "c"]),
        ("/", [None, None, None]),
        ("/32=a/%FF/gr%C3%BCn", [None, None, "grün"]),
    ],
)
def test_levels_are_the_last_components_that_are_text(name: str, levels: list[str | None]) -> None:
    stream = Name.parse(name)
    wire = encode_data(stream / sequence(1), Reading(TIME, TEXT, b"1").encode(), SIGNER)
    found = rows((1, wire), stream=stream)[0]
    assert [found[level] for level in ("panel", "device", "metric")] == levels
    assert (found["stream"], found["value"]) == (name, 1.0)


def test_absent_numbers_are_rows() -> None:
    for quality in sorted(ABSENT):
        batch = decode_few([Entry(STREAM, number, None, quality) for number in (3, 5)], arrival_us=ARRIVAL_US)
        batch.validate(full=True)
        assert batch.schema == READINGS
        assert batch.column("seq").to_pylist() == [3, 5]
        found = batch.to_pylist()[1]
        assert {name for name, value in found.items() if value is None} == {
            "event_time",
            "value",
            "payload",
            "unit",
            "signer",
        }
        assert (found["quality"], found["verified"], found["expected"], found["received"]) == (quality, False, 1, 0)


def test_nothing_is_a_batch_without_rows() -> None:
    for batch in (
        empty_batch(),
        decode(STREAM, [], arrival_us=0, verified=True),
        decode_few([], arrival_us=0),
    ):
        assert (batch.num_rows, batch.schema) == (0, READINGS)


def ranged(number: int) -> Lineage:
    return Lineage((), bytes(32), (InputRange(STREAM, number, number + 59),), "pipeline/stage@1")


ALIKE: dict[str, Callable[[int], bytes]] = {
    "doubles": lambda number: packet(number, senml(number + 0.1)),
    "small integers": lambda number: packet(number, senml(number % 24)),
    "integers": lambda number: packet(number, senml(number + 300)),
    "negative integers": lambda number: packet(number, senml(-number - 300)),
    "truth": lambda number: packet(number, senml(number % 2 == 0)),
    "text": lambda number: packet(number, b"-%.2f" % (number / 100), TEXT),
    "windows": lambda number: packet(number, window(60, number % 24, Value(number + 0.1)), lineage=ranged(number)),
    "mapped": lambda number: packet(number, senml(0.1), lineage=Lineage((STREAM / sequence(number),), bytes(32))),
    "digests": lambda number: packet(
        number, senml(0.1), lineage=Lineage((), bytes(32), digest=InputDigest(bytes([number % 256]) * 32, 4))
    ),
}


@pytest.mark.parametrize("kind", ALIKE)
def test_readings_that_look_alike_are_read_at_once(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    exact: list[int] = []

    def counted(stream: Name, number: int, wire: bytes) -> Row:
        exact.append(number)
        return read_packet(stream, number, wire)

    monkeypatch.setattr(decoding, "read_packet", counted)
    packets = [(number, ALIKE[kind](number)) for number in range(300, 400)]
    values = [found["value"] for found in rows(*packets)]
    assert exact == [300]
    assert values == [read_packet(STREAM, number, wire).meaning.value for number, wire in packets]


def test_readings_of_many_streams_that_look_alike_are_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    exact: list[Name] = []

    def counted(stream: Name, number: int, wire: bytes) -> Row:
        exact.append(stream)
        return read_packet(stream, number, wire)

    monkeypatch.setattr(decoding_few, "read_packet", counted)
    entries: list[Entry] = []
    for panel in ("Panel1", "Panel2", "Panel3"):
        signer = PanelSigner(f"/BigCompany/Building1/Electricity/{panel}/KEY/%01/issuer/v=1")
        for number in range(1, 41):
            stream = Name.parse(f"/BigCompany/Building1/Electricity/{panel}/Heater{number + 10}/Voltage")
            content = Reading(TIME + number * 1000, SENML_CBOR, senml(number + 0.1)).encode()
            wire = encode_data(stream / sequence(number), content, signer, freshness_ms=1000)
            entries.append(Entry(stream, number, wire, verified=number % 2 == 0))
    entries.insert(50, Entry(STREAM, 7, None, MISSING))
    entries.insert(60, entries[0]._replace(number=2, verified=True))
    batch = decode_few(entries, arrival_us=ARRIVAL_US)
    batch.validate(full=True)
    assert exact == [entries[at].stream for at in (0, 40, 82, 60)], "a sample, new signers, and the odd one"
    for found, each in zip(batch.to_pylist(), entries, strict=True):
        absent_one = Row(Meaning(quality=each.quality, received=0))
        expected = absent_one if each.wire is None else read_packet(each.stream, each.number, each.wire)
        assert (found["stream"], found["seq"]) == (str(each.stream), each.number)
        assert found["device"] == each.stream.at(-2).value.decode()
        assert (found["value"], found["quality"]) == (expected.meaning.value, expected.meaning.quality)
        assert (found["signer"], found["payload"]) == (expected.signer, expected.payload)
        assert found["verified"] == (each.verified and expected.named)


def replaced(wire: bytes, old: bytes, new: bytes) -> bytes:
    assert wire.count(old) == 1
    assert len(old) == len(new)
    return wire.replace(old, new)


def double(value: float) -> bytes:
    return struct.pack(">d", value)


POISON: list[tuple[str, bytes, bytes]] = [  # a kind, bytes of reading 340 of it, and what stands there instead
    ("doubles", double(340.1), double(float("nan"))),
    ("doubles", double(340.1), double(float("inf"))),
    ("doubles", double(340.1), double(-0.0)),
    ("doubles", b"\x02\xfb", b"\x02\x1b"),
    ("doubles", b"\x02\xfb", b"\x05\xfb"),
    ("doubles", b"\x61V", b"\x61A"),
    ("doubles", b"\x3a\x02" + (340).to_bytes(2, "big"), b"\x3a\x02" + (341).to_bytes(2, "big")),
    ("doubles", b"\x3a\x02" + (340).to_bytes(2, "big"), b"\x3a\x02\x00\x54"),
    ("doubles", b"\xa1\x08", b"\xa3\x08"),
    ("doubles", b"Panel1\x08\x06", b"Panel2\x08\x06"),
    ("small integers", b"\x02\x04", b"\x02\x18"),
    ("small integers", b"\x02\x04", b"\x02\x1f"),
    ("small integers", b"\x02\x04", b"\x02\x24"),
    ("small integers", b"\x02\x04", b"\x02\x38"),
    ("small integers", b"\x02\x04", b"\x02\x44"),
    ("small integers", b"\x02\x04", b"\x02\xf5"),
    ("truth", b"\x04\xf5", b"\x04\xf6"),
    ("truth", b"\x04\xf5", b"\x04\x01"),
    ("text", b"-3.40", b"-3.4:"),
    ("text", b"-3.40", b"-3./0"),
    ("text", b"-3.40", b"+3.40"),
    ("text", b"-3.40", b"-34.0"),
    ("windows", b"received\x02\x04", b"received\x02\x24"),
    ("windows", b"expected\x02\x18\x3c", b"expected\x02\x38\x3c"),
    ("windows", b"\xb1\x02\x01\x54", b"\xb1\x02\x00\x00"),
    ("windows", b"\xb1\x02\x01\x54", b"\xb1\x02\x7f\xff"),
]


@pytest.mark.parametrize(("kind", "old", "new"), POISON)
def test_one_odd_packet_among_many_alike_is_read_for_what_it_is(kind: str, old: bytes, new: bytes) -> None:
    packets = [(number, ALIKE[kind](number)) for number in range(300, 400)]
    good = rows(*packets)
    odd = replaced(packets[40][1], old, new)
    packets[40] = (340, odd)
    found = rows(*packets)
    assert found[40] == row(odd, 340) != good[40]
    assert found[:40] + found[41:] == good[:40] + good[41:]


def test_numbers_of_too_many_bytes_are_no_names_of_readings() -> None:
    def named(number: int) -> bytes:
        content = Reading(TIME, TEXT, b"1").encode()
        return encode_data(STREAM / Component(number.to_bytes(2, "big"), 58), content, SIGNER)

    packets = [(300, named(300)), *((number, named(number)) for number in range(200, 299))]
    assert [found["quality"] == "good" for found in rows(*packets)] == [number > 255 for number, _ in packets]


def test_elements_of_a_lineage_that_are_passed_over_may_hold_anything() -> None:
    late = tlv.tlv(168, tlv.tlv(7, b"") + b"\xa7\x00")  # ranges behind the program's digest, without numbers
    origin = tlv.tlv(166, (STREAM / sequence(1)).wire + tlv.tlv(169, bytes(32)) + late)
    body = tlv.number(161, TIME) + tlv.number(163, TEXT) + tlv.tlv(165, b"1") + origin
    found = rows(*((number, sent(number, tlv.tlv(160, body))) for number in range(300, 340)))
    assert [each["value"] for each in found] == [1.0] * 40


def test_the_last_digit_of_long_numbers_is_not_lost() -> None:
    texts = [f"0.{number}".encode() for number in range(10**16 - 40, 10**16 - 1)]
    packets = [(number, packet(number, text, TEXT)) for number, text in enumerate(texts, 300)]
    assert [found["value"] for found in rows(*packets)] == [float(text) for text in texts]


def test_packets_of_many_shapes_keep_their_places() -> None:
    packets = [(number, ALIKE[list(ALIKE)[number % len(ALIKE)]](number)) for number in range(200, 400)]
    found = rows(*packets)
    assert found == [row(wire, number) for number, wire in packets]
    assert [each["seq"] for each in found] == list(range(200, 400))


def test_after_so_many_templates_the_rest_is_read_one_by_one() -> None:
    units = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    packets = [(number, packet(number, senml(number + 0.1, units[number % 26]))) for number in range(300, 700)]
    assert [found["unit"] for found in rows(*packets)] == [units[number % 26] for number, _ in packets]
    signers = [PanelSigner(f"/Panel{index:02}/KEY/1") for index in range(20)]
    content = Reading(TIME, TEXT, b"1").encode()
    signed = [(n, encode_data(STREAM / sequence(n), content, signers[n % 20])) for n in range(300, 700)]
    assert [found["signer"] for found in rows(*signed)] == [f"/Panel{n % 20:02}" for n in range(300, 700)]


def test_json_is_read_alike_one_by_one_and_many_at_once() -> None:
    texts = [b'{"value": %d, "unit": "Cel"}' % value for value in range(10, 40)]
    found = rows(*[(number, packet(number, text, 50)) for number, text in enumerate(texts, 1)])
    assert [each["value"] for each in found] == list(range(10, 40))
