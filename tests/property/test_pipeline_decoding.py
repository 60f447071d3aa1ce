"""Templates against the exact way: whatever the bytes are, a batch says row by row what `read_packet` says."""

from __future__ import annotations

import struct
from collections.abc import Callable
from random import Random
from typing import Any

import cbor2
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.columns.decoding import decode
from roost.columns.decoding_exact import read_packet
from roost.naming import Component, Name
from roost.naming.conventions import sequence
from roost.pipeline.decoding_few import Entry, decode_few
from roost.wire import tlv
from roost.wire.data import encode_data
from roost.wire.reading import OCTET_STREAM, SENML_CBOR, TEXT, InputDigest, InputRange, Lineage, Reading
from roost.wire.senml import Quality, Value, encode_values
from roost.wire.signature import locator_of_name

STREAM = Name.parse("/BigCompany/Building1/Electricity/Panel1/Heater/Voltage")
STARTS = [1, 20, 240, 65_500, 2**32 - 20, 2**63 - 100]
SPECIAL = [0.0, -0.0, float("nan"), float("inf"), 5e-324, 1.7976931348623157e308]
SEEDS = st.integers(0, 2**32)  # of a Random: a packet takes too many choices for Hypothesis to draw each
ARRIVAL_US = 1_736_266_473_000_000


class Pen:
    """Signs with whatever bytes are at hand: signatures are not looked at."""

    signature_type = 3

    def __init__(self, random: Random, signer: str, sizes: list[int]) -> None:
        self._random = random
        self._sizes = sizes
        self.key_locator = locator_of_name(Name.parse(signer))

    def sign(self, portion: bytes) -> bytes:
        assert portion
        return self._random.randbytes(self._random.choice(self._sizes))


def head(number: bytes) -> bytes:
    """A pack whose first record is a number in the given bytes of CBOR."""
    return b"\x81\xa2\x01\x61V\x02" + number


def window(random: Random) -> bytes:
    counts: dict[str, int | float] = {"expected": 60, "received": random.randrange(24, 61), "missing": 3}
    if random.random() < 0.1:
        counts[random.choice(["expected", "received"])] = random.choice([600, 2**63, -1, 1.5])
        counts.pop(random.choice(sorted(counts)))
    first = [] if random.random() < 0.05 else [Value(random.uniform(-5, 5), "V")]
    return encode_values(first + [Value(count, name=name) for name, count in counts.items()])


def text(random: Random) -> bytes:
    number = f"{random.uniform(-200, 800):.2f}"
    if random.random() < 0.2:
        number = random.choice([str(random.randrange(-9, 10**18)), "1e3", ".", "7.", "12345678901234.56", "1.2.34"])
    return random.choice([number, number, number, number, f" {number}", f"+{number}", f"{number}V"]).encode()


def long_text(random: Random) -> bytes:
    return f"{random.randrange(10**17, 10**18)}.{random.randrange(10)}".encode()


SENML: list[Callable[[Random], bytes]] = [
    lambda random: head(b"\xfb" + struct.pack(">d", random.uniform(-1000, 1000))),
    lambda random: head(b"\xfb" + random.choice([random.randbytes(8), struct.pack(">d", random.choice(SPECIAL))])),
    lambda random: head(b"\xfa" + random.choice([random.randbytes(4), bytes.fromhex("7f800000")])),
    lambda random: head(b"\xf9" + random.choice([random.randbytes(2), bytes.fromhex("7e00")])),
    lambda random: head(bytes([random.randrange(0x18)])),
    lambda random: head(bytes([random.choice([0x00, 0x17, 0x20, 0x37, 0x18, 0x1F, 0x3F, 0xF4, 0xF6])])),
    lambda random: head(b"\x18" + random.randbytes(1)),
    lambda random: head(random.choice([b"\x19", b"\x39"]) + random.randbytes(2)),
    lambda random: head(random.choice([b"\x1a", b"\x3a"]) + random.randbytes(4)),
    lambda random: head(
        random.choice([b"\x1b", b"\x3b"]) + random.choice([random.randbytes(8), b"\xff" * 8, bytes(8)])
    ),
    lambda random: b"\x81\xa1\x04" + random.choice([b"\xf4", b"\xf5", b"\xf6", b"\x01"]),
    lambda random: encode_values([Value(random.choice(["on", "off", "12"]))]),
    lambda random: encode_values([Value(random.randbytes(4))]),
    lambda random: encode_values([Value(random.random(), random.choice("VAK"), random.choice(list(Quality)))]),
    lambda random: encode_values([Value(random.random(), time_s=random.choice([1, 2])), Value("x", name="y")]),
    lambda random: cbor2.dumps([{-5: random.random(), 2: random.random()}]),
    lambda random: cbor2.dumps([{}, {0: "x", 2: random.random()}]),
    lambda random: head(b"\xc4\x82\x20\x19" + random.randbytes(2)),  # a decimal fraction
    lambda random: encode_values([Value(None, total=random.random())]),
    window,
    window,
]


