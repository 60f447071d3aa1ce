"""Routes: longest prefix over the 128 bits of an address, next hops with their cost.

A look-up tries only the lengths at which there are routes, longest first. Bounded in routes, that is prefix and face.
"""

from __future__ import annotations

from roost.errors import Backpressure
from roost.hicn.name import Prefix


class Fib:
    """Prefix → next hops as face → cost."""

    def __init__(self, limit: int) -> None:
        self.refused = 0
        self._limit = limit
        self._routes = 0
        self._faces: dict[int, int] = {}  # face → how many routes lead there
        self._tables: dict[int, dict[int, dict[int, int]]] = {}  # length → first bits → face → cost
        self._lengths: list[int] = []  # that have routes, longest first

    def __len__(self) -> int:
        return self._routes

    def add(self, prefix: Prefix, face: int, cost: int) -> None:
        """Add a route or change its cost; raises `Backpressure` when there are too many."""
        hops = self._tables.get(prefix.length, {}).get(_bits(prefix.address, prefix.length), {})
        if face not in hops:
            if self._routes >= self._limit:
                self.refused += 1
                raise Backpressure(f"there are {self._limit} routes, which is the limit", 0)
            self._routes += 1
            self._faces[face] = self._faces.get(face, 0) + 1
        table = self._tables.setdefault(prefix.length, {})
        table.setdefault(_bits(prefix.address, prefix.length), {})[face] = cost
        self._lengths = sorted(self._tables, reverse=True)

    def remove(self, prefix: Prefix, face: int) -> bool:
        """Remove a route; returns whether there was one."""
        table = self._tables.get(prefix.length, {})
        bits = _bits(prefix.address, prefix.length)
        hops = table.get(bits, {})
        if hops.pop(face, None) is None:
            return False
        self._routes -= 1
        self._faces[face] -= 1
        if not self._faces[face]:
            del self._faces[face]
        if not hops:
            del table[bits]
        if not table:
            del self._tables[prefix.length]
            self._lengths = sorted(self._tables, reverse=True)
        return True

    def leads_to(self, face: int) -> bool:
        """Whether there is a route to a face."""
        return face in self._faces

    def drop_face(self, face: int) -> None:
        """Remove all routes to a face."""
        if face not in self._faces:
            return
        for length, table in list(self._tables.items()):
            for bits in list(table):
                address = (bits << (128 - length)).to_bytes(16, "big")
                self.remove(Prefix(address, length), face)

    def lookup(self, address: bytes) -> dict[int, int]:
        """Return the next hops for an address, none where no prefix matches."""
        for length in self._lengths:
            hops = self._tables[length].get(_bits(address, length))
            if hops is not None:
                return hops
        return {}


def _bits(address: bytes, length: int) -> int:
    return int.from_bytes(address, "big") >> (128 - length)
