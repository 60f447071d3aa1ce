"""Lineage on the wire: names, ranges behind one prefix, the job, and a digest where there are too many inputs."""

from __future__ import annotations

from hashlib import sha256

import pytest

from roost.errors import BadPacket
from roost.naming import Name
from roost.naming.building import numbered
from roost.wire.lineage import (
    MAX_INPUTS,
    MAX_LINEAGE_BYTES,
    InputDigest,
    InputRange,
    Lineage,
    decode_lineage,
    lineage_of,
)
from roost.wire.reading import Reading, decode_reading
from roost.wire.tlv import tlv

DIGEST = bytes(range(32))
PROGRAM = "a920" + DIGEST.hex()
A, B = Name.parse("/g/a"), Name.parse("/g/b")


def decoded(body: str) -> Lineage:
    value = bytes.fromhex(body)
    return decode_lineage(value, 0, len(value))


def test_ranges_byte_for_byte() -> None:
    lineage = Lineage((), DIGEST, (InputRange(A, 1, 300), InputRange(B, 2, 2)), "p/mean@3")
    a = "a70c" + "0703080161" + "b10101" + "b302012c"
    b = "a70b" + "0703080162" + "b10102" + "b30102"
    ranges = "a820" + "0703080167" + a + b
    assert lineage.encode().hex() == "a64e" + ranges + PROGRAM + "ac08" + b"p/mean@3".hex()
    assert decoded(ranges + PROGRAM + "ac08" + b"p/mean@3".hex()) == lineage


def test_one_range_is_all_prefix() -> None:
    lineage = Lineage((numbered(B, 7),), DIGEST, (InputRange(A, 1, 1),))
    wire = lineage.encode()
    assert "a8120706080167080161a7080700b10101b30101" in wire.hex()
    assert decode_lineage(wire, 2, len(wire)) == lineage


def test_ranges_are_put_in_order_and_those_that_touch_are_joined() -> None:
    given = [InputRange(B, 4, 5), InputRange(A, 4, 9), InputRange(A, 1, 3), InputRange(B, 7, 8), InputRange(A, 2, 2)]
    lineage = lineage_of(DIGEST, ranges=given, job="p/s@1")
    assert lineage == Lineage((), DIGEST, (InputRange(A, 1, 9), InputRange(B, 4, 5), InputRange(B, 7, 8)), "p/s@1")
    assert lineage_of(DIGEST, ranges=reversed(given), job="p/s@1") == lineage


def test_inputs_too_many_to_be_named_have_a_digest_which_can_be_computed_again() -> None:
    streams = [A / f"{number:03}" for number in range(MAX_INPUTS + 1)]
    ranges = [InputRange(stream, 1, 10) for stream in streams]
    lineage = lineage_of(DIGEST, ranges=reversed(ranges), job="p/s@1")
    listed = b"".join(each.encode() for each in ranges)
    assert lineage == Lineage((), DIGEST, (), "p/s@1", InputDigest(sha256(listed).digest(), 2570))
    wire = lineage.encode()
    assert decode_lineage(wire, 2, len(wire)) == lineage
    assert wire.hex().endswith("ae22" + sha256(listed).hexdigest() + "0a0a")


def test_inputs_that_take_too_many_bytes_have_a_digest_too() -> None:
    inputs = [numbered(A / ("x" * 100) / f"{number:03}", 1) for number in range(40)]
    assert len(Lineage(tuple(inputs), DIGEST).encode()) > MAX_LINEAGE_BYTES
    lineage = lineage_of(DIGEST, inputs=inputs)
    assert lineage.digest == InputDigest(sha256(b"".join(name.wire for name in inputs)).digest(), 40)
    assert lineage_of(DIGEST, inputs=inputs[1:]).digest != lineage.digest
    assert lineage_of(DIGEST, inputs=inputs[:20]).inputs == tuple(inputs[:20])


GOOD = "a70b0703080161b10101b30103"
PREFIX = "0703080167"


