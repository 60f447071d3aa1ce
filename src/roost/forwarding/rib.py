"""The RIB: who asked for which prefix, and the FIB next hops that follow from it [nfd-management §3].

A route belongs to (prefix, face, origin). The next hops of a prefix that has routes are

- its own faces, each at the lowest cost among its routes, and
- unless a route of the prefix itself captures: going up through the shorter prefixes, every face of a child-inherit
  route that is not there yet (the nearest prefix wins, then the lowest cost), up to and including the first shorter
  prefix that captures.

Changes come out as before and after per prefix, so that whoever keeps the FIB can apply just the difference, as NFD
does, and leave alone what others put there. Names are kept in canonical order: what stands below a prefix is one run.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Final

from roost.errors import Refused
from roost.forwarding.control import CAPTURE, CHILD_INHERIT
from roost.naming.name import Name

MAX_ROUTES: Final = 200_000
_SLACK: Final = 64


@dataclass(frozen=True, slots=True)
class Route:
    """One route: to a face, on whose behalf, at what cost, how it is inherited, and when it ends (ns, or never)."""

    face: int
    origin: int = 0
    cost: int = 0
    flags: int = CHILD_INHERIT
    expires: int | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """The next hops of a prefix that follow from the RIB, as they were and as they are now: face → cost."""

    prefix: Name
    before: dict[int, int]
    after: dict[int, int]


class _Entry:
    __slots__ = ("captures", "hops", "name", "passed", "routes")

    def __init__(self, name: Name) -> None:
        self.name: Final = name
        self.routes: dict[tuple[int, int], Route] = {}
        self.hops: dict[int, int] = {}
        self.passed: dict[int, int] = {}  # what prefixes below inherit: face → cost
        self.captures = False

    def summarise(self) -> bool:
        """Recompute what this entry means to those below it; returns whether that changed."""
        passed: dict[int, int] = {}
        captures = False
        for route in self.routes.values():
            captures = captures or bool(route.flags & CAPTURE)
            if route.flags & CHILD_INHERIT:
                passed[route.face] = min(route.cost, passed.get(route.face, route.cost))
        changed = passed != self.passed or captures != self.captures
        self.passed = passed
        self.captures = captures
        return changed


class Rib:
    """All routes of one forwarder, at most `limit`; `refused` counts those beyond it."""

    def __init__(self, limit: int = MAX_ROUTES) -> None:
        self._limit = limit
        self._entries: dict[bytes, _Entry] = {}
        self._order: list[bytes] = []
        self._of_face: dict[int, set[bytes]] = {}
        self._expiries: list[tuple[int, bytes, int, int]] = []  # a heap; entries that no longer hold are passed over
        self._count = 0
        self.refused = 0

    def __len__(self) -> int:
        return self._count

    def entries(self) -> Iterable[tuple[Name, list[Route]]]:
        """List all prefixes with their routes, in canonical order."""
        for value in self._order:
            entry = self._entries[value]
            yield entry.name, list(entry.routes.values())

    def add(self, prefix: Name, route: Route) -> list[Change]:
        """Insert a route, or replace the one of the same prefix, face and origin."""
        value = prefix.value
        entry = self._entries.get(value)
        key = (route.face, route.origin)
        if entry is None or key not in entry.routes:
            if self._count >= self._limit:
                self.refused += 1
                raise Refused(f"the RIB is full with {self._limit} routes", 507)
            self._count += 1
        if entry is None:
            entry = self._entries[value] = _Entry(prefix)
            insort(self._order, value)
        entry.routes[key] = route
        self._of_face.setdefault(route.face, set()).add(value)
        if route.expires is not None:
            self._schedule(route.expires, value, key)
        return self._settle(entry)

    def remove(self, prefix: Name, face: int, origin: int) -> list[Change]:
        """Remove a route, if it is there."""
        entry = self._entries.get(prefix.value)
        if entry is None or entry.routes.pop((face, origin), None) is None:
            return []
        self._count -= 1
        if all(other != face for other, _ in entry.routes):
            self._forget_face(face, prefix.value)
        return self._settle(entry)

    def remove_face(self, face: int) -> list[Change]:
        """Remove all routes to a face that is gone."""
        changes: list[Change] = []
        for value in sorted(self._of_face.get(face, ())):
            entry = self._entries[value]
            for key in [key for key in entry.routes if key[0] == face]:
                changes += self.remove(entry.name, *key)
        return changes

    def expire(self, now: int) -> list[Change]:
        """Remove the routes whose time has come."""
        changes: list[Change] = []
        while self._expiries and self._expiries[0][0] <= now:
            _, value, face, origin = heappop(self._expiries)
            entry = self._entries.get(value)
            route = entry.routes.get((face, origin)) if entry else None
            if entry is not None and route is not None and route.expires is not None and route.expires <= now:
                changes += self.remove(entry.name, face, origin)
        return changes

    def deadline(self) -> int | None:
        """When the next route may end."""
        return self._expiries[0][0] if self._expiries else None

    def _settle(self, entry: _Entry) -> list[Change]:
        """Recompute the next hops of an entry whose routes changed, and of those below if it concerns them."""
        passed_on = entry.summarise()
        changes: list[Change] = []
        value = entry.name.value
        if not entry.routes:
            del self._entries[value]
            del self._order[bisect_left(self._order, value)]
            if entry.hops:
                changes.append(Change(entry.name, entry.hops, {}))
        else:
            self._recompute(entry, changes)
        if passed_on:
            position = bisect_left(self._order, value)
            while position < len(self._order) and self._order[position].startswith(value):
                below = self._order[position]
                if below != value:
                    self._recompute(self._entries[below], changes)
                position += 1
        return changes

    def _recompute(self, entry: _Entry, changes: list[Change]) -> None:
        hops: dict[int, int] = {}
        for route in entry.routes.values():
            hops[route.face] = min(route.cost, hops.get(route.face, route.cost))
        if not entry.captures:
            self._inherit(entry.name, hops)
        if hops != entry.hops:
            changes.append(Change(entry.name, entry.hops, hops))
            entry.hops = hops

    def _inherit(self, name: Name, hops: dict[int, int]) -> None:
        cuts = name.cuts
        for depth in range(len(cuts) - 2, -1, -1):
            above = self._entries.get(name.value[: cuts[depth]])
            if above is None:
                continue
            for face, cost in above.passed.items():
                hops.setdefault(face, cost)
            if above.captures:
                return

    def _forget_face(self, face: int, value: bytes) -> None:
        prefixes = self._of_face[face]
        prefixes.discard(value)
        if not prefixes:
            del self._of_face[face]

    def _schedule(self, expires: int, value: bytes, key: tuple[int, int]) -> None:
        heappush(self._expiries, (expires, value, *key))
        if len(self._expiries) > 2 * self._count + _SLACK:  # refreshed routes left most of the heap behind
            self._expiries = [
                (route.expires, value, *key)
                for value, entry in self._entries.items()
                for key, route in entry.routes.items()
                if route.expires is not None
            ]
            heapify(self._expiries)
