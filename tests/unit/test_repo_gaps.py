"""What a repo lacks, on the wire: there and back, as much as fits, and what is refused."""

from __future__ import annotations

import pytest

from roost.errors import BadPacket
from roost.naming import Name
from roost.repo.gaps import (
    GAPPED,
    LACKING,
    MISSING,
    Gapped,
    decode_gapped,
    encode_gapped,
    fitting_gaps,
    longest_name,
)
from roost.repo.question import AFTER, HIGH, LOW, MAX_NAME_BYTES, Gaps, Run
from roost.wire import tlv

G, A, B, C = (Name.parse(uri) for uri in ("/G", "/G/A", "/G/B", "/G/C"))
LAST = (1 << 64) - 1


@pytest.mark.parametrize(
    "answer",
    [
        Gapped(()),
        Gapped((), A),
        Gapped(((A, ((1, 1), (3, LAST))), (B, ((2, 5),)))),
        Gapped(((A, ((1, 1),)),), C),
        Gapped(((A, ((1, 1),)), (B, ((4, 4),))), B, 5),
    ],
    ids=str,
)
def test_an_answer_about_gaps_comes_back_as_it_was(answer: Gapped) -> None:
    assert decode_gapped(encode_gapped(answer), Gaps(G)) == answer


def test_the_bytes_of_an_answer_about_gaps() -> None:
    answer = Gapped(((Name.parse("/A"), ((5, 300),)),), Name.parse("/B"))
    assert encode_gapped(answer).hex() == "c215" + "b703080142" + "c30e0703080141c407b90105ba02012c"


def run(low: int, high: int) -> bytes:
    return tlv.tlv(MISSING, tlv.number(LOW, low) + tlv.number(HIGH, high))


def entry(stream: Name, *runs: bytes) -> bytes:
    return tlv.tlv(LACKING, stream.wire + b"".join(runs))


def place(stream: Name) -> bytes:
    return tlv.tlv(AFTER, stream.value)


@pytest.mark.parametrize(
    "body",
    [
        entry(B, run(1, 1)) + entry(A, run(1, 1)),
        entry(A, run(1, 1)) + entry(A, run(3, 3)),
        entry(A),
        entry(A, run(2, 1)),
        entry(A, run(0, 1)),
        entry(A, run(3, 4), run(1, 1)),
        entry(A, run(1, 2), run(3, 4)),
        entry(A, A.wire),
        tlv.tlv(LACKING, run(1, 1)),
        tlv.tlv(LACKING, b""),
        tlv.tlv(LACKING, A.wire + tlv.tlv(MISSING, tlv.number(LOW, 1))),
        entry(Name.of("x" * MAX_NAME_BYTES), run(1, 1)),
        entry(A, run(1, 1)) + place(B),
        entry(A, run(1, 1)) + tlv.number(LOW, 5),
        tlv.number(LOW, 5),
        place(B) + tlv.number(LOW, 0),
        place(B) + tlv.number(LOW, 5) + tlv.number(LOW, 6),
        place(A) + entry(B, run(1, 1)),
        tlv.tlv(AFTER, b"\x08"),
        place(Name.of("x" * MAX_NAME_BYTES)),
        A.wire,
        b"\xc3",
    ],
    ids=range(22),
)
def test_what_is_no_answer_about_gaps_is_refused(body: bytes) -> None:
    with pytest.raises(BadPacket):
        decode_gapped(tlv.tlv(GAPPED, body), Gaps(G))


def test_an_answer_is_one_element() -> None:
    for content in (b"", encode_gapped(Gapped(())) + b"\x00", tlv.tlv(GAPPED + 1, b"")):
        with pytest.raises(BadPacket):
            decode_gapped(content, Gaps(G))


@pytest.mark.parametrize(
    ("asked", "after", "low"),
    [
        (Gaps(G, B), B, 0),
        (Gaps(G, B), A, 0),
        (Gaps(G, B), B, 7),
        (Gaps(G, B, 7), B, 7),
        (Gaps(G, B, 7), B, 6),
    ],
    ids=str,
)
def test_an_answer_that_leads_back_is_refused(asked: Gaps, after: Name, low: int) -> None:
    with pytest.raises(BadPacket, match="leads back"):
        decode_gapped(encode_gapped(Gapped((), after, low)), asked)


@pytest.mark.parametrize(("after", "low"), [(B, 8), (B, 0), (C, 0), (C, 1)])
def test_an_answer_leads_on(after: Name, low: int) -> None:
    decode_gapped(encode_gapped(Gapped((), after, low)), Gaps(G, B, 7))


def test_as_many_gaps_fit_as_can_be_written_and_the_next_answer_goes_on_behind_them() -> None:
    runs: list[Run] = [(LAST - 3 * number, LAST - 3 * number) for number in range(40, 0, -1)]
    streams = [(Name.of("G", f"S{number:04}"), list(runs)) for number in range(20)]
    found: dict[Name, list[Run]] = {}
    asked, pages = Gaps(G), 0
    while True:
        rest = [
            (stream, [each for each in lacks if stream != asked.after or each[0] >= asked.low])
            for stream, lacks in streams
            if asked.after is None or stream > asked.after or (asked.low and stream == asked.after)
        ]
        content = encode_gapped(fitting_gaps(rest, 1000))
        assert len(content) <= 1000
        page = decode_gapped(content, asked)
        assert page.entries
        for stream, lacks in page.entries:
            found.setdefault(stream, []).extend(lacks)
        pages += 1
        if page.after is None:
            break
        asked = Gaps(G, page.after, page.low)
    assert found == dict(streams)
    assert 20 * 40 * 22 / 1000 < pages < 30


def test_where_looking_ended_is_where_the_next_answer_begins() -> None:
    assert fitting_gaps([(A, [(1, 1)]), (B, [])], 1000) == Gapped(((A, ((1, 1),)),), B)
    assert fitting_gaps([(A, [])], 1000) == Gapped((), A)
    long = Name.of("x" * 300)
    assert fitting_gaps([(A, [(1, 1)] * 30), (long, [])], 1000) == Gapped(((A, ((1, 1),) * 30),), A), "no room"
    assert longest_name(10_000) == MAX_NAME_BYTES


def test_a_name_that_is_not_too_long_leaves_room_for_a_gap_and_the_place_behind_it() -> None:
    stream = Name.of("x" * (longest_name(1000) - 4))
    assert len(stream.value) == longest_name(1000)
    page = fitting_gaps([(stream, [(1, LAST - 9), (LAST - 7, LAST - 7)])], 1000)
    assert page == Gapped(((stream, ((1, LAST - 9),)),), stream, LAST - 8)
    assert len(encode_gapped(page)) <= 1000
