"""Where a name goes and who decides: FIB and strategy choice in one look-up, remembered per parent of the name.

The readings of a stream share everything but their last component. As long as no prefix in either table is longer
than that parent, the parent decides alone, so one dictionary look-up serves the whole stream. A change to either table
forgets everything remembered.
"""

from __future__ import annotations

from typing import Final

from roost.forwarding.fib import Fib
from roost.forwarding.strategy import Strategy
from roost.forwarding.strategy_choice import Strategies

MAX_REMEMBERED: Final = 8192


class Route:
    """Next hops, cheapest first, and the strategy that picks among them."""

    __slots__ = ("hops", "strategy")

    def __init__(self, hops: list[tuple[int, int]], strategy: Strategy) -> None:
        self.hops: Final = hops
        self.strategy: Final = strategy


class Routes:
    """The joint look-up."""

    def __init__(self, fib: Fib, strategies: Strategies) -> None:
        self._fib = fib
        self._strategies = strategies
        self._version = -1
        self._depth = 0  # of the longest prefix in either table
        self._remembered: dict[bytes, Route] = {}

    def lookup(self, value: bytes, cuts: list[int]) -> Route:
        """Return the route of a name."""
        version = self._fib.version + self._strategies.version
        if version != self._version:
            self._version = version
            self._depth = max(self._fib.depth, self._strategies.depth)
            self._remembered = {}
        count = len(cuts) - 1
        if count <= self._depth:
            return self._make(value, cuts)
        parent = value[: cuts[count - 1]]
        route = self._remembered.get(parent)
        if route is None:
            route = self._make(value, cuts)
            if len(self._remembered) >= MAX_REMEMBERED:
                self._remembered = {}
            self._remembered[parent] = route
        return route

    def _make(self, value: bytes, cuts: list[int]) -> Route:
        return Route(self._fib.lookup(value, cuts) or [], self._strategies.lookup(value, cuts))
