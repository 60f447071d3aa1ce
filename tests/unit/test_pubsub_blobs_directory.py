"""What is known of publications before they are fetched: kept, asked for, answered, filtered [SVS-PS §8]."""

from __future__ import annotations

import pytest

from roost.errors import BadConfig
from roost.machine import SECOND
from roost.naming import Name
from roost.pubsub.blobs.directory import MAX_ASKED, Directory
from roost.pubsub.blobs.mapping import Entry, decode_mapping
from roost.pubsub.blobs.names import Query
from roost.pubsub.blobs.wanted import Wanted
from roost.sync.port import Stream

RADAR = Stream(Name.parse("/radar"), 7)
NOW = 1_700_000_000 * SECOND


def entry(number: int, name: str = "/position/radar", *, time_us: int = 0, size_bytes: int = -1) -> Entry:
    return Entry(number, Name.parse(name), time_us, size_bytes)


def name(uri: str) -> Name:
    return Name.parse(uri)


def test_what_was_told_once_stays() -> None:
    known = Directory()
    assert known.learn(RADAR, [entry(1)]) == [entry(1)]
    assert known.learn(RADAR, [entry(1, "/other"), entry(2)]) == [entry(2)]
    assert known.get(RADAR, 1) == entry(1)
    assert known.get(Stream(RADAR.name, 8), 1) is None


def test_at_its_bound_the_oldest_is_forgotten() -> None:
    known = Directory(max_entries=3)
    known.learn(RADAR, [entry(number) for number in range(1, 6)])
    assert (len(known), known.forgotten) == (3, 2)
    assert [number for number in range(1, 6) if known.get(RADAR, number)] == [3, 4, 5]


def test_a_stream_with_many_publications_costs_others_nothing() -> None:
    known = Directory(max_entries=30)
    sonar, mast = Stream(Name.parse("/sonar"), 7), Stream(Name.parse("/mast"), 7)
    known.learn(RADAR, [entry(number) for number in range(1, 9)])
    for number in range(1, 200):
        known.learn(sonar, [entry(number)])
    assert [each.number for each in known.of(RADAR)] == list(range(1, 9))
    known.learn(mast, [entry(number) for number in range(1, 11)])  # up to its share the largest gives way
    assert (len(known.of(RADAR)), len(known.of(mast)), len(known)) == (8, 10, 30)
    assert [each.number for each in known.of(sonar)] == list(range(188, 200))
    assert known.forgotten == 199 + 10 + 8 - 30


def test_what_was_just_learnt_of_a_stream_stays_although_many_have_their_share() -> None:
    known = Directory()
    for number in range(250):
        known.learn(Stream(Name.parse(f"/unit{number}"), 7), [entry(each) for each in range(1, 401)])
    assert len(known) == known.max_entries
    for low in range(1, 5001, 800):  # as who looks for the latest of each name does
        known.learn(RADAR, [entry(number) for number in range(low, low + 800)])
        assert known.lacking(RADAR, low, low + 799) == []
    assert (len(known), len(known.of(RADAR))) == (known.max_entries, 1024)
    assert min(len(known.of(Stream(Name.parse(f"/unit{number}"), 7))) for number in range(250)) > 390


def test_queries_ask_for_ten_numbers_at_most_and_only_for_what_is_lacking() -> None:
    known = Directory()
    assert known.lacking(RADAR, 1, 25) == [Query(1, 10), Query(11, 20), Query(21, 25)]
    known.learn(RADAR, [entry(number) for number in [1, 2, 9, 10, 11, 25]])
    queries = known.lacking(RADAR, 1, 25)
    assert queries == [Query(3, 12), Query(13, 22), Query(23, 24)]
    assert all(query.high - query.low < MAX_ASKED for query in queries)
    known.learn(RADAR, [entry(number) for number in range(1, 26)])
    assert known.lacking(RADAR, 1, 25) == []


