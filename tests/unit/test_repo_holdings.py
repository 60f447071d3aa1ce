"""What a repo holds of its streams, and as others read it."""

from __future__ import annotations

import pytest

from roost.errors import BadPacket
from roost.naming import Name
from roost.repo.holding import BYTES, GONE, HELD, MAX_INTERVALS, Holding
from roost.repo.holdings import HOLDINGS, STREAM, Holdings, decode_holdings, encode_holdings
from roost.wire.tlv import number, tlv

A = Name.parse("/B/Panel1/Voltage")
B = Name.parse("/B/Panel2/Voltage")


def row(*held: int, gone: tuple[int, ...] = ()) -> Holding:
    holding = Holding()
    for each in held:
        holding.add(each, 10)
    for each in gone:
        holding.drop(each, each, 0)
    return holding


def test_an_empty_row_holds_nothing() -> None:
    holding = Holding()
    assert (holding.lowest, holding.highest, holding.count, holding.held, holding.holes(9)) == (0, 0, 0, [], [])
    assert holding.encode() == b""
    assert not holding.is_held(0)
    assert not holding.is_held(1)


def test_numbers_join_to_intervals_in_any_order() -> None:
    holding = row(3, 1, 7, 2, 5, 6)
    assert holding.held == [(1, 3), (5, 7)]
    assert (holding.lowest, holding.highest, holding.count, holding.size_bytes) == (1, 7, 6, 60)
    assert holding.holes(9) == [(4, 4)]
    assert not holding.add(5, 10)
    assert holding.size_bytes == 60


def test_what_is_gone_on_purpose_is_no_hole() -> None:
    holding = row(10, 11, 20, gone=(1, 2, 3, 15))
    assert holding.holes(9) == [(4, 9), (12, 14), (16, 19)]
    assert holding.holes(2) == [(4, 9), (12, 14)]
    assert holding.is_gone(2)
    holding.drop(1, 11, 20)
    assert holding.gone == [(1, 11), (15, 15)]
    assert holding.held == [(20, 20)]
    assert holding.size_bytes == 10


def test_what_is_gone_behind_the_highest_is_no_hole_either() -> None:
    assert row(1, gone=(5,)).holes(9) == []


def test_what_is_missing_before_the_highest_that_is_gone_is_a_gap() -> None:
    assert row(1, 2, 3).gaps() == row(3, 4, gone=(1, 2)).gaps() == Holding().gaps() == []
    assert row(1, 4, 6, gone=(2, 8)).gaps() == [(3, 3), (5, 5), (7, 7)]
    assert row(gone=(3,)).gaps() == [(1, 2)]
    assert row(2).gaps() == [(1, 1)]


@pytest.mark.parametrize("whole", [row(), row(1, 2), row(3, 4, gone=(1, 2))], ids=["empty", "from 1", "from behind"])
def test_most_streams_are_seen_to_be_whole_at_a_glance(whole: Holding) -> None:
    assert whole.is_whole
    assert whole.gaps() == []
    assert not row(2, 3).is_whole
    assert not row(1, 3).is_whole
    assert not row(3, 4, gone=(1,)).is_whole


def test_streams_that_lack_numbers_are_found_in_order_and_where_looking_ended() -> None:
    holdings = Holdings()
    names = [Name.parse(f"/B/Panel{number}") for number in range(1, 6)]
    for name in reversed(names):
        holdings.put(name, row(1, 3) if name in names[1:4:2] else row(1))
    assert list(holdings.lacking(Name.parse("/B"), None, 9, 99)) == [(names[1], [(2, 2)]), (names[3], [(2, 2)])]
    assert list(holdings.lacking(Name.parse("/B"), names[1], 1, 99)) == [(names[3], [(2, 2)]), (names[3], [])]
    assert list(holdings.lacking(Name.parse("/B"), names[3], 1, 99)) == []
    long = Name.parse("/B/Panel9/x")
    holdings.put(long, row(3))
    page = list(holdings.lacking(Name.parse("/B"), names[2], 2, len(names[0].value)))
    assert page == [(names[3], [(2, 2)]), (names[3], [])], "names that are too long are passed over"


def test_a_stream_that_lacks_nothing_any_more_is_not_looked_at() -> None:
    holdings = Holdings()
    names = [Name.parse(f"/B/Panel{number}") for number in range(1, 4)]
    for name in names:
        holdings.add(name, 2, 10)
    holdings.add(names[1], 1, 10)
    holdings.drop(names[2], 1, 1, 0)
    assert list(holdings.lacking(Name.parse("/B"), None, 1, 99)) == [(names[0], [(1, 1)]), (names[0], [])]
    assert list(holdings.lacking(Name.parse("/B"), names[0], 1, 99)) == []
    holdings.add(names[1], 4, 10)
    assert list(holdings.lacking(Name.parse("/B"), names[0], 9, 99)) == [(names[1], [(3, 3)])]


def test_what_is_lost_is_a_hole() -> None:
    holding = row(1, 2, 3)
    holding.drop(2, 2, 10, on_purpose=False)
    assert holding.holes(9) == [(2, 2)]
    assert holding.gone == []


