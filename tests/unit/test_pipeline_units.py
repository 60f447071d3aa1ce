"""What lies between two places as units: only streams that moved, and what is sent of each."""

from __future__ import annotations

from roost.pipeline.input import Input
from roost.pipeline.place import Place
from roost.pipeline.release import Planner
from roost.pipeline.units import Unit, units

PLANNER = Planner(Input("/Big/B1/Raw"))


def test_only_streams_that_moved_are_units_in_the_order_of_their_names() -> None:
    start = Place({"P/d/b": 4, "P/d/a": 2, "P/d/c": 9})
    end = Place({"P/d/c": 9, "P/d/b": 6, "P/d/a": 3, "P/d/0": 1})
    assert list(units(PLANNER, start, end)) == [
        Unit("readings", "P/d/0", 1, 1),
        Unit("readings", "P/d/a", 3, 3),
        Unit("readings", "P/d/b", 5, 6),
    ]


def test_a_hole_that_was_filled_is_a_unit_of_a_stream_that_has_not_moved() -> None:
    start = Place({"P/d/a": 9, "P/d/b": 9}, {"P/d/a": ((2, 4),), "P/d/b": ((5, 5),)})
    end = Place({"P/d/a": 9, "P/d/b": 10}, {"P/d/a": ((3, 3),), "P/d/b": ((5, 5),)})
    assert list(units(PLANNER, start, end)) == [
        Unit("readings", "P/d/a", 2, 2),
        Unit("readings", "P/d/a", 4, 4),
        Unit("readings", "P/d/b", 10, 10),
    ]


def test_what_is_sent_of_a_unit_makes_it_again_and_is_short_where_it_is_plain() -> None:
    plain = Unit("readings", "P/d/a", 1, 5)
    windowed = Unit("readings", "P/d/a", 1, 5, first=3, last=4, open_from=4)
    assert plain.brief == ("readings", "P/d/a", 1, 5)
    assert [Unit(*unit.brief) for unit in (plain, windowed)] == [plain, windowed]
