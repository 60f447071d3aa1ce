"""Topologies: who is connected to whom, as pairs of names. One bus for all is `World.bus`.

world.wires(ring(names(7)))         hands every pair to `World.wire`
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from random import Random
from typing import TypeAlias

Edges: TypeAlias = list[tuple[str, str]]


def names(count: int, prefix: str = "s") -> list[str]:
    """So many names for stations: s1, s2 and on."""
    return [f"{prefix}{number}" for number in range(1, count + 1)]


def line(stations: Sequence[str]) -> Edges:
    """One after the other."""
    return list(pairwise(stations))


def ring(stations: Sequence[str]) -> Edges:
    """A line whose ends meet; two stations are connected once."""
    return line(stations) + ([(stations[-1], stations[0])] if len(stations) > 2 else [])


def star(stations: Sequence[str]) -> Edges:
    """All to the first."""
    return [(stations[0], other) for other in stations[1:]]


def tree(stations: Sequence[str], fanout: int = 2) -> Edges:
    """The first is the root, and everyone has up to `fanout` below."""
    return [(stations[(number - 1) // fanout], stations[number]) for number in range(1, len(stations))]


def grid(stations: Sequence[str], width: int) -> Edges:
    """Rows of `width`, each connected to the right and to below."""
    edges: Edges = []
    for number, station in enumerate(stations):
        if (number + 1) % width and number + 1 < len(stations):
            edges.append((station, stations[number + 1]))
        if number + width < len(stations):
            edges.append((station, stations[number + width]))
    return edges


def connected(stations: Sequence[str], extra: int, randomness: Random) -> Edges:
    """A random tree, and up to `extra` pairs more that are not connected yet."""
    edges = [(stations[randomness.randrange(number)], stations[number]) for number in range(1, len(stations))]
    known = {frozenset(edge) for edge in edges}
    for _ in range(extra if len(stations) > 1 else 0):
        a, b = randomness.sample(stations, 2)
        if frozenset((a, b)) not in known:
            known.add(frozenset((a, b)))
            edges.append((a, b))
    return edges
