"""A curve as points of a chart, or as buckets where they are too many."""

from __future__ import annotations

import numpy as np

from roost.web.api.curves import Curve


def told(curve: Curve, begin: int, end: int, most: int) -> dict[str, object]:
    """All points, or buckets if there are more than that; times in ns."""
    curve = curve.drawn()
    if len(curve.numbers) > most:
        return {"buckets": buckets(curve, begin, end, most)}
    columns = (curve.times_us * 1000).tolist(), curve.values.tolist(), curve.numbers.tolist()
    return {"points": [list(each) for each in zip(*columns, strict=True)]}


def buckets(curve: Curve, begin: int, end: int, most: int) -> list[list[float]]:
    """Buckets of equal time from begin to end, those that hold something: [middle, min, mean, max, count]."""
    times, values = curve.times_us * 1000, curve.values
    begin, end = max(begin, int(times.min())), min(end, int(times.max()))
    width = max(1, -(-(end - begin + 1) // most))
    places = np.clip((times - begin) // width, 0, most - 1)
    order = np.argsort(places, kind="stable")
    places, values = places[order], values[order]
    cuts = np.flatnonzero(np.diff(places, prepend=-1))
    counts = np.diff(cuts, append=len(places))
    middles = begin + places[cuts] * width + width // 2
    means = np.add.reduceat(values, cuts) / counts
    columns = (middles, np.minimum.reduceat(values, cuts), means, np.maximum.reduceat(values, cuts), counts)
    return [list(each) for each in zip(*[column.tolist() for column in columns], strict=True)]
