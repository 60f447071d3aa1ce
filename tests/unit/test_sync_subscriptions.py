"""What a consumer wants: lists of names as Bloom filters, lists of ranges as they are."""

from __future__ import annotations

from random import Random

import pytest

from roost.errors import Backpressure, BadName, BadPacket
from roost.naming import Component, Name
from roost.sync.bloom import BloomFilter
from roost.sync.presets import CPP_PARTIAL, PartialPreset
from roost.sync.psync_names import RANGES
from roost.sync.subscriptions import (
    MAX_NAMES,
    MAX_RANGES,
    MAX_RANGES_BYTES,
    NameList,
    NameRange,
    RangeList,
    Ranges,
    decode_wanted,
)


def name(uri: str) -> Name:
    return Name.parse(uri)


def names(*uris: str) -> list[Name]:
    return [Name.parse(uri) for uri in uris]


def ranges(*pairs: str) -> Ranges:
    return Ranges([NameRange(*names(*pair.split())) for pair in pairs])


def written(made: Ranges) -> list[str]:
    return [str(each) for each in made.ranges]


# -- names


def test_a_list_of_names_travels_as_a_bloom_filter() -> None:
    count, p_milli, bits = NameList(names("/A", "/B")).components(CPP_PARTIAL)
    assert (count.number(), p_milli.number()) == (6, 1)
    assert bits.value.hex() == "0202049221020144841850", "the vector of the sheet"


def test_the_filter_is_as_large_as_its_list() -> None:
    wanted = NameList(Name.parse(f"/s/{number}") for number in range(100))
    count, _, bits = wanted.components(CPP_PARTIAL)
    assert count.number() == 100
    assert len(bits.value) == 180
    received = decode_wanted(wanted.components(CPP_PARTIAL))
    assert all(Name.parse(f"/s/{number}") in received for number in range(100))


def test_a_list_of_names_is_exact_where_its_filter_is_not() -> None:
    wanted = NameList(names("/A", "/B", "/C", "/D", "/E", "/F"))
    received = decode_wanted(wanted.components(PartialPreset(bloom_p_milli=500)))
    others = [Name.parse(f"/other/{number}") for number in range(100)]
    assert any(other in received for other in others)
    assert not any(wanted.covers(other) for other in others)


def test_adding_and_removing_change_the_filter_and_the_fingerprint() -> None:
    wanted = NameList(names("/A"))
    before, print_before = wanted.components(CPP_PARTIAL), wanted.fingerprint()
    assert wanted.add(name("/B"))
    assert not wanted.add(name("/B")), "it was there"
    assert wanted.components(CPP_PARTIAL) != before
    assert wanted.fingerprint() != print_before
    assert wanted.remove(name("/B"))
    assert not wanted.remove(name("/B")), "it was not there"
    assert wanted.components(CPP_PARTIAL) == before
    assert wanted.fingerprint() == print_before


def test_the_fingerprint_does_not_depend_on_the_order() -> None:
    assert NameList(names("/A", "/B")).fingerprint() == NameList(names("/B", "/A")).fingerprint()


def test_a_list_of_names_takes_no_ranges_and_has_a_bound() -> None:
    wanted = NameList(Name.parse(f"/s/{number}") for number in range(MAX_NAMES))
    with pytest.raises(Backpressure, match="RangeList"):
        wanted.add(name("/one/more"))
    with pytest.raises(BadName, match="RangeList"):
        wanted.add(NameRange(name("/A"), name("/B")))
    assert not wanted.remove(NameRange(name("/A"), name("/B")))


def test_an_empty_list_wants_nothing() -> None:
    received = decode_wanted(NameList().components(CPP_PARTIAL))
    assert isinstance(received, BloomFilter)
    assert name("/A") not in received
    assert name("/A") not in decode_wanted(RangeList().components(CPP_PARTIAL))


# -- ranges


def test_a_range_holds_both_ends_what_lies_between_and_what_is_below_the_high_end() -> None:
    wanted = ranges("/b /d")
    inside = names("/b", "/b/x", "/c", "/c/x/y", "/d", "/d/x", "/d/x/y")
    assert all(each in wanted for each in inside)
    assert not any(each in wanted for each in names("/", "/a", "/a/z", "/e", "/bb", "/dd"))


def test_canonical_order_puts_short_components_first() -> None:
    wanted = ranges("/Panel1 /Panel9")
    assert name("/Panel5") in wanted
    assert name("/Panel10") not in wanted, "longer components come after all shorter ones"
    assert name("/Panel10") in ranges("/Panel1 /Panel99")