def ranged(random: Random, number: int) -> Lineage:
    ranges = (InputRange(STREAM, number, number + random.randrange(60)), InputRange(STREAM / "x", 1, number + 7))
    return Lineage((), bytes(32), ranges, "pipeline/stage@1")


LINEAGES: list[Callable[[Random, int], Lineage | None]] = [
    lambda _, __: None,
    ranged,
    lambda _, number: Lineage((STREAM / sequence(number), STREAM), bytes(32)),
    lambda random, _: Lineage((), bytes(32), digest=InputDigest(random.randbytes(32), random.randrange(1, 256))),
    lambda _, number: Lineage((STREAM / sequence(number),), bytes(32), cause=STREAM / sequence(number)),
]


def mutated(random: Random, wire: bytes, places: list[int]) -> bytes:
    at = random.choice(places)
    other = bytes([random.choice([random.randrange(256), 0, 255, wire[at] ^ 1, (wire[at] + 1) % 256])])
    changed = wire[:at] + other + wire[at + 1 :]
    return random.choice([changed] * 6 + [wire[:at] + wire[at + 1 :], wire[:at] + other + wire[at:], wire[:at]])


def lively(found: list[tuple[int, bytes]]) -> list[int]:
    """The places where packets differ, and the bytes in front of them: widths and heads are there."""
    wires = [wire for _, wire in found]
    places = [at for at, bytes_ in enumerate(zip(*wires, strict=False)) if len(set(bytes_)) > 1]
    return sorted({at - back for at in places for back in (0, 1) if at >= back}) or [0]


def sealed(random: Random) -> bytes:
    iv = random.randbytes(random.choice([12, 12, 11]))
    return tlv.tlv(130, tlv.tlv(132, random.randbytes(20)) + tlv.tlv(133, iv) + STREAM.wire)


def renamed(random: Random, number: int) -> Name:
    """Names that reading `number` has not, some of them with the number in too many bytes."""
    wide = [Component(number.to_bytes(size, "big"), 58) for size in (2, 4, 8) if number >> 8 * size == 0]
    return STREAM / random.choice([*wide, sequence(number + 1), sequence(number - 1), Component(b"x")])


def packets(random: Random, count: int, damage: float) -> list[tuple[int, bytes]]:
    """Readings of a stream that look alike, but for the damaged ones."""
    writers = random.sample([*SENML, text, text, long_text], random.choice([1, 1, 2]))
    derived = random.choice([LINEAGES[0], *LINEAGES])
    pens = [Pen(random, f"/BigCompany/Panel{n}/KEY/1", random.choice([[64], [70, 71]])) for n in (1, 2)]
    start_time = random.choice([0, 1_736_266_473_123_456_789, 2**64 - 100])
    low = random.choice(STARTS)
    found = []
    for number in range(low, low + count):
        write = random.choice(writers)
        format_ = TEXT if write in {text, long_text} else SENML_CBOR
        reading = Reading(start_time + number - low, format_, write(random), derived(random, number))
        name, pen = STREAM / sequence(number), pens[0]
        content = reading.encode()
        if random.random() < damage:
            format_ = random.choice([TEXT, OCTET_STREAM, SENML_CBOR, 50])
            odd = Reading(reading.time, format_, random.choice([b"", b"1", reading.payload])).encode()
            content = random.choice([content, odd, b"", b"\xa0\x00", content + b"\0", sealed(random)])
            name = random.choice([name, name, renamed(random, number)])
            pen = random.choice(pens)
        found.append((number, encode_data(name, content, pen, freshness_ms=1000)))
    places = lively(found)
    return [(number, mutated(random, wire, places) if random.random() < damage else wire) for number, wire in found]


