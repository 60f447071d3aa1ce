"""Longest-prefix tables: the FIB and the strategy choice, both keyed by the bytes of name prefixes.

A look-up tries only the depths at which the table has entries, longest first, so its cost follows the number of
distinct depths and not the number of prefixes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Generic, TypeVar

from roost.errors import Refused
from roost.naming.name import Name

MAX_DEPTH: Final = 32
MAX_PREFIXES: Final = 1_000_000
_MAX_SHARED: Final = 4096

Entry = TypeVar("Entry")


class PrefixTable(Generic[Entry]):
    """A bounded map from name prefixes to entries, with longest-prefix look-up."""

    def __init__(self, limit: int = MAX_PREFIXES) -> None:
        self._entries: dict[bytes, Entry] = {}
        self._population: dict[int, int] = {}
        self._depths: list[int] = []  # depths that have entries, deepest first
        self._limit = limit
        self.refused = 0

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def depth(self) -> int:
        """Components of the longest prefix."""
        return self._depths[0] if self._depths else 0

    def get(self, prefix: Name) -> Entry | None:
        """Return the entry of exactly this prefix."""
        return self._entries.get(prefix.value)

    def put(self, prefix: Name, entry: Entry) -> None:
        """Insert or replace the entry of a prefix."""
        depth = len(prefix)
        if depth > MAX_DEPTH:
            raise Refused(f"the prefix has {depth} components, the limit is {MAX_DEPTH}", 414)
        if prefix.value not in self._entries:
            if len(self._entries) >= self._limit:
                self.refused += 1
                raise Refused(f"the table is full with {self._limit} prefixes", 507)
            self._count(depth, 1)
        self._entries[prefix.value] = entry

    def remove(self, prefix: Name) -> None:
        """Remove the entry of a prefix, if there is one."""
        if self._entries.pop(prefix.value, None) is not None:
            self._count(len(prefix), -1)

    def items(self) -> Iterable[tuple[Name, Entry]]:
        """List all entries, in canonical order."""
        return [(Name(value), self._entries[value]) for value in sorted(self._entries)]

    def lookup(self, value: bytes, cuts: list[int]) -> Entry | None:
        """Return the entry of the longest prefix of the name with these bytes and cuts."""
        entries = self._entries
        count = len(cuts) - 1
        for depth in self._depths:
            if depth <= count:
                entry = entries.get(value[: cuts[depth]])
                if entry is not None:
                    return entry
        return None

    def _count(self, depth: int, change: int) -> None:
        population = self._population.get(depth, 0) + change
        if population:
            self._population[depth] = population
        else:
            del self._population[depth]
        self._depths = sorted(self._population, reverse=True)


class Fib:
    """Prefix → next hops as (face, cost), cheapest first.

    Prefixes with the same next hops share one list: a table of 100,000 prefixes has few, and they stay in cache.
    """

    def __init__(self, limit: int = MAX_PREFIXES) -> None:
        self._table: PrefixTable[list[tuple[int, int]]] = PrefixTable(limit)
        self.version = 0  # counts changes
        self._of_face: dict[int, set[bytes]] = {}  # face → prefixes it is a next hop of
        self._shared: dict[tuple[tuple[int, int], ...], list[tuple[int, int]]] = {}
        self.added: list[
            tuple[Name, int]
        ] = []  # next hops since the forwarder last looked: pending Interests want them

    def __len__(self) -> int:
        return len(self._table)

    @property
    def depth(self) -> int:
        """Components of the longest prefix."""
        return self._table.depth

    def set(self, prefix: Name, next_hops: list[tuple[int, int]], now: int) -> None:  # noqa: ARG002  agreed shape
        """Replace the next hops of a prefix; an empty list removes it."""
        old = self._table.get(prefix) or []
        if next_hops:
            self._table.put(prefix, self._share(sorted(next_hops, key=_by_cost)))
        else:
            self._table.remove(prefix)
        self.version += 1
        gone = {face for face, _ in old} - {face for face, _ in next_hops}
        new = {face for face, _ in next_hops} - {face for face, _ in old}
        for face in gone:
            prefixes = self._of_face[face]
            prefixes.discard(prefix.value)
            if not prefixes:
                del self._of_face[face]
        for face in new:
            self._of_face.setdefault(face, set()).add(prefix.value)
            self.added.append((prefix, face))

    def get(self, prefix: Name) -> list[tuple[int, int]]:
        """Return the next hops of exactly this prefix."""
        return self._table.get(prefix) or []

    def entries(self) -> Iterable[tuple[Name, list[tuple[int, int]]]]:
        """List all prefixes and their next hops, in canonical order."""
        return self._table.items()

    def lookup(self, value: bytes, cuts: list[int]) -> list[tuple[int, int]] | None:
        """Return the next hops for a name, None where no prefix matches."""
        return self._table.lookup(value, cuts)

    def face_added(self, face: int) -> None:
        """Offer a face that is up again to the Interests that wait, as if all its entries were new."""
        self.added += [(Name(value), face) for value in sorted(self._of_face.get(face, ()))]

    def drop_face(self, face: int, now: int) -> None:
        """Remove a face from every entry."""
        for value in list(self._of_face.get(face, ())):
            prefix = Name(value)
            self.set(prefix, [(hop, cost) for hop, cost in self.get(prefix) if hop != face], now)

    def _share(self, next_hops: list[tuple[int, int]]) -> list[tuple[int, int]]:
        if len(self._shared) >= _MAX_SHARED:
            self._shared.clear()
        return self._shared.setdefault(tuple(next_hops), next_hops)


def _by_cost(next_hop: tuple[int, int]) -> tuple[int, int]:
    return next_hop[1], next_hop[0]
