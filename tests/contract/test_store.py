"""One suite over every store: in memory, as a log, and on RocksDB."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from roost.host.rocks import RocksStore
from roost.naming import Component, Name
from roost.naming.component import SEQUENCE
from roost.naming.conventions import sequence
from roost.repo.memory import MemoryStore
from roost.repo.store import Batch, Entry, Keeper
from roost.repo.store_log import LoggedStore, encode_batch

STREAM = Name.parse("/B/Electricity/Panel1/Heater/Voltage")
OTHER = Name.parse("/B/Electricity/Panel1/Heater/Voltage2")
BELOW = STREAM / "detail"
NUMBERS = [1, 2, 3, 254, 255, 256, 300, 65535, 65536, 70000, 1 << 32, (1 << 64) - 1]


class Logged(LoggedStore):
    """A log that is read again after each write, as after a restart."""

    def __init__(self) -> None:
        super().__init__(b"")
        self.log = b""

    def write(self, batches: Sequence[Batch]) -> None:
        for batch in batches:
            self.log += encode_batch(batch)
        self.__dict__.update(LoggedStore(self.log).__dict__ | {"log": self.log})
        assert self.size == len(self.log)


Make = Callable[[Path], Keeper]


@pytest.fixture(params=["memory", "log", "rocks"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Keeper]:
    makes: dict[str, Make] = {
        "memory": lambda _: MemoryStore(),
        "log": lambda _: Logged(),
        "rocks": lambda path: RocksStore(path / "store"),
    }
    keeper = makes[request.param](tmp_path)
    yield keeper
    keeper.close()


def entry(stream: Name, number: int, time: int = 0) -> Entry:
    name = stream / sequence(number)
    return Entry(name, b"packet " + name.value, time)


def put(store: Keeper, *entries: Entry) -> None:
    store.write([Batch(tuple(entries))])


def test_a_packet_is_found_by_its_name_only(store: Keeper) -> None:
    put(store, entry(STREAM, 5))
    assert store.get(STREAM / sequence(5)) == b"packet " + (STREAM / sequence(5)).value
    assert store.get(STREAM) is None
    assert store.get(STREAM / sequence(6)) is None
    assert store.get(STREAM / sequence(5) / "more") is None


def test_an_empty_store_has_nothing_to_say(store: Keeper) -> None:
    assert store.find(Name()) is None
    assert store.range(STREAM, 1, 10, 10) == []
    assert store.latest(STREAM) == 0
    assert store.scan(Name(), None, 10) == []
    assert store.since(STREAM, 0) == 0
    assert store.between(STREAM, 0, 10, 10) == []
    assert store.mark(b"x") is None
    assert store.marks(b"", b"", 10) == []


def test_a_range_is_in_the_order_of_numbers_whatever_their_length(store: Keeper) -> None:
    put(store, *[entry(STREAM, number) for number in reversed(NUMBERS)])
    assert [number for number, _ in store.range(STREAM, 0, 1 << 70, 100)] == NUMBERS
    assert [number for number, _ in store.range(STREAM, 2, 65535, 100)] == [2, 3, 254, 255, 256, 300, 65535]
    assert [number for number, _ in store.range(STREAM, 2, 65535, 3)] == [2, 3, 254]
    assert store.range(STREAM, 4, 253, 10) == []
    assert store.range(STREAM, 5, 4, 10) == []
    assert store.range(STREAM, 1, 5, 0) == []
    assert store.range(STREAM, 3, 3, 10) == [(3, entry(STREAM, 3).wire)]


def test_what_stands_between_the_readings_of_a_stream_is_none_of_them(store: Keeper) -> None:
    long_form = Entry(STREAM / Component(b"\0\7", SEQUENCE), b"seq=7 in two bytes")
    segment = Entry(STREAM / sequence(2) / "seg", b"below a reading")
    put(store, entry(STREAM, 1), entry(STREAM, 2), entry(OTHER, 9), entry(BELOW, 8), long_form, segment)
    put(store, Entry(STREAM / sequence(0), b"zero"), Entry(STREAM / "meta", b"meta"))
    assert [number for number, _ in store.range(STREAM, 0, 1 << 64, 100)] == [1, 2]
    assert store.latest(STREAM) == 2
    assert store.latest(OTHER) == 9
    assert store.latest(BELOW) == 8
    assert store.latest(STREAM.prefix(-1)) == 0
    assert store.get(STREAM / sequence(0)) == b"zero"


def test_find_gives_the_last_of_a_prefix_in_canonical_order(store: Keeper) -> None:
    put(store, entry(STREAM, 9), entry(STREAM, 300), entry(OTHER, 7))
    assert store.find(STREAM) == entry(STREAM, 300).wire
    assert store.find(STREAM.prefix(2)) == entry(OTHER, 7).wire
    assert store.find(STREAM / sequence(9)) == entry(STREAM, 9).wire
    assert store.find(Name.parse("/B/Elec")) is None
    assert store.find(Name.parse("/A")) is None


def test_scan_pages_through_the_names_of_a_prefix(store: Keeper) -> None:
    entries = [entry(STREAM, number) for number in (1, 2, 300)] + [entry(BELOW, 1), entry(OTHER, 1)]
    put(store, *entries, entry(Name.parse("/C"), 1))
    expected = sorted(each.name for each in entries)
    assert store.scan(Name.parse("/B"), None, 100) == expected
    assert store.scan(Name.parse("/B"), expected[1], 2) == expected[2:4]
    assert store.scan(Name.parse("/B"), Name.parse("/A"), 1) == expected[:1]
    assert store.scan(Name.parse("/B"), expected[-1], 5) == []
    assert store.scan(STREAM, None, 0) == []
    assert store.scan(STREAM / sequence(2), None, 5) == [STREAM / sequence(2)]


def test_since_gives_the_lowest_number_although_readings_are_late(store: Keeper) -> None:
    put(
        store,
        entry(STREAM, 1, 100),
        entry(STREAM, 2, 900),
        entry(STREAM, 3, 200),
        entry(STREAM, 4),
        entry(OTHER, 1, 500),
    )
    put(store, entry(STREAM, 5000, 1000))
    assert store.since(STREAM, 0) == 1
    assert store.since(STREAM, 101) == 2
    assert store.since(STREAM, 900) == 2
    assert store.since(STREAM, 901) == 5000
    assert store.since(STREAM, 1001) == 0


def test_since_is_told_of_many_streams_at_once(store: Keeper) -> None:
    put(store, *[entry(STREAM, number, 10 * number) for number in range(1, 200)])
    put(store, entry(OTHER, 1, 900), entry(OTHER, 2, 100), entry(BELOW, 7, 1500), entry(BELOW, 8))
    streams = [OTHER, STREAM, BELOW, STREAM / "none"]
    for time in (0, 1, 101, 901, 1000, 1501, 1980, 1 << 63, 1 << 70):
        assert store.since_each(streams, time) == [store.since(stream, time) for stream in streams]
    assert store.since_each(streams, 901) == [0, 91, 7, 0]
    assert store.since_each(streams, 1501) == [0, 151, 0, 0]
    assert store.since_each([], 1) == []


def test_a_range_of_one_number_is_that_packet(store: Keeper) -> None:
    put(store, *[entry(STREAM, number) for number in NUMBERS], entry(BELOW, 5))
    for number in NUMBERS:
        assert store.range(STREAM, number, number, 9) == [(number, entry(STREAM, number).wire)]
    assert store.range(STREAM, 1, 1, 0) == []
    assert store.range(STREAM, 5, 5, 9) == []
    assert store.range(STREAM, 0, 0, 9) == []
    assert store.range(STREAM, 1 << 64, 1 << 64, 9) == []


def test_since_the_beginning_is_the_lowest_number_even_if_it_has_no_event_time(store: Keeper) -> None:
    put(store, entry(STREAM, 3), entry(STREAM, 4, 100))
    assert store.since(STREAM, 0) == 3
    assert store.since(STREAM, 1) == 4


def test_since_passes_over_what_was_deleted(store: Keeper) -> None:
    put(store, *[entry(STREAM, number, number) for number in range(1, 3000, 7)])
    store.write([Batch(deletes=tuple(STREAM / sequence(number) for number in range(1, 2500, 7)))])
    assert store.since(STREAM, 1) == 2500
    assert store.between(STREAM, 0, 2507, 10) == [(2500, 2500), (2507, 2507)]


def test_between_is_by_event_time_then_number(store: Keeper) -> None:
    put(
        store,
        entry(STREAM, 1, 100),
        entry(STREAM, 2, 900),
        entry(STREAM, 3, 200),
        entry(STREAM, 4),
        entry(STREAM, 300, 100),
    )
    put(store, entry(BELOW, 7, 150), entry(OTHER, 8, 150))
    assert store.between(STREAM, 0, 1 << 64, 100) == [(100, 1), (100, 300), (200, 3), (900, 2)]
    assert store.between(STREAM, 100, 200, 100) == [(100, 1), (100, 300), (200, 3)]
    assert store.between(STREAM, 101, 899, 100) == [(200, 3)]
    assert store.between(STREAM, 0, 1000, 2) == [(100, 1), (100, 300)]
    assert store.between(STREAM, 200, 100, 100) == []
    assert store.between(STREAM, 0, 1000, 0) == []


def test_event_times_of_64_bits_are_kept(store: Keeper) -> None:
    put(store, entry(STREAM, 1, (1 << 64) - 1))
    assert store.since(STREAM, 1 << 63) == 1
    assert store.between(STREAM, 1 << 63, 1 << 65, 2) == [((1 << 64) - 1, 1)]


def test_what_is_deleted_is_in_no_list(store: Keeper) -> None:
    put(store, entry(STREAM, 1, 10), entry(STREAM, 2, 20))
    store.write([Batch(deletes=(STREAM / sequence(2), STREAM / sequence(77)))])
    assert store.get(STREAM / sequence(2)) is None
    assert store.latest(STREAM) == 1
    assert store.scan(STREAM, None, 10) == [STREAM / sequence(1)]
    assert store.since(STREAM, 11) == 0
    assert store.between(STREAM, 0, 100, 10) == [(10, 1)]
    assert store.find(STREAM) == entry(STREAM, 1).wire


def test_deletions_of_a_batch_come_before_its_packets_and_batches_in_their_order(store: Keeper) -> None:
    first, second = entry(STREAM, 1, 10), entry(STREAM, 2, 20)
    store.write([Batch((first,), (first.name,)), Batch((second,)), Batch(deletes=(second.name,))])
    assert store.get(first.name) == first.wire
    assert store.get(second.name) is None
    assert store.between(STREAM, 0, 100, 10) == [(10, 1)]


def test_what_was_deleted_can_be_put_again(store: Keeper) -> None:
    again = entry(STREAM, 1, 10)
    put(store, again)
    store.write([Batch(deletes=(again.name,))])
    put(store, again)
    put(store, again)
    assert store.between(STREAM, 0, 100, 10) == [(10, 1)]
    assert store.range(STREAM, 1, 1, 2) == [(1, again.wire)]


def test_marks_are_set_changed_listed_and_taken_away(store: Keeper) -> None:
    store.write([Batch(marks=((b"sa", b"1"), (b"sb", b""), (b"s\xff\xff", b"3"), (b"t", b"4"), (b"s", b"0")))])
    assert store.mark(b"sa") == b"1"
    assert store.mark(b"sb") == b""
    assert store.mark(b"sc") is None
    assert store.marks(b"s", b"", 10) == [(b"s", b"0"), (b"sa", b"1"), (b"sb", b""), (b"s\xff\xff", b"3")]
    assert store.marks(b"s", b"sa", 1) == [(b"sb", b"")]
    assert store.marks(b"s\xff", b"", 5) == [(b"s\xff\xff", b"3")]
    store.write([Batch(marks=((b"sa", b"2"), (b"sb", None), (b"none", None)))])
    assert store.marks(b"s", b"s", 10) == [(b"sa", b"2"), (b"s\xff\xff", b"3")]


def test_marks_and_packets_do_not_mix(store: Keeper) -> None:
    store.write([Batch((Entry(STREAM, b"packet"),), marks=((STREAM.value, b"mark"),))])
    assert store.get(STREAM) == b"packet"
    assert store.mark(STREAM.value) == b"mark"
    assert store.scan(Name(), None, 10) == [STREAM]