def test_a_query_is_answered_with_what_is_known_of_it() -> None:
    known = Directory()
    known.learn(RADAR, [entry(2), entry(4), entry(11)])
    content = known.answer(RADAR, Query(1, 10))
    assert content is not None
    mapping = decode_mapping(content)
    assert (mapping.node, mapping.entries) == (RADAR.name, (entry(2), entry(4)))
    assert known.answer(RADAR, Query(5, 10)) is None
    assert known.answer(RADAR, Query(20, 1 << 50)) is None


def test_a_producer_answers_with_what_it_still_has_whatever_was_forgotten() -> None:
    known = Directory(max_entries=1)
    known.learn(RADAR, [entry(1), entry(2), entry(3)])
    content = known.answer(RADAR, Query(1, 10), ours=lambda number: entry(2) if number == 2 else None)
    assert content is not None
    assert decode_mapping(content).entries == (entry(2), entry(3))


def test_an_answer_fits_a_packet_whatever_is_asked() -> None:
    known = Directory()
    known.learn(RADAR, [entry(number, "/" + "x" * 1500) for number in range(1, 20)])
    content = known.answer(RADAR, Query(1, 19))
    assert content is not None
    assert len(content) < 8000
    assert [each.number for each in decode_mapping(content).entries] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("wanted", "found", "taken"),
    [
        (Wanted(topic=name("/position")), entry(1), True),
        (Wanted(topic=name("/image")), entry(1), False),
        (Wanted(topic=name("/")), entry(1), True),
        (Wanted(topic=name("/position"), max_size_bytes=1000), entry(1, size_bytes=1000), True),
        (Wanted(topic=name("/position"), max_size_bytes=1000), entry(1, size_bytes=1001), False),
        (Wanted(topic=name("/position"), max_size_bytes=1000), entry(1), True),
        (Wanted(topic=name("/position"), max_age_ms=5000), entry(1, time_us=NOW // 1000 - 5_000_000), True),
        (Wanted(topic=name("/position"), max_age_ms=5000), entry(1, time_us=NOW // 1000 - 5_000_001), False),
        (Wanted(topic=name("/position"), max_age_ms=5000), entry(1), True),
        (Wanted(producer=name("/radar"), pattern=name("/*/radar")), entry(1), True),
        (Wanted(producer=name("/radar"), pattern=name("/*/sonar")), entry(1), False),
        (Wanted(producer=name("/radar"), pattern=name("/*")), entry(1), False),
        (Wanted(producer=name("/radar"), pattern=name("/position/**")), entry(1), True),
        (Wanted(producer=name("/radar"), pattern=name("/position/radar/**")), entry(1), True),
        (Wanted(producer=name("/radar"), pattern=name("/position/radar/*/**")), entry(1), False),
    ],
)
def test_a_filter_looks_at_the_mapping_and_lets_through_what_is_not_said(
    wanted: Wanted, found: Entry, *, taken: bool
) -> None:
    assert wanted.takes(found, NOW) is taken


def test_a_producer_is_taken_as_a_whole_without_any_mapping() -> None:
    wanted = Wanted(producer=name("/platoon1"))
    assert not wanted.needs_mapping
    assert wanted.concerns(name("/platoon1/unit2"))
    assert not wanted.concerns(name("/platoon2/unit2"))
    assert Wanted(topic=name("/position")).needs_mapping
    assert Wanted(producer=name("/platoon1"), max_age_ms=1).needs_mapping


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"topic": Name(), "producer": Name()},
        {"topic": Name(), "max_age_ms": -1},
        {"producer": Name(), "prefetch": 1, "prefetch_ms": 10},
        {"topic": Name(), "pattern": Name.parse("/**/a")},
    ],
)
def test_a_subscription_that_cannot_be_is_refused(options: dict[str, object]) -> None:
    with pytest.raises(BadConfig):
        Wanted(**options)  # type: ignore[arg-type]
