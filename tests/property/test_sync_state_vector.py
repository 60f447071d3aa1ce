"""State vectors under Hypothesis: merging has no order, what is written is read, bad bytes are refused."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.mutation import mutants

from roost.errors import BadPacket
from roost.machine import SECOND, Rejected
from roost.naming import Component, Name
from roost.sync.ledger import Ledger
from roost.sync.port import Asked, Learned, Stream
from roost.sync.state_vector import StateVector
from roost.sync.svs import Svs
from roost.sync.svs_interest import build, open_interest
from roost.sync.svs_settings import SvsSettings
from roost.sync.svs_window import Selection, encode_window, select
from roost.sync.vector_format import (
    MAX_NUMBER,
    Heard,
    decode_vector,
    encode_vector,
    entry_bytes,
    key_of,
    stream_of,
)
from roost.wire import DigestSigner, Interest

VERSIONS = st.sampled_from([2, 3])
NUMBERS = st.integers(1, MAX_NUMBER) | st.sampled_from([1, 255, 256, 65535, 65536, 2**32 - 1, 2**32, MAX_NUMBER])
BOOTS = st.integers(0, MAX_NUMBER) | st.sampled_from([0, 1, 1_700_000_000])
COMPONENTS = st.builds(Component, st.binary(max_size=3)) | st.builds(
    Component, st.binary(max_size=3), st.integers(3, 0xFFFF)
)
NAMES = st.lists(COMPONENTS, min_size=1, max_size=3).map(lambda parts: Name.of(*parts))
FEW = st.sampled_from([Name.parse(uri) for uri in ("/a", "/b", "/b/c", "/long", "/z")])
ENTRIES = st.dictionaries(st.tuples(FEW | NAMES, BOOTS), NUMBERS, max_size=8)
SMALL = st.dictionaries(st.tuples(FEW, st.integers(0, 2)), st.integers(1, 5), max_size=8)


def keyed(entries: dict[tuple[Name, int], int], version: int) -> dict[bytes, int]:
    """With the keys of a version, in their order; of version 2 without boot times."""
    found: dict[bytes, int] = {}
    for (name, boot), number in entries.items():
        key = key_of(Stream(name, boot), version)
        found[key] = max(number, found.get(key, 0))
    return {key: found[key] for key in sorted(found)}


def heard(entries: dict[tuple[Name, int], int], version: int) -> Heard:
    return Heard(keyed(entries, version), 0, 0)


def merged(version: int, *vectors: dict[tuple[Name, int], int]) -> StateVector:
    vector = StateVector(version, 1000, 1000)
    for entries in vectors:
        vector.merge(heard(entries, version), 0)
    return vector


# -- the format


@given(VERSIONS, ENTRIES)
def test_what_is_written_is_read(version: int, entries: dict[tuple[Name, int], int]) -> None:
    numbers = keyed(entries, version)
    wire = encode_vector(list(numbers), numbers, version)
    head = 2 if wire[1] < 253 else 4
    read = decode_vector(wire, head, len(wire), version)
    assert list(read.entries.items()) == list(numbers.items())
    assert encode_vector(list(read.entries), read.entries, version) == wire
    assert len(wire) - head <= sum(entry_bytes(key, number, version) for key, number in numbers.items())
    if version == 3:
        assert read.newest_boot == max([stream_of(key, 3).boot for key in numbers], default=0)


@given(ENTRIES)
def test_keys_are_in_the_canonical_order_of_name_and_boot(entries: dict[tuple[Name, int], int]) -> None:
    streams = [stream_of(key, 3) for key in keyed(entries, 3)]
    assert streams == sorted(streams, key=lambda stream: (list(stream.name), stream.boot))
    assert set(streams) == {Stream(name, boot) for name, boot in entries}


@given(VERSIONS, ENTRIES, st.randoms(use_true_random=False))
def test_the_order_in_which_entries_come_does_not_matter(
    version: int, entries: dict[tuple[Name, int], int], random: Random
) -> None:
    numbers = keyed(entries, version)
    singles = [encode_vector([key], numbers, version) for key in numbers] * 2
    random.shuffle(singles)
    shuffled = b"".join([single[2 if single[1] < 253 else 4 :] for single in singles])
    read = decode_vector(shuffled, 0, len(shuffled), version)
    assert list(read.entries.items()) == list(numbers.items())


# -- merging


@given(VERSIONS, SMALL, SMALL)
def test_merging_is_commutative(
    version: int, one: dict[tuple[Name, int], int], two: dict[tuple[Name, int], int]
) -> None:
    left, right = merged(version, one, two), merged(version, two, one)
    assert (left.numbers, left.order, left.size_bytes) == (right.numbers, right.order, right.size_bytes)


@given(VERSIONS, SMALL, SMALL, SMALL)
def test_merging_is_associative(
    version: int,
    one: dict[tuple[Name, int], int],
    two: dict[tuple[Name, int], int],
    three: dict[tuple[Name, int], int],
) -> None:
    left = merged(version, one, two)
    left.merge(heard(three, version), 0)
    right = merged(version, one)
    right.merge(
        Heard({key: merged(version, two, three).numbers[key] for key in merged(version, two, three).order}, 0, 0), 0
    )
    assert (left.numbers, left.order) == (right.numbers, right.order)


@given(VERSIONS, SMALL, SMALL)
def test_merging_is_idempotent_and_reports_each_number_once(
    version: int, one: dict[tuple[Name, int], int], two: dict[tuple[Name, int], int]
) -> None:
    vector = merged(version, one)
    before = dict(vector.numbers)
    news = vector.merge(heard(two, version), 0).news
    assert {key: high for key, _, high in news} == {
        key: number for key, number in keyed(two, version).items() if number > before.get(key, 0)
    }
    assert all(low == before.get(key, 0) + 1 for key, low, _ in news)
    revision = vector.revision
    again = vector.merge(heard(two, version), 0)
    assert (again.news, vector.revision) == ([], revision)


@given(VERSIONS, SMALL, SMALL, st.data())
def test_what_a_vector_lacks_is_what_it_has_lower_or_not_in_its_window(
    version: int, ours: dict[tuple[Name, int], int], theirs: dict[tuple[Name, int], int], data: st.DataObject
) -> None:
    vector = merged(version, ours)
    other = heard(theirs, version)
    bounds = sorted(data.draw(st.lists(st.sampled_from(vector.order), max_size=2))) if vector.order else []
    if bounds:
        other.narrow(bounds[0], bounds[1] if len(bounds) == 2 else None)
    found = vector.merge(other, 0)

    def inside(key: bytes) -> bool:
        return not other.windowed or (other.after < key and (other.upto is None or key <= other.upto))

    expected = [
        key
        for key in vector.order
        if other.entries.get(key, 0) < vector.numbers[key] and (key in other.entries or inside(key))
    ]
    assert vector.lacking(other, found, listed_only=False) == expected
    assert (vector.lag(other, found, 0, listed_only=False) > 0) == bool(expected)
    lacking = dict.fromkeys(vector.order)
    vector.strike(lacking, other)
    assert list(lacking) == [key for key in vector.order if other.entries.get(key, 0) < vector.numbers[key]]


# -- windows


@given(VERSIONS, ENTRIES, st.integers(250, 400), st.data())
def test_a_selection_fits_and_claims_only_what_it_lists(
    version: int, entries: dict[tuple[Name, int], int], room: int, data: st.DataObject
) -> None:
    vector = merged(version, entries)
    some = st.lists(st.sampled_from(vector.order), unique=True) if vector.order else st.just([])
    own, lacking = data.draw(some), dict.fromkeys(sorted(data.draw(some)))
    after = data.draw(st.sampled_from([b"", *vector.order]))
    selection = select(vector, own, lacking, after, room)
    wire = vector.encode(selection.keys) + encode_window(selection, version)
    assert len(wire) <= room + 4
    prefix = Name.parse("/g/v=3" if version == 3 else "/g/v=2")
    opened = open_interest(Interest.decode(build(prefix, version, wire, 1000, DigestSigner())), prefix, version).heard
    assert (opened.windowed, opened.after, opened.upto) == (True, selection.after, selection.upto)
    assert vector.lacking(opened, vector.merge(opened, 0), listed_only=False) == []
    if lacking:
        assert set(lacking) & set(selection.keys)


# -- bad bytes


def samples(version: int) -> list[bytes]:
    """What stands in Sync Interests: vectors, alone and with what may follow."""
    vector = StateVector(version, 100, 1000)
    for number in range(12):
        stream = Stream(Name.parse(f"/building/panel{number % 5}/s{number % 4}"), 1_700_000_000 + number % 3)
        vector.raise_to(key_of(stream, version), 1 << 5 * number % 50, 0)
    whole = vector.encode(vector.order)
    window = encode_window(Selection([], vector.order[2], vector.order[7]), version)
    return [whole, whole + window, whole + bytes.fromhex("cd020700"), b"\xc9\x00", b"\xc9\x00" + window]


@pytest.mark.parametrize("version", [2, 3])
def test_mutated_vectors_are_read_or_refused_and_never_break_a_member(version: int) -> None:
    now = 1_700_000_000 * SECOND
    settings = SvsSettings(version=version, signed=False, max_streams=200)
    member = Svs(Name.parse("/g"), settings, DigestSigner(), Random(1), Ledger("f", b""))
    member.start(now)
    read = refused = 0
    for mutant in mutants(version, 3000, samples(version)):
        signer = DigestSigner() if version == 3 else None
        interest = Interest.decode(build(member.prefix, version, mutant, 1000, signer))
        try:
            opened = open_interest(interest, member.prefix, version).heard
        except BadPacket:
            opened = None
        effects = member.receive(Asked(interest), now)
        if opened is None:
            refused += 1
            assert [type(effect) for effect in effects] == [Rejected]
        else:
            read += 1
            assert list(opened.entries) == sorted(opened.entries)
            assert all(0 < number <= MAX_NUMBER for number in opened.entries.values())
            for effect in effects:
                if isinstance(effect, Learned):
                    assert 0 < effect.low <= effect.high
        now += SECOND // 10
        deadline = member.deadline()
        if deadline is not None and deadline <= now:
            member.tick(now)
    assert read > 100
    assert refused > 1000
    assert len(member.latest()) <= 200
