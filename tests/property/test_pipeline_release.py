"""Whatever comes when, and however often the driver starts anew: every window is published, and ends up exact."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.pipeline import offsets
from roost.pipeline.input import Input
from roost.pipeline.place import Place, Run, joined
from roost.pipeline.release import Planner
from roost.pipeline.units import Unit, units
from roost.pipeline.windowing import OPEN, assigned, silences

LENGTH = 10


class Repo:
    """What has arrived so far, of all that was published."""

    def __init__(self) -> None:
        self.readings: dict[str, dict[int, int]] = defaultdict(dict)  # by stream: number, event time

    def numbers(self) -> Mapping[str, int]:
        return {stream: max(held) for stream, held in self.readings.items()}

    def holes(self) -> Mapping[str, Sequence[Run]]:
        return {
            stream: joined((number, number) for number in range(1, max(held)) if number not in held)
            for stream, held in self.readings.items()
        }

    def boundaries(self, time_ns: int) -> Mapping[str, int]:
        return {
            stream: min((number for number, time in held.items() if time >= time_ns), default=max(held) + 1)
            for stream, held in self.readings.items()
        }

    def times(self, stream: str, low: int, high: int) -> Mapping[int, int]:
        held = self.readings[stream]
        return {number: held[number] for number in range(low, high + 1) if number in held}


class Results:
    """What a window stage would publish: by key and window, the numbers it was made of; and how often."""

    def __init__(self, planner: Planner) -> None:
        self.planner = planner
        self.windows: dict[tuple[str, int], dict[str, set[tuple[str, int]]]] = {}
        self.first: dict[tuple[str, int], int] = defaultdict(int)
        self.corrections: dict[str, list[int]] = defaultdict(list)

    def take(self, repo: Repo, start: Place, end: Place) -> None:
        made: dict[tuple[str, int, int], dict[str, set[tuple[str, int]]]] = {}
        for unit in units(self.planner, start, end):
            self._rows(repo, unit, made)
        for (key, window, correction), rows in sorted(made.items(), key=lambda item: item[0][2]):
            if correction:
                self.corrections[key].append(correction)
                begun = min((each for of, each in self.first if of == key), default=window + 1)
                assert window < begun or (key, window) in self.windows, "what was never published cannot be corrected"
            else:
                self.first[key, window] += 1
            self.windows[key, window] = rows

    def _rows(self, repo: Repo, unit: Unit, made: dict[tuple[str, int, int], dict[str, set[tuple[str, int]]]]) -> None:
        missing = {number for low, high in unit.missing for number in range(low, high + 1)}
        held = repo.readings[unit.stream]
        numbers = list(range(unit.low, unit.high + 1))
        assert all(number in missing or number in held for number in numbers), "asked for what nobody has"
        times = np.array([-1 if number in missing else held[number] for number in numbers], dtype=np.int64)
        windows = assigned(unit, times, LENGTH)
        for number, window in zip(numbers, windows.tolist(), strict=True):
            if window >= unit.first:
                rows = made.setdefault((unit.key, window, unit.correction), defaultdict(set))
                rows["missing" if number in missing else "present"].add((unit.stream, number))
        for window, quality in silences(unit, windows):
            made.setdefault((unit.key, window, unit.correction), defaultdict(set))[quality].add((unit.stream, 0))


STREAMS = ("A/x/temp", "A/y/temp", "B/x/temp")


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[str, int, int]]:
    """All that is published: by stream, numbers from 1 on with rising times."""
    published = []
    for stream in STREAMS:
        time = draw(st.integers(0, 60))
        for number in range(1, draw(st.integers(1, 14)) + 1):
            published.append((stream, number, time))
            time += draw(st.sampled_from([0, 1, 4, 7, 30]))
    return published


@settings(max_examples=300, deadline=None)
@given(data=st.data(), published=histories(), key=st.sampled_from(["{stream}", "{panel}", "{metric}"]))
def test_however_readings_arrive_every_window_is_published_once_and_ends_up_exact(
    data: st.DataObject, published: list[tuple[str, int, int]], key: str
) -> None:
    wanted = Input("/g", window_ns=LENGTH, deadline_ns=data.draw(st.sampled_from([0, 5, 40])), key=key)
    arrivals = sorted(published, key=lambda one: one[2] + data.draw(st.sampled_from([0, 1, 3, 25, 60])))
    repo, planner, place, now = Repo(), Planner(wanted), Place(), 0
    results = Results(planner)
    limit = data.draw(st.sampled_from([None, 1, 5]))
    while arrivals:
        for stream, number, time in arrivals[: data.draw(st.integers(1, 6))]:
            repo.readings[stream][number] = time
            now = max(now, time)
            arrivals.pop(0)
        now += data.draw(st.integers(0, 12))
        if data.draw(st.booleans()):  # a new driver: only the place is left, as it is in the checkpoint
            planner = results.planner = Planner(wanted)
            place = offsets.from_json(offsets.to_json({"readings": place}))["readings"]
        following = planner.advance(place, repo, now, limit)
        results.take(repo, place, following)
        place = following
    end = max(time for _, _, time in published) + 10 * LENGTH + wanted.deadline_ns
    for turn in range(200):
        following = planner.advance(place, repo, end, limit)
        end += wanted.deadline_ns
        if following == place and turn > 1:
            break
        results.take(repo, place, following)
        place = following
    else:
        raise AssertionError("it never comes to rest")
    _check(results, wanted, published)


def _check(results: Results, wanted: Input, published: list[tuple[str, int, int]]) -> None:
    truth: dict[tuple[str, int], set[tuple[str, int]]] = defaultdict(set)
    lasts: dict[str, int] = {}
    for stream, number, time in published:
        truth[str(wanted.key_of(stream)), time // LENGTH].add((stream, number))
        lasts[stream] = time
    due = max(lasts.values()) // LENGTH  # after that nobody speaks
    for place, readings in list(truth.items()):
        rows = results.windows[place]
        assert rows["present"] == readings, place
        assert not rows["missing"]
    for key in {str(wanted.key_of(stream)) for stream in STREAMS}:
        # Windows before the first that was released have no number of their own: they come as corrections only.
        begun = min(window for of, window in results.first if of == key)
        assert [results.first[key, window] for window in range(begun, due + 1)] == [1] * (due + 1 - begun)
        for window in range(begun, due + 1):
            rows = results.windows[key, window]
            assert rows["present"] == truth[key, window], (key, window)
            streams = {stream for stream in STREAMS if str(wanted.key_of(stream)) == key}
            silent = {stream for stream in streams if lasts[stream] < (window + 1) * LENGTH}
            assert {stream for stream, _ in rows[OPEN]} <= silent, (key, window)
        assert results.corrections[key] == list(range(1, len(results.corrections[key]) + 1))
    assert all(window <= due for _, window in results.windows)