def test_a_name_alone_stands_for_all_that_is_below_it() -> None:
    wanted = RangeList(names("/Building1"))
    assert wanted.covers(name("/Building1/Electricity/Panel1"))
    assert wanted.covers(name("/Building1"))
    assert not wanted.covers(name("/Building2"))
    assert RangeList(names("/")).covers(name("/anything/at/all"))


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (["/a /c", "/b /d"], ["[/a, /d]"]),
        (["/a /d", "/b /c"], ["[/a, /d]"]),
        (["/c /d", "/a /b"], ["[/a, /b]", "[/c, /d]"]),
        (["/a /b", "/b/x /c"], ["[/a, /c]"]),
        (["/a /b", "/b/x /b/y"], ["[/a, /b]"]),
        (["/a /b/x", "/b /b"], ["[/a, /b]"]),
        (["/a /b/x", "/b/y /b/y"], ["[/a, /b/x]", "[/b/y, /b/y]"]),
        (["/a /a", "/a /a"], ["[/a, /a]"]),
        (["/ /", "/q /r"], ["[/, /]"]),
    ],
)
def test_ranges_that_overlap_become_one(given: list[str], kept: list[str]) -> None:
    assert written(ranges(*given)) == kept
    assert written(ranges(*given[::-1])) == kept


def test_merged_ranges_hold_what_the_single_ones_held() -> None:
    random = Random(5)
    letters = "abc"

    def any_name() -> Name:
        return Name.of(*[random.choice(letters) for _ in range(random.randint(0, 3))])

    for _ in range(300):
        single = [NameRange(*sorted([any_name(), any_name()])) for _ in range(random.randint(0, 4))]
        merged = Ranges(single)
        assert Ranges.decode(merged.encode()).ranges == merged.ranges
        for _ in range(20):
            probe = any_name()
            assert (probe in merged) == any(each.covers(probe) for each in single), (single, probe)


def test_ranges_travel_as_they_are() -> None:
    keyword, encoded = RangeList([NameRange(name("/A"), name("/B")), name("/C")]).components(CPP_PARTIAL)
    assert keyword == RANGES
    assert encoded.value.hex() == "820a" + "0703080141" + "0703080142" + "8205" + "0703080143"
    received = decode_wanted((keyword, encoded))
    assert isinstance(received, Ranges)
    assert written(received) == ["[/A, /B]", "[/C, /C]"]


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("0703080141", "range"),
        ("8200", "one name or two"),
        ("820f070308014107030801420703080143", "one name or two"),
        ("82050803080141", "one name or two"),
        ("820a07030801420703080141", "low end"),
        ("82050703080141ff", "cut off"),
        ("8206070308014107", "expected"),
        ("82050703000141", "component type 0"),
    ],
)
def test_ranges_that_cannot_be_are_refused(raw: str, reason: str) -> None:
    with pytest.raises(BadPacket, match=reason):
        Ranges.decode(bytes.fromhex(raw))


def test_received_ranges_are_bounded() -> None:
    one = bytes.fromhex("82050703080141")
    Ranges.decode(one * MAX_RANGES)
    with pytest.raises(BadPacket, match=f"more than {MAX_RANGES}"):
        Ranges.decode(one * (MAX_RANGES + 1))
    with pytest.raises(BadPacket, match=f"{MAX_RANGES_BYTES} is the limit"):
        Ranges.decode(bytes(MAX_RANGES_BYTES + 1))


def test_a_list_of_ranges_is_bounded_in_number_and_bytes() -> None:
    wanted = RangeList(Name.parse(f"/{number:04}") for number in range(MAX_RANGES))
    with pytest.raises(Backpressure, match="limit"):
        wanted.add(name("/one/more"))
    with pytest.raises(Backpressure, match="limit"):
        RangeList([Name.of(Component(bytes(MAX_RANGES_BYTES)))])


def test_a_range_is_removed_as_it_was_added() -> None:
    wanted = RangeList([NameRange(name("/a"), name("/c")), NameRange(name("/b"), name("/d"))])
    before = wanted.fingerprint()
    assert not wanted.remove(name("/a"))
    assert wanted.remove(NameRange(name("/a"), name("/c")))
    assert not wanted.covers(name("/a"))
    assert wanted.covers(name("/b"))
    assert wanted.fingerprint() != before
    assert not wanted.add(NameRange(name("/b"), name("/d"))), "it was there"


def test_a_range_from_high_to_low_is_refused() -> None:
    with pytest.raises(BadName, match="low end"):
        RangeList([NameRange(name("/b"), name("/a"))])


@pytest.mark.parametrize("numbers", [(0, 1), (6, 0), (6, 1000), (1 << 60, 1), (7, 1)])
def test_a_filter_that_cannot_be_is_refused(numbers: tuple[int, int]) -> None:
    components = tuple(Component.numbered(number, 8) for number in numbers)
    with pytest.raises(BadPacket):
        decode_wanted((*components, Component(bytes(11))))


def test_the_numbers_of_a_filter_are_generic_numbers() -> None:
    count, p_milli, bits = NameList(names("/A")).components(CPP_PARTIAL)
    for bad in (Component(b"", 8), Component(b"abc", 8), Component(b"\6", 50)):
        with pytest.raises(BadPacket):
            decode_wanted((bad, p_milli, bits))
        with pytest.raises(BadPacket):
            decode_wanted((count, bad, bits))
