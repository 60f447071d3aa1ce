"""Which window each number of a stretch belongs to, and the rows that stand for silence.

Numbers rise, and so do their windows: a number belongs to the highest window that an event time at or before it, in
this stretch, lies in. One that is missing belongs where the reading behind it does. A window in which a stream has
nothing is one row too: `quiet` if the stream has closed it, `open` if it has not and may yet have something. So each
window that is released has a row, and its result a number.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from roost.pipeline.units import Unit

QUIET: Final = "quiet"
OPEN: Final = "open"

Numbers = npt.NDArray[np.int64]


def assigned(unit: Unit, times_ns: Numbers, length_ns: int) -> Numbers:
    """The windows of a unit's numbers, all of them in rising order; a time below 0 is not known."""
    if unit.correction:
        return np.full_like(times_ns, unit.last)  # the planner has looked up what belongs to it
    windows = np.maximum.accumulate(times_ns // length_ns) if len(times_ns) else times_ns
    if len(missing := np.flatnonzero(times_ns < 0)):
        known = np.flatnonzero(times_ns >= 0)
        behind = np.searchsorted(known, missing)
        windows[missing] = np.append(windows[known], unit.last)[behind]
    return np.minimum(windows, unit.last)


def silences(unit: Unit, windows: Numbers) -> list[tuple[int, str]]:
    """The windows of a unit for which a row has to be made up, and what that row says."""
    first = unit.first
    if unit.is_new:  # before its first reading a stream did not exist
        first = max(first, int(windows.min())) if len(windows) else unit.last + 1
    if first > unit.last:
        return []
    present = np.zeros(unit.last - first + 1, dtype=bool)
    inside = windows[windows >= first]
    present[inside - first] = True
    found = [(first + int(index), QUIET) for index in np.flatnonzero(~present)]
    if unit.open_from < 0 or unit.open_from > unit.last:
        return found
    start = max(unit.open_from, first)
    return [pair for pair in found if pair[0] < start] + [(window, OPEN) for window in range(start, unit.last + 1)]
