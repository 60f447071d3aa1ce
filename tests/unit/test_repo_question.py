"""Questions to repos and their answers on the wire: there and back, and what is refused."""

from __future__ import annotations

import pytest

from roost.errors import BadPacket
from roost.naming import Component, Name
from roost.naming.building import numbered
from roost.naming.component import KEYWORD
from roost.repo.question import (
    AFTER,
    BUNDLE,
    BUNDLED,
    DROPPED,
    GAPS,
    HIGH,
    LATEST,
    LOW,
    MAX_DROPPED,
    MAX_NAME_BYTES,
    MORE,
    NUMBER,
    SINCE,
    STREAM,
    STREAMS,
    TIME,
    Asked,
    Bundle,
    Gaps,
    Latest,
    Since,
    Streams,
    decode_bundle,
    decode_question,
    decode_streams,
    dropped_bytes,
    encode_bundle,
    encode_question,
    encode_streams,
    fitting,
)
from roost.wire import DigestSigner, encode_data, tlv

A, B = Name.parse("/G/A"), Name.parse("/G/B")


def packet(stream: Name, number: int, size: int = 10) -> bytes:
    return encode_data(numbered(stream, number), bytes(size), DigestSigner())


@pytest.mark.parametrize(
    "question",
    [
        Latest(A),
        Latest(Name(), after=B),
        Latest(A, after=B, time=7),
        Since(A, 0),
        Since(A, (1 << 64) - 1, after=A),
        Bundle(A, 1, 1),
        Bundle(A, 7, (1 << 64) - 1),
        Gaps(A),
        Gaps(Name(), after=B),
        Gaps(A, after=B, low=(1 << 64) - 1),
    ],
    ids=str,
)
def test_a_question_comes_back_as_it_was(question: Asked) -> None:
    assert decode_question(encode_question(question)) == question


def test_the_bytes_of_a_bundle_question() -> None:
    assert encode_question(Bundle(Name.parse("/A"), 5, 300)).value.hex() == "b60c0703080141b90105ba02012c"


@pytest.mark.parametrize(
    "value",
    [
        b"",
        tlv.tlv(179, A.wire),
        tlv.tlv(LATEST, b""),
        tlv.tlv(LATEST, A.wire + A.wire),
        tlv.tlv(LATEST, A.wire) + b"\x00",
        tlv.tlv(LATEST, tlv.tlv(AFTER, b"") + A.wire),
        tlv.tlv(LATEST, A.wire + tlv.tlv(200, b"")),
        tlv.tlv(LATEST, A.wire + tlv.tlv(AFTER, b"\x08")),
        tlv.tlv(LATEST, Name.of("x" * MAX_NAME_BYTES).wire),
        tlv.tlv(SINCE, A.wire),
        tlv.tlv(SINCE, A.wire + tlv.tlv(TIME, b"abc")),
        tlv.tlv(BUNDLE, A.wire + tlv.number(LOW, 1)),
        tlv.tlv(BUNDLE, A.wire + tlv.number(LOW, 0) + tlv.number(HIGH, 1)),
        tlv.tlv(BUNDLE, A.wire + tlv.number(LOW, 2) + tlv.number(HIGH, 1)),
        tlv.tlv(GAPS, b""),
        tlv.tlv(GAPS, A.wire + tlv.number(LOW, 1)),
        tlv.tlv(GAPS, A.wire + tlv.tlv(AFTER, B.value) + tlv.number(LOW, 0)),
        tlv.tlv(GAPS, A.wire + tlv.number(LOW, 1) + tlv.tlv(AFTER, B.value)),
    ],
    ids=range(18),
)
def test_what_is_no_question_is_refused(value: bytes) -> None:
    with pytest.raises(BadPacket):
        decode_question(Component(value))


def test_a_question_is_a_generic_component() -> None:
    with pytest.raises(BadPacket, match="generic"):
        decode_question(Component(encode_question(Latest(A)).value, KEYWORD))


@pytest.mark.parametrize("answer", [Streams(()), Streams(((A, 3), (B, 0))), Streams(((A, 3),), more=True)], ids=str)
def test_an_answer_about_streams_comes_back_as_it_was(answer: Streams) -> None:
    assert decode_streams(encode_streams(answer)) == answer


def entry(stream: Name, number: int) -> bytes:
    return tlv.tlv(STREAM, stream.wire + tlv.number(NUMBER, number))


@pytest.mark.parametrize(
    "body",
    [
        entry(B, 1) + entry(A, 1),
        entry(A, 1) + entry(A, 2),
        tlv.tlv(MORE, b""),
        entry(A, 1) + tlv.tlv(MORE, b""),
        tlv.tlv(MORE, b"x") + entry(A, 1),
        tlv.tlv(STREAM, A.wire),
        A.wire,
    ],
    ids=["order", "twice", "more than nothing", "more at the end", "more with a value", "no number", "bare name"],
)
def test_what_is_no_answer_about_streams_is_refused(body: bytes) -> None:
    with pytest.raises(BadPacket):
        decode_streams(tlv.tlv(STREAMS, body))


def test_as_many_streams_fit_as_can_be_written() -> None:
    entries = [(Name.of("G", f"S{number:04}"), number) for number in range(1000)]
    count = len(fitting(entries, 1000))
    assert 0 < count < 1000
    assert len(encode_streams(Streams(tuple(entries[:count]), more=True))) <= 1000
    assert len(encode_streams(Streams(tuple(entries[: count + 1]), more=True))) > 1000 - 8
    assert fitting(entries[:3], 1000) == entries[:3]


def test_a_bundle_comes_back_as_it_was() -> None:
    packets = [packet(A, 3), packet(A, 5, 300)]
    bundled = decode_bundle(encode_bundle(packets, [(1, 2), (7, 90)]), Bundle(A, 1, 8))
    assert [(number, data.wire) for number, data in bundled.readings] == list(zip((3, 5), packets, strict=True))
    assert bundled.dropped == ((1, 2), (7, 90))
    assert dropped_bytes([(1, 2)]) >= len(encode_bundle([], [(1, 2)]))


def run(low: int, high: int) -> bytes:
    return tlv.tlv(DROPPED, tlv.number(LOW, low) + tlv.number(HIGH, high))


@pytest.mark.parametrize(
    "body",
    [
        packet(B, 3),
        packet(A, 5) + packet(A, 3),
        packet(A, 3) + packet(A, 3),
        packet(A, 9),
        packet(A, 1),
        encode_data(A / "3", b"", DigestSigner()),
        encode_data(A / Component(b"\x00\x03", 58), b"", DigestSigner()),
        packet(A, 3)[:-1],
        packet(A, 3) + run(4, 5),
        run(4, 5) + run(5, 6),
        run(5, 4),
        b"".join([run(2 * number, 2 * number) for number in range(1, MAX_DROPPED + 2)]),
        A.wire,
    ],
    ids=range(13),
)
def test_what_is_no_answer_to_a_bundle_question_is_refused(body: bytes) -> None:
    with pytest.raises(BadPacket):
        decode_bundle(tlv.tlv(BUNDLED, body), Bundle(A, 2, 8))
