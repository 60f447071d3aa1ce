"""How long answers took: by route, method and status, in as many counters as there are routes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from time import perf_counter
from typing import Final

from aiohttp import hdrs, web

BOUNDS_S: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_ELSEWHERE: Final = "other"  # a path or a method that is none here: the peer's words are no labels


class Histogram:
    """How often something took at most so long; bounds in seconds."""

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds: Final = bounds
        self.counts: Final = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def observe(self, seconds: float) -> None:
        """Take one in."""
        self.counts[bisect_left(self.bounds, seconds)] += 1
        self.sum += seconds


class Timing:
    """All answers of a door; those to clients that follow count when they end, and not here."""

    def __init__(self) -> None:
        self.took: Final[dict[tuple[str, str], Histogram]] = {}  # by route and method; bound: the routes
        self.answers: Final[dict[tuple[str, str, int], int]] = {}  # and status; bound: the routes, and statuses

    def count(self, request: web.Request, status: int, began_s: float) -> None:
        """Take in an answer that began then, by `perf_counter`."""
        resource = request.match_info.route.resource
        method = request.method if request.method in hdrs.METH_ALL else _ELSEWHERE
        route = (resource.canonical, method) if resource is not None else (_ELSEWHERE, _ELSEWHERE)
        self.answers[*route, status] = self.answers.get((*route, status), 0) + 1
        histogram = self.took.get(route)
        if histogram is None:
            histogram = self.took[route] = Histogram(BOUNDS_S)
        histogram.observe(perf_counter() - began_s)
