"""Places as text: the same text for the same place, and nothing of it lost."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.errors import BadConfig
from roost.pipeline import offsets
from roost.pipeline.place import Part, Place, Redo, below, holes_after, joined, within, without

_STREAM = st.text("abcä/ .%", min_size=1, max_size=12)
_COUNTS = st.dictionaries(_STREAM, st.integers(0, 1 << 62), max_size=6)


def test_a_place_comes_back_as_it_was_written() -> None:
    place = Place(
        {"P/d/m": 7, "P/d/n": 1 << 40},
        {"P/d/m": ((2, 3), (5, 5))},
        {"P": 12},
        {"P/d/n": 11},
        {"P": 2},
        (Redo("P", 9, 2, (Part("P/d/m", 1, 4), Part("P/d/n", 3, 2))),),
        begun=4,
    )
    written = json.loads(offsets.text({"a": place, "b": Place()}))
    assert offsets.from_json(written) == {"a": place, "b": Place()}


def test_many_streams_are_packed_and_come_back_too() -> None:
    numbers = {f"Panel{number % 70}/Device{number % 11}/metric{number}": number * number for number in range(5000)}
    text = offsets.text({"a": Place(numbers)})
    assert len(text) < len(json.dumps(numbers)) / 5
    assert offsets.from_json(json.loads(text))["a"].numbers == numbers


def test_the_order_in_which_streams_came_does_not_show() -> None:
    one = Place({"b": 2, "a": 1}, {"b": ((1, 1),), "a": ((1, 1),)})
    another = Place({"a": 1, "b": 2}, {"a": ((1, 1),), "b": ((1, 1),)})
    assert offsets.text({"x": one, "y": one}) == offsets.text({"y": another, "x": another})


@pytest.mark.parametrize("written", [{}, {"v": 2, "inputs": {}}, {"v": 1}, {"v": 1, "inputs": {"a": {"numbers": 3}}}])
def test_a_checkpoint_of_something_else_is_refused(written: dict[str, object]) -> None:
    with pytest.raises(BadConfig, match="offsets"):
        offsets.from_json(written)


@given(numbers=_COUNTS, windows=_COUNTS, plain=st.integers(0, 4))
def test_whatever_streams_are_called_they_come_back(
    numbers: dict[str, int], windows: dict[str, int], plain: int
) -> None:
    place = Place(numbers, windows=windows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(offsets, "MAX_PLAIN", plain)
        assert offsets.from_json(json.loads(offsets.text({"a": place}))) == {"a": place}


# -- runs


_RUNS = st.lists(st.tuples(st.integers(1, 30), st.integers(0, 4)), max_size=5).map(
    lambda pairs: joined(sorted((low, low + more) for low, more in pairs))
)


def _numbers(runs: tuple[tuple[int, int], ...] | list[tuple[int, int]]) -> set[int]:
    return {number for low, high in runs for number in range(low, high + 1)}


@given(runs=_RUNS, holes=_RUNS, low=st.integers(1, 30), high=st.integers(1, 30))
def test_runs_are_sets_of_numbers(
    runs: tuple[tuple[int, int], ...], holes: tuple[tuple[int, int], ...], low: int, high: int
) -> None:
    assert _numbers(without(runs, holes)) == _numbers(runs) - _numbers(holes)
    assert _numbers(within(runs, low, high)) == _numbers(runs) & set(range(low, high + 1))
    assert below(low, holes) == max(number for number in range(low + 1) if number not in _numbers(holes))


def test_a_hole_that_opens_behind_us_is_none_of_ours() -> None:
    place = Place({"s": 10}, {"s": ((4, 6),)})
    after = holes_after(place, {"s": 12}, {"s": ((2, 2), (5, 5), (8, 8), (11, 11), (13, 14), (20, 20))})
    assert after == {"s": ((5, 5), (11, 11), (13, 14))}
