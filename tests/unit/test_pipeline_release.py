"""What the planner makes of what repos say; that all of it ends up exact is shown in tests/property."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from roost.pipeline.input import Input
from roost.pipeline.place import Place, Run
from roost.pipeline.release import GAP, Planner
from roost.pipeline.units import units

STREAM = "P1/d/power"
LENGTH = 10


class Behind:
    """A repo that has taken over from one that had more: it has not heard of the last numbers yet."""

    def __init__(self, times: Sequence[int], told: int) -> None:
        self.held = dict(enumerate(times, 1))
        self.told = told
        self.asked: list[Run] = []

    def numbers(self) -> Mapping[str, int]:
        return {STREAM: self.told}

    def holes(self) -> Mapping[str, Sequence[Run]]:
        return {STREAM: ((len(self.held) + 1, self.told),)} if len(self.held) < self.told else {}

    def boundaries(self, time_ns: int) -> Mapping[str, int]:
        return {STREAM: min((n for n, time in self.held.items() if time >= time_ns), default=len(self.held) + 1)}

    def times(self, stream: str, low: int, high: int) -> Mapping[int, int]:
        assert stream == STREAM
        self.asked.append((low, high))
        return {number: time for number, time in self.held.items() if low <= number <= high}


def test_a_window_is_not_closed_by_a_number_that_the_repo_has_not_heard_of() -> None:
    planner = Planner(Input("/G", window_ns=LENGTH, deadline_ns=1000))
    view = Behind([0, 2, 4], told=6)
    assert planner.advance(Place(), view, now=35) == Place()
    view.held |= {4: 6, 5: 8, 6: 12}  # no number has risen, and yet it is closed now
    after = planner.advance(Place(), view, now=36)
    assert [(unit.low, unit.high, unit.missing) for unit in units(planner, Place(), after)] == [(1, 5, ())]
    assert (after.windows, after.open) == ({STREAM: 0}, {})


def test_when_a_part_of_a_long_hole_is_filled_only_that_part_is_looked_at() -> None:
    planner = Planner(Input("/G", window_ns=LENGTH, deadline_ns=0))
    place = Place(numbers={STREAM: 3}, holes={STREAM: ((4, 5000),)}, windows={STREAM: 0})
    view = Behind([0, 2, 4, 6], told=5000)
    after = planner.advance(place, view, now=35)
    assert [(redo.window, redo.parts[0].high) for redo in after.redo] == [(0, 4)]
    assert view.asked == [(4, 4)]


class Counted(Behind):
    """One that counts how often it is asked about a time."""

    questions = 0

    def boundaries(self, time_ns: int) -> Mapping[str, int]:
        self.questions += 1
        return super().boundaries(time_ns)


def test_while_nothing_changes_nobody_is_asked_and_the_deadline_is_kept_all_the_same() -> None:
    planner = Planner(Input("/G", window_ns=LENGTH, deadline_ns=1000))
    view = Counted([0, 2, 4], told=3)
    assert planner.advance(Place(), view, now=35) == Place()
    asked = view.questions
    planner.closed.clear()  # what else would save questions
    assert planner.advance(Place(), view, now=39) == Place()
    assert view.questions == asked
    assert planner.advance(Place(), view, now=40) == Place(), "a window is over"
    assert view.questions > asked
    assert planner.advance(Place(), view, now=1034) == Place()
    assert planner.advance(Place(), view, now=1035).windows == {STREAM: 0}


def test_who_does_not_wait_any_more_gets_what_was_waited_with() -> None:
    planner = Planner(Input("/G", window_ns=LENGTH, deadline_ns=1000))
    view = Counted([0, 2, 4], told=3)
    assert planner.advance(Place(), view, now=1034) == Place()
    planner.waits = False
    assert planner.advance(Place(), view, now=1034).windows == {STREAM: 0}


def test_a_window_from_before_the_beginning_is_never_released() -> None:
    planner = Planner(Input("/G", window_ns=LENGTH, deadline_ns=5))
    view = Behind([0, 3, 11], told=3)
    place = planner.begin(view, 20)  # all there is, is older
    for now in range(20, 60, 7):
        assert planner.advance(place, view, now) == place
    view.held |= {4: 18, 5: 22, 6: 24, 7: 31}  # the first of them comes late, of a window that is not ours
    view.told = 7
    after = planner.advance(place, view, now=62)
    assert [(unit.low, unit.high, unit.first, unit.last) for unit in units(planner, place, after)] == [(4, 6, 2, 2)]


def test_macros_get_a_stream_in_its_order_and_do_not_wait_for_ever() -> None:
    class Holed(Behind):
        def holes(self) -> Mapping[str, Sequence[Run]]:
            return {STREAM: tuple((n, n) for n in range(1, self.told) if n not in self.held)}

    view = Holed([0, 2, 4, 6, 8], told=5)
    late = view.held.pop(3)
    planner = Planner(Input("/G", packets=True))
    first = planner.advance(Place(), view, now=100)
    assert first == Place(numbers={STREAM: 2}, holes={STREAM: ((3, 3),)})
    assert planner.advance(first, view, now=100 + GAP - 1) == first
    passed = planner.advance(first, view, now=100 + GAP)
    assert passed.numbers == {STREAM: 5}
    view.held[3] = late
    assert planner.advance(first, view, now=200).numbers == {STREAM: 5}
    view.held.pop(3)
    assert Planner(Input("/G")).advance(Place(), view, now=100).numbers == {STREAM: 5}
