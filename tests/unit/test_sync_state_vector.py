"""State vectors: both formats byte for byte, what is refused in them, merging and comparing."""

from __future__ import annotations

import pytest

from roost.errors import BadPacket
from roost.naming import Name
from roost.sync.port import Stream
from roost.sync.state_vector import FRESH, IN_FLIGHT, OUTDATED, StateVector
from roost.sync.vector_format import (
    MAX_NUMBER,
    STATE_VECTOR,
    Heard,
    decode_vector,
    encode_vector,
    entry_bytes,
    key_of,
    stream_of,
)
from roost.wire.tlv import element

# The fact sheet, §2: made by NDNts; the first also by ndn-svs.
V2 = "c918ca0a070508036f6e65cc0101ca0a0705080374776fcc0102"
V3 = (
    "c946ca10070308017ad209d40101d60400011170"
    "ca1d070508036f6e65d209d4046187715ad6010ad209d404677d52e9d60101"
    "ca130705080374776fd20ad404677d52e9d602012c"
)
IN_V2 = {("/one", 0): 1, ("/two", 0): 2}
IN_V3 = {("/z", 1): 70000, ("/one", 1636266330): 10, ("/one", 1736266473): 1, ("/two", 1736266473): 300}
VECTORS = [pytest.param(2, V2, IN_V2, id="v2"), pytest.param(3, V3, IN_V3, id="v3")]


def key(uri: str, boot: int = 0, version: int = 2) -> bytes:
    return key_of(Stream(Name.parse(uri), boot), version)


def read(wire: str, version: int) -> Heard:
    data = bytes.fromhex(wire)
    type_, low, high = element(data, 0, len(data))
    assert (type_, high) == (STATE_VECTOR, len(data))
    return decode_vector(data, low, high, version)


def heard(**numbers: int) -> Heard:
    """Somebody's vector of version 2; streams have names of one letter."""
    entries = {key(f"/{name}"): number for name, number in sorted(numbers.items())}
    return Heard(entries, 0, 0)


def window(after: str, upto: str, **numbers: int) -> Heard:
    vector = heard(**numbers)
    vector.narrow(key(f"/{after}") if after else b"", key(f"/{upto}") if upto else None)
    return vector


def ours(now: int = 0, **numbers: int) -> StateVector:
    vector = StateVector(2, 100, 100)
    for name, number in numbers.items():
        vector.raise_to(key(f"/{name}"), number, now)
    return vector


def as_dict(vector: StateVector) -> dict[str, int]:
    return {str(stream_of(each, 2))[1:]: vector.numbers[each] for each in vector.order}


# -- the formats


@pytest.mark.parametrize(("version", "wire", "entries"), VECTORS)
def test_the_vectors_of_the_fact_sheet_are_read(version: int, wire: str, entries: dict[tuple[str, int], int]) -> None:
    vector = read(wire, version)
    streams = {stream_of(each, version): number for each, number in vector.entries.items()}
    assert list(streams.items()) == [(Stream(Name.parse(uri), boot), n) for (uri, boot), n in entries.items()]
    assert vector.newest_boot == max(boot for _, boot in entries)
    assert not vector.windowed


@pytest.mark.parametrize(("version", "wire", "entries"), VECTORS)
def test_the_vectors_of_the_fact_sheet_are_written_byte_for_byte(
    version: int, wire: str, entries: dict[tuple[str, int], int]
) -> None:
    vector = StateVector(version, 10, 100)
    for (uri, boot), number in reversed(entries.items()):
        vector.raise_to(key(uri, boot, version), number, 0)
    assert vector.encode(vector.order).hex() == wire


@pytest.mark.parametrize("version", [2, 3])
def test_the_empty_vector_is_c900(version: int) -> None:
    assert encode_vector([], {}, version).hex() == "c900"
    assert not read("c900", version).entries


def test_the_order_of_keys_is_the_canonical_order_of_names_and_then_of_boot_times() -> None:
    streams = [("/z", 2**53 - 1), ("/one", 0), ("/one", 1), ("/one", 256), ("/one/a", 0), ("/two", 0), ("/32=a", 0)]
    keys = [key(uri, boot, 3) for uri, boot in streams]
    assert keys == sorted(keys)
    assert [str(stream_of(each, 3).name) for each in keys] == [uri for uri, _ in streams]
    assert [stream_of(each, 3).boot for each in keys] == [boot for _, boot in streams]


def test_entries_may_come_in_any_order_and_the_highest_of_a_stream_counts() -> None:
    two, one, higher = "ca0a0705080374776fcc0102", "ca0a070508036f6e65cc0101", "ca0a070508036f6e65cc0109"
    assert list(read(f"c924{two}{higher}{one}", 2).entries.items()) == [(key("/one"), 9), (key("/two"), 2)]
    first, second = "ca12070508036f6e65d209d4046187715ad6010a", "ca12070508036f6e65d209d4046187715ad6010c"
    for entries in (first + second, second + first):
        assert list(read(f"c928{entries}", 3).entries.values()) == [12]