def exactly(number: int, wire: bytes, *, verified: bool, stream: Name = STREAM) -> dict[str, Any]:
    row = read_packet(stream, number, wire)
    return {
        "stream": str(stream),
        "seq": number,
        "event_time": row.time_us,
        "arrival_time": ARRIVAL_US,
        "value": None if row.meaning.value is None else row.meaning.value.hex(),
        "payload": row.payload,
        "unit": row.meaning.unit,
        "quality": row.meaning.quality,
        "panel": stream.at(-3).value.decode(),
        "device": "Heater",
        "metric": "Voltage",
        "signer": row.signer,
        "verified": verified and row.named,
        "expected": row.meaning.expected,
        "received": row.meaning.received,
    }


def rows_of(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    batch.validate(full=True)
    columns = {name: batch.column(name) for name in batch.schema.names}
    for name in ("event_time", "arrival_time"):
        columns[name] = columns[name].cast("int64")
    lists = {name: column.to_pylist() for name, column in columns.items()}
    lists["value"] = [None if value is None else value.hex() for value in lists["value"]]
    return [dict(zip(lists, values, strict=True)) for values in zip(*lists.values(), strict=True)]


@settings(deadline=None)
@given(SEEDS, st.integers(1, 60), st.sampled_from([0.0, 0.1, 0.3]), st.booleans())
def test_a_batch_is_what_its_packets_are_one_by_one(seed: int, count: int, damage: float, verified: bool) -> None:
    found = packets(Random(seed), count, damage)
    batch = decode(STREAM, found, arrival_us=ARRIVAL_US, verified=verified)
    assert rows_of(batch) == [exactly(number, wire, verified=verified) for number, wire in found]


@settings(deadline=None)
@given(SEEDS, st.integers(12, 40))
def test_one_byte_of_a_stream_of_equals_can_be_anything(seed: int, count: int) -> None:
    """The same place in every packet: what varies where nothing should, and where something does."""
    random = Random(seed)
    found = packets(random, count, 0.0)
    at = random.choice(lively(found))
    found = [(number, wire[:at] + random.randbytes(1) + wire[at + 1 :]) for number, wire in found]
    batch = decode(STREAM, found, arrival_us=ARRIVAL_US, verified=True)
    assert rows_of(batch) == [exactly(number, wire, verified=True) for number, wire in found]


def elsewhere(random: Random, number: int, wire: bytes) -> Entry:
    """The same reading of another panel's stream, mostly: all names in it are as long as before."""
    panel = random.choice(["Panel1", "Panel2", "Panel3", "Cellar"])
    found = wire.replace(b"Panel1", panel.encode())
    stream = Name.parse(str(STREAM).replace("Panel1", panel))
    if random.random() < 0.05:
        stream = STREAM
    return Entry(stream, number, found, verified=random.random() < 0.8)


@settings(deadline=None)
@given(SEEDS, st.integers(1, 60), st.sampled_from([0.0, 0.1, 0.3]))
def test_a_batch_of_many_streams_is_what_their_packets_are_one_by_one(seed: int, count: int, damage: float) -> None:
    random = Random(seed)
    found = [elsewhere(random, number, wire) for number, wire in packets(random, count, damage)]
    expected = [exactly(each.number, each.wire or b"", verified=each.verified, stream=each.stream) for each in found]
    assert rows_of(decode_few(found, arrival_us=ARRIVAL_US)) == expected


@settings(deadline=None)
@given(SEEDS, st.integers(12, 40))
def test_one_byte_of_many_streams_can_be_anything(seed: int, count: int) -> None:
    random = Random(seed)
    found = [elsewhere(random, number, wire) for number, wire in packets(random, count, 0.0)]
    at = random.choice(lively([(each.number, each.wire or b"") for each in found]))
    wires = [each.wire or b"" for each in found]
    changed = [
        each._replace(wire=wire[:at] + random.randbytes(1) + wire[at + 1 :])
        for each, wire in zip(found, wires, strict=True)
    ]
    expected = [exactly(each.number, each.wire or b"", verified=each.verified, stream=each.stream) for each in changed]
    assert rows_of(decode_few(changed, arrival_us=ARRIVAL_US)) == expected