def ranges(body: str) -> str:
    return tlv(168, bytes.fromhex(body)).hex()


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (ranges("") + PROGRAM, "what their names begin with"),
        (ranges(PREFIX) + PROGRAM, "what their names begin with"),
        (ranges(GOOD + GOOD) + PROGRAM, "what their names begin with"),
        (ranges(PREFIX + GOOD * (MAX_INPUTS + 1)) + PROGRAM, "what their names begin with"),
        (ranges(PREFIX + "b000") + PROGRAM, "no range"),
        (ranges(PREFIX + "a700") + PROGRAM, "no range"),
        (ranges(PREFIX + "a70b0703080161b30103b10101") + PROGRAM, "no range"),
        (ranges("0706080167080161" + "a7080700b10101b30103" + "a7080700b10100b30103") + PROGRAM, "no readings"),
        (ranges("0706080167080161" + "a7080700b10104b30103") + PROGRAM, "no readings"),
        (ranges("0700" + "a7080700b10101b30103") + PROGRAM, "no readings"),
        (ranges(PREFIX + GOOD) + PROGRAM, "all that they share"),
        (ranges("0703080267" + GOOD) + PROGRAM, "longer than its name"),
        (PROGRAM, "1 to 256 inputs"),
        (ranges("0706080167080161" + "a7080700b10101b30103"), "32 bytes"),
        ("0703080161" + PROGRAM + "ac00", "1 to 255 bytes"),
        ("0703080161" + PROGRAM + "ac01ff", "not UTF-8"),
        (PROGRAM + "ae00", "1, 2, 4 or 8"),
        (PROGRAM + "ae20" + DIGEST.hex(), "1, 2, 4 or 8"),
        ("0703080161" + PROGRAM + "ae21" + DIGEST.hex() + "05", "not 1 inputs and a digest"),
        (PROGRAM + "0703080161", "critical element 7"),
        ("0703080161" + PROGRAM + PROGRAM, "critical element 169"),
    ],
    ids=range(21),
)
def test_what_is_no_lineage(body: str, reason: str) -> None:
    with pytest.raises(BadPacket, match=reason):
        decoded(body)


def test_a_second_element_that_is_not_critical_is_passed_over() -> None:
    once = ranges("0706080167080161" + "a7080700b10101b30103") + PROGRAM + "ac0161"
    assert decoded(once + "ac0162" + "b600") == Lineage((), DIGEST, (InputRange(A, 1, 3),), "a")


def test_what_cannot_be_lineage() -> None:
    with pytest.raises(BadPacket, match="no readings"):
        InputRange(Name(), 1, 1)
    with pytest.raises(BadPacket, match="shorter name"):
        Lineage((A,), DIGEST, (), "x" * 256).encode()
    with pytest.raises(BadPacket, match="1 to 256 inputs"):
        Lineage((A,) * 200, DIGEST, (InputRange(A, 1, 1),) * 57)
    with pytest.raises(BadPacket, match="no digest"):
        InputDigest(DIGEST, -1)


def test_what_is_made_of_nothing_says_so() -> None:
    lineage = lineage_of(DIGEST, job="hall/rooms@1")
    assert lineage.digest == InputDigest(sha256(b"").digest(), 0)
    assert decode_reading(Reading(1, 42, b"", lineage).encode()).lineage == lineage


def test_the_cause_of_a_macros_result_is_there_again_also_beside_a_digest() -> None:
    cause = Name.parse("/A/B/temp/seq=9")
    named = lineage_of(bytes(32), inputs=[cause], cause=cause)
    many = lineage_of(bytes(32), inputs=[Name.parse(f"/A/B/temp/seq={number}") for number in range(300)], cause=cause)
    assert many.digest is not None
    for lineage in (named, many):
        assert decode_reading(Reading(1, 0, b"x", lineage).encode()).lineage == lineage
        assert lineage.cause == cause
