"""Promises, checked over the history and the stations of a world; what does not hold is a `Violation`.

They are written for the effects of `roost.sync.port`: `Ready` and `Announced` by whoever has a stream, `Learned` by all
others. `latest` is how a machine says what it knows, `machine.latest()` unless told otherwise; only stations that are
up, and among `stations` if those are given, are asked. Streams begin with number 1. Who restarts may learn again what
it had learned, from wherever its disk left it, but must not leave anything out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, TypeAlias

from roost.machine import MS
from roost.sim.happened import Violation
from roost.sim.station import NEVER
from roost.sim.world import World
from roost.sync.port import Announced, Learned, Ready, Stream

Latest: TypeAlias = Callable[[Any], Mapping[Stream, int]]


def _latest(machine: Any) -> Mapping[Stream, int]:  # noqa: ANN401  whatever was built
    known: Mapping[Stream, int] = machine.latest()
    return known


def _known(world: World, stations: Iterable[str] | None, latest: Latest) -> dict[str, dict[Stream, int]]:
    """What everyone who is asked knows; a stream at 0 is none yet."""
    machines = world.machines()
    asked = list(machines) if stations is None else [name for name in stations if name in machines]
    return {name: {stream: number for stream, number in latest(machines[name]).items() if number} for name in asked}


def converged(world: World, stations: Iterable[str] | None = None, latest: Latest = _latest) -> None:
    """Check that all who are up know the same: the same streams, up to the same numbers."""
    known = _known(world, stations, latest)
    if not known:
        raise Violation("nobody is up who could agree")
    (first, mine), *others = known.items()
    for other, theirs in others:
        differing = [stream for stream in {**mine, **theirs} if mine.get(stream) != theirs.get(stream)]
        if differing:
            stream = differing[0]
            raise Violation(
                f"{first} and {other} disagree on {len(differing)} of {len({**mine, **theirs})} streams: {stream} has "
                f"come to {mine.get(stream, 0)} for {first}, to {theirs.get(stream, 0)} for {other}"
            )


def nothing_lost(
    world: World, stations: Iterable[str] | None = None, latest: Latest = _latest, *, exempt: Collection[str] = ()
) -> None:
    """Check that every number that was announced is known to all who are up; what `exempt` stations announced aside."""
    announced: dict[Stream, int] = {}
    for _, station, _, what in world.history:
        if isinstance(what, Announced) and station not in exempt:
            announced[what.stream] = max(announced.get(what.stream, 0), what.high)
    for name, known in _known(world, stations, latest).items():
        for stream, high in announced.items():
            if known.get(stream, 0) < high:
                raise Violation(f"{stream} was announced up to {high}, but {name} knows {known.get(stream, 'nothing')}")


def nothing_invented(world: World) -> None:
    """Check that nobody learned a number before it was announced, or of a stream that nobody has.

    What a crash kept from being announced, but not from getting to the disk, is announced by `Ready` with the next one.
    """
    announced: dict[Stream, int] = {}
    for time, station, _, what in world.history:
        if isinstance(what, (Announced, Ready)):
            high = what.high if isinstance(what, Announced) else what.number - 1
            announced[what.stream] = max(announced.get(what.stream, 0), high)
        elif isinstance(what, Learned) and what.high > announced.get(what.stream, 0):
            last = announced.get(what.stream)
            said = "nobody has that stream" if last is None else f"{last} was the last that was announced"
            raise Violation(f"{station} learned {what.stream} up to {what.high}, but {said}", time)


def in_order(world: World) -> None:
    """Check that what a station learns of a stream has no gaps, across its incarnations, and no repeats within one."""
    known: dict[tuple[str, Stream], tuple[int, int]] = {}  # the incarnation that learned last, and how far
    for time, station, incarnation, what in world.history:
        if isinstance(what, Learned):
            life, high = known.get((station, what.stream), (0, 0))
            in_place = what.low == high + 1 if life == incarnation else 1 <= what.low <= high + 1
            if not in_place or what.high < what.low:
                raise Violation(
                    f"{station} learned {what.low} to {what.high} of {what.stream}, but {high + 1} was next", time
                )
            known[station, what.stream] = (incarnation, what.high)


def none_reused(world: World, *, exempt: Collection[str] = ()) -> None:
    """Check that no number was announced twice, by whichever station, `exempt` ones aside, and incarnation."""
    announced: dict[Stream, tuple[int, str, int]] = {}
    for time, station, incarnation, what in world.history:
        if isinstance(what, Announced) and station not in exempt:
            high, other, life = announced.get(what.stream, (0, "", 0))
            if what.high <= high:
                raise Violation(
                    f"{station} (incarnation {incarnation}) announced {what.stream} up to {what.high}, "
                    f"but {other} (incarnation {life}) had announced {high}",
                    time,
                )
            announced[what.stream] = (what.high, station, incarnation)


def bounded(world: World) -> None:
    """Check that no table of a machine that offers `sizes()` is larger than its bound."""
    for name, machine in world.machines().items():
        if hasattr(machine, "sizes"):
            for table, (size, bound) in machine.sizes().items():
                if size > bound:
                    raise Violation(f"{table} of {name} holds {size}, its bound is {bound}", world.now)


def watch_bounds(world: World, every_ms: float = 1000.0, *, until: int = NEVER) -> None:
    """Check `bounded` every so often from now on, while the world runs."""
    world.every(round(every_ms * MS), lambda: bounded(world), until=until)
