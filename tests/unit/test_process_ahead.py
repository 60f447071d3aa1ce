"""What was processed of a stream before what is below it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from roost.process.ahead import Ahead

ONE, OTHER = b"one", b"other"


def test_what_is_below_and_between_is_still_to_come() -> None:
    ahead = Ahead()
    for number in (8, 9, 12):
        ahead.add(ONE, number)
    assert [number for number in range(1, 15) if ahead.has(ONE, number)] == [8, 9, 12]
    assert not ahead.has(OTHER, 8)
    assert ahead.tops() == {ONE: 12}


def test_who_comes_up_to_it_goes_on_behind_it() -> None:
    ahead = Ahead()
    for number in (8, 9, 12):
        ahead.add(ONE, number)
    assert [ahead.reach(ONE, number) for number in (6, 7)] == [6, 9]
    assert [number for number in range(1, 15) if ahead.has(ONE, number)] == [12]
    assert ahead
    assert ahead.reach(ONE, 20) == 20
    assert not ahead
    assert ahead.reach(OTHER, 3) == 3


@given(st.lists(st.one_of(st.integers(1, 40), st.integers(1, 40).map(lambda number: -number)), max_size=60))
def test_it_is_what_a_set_would_be(steps: list[int]) -> None:
    """A number is added, or, if it is negative, the stream is read up to it."""
    ahead, numbers, mark = Ahead(), set[int](), 0
    for step in steps:
        if step > mark:
            ahead.add(ONE, step)
            numbers.add(step)
        elif -step > mark:
            mark = -step
            while mark + 1 in numbers:
                mark += 1
            numbers = {each for each in numbers if each > mark}
            assert ahead.reach(ONE, -step) == mark
        assert {number for number in range(1, 45) if ahead.has(ONE, number)} == numbers
        assert bool(ahead) == bool(numbers)