def test_boot_times_of_a_name_may_come_in_any_order() -> None:
    assert list(read("c917ca15070308017ad206d40102d60105d206d40101d60107", 3).entries.items()) == [
        (key("/z", 1, 3), 7),
        (key("/z", 2, 3), 5),
    ]


def test_a_number_zero_says_nothing_but_its_boot_time_is_seen() -> None:
    assert not read("c90cca0a070508036f6e65cc0100", 2).entries
    vector = read("c90fca0d070308017ad206d40109d60100", 3)
    assert (vector.entries, vector.newest_boot) == ({}, 9)


def test_a_name_without_boot_times_says_nothing() -> None:
    assert not read("c907ca05070308017a", 3).entries


@pytest.mark.parametrize(
    ("version", "wire"),
    [
        (2, "c91bca0f070308017acc080020000000000000ca08070308017bcc0101"),
        (3, "c928ca14070308017ad20dd40101d6080020000000000000ca10070308017bd209d404677d52e9d60101"),
    ],
)
def test_a_number_that_is_too_large_costs_its_entry_only(version: int, wire: str) -> None:
    vector = read(wire, version)
    assert (list(vector.entries.values()), vector.refused) == ([1], 1)


@pytest.mark.parametrize(
    ("version", "wire", "reason"),
    [
        (2, "c902ca00", "a number was expected"),
        (2, "c905ca03cc0101", "element 7 was expected"),
        (2, "c907ca050700cc0101", "empty name"),
        (2, "c907ca05070308017a", "a number was expected"),
        (2, "c909ca07070308017acc00", "1, 2, 4 or 8 bytes"),
        (2, "c90cca0a070308017acc0101f000", "follows the number"),
        (2, "c90cca0a070308017acc03010203", "1, 2, 4 or 8 bytes"),
        (2, "c902f000", "element 202 was expected"),
        (2, "c908ca06070308017b", "only"),
        (2, "c90fca0d070308017ad206d40101d60101", "element 204 was expected"),
        (3, "c90aca08070308017acc0101", "element 210 was expected"),
        (3, "c90eca0c070308017ad205d400d60101", "1, 2, 4 or 8 bytes"),
        (3, "c90cca0a070308017ad203d60101", "element 212 was expected"),
        (3, "c90cca0a070308017ad203d40101", "a number was expected"),
        (3, "c911ca0f070308017ad208d40101d60101f000", "follows the number"),
        (3, "c911ca0f070308017ad206d40101d60101f000", "element 210 was expected"),
        (3, "c916ca14070308017ad20dd4080020000000000000d60101", "too large"),
    ],
)
def test_what_does_not_belong_into_a_vector_refuses_it(version: int, wire: str, reason: str) -> None:
    data = bytes.fromhex(wire)
    with pytest.raises(BadPacket, match=reason):
        decode_vector(data, 2, len(data), version)


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("length", [1, 100, 225, 226, 227, 228, 230, 240, 250, 260, 300])
@pytest.mark.parametrize("number", [1, 255, 256, 65535, 65536, 2**32 - 1, 2**32, MAX_NUMBER])
def test_an_entry_never_takes_more_than_was_reckoned(version: int, length: int, number: int) -> None:
    for boot in (0, 2**31, 2**40):
        one = key_of(Stream(Name.of("x" * length), boot), version)
        wire = encode_vector([one], {one: number}, version)
        head = 2 if wire[1] < 253 else 4
        reckoned = entry_bytes(one, number, version)
        assert reckoned - 11 <= len(wire) - head <= reckoned


# -- merging


def test_merging_takes_the_maximum_and_reports_each_new_range() -> None:
    vector = ours(a=3, b=7)
    found = vector.merge(heard(a=5, b=2, c=4), 9)
    assert found.news == [(key("/a"), 4, 5), (key("/c"), 1, 4)]
    assert (found.fresh, found.lower, found.refused) == (1, [key("/b")], 0)
    assert as_dict(vector) == {"a": 5, "b": 7, "c": 4}


def test_what_was_raised_last_comes_last() -> None:
    vector = ours(a=1, b=1, c=1)
    vector.raise_to(key("/a"), 2, 5)
    assert [str(stream_of(each, 2)) for each in vector.updated] == ["/b", "/c", "/a"]
    assert vector.updated[key("/a")] == 5


def test_every_change_is_a_new_revision_and_no_news_is_none() -> None:
    vector = ours(a=1)
    revision = vector.revision
    assert not vector.merge(heard(a=1), 0).news
    assert vector.revision == revision
    vector.merge(heard(a=2), 0)
    assert vector.revision > revision


def test_the_size_is_reckoned_as_it_grows() -> None:
    vector = ours(a=1, b=255)
    vector.merge(heard(a=300, b=256, c=70000), 0)
    assert vector.size_bytes == sum(entry_bytes(each, vector.numbers[each], 2) for each in vector.order)


def test_loading_is_the_same_as_raising_one_by_one() -> None:
    one_by_one = ours(b=2, a=300)
    loaded = StateVector(2, 100, 100)
    loaded.load({key("/b"): 2, key("/a"): 300})
    for field in ("numbers", "order", "updated", "size_bytes", "longest"):
        assert getattr(loaded, field) == getattr(one_by_one, field)


