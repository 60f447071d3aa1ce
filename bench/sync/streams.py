"""The cost of one update and of one difference with 1,000, 10,000 and 100,000 streams, beside NDNts on the same sets.

An update is one publication. A difference is what a received sync Interest costs, with twenty differing elements: its
table is read and subtracted, and the streams that we know more of are looked up. 64 tables, of members that are behind
in streams drawn at random, come in turn. `difference_growth` is the time with 100,000 streams over that with 1,000,
measured in turns of their own; beside it stands NDNts' own growth. NDNts' dataset is the one under its FullSync, and it
is given streams by reference, which saves it the look-up of an update. `stream` is what one weighs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

from bench.figure import Figure, Pair, alternate, progress
from bench.ground.tables import ENTRIES, weight
from bench.sync._ndnts import ndnts
from bench.sync._world import EXPECTED, World, stream
from roost.sync.dataset import Dataset

SIZES = (1_000, 10_000, 100_000)
ROUNDS = 11
WARM_UP = 3  # rounds until NDNts is compiled too

Measure = Callable[[], float]


def run() -> Iterator[Figure]:
    with ExitStack() as stack:
        worlds: dict[int, World] = {}
        for count in SIZES:
            progress(f"streams: making {count} of them")
            worlds[count] = World(count, stack.enter_context(ndnts()))
        for count, world in worlds.items():
            yield _beside(f"streams.difference_{count}", world, world.difference, world.their_difference)
        yield _growth(worlds[SIZES[-1]], worlds[SIZES[0]])
        for count, world in worlds.items():
            yield _beside(f"streams.update_{count}", world, world.update, world.their_update)
    yield Figure("streams.stream", weight(_streams), "bytes")


def _beside(name: str, world: World, ours: Measure, theirs: Measure) -> Figure:
    """Microseconds of one call."""
    if world.peer is None:
        return Figure(name, min(ours() for _ in range(ROUNDS)) / 1000, "us")
    pair = _turns(ours, theirs, name)
    return Figure(name, pair.ours / 1000, "us", "ndnts", pair.peer / 1000)


def _growth(large: World, small: World) -> Figure:
    name = "streams.difference_growth"
    ours = _turns(large.difference, small.difference, name)
    if large.peer is None or small.peer is None:
        return Figure(name, ours.ours / ours.peer, "times")
    theirs = _turns(large.their_difference, small.their_difference, name)
    return Figure(name, ours.ours / ours.peer, "times", "ndnts", theirs.ours / theirs.peer)


def _turns(one: Measure, other: Measure, label: str) -> Pair:
    for _ in range(WARM_UP):
        one()
        other()
    return alternate(one, other, rounds=ROUNDS, label=label, pick=min)


def _streams() -> object:
    dataset = Dataset(ENTRIES)
    dataset.iblt(EXPECTED)
    for number in range(ENTRIES):
        dataset.set(stream(number), 1)
    return dataset