def test_what_comes_back_is_not_gone_any_more() -> None:
    holding = row(1, gone=(2,))
    holding.add(2, 10)
    assert (holding.held, holding.gone) == ([(1, 2)], [])


def test_intervals_have_a_bound() -> None:
    holding = row(*range(2, 2 * MAX_INTERVALS + 2, 2))
    assert len(holding.held) == MAX_INTERVALS
    assert not holding.has_room(2 * MAX_INTERVALS + 2)
    assert holding.has_room(3)
    for low in range(1, 2 * MAX_INTERVALS, 2):
        assert holding.drop(low, low, 0)
    assert not holding.drop(3 * MAX_INTERVALS, 3 * MAX_INTERVALS, 0)
    assert len(holding.gone) == MAX_INTERVALS


def test_a_table_counts_what_is_in_it() -> None:
    holdings = Holdings(max_streams=2)
    assert holdings.add(B, 1, 100)
    assert holdings.add(A, 1, 10)
    assert holdings.add(A, 2, 10)
    assert not holdings.add(A, 2, 10)
    assert not holdings.add(Name.parse("/C"), 1, 10)
    assert not holdings.drop(Name.parse("/C"), 1, 1, 10)
    assert (len(holdings), holdings.count, holdings.size_bytes, holdings.refused) == (2, 3, 120, 2)
    assert [name for name, _ in holdings] == [B, A]
    assert holdings.under(Name.parse("/B")) == [A, B]
    assert holdings.under(A) == [A]
    assert holdings.drop(A, 1, 1, 10)
    assert (holdings.is_held(A, 1), holdings.is_gone(A, 1), holdings.lowest(A), holdings.highest(A)) == (
        False,
        True,
        2,
        2,
    )
    assert (holdings.count, holdings.size_bytes) == (2, 110)


def test_a_draft_changes_nothing_before_it_is_settled() -> None:
    holdings = Holdings()
    holdings.add(A, 1, 10)
    draft = holdings.draft()
    changed = draft.row(A.value)
    assert changed is not None
    changed.add(2, 10)
    changed.drop(1, 1, 10)
    assert holdings.of(A).held == [(1, 1)]
    draft.settle()
    assert holdings.of(A).held == [(2, 2)]
    assert holdings.size_bytes == 10


def test_the_wire_form_is_as_documented() -> None:
    holding = row(1, 2, 3, 300, gone=(5,))
    assert holding.encode().hex() == "ad06" + "0102" + "fd012900" + "af02" + "0500" + "b10128"
    wire = encode_holdings([(B, Holding()), (A, holding)])
    rows = decode_holdings(wire)
    assert [(name, each.held, each.gone, each.size_bytes) for name, each in rows] == [
        (A, [(1, 3), (300, 300)], [(5, 5)], 40),
        (B, [], [], 0),
    ]
    assert decode_holdings(encode_holdings([])) == []


def stream(name: Name, rest: bytes = b"") -> bytes:
    return tlv(STREAM, name.wire + rest)


@pytest.mark.parametrize(
    ("wire", "why"),
    [
        (b"", "number was expected"),
        (tlv(6, b""), "one element 170"),
        (tlv(HOLDINGS, b"") + b"\0", "1 bytes behind it"),
        (tlv(HOLDINGS, stream(B) + stream(A)), "canonical order"),
        (tlv(HOLDINGS, stream(A) + stream(A)), "canonical order"),
        (tlv(HOLDINGS, tlv(STREAM, tlv(8, b"x"))), "begins with its name"),
        (tlv(HOLDINGS, tlv(179, b"")), "critical element 179"),
        (tlv(HOLDINGS, stream(A, tlv(HELD, b""))), "there are none"),
        (tlv(HOLDINGS, stream(A, tlv(HELD, b"\0\0"))), "touches the one before"),
        (tlv(HOLDINGS, stream(A, tlv(HELD, b"\1\0\1\0"))), "touches the one before"),
        (tlv(HOLDINGS, stream(A, tlv(HELD, b"\1"))), "number was expected"),
        (tlv(HOLDINGS, stream(A, tlv(HELD, b"\1\xff" + b"\xff" * 8))), "64 bits"),
        (tlv(HOLDINGS, stream(A, tlv(HELD, b"\1\0" + b"\2\0" * MAX_INTERVALS))), "more than 1024 intervals"),
        (tlv(HOLDINGS, stream(A, tlv(HELD, b"\1\5") + tlv(GONE, b"\3\0"))), "both held and gone"),
        (tlv(HOLDINGS, stream(A, number(BYTES, 1) + tlv(HELD, b"\1\5"))), "critical element 173"),
    ],
)
def test_holdings_that_are_none_are_refused(wire: bytes, why: str) -> None:
    with pytest.raises(BadPacket, match=why):
        decode_holdings(wire)


def test_the_number_of_streams_read_has_a_bound() -> None:
    with pytest.raises(BadPacket, match="more than 1 streams"):
        decode_holdings(encode_holdings([(A, Holding()), (B, Holding())]), max_streams=1)


def test_what_a_later_version_adds_is_passed_over() -> None:
    wire = tlv(HOLDINGS, tlv(180, b"new") + stream(A, tlv(HELD, b"\1\5") + tlv(182, b"new")))
    assert decode_holdings(wire)[0][1].held == [(1, 6)]