def test_new_streams_are_refused_when_there_is_no_room_and_known_ones_go_on() -> None:
    vector = StateVector(2, 2, 100)
    found = vector.merge(heard(a=1, b=1, c=1, d=1), 0)
    assert (as_dict(vector), found.refused) == ({"a": 1, "b": 1}, 2)
    assert vector.merge(heard(b=5, c=1), 0).news == [(key("/b"), 2, 5)]


def test_streams_with_endless_names_are_refused() -> None:
    vector = StateVector(2, 100, 10)
    assert vector.merge(Heard({key("/123456789"): 1, key("/12345678"): 1}, 0, 0), 0).refused == 1
    assert vector.order == [key("/12345678")]


# -- comparing


def lag(vector: StateVector, other: Heard, since: int = 0, *, listed_only: bool = False) -> int:
    return vector.lag(other, vector.merge(other, 0), since, listed_only=listed_only)


def lacking(vector: StateVector, other: Heard, *, listed_only: bool = False) -> list[str]:
    keys = vector.lacking(other, vector.merge(other, 0), listed_only=listed_only)
    return [str(stream_of(each, 2))[1:] for each in keys]


@pytest.mark.parametrize(
    ("other", "verdict", "lacks"),
    [
        (heard(a=3, b=7), FRESH, []),
        (heard(a=4, b=7, c=1), FRESH, []),
        (heard(a=3, b=6), OUTDATED, ["b"]),
        (heard(a=9), OUTDATED, ["b"]),
        (heard(), OUTDATED, ["a", "b"]),
        (heard(b=1), OUTDATED, ["a", "b"]),
        (heard(z=1), OUTDATED, ["a", "b"]),
    ],
)
def test_a_vector_is_outdated_if_it_has_a_stream_of_ours_lower_or_not_at_all(
    other: Heard, verdict: int, lacks: list[str]
) -> None:
    vector = ours(a=3, b=7)
    assert lag(vector, other) == verdict
    assert lacking(ours(a=3, b=7), other) == lacks


def test_what_was_raised_lately_is_in_flight() -> None:
    vector = ours(now=10, a=3, b=7)
    assert lag(vector, heard(a=3, b=6), since=9) == IN_FLIGHT
    assert lag(vector, heard(a=3), since=9) == IN_FLIGHT
    assert lag(vector, heard(a=3), since=10) == OUTDATED
    vector.raise_to(key("/b"), 8, 20)
    assert lag(vector, heard(a=3, b=7), since=15) == IN_FLIGHT
    assert lag(vector, heard(b=7), since=15) == OUTDATED  # a is old, and missing


@pytest.mark.parametrize(
    ("other", "lacks"),
    [
        (window("", "c", a=1, b=1, c=1), []),
        (window("", "c", a=1, c=1), ["b"]),
        (window("b", "d", c=1, d=1), []),
        (window("b", "d", d=1), ["c"]),
        (window("c", "", d=1), []),
        (window("c", ""), ["d"]),
        (window("", ""), ["a", "b", "c", "d"]),
        (window("a", "a"), []),
    ],
)
def test_of_a_window_only_what_lies_in_it_can_be_missing(other: Heard, lacks: list[str]) -> None:
    assert lacking(ours(a=1, b=1, c=1, d=1), other) == lacks
    assert lag(ours(a=1, b=1, c=1, d=1), other) == (OUTDATED if lacks else FRESH)


def test_what_a_window_lists_counts_wherever_it_is() -> None:
    vector = ours(a=1, b=1, c=1, d=5)
    assert lacking(vector, window("", "b", a=1, b=1, d=4)) == ["d"]
    assert lacking(vector, window("a", "b", a=1, d=4)) == ["b", "d"]
    assert vector.merge(window("", "a", a=1, d=9), 0).news == [(key("/d"), 6, 9)]


def test_streams_that_were_refused_do_not_hide_what_is_missing() -> None:
    vector = StateVector(2, 2, 100)
    vector.load({key("/a"): 1, key("/b"): 1})
    assert lag(vector, heard(a=1, x=1)) == OUTDATED
    assert lacking(vector, heard(a=1, x=1)) == ["b"]
    assert lag(vector, heard(a=1, b=1, x=1)) == FRESH


def test_nothing_is_concluded_from_what_a_vector_that_was_cut_does_not_list() -> None:
    vector = ours(a=3, b=7)
    assert lag(vector, heard(a=3), listed_only=True) == FRESH
    assert lacking(vector, heard(a=2), listed_only=True) == ["a"]
    assert lag(vector, heard(a=2), listed_only=True) == OUTDATED


def test_what_somebody_else_tells_as_well_need_not_be_told() -> None:
    vector = ours(a=3, b=7, c=1)
    missing = dict.fromkeys([key("/a"), key("/b"), key("/c")])
    assert not vector.strike(missing, heard(a=2))
    assert vector.strike(missing, heard(a=3, b=6))
    assert list(missing) == [key("/b"), key("/c")]
    assert vector.strike(missing, heard(a=3, b=7, c=1, d=1))
    assert not missing
