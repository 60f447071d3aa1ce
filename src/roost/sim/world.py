"""A world: stations, the media between them and the faults that befall them, all drawn from one seed.

    world = World(seed)
    world.add("panel1", build)              build(boot) makes the machine, now and after each crash
    world.wire("panel1", "repo", Wire(loss=0.1))
    world.tell("panel1", lambda machine, now: machine.announce(stream, 1, now))
    world.run(for_=10 * SECOND)
    world.history, world.trace.digest()

Faces are opened for machines, not at their request: media are made by whoever makes the world. How time passes is
`roost.sim.driver`'s.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from random import Random
from typing import Any, Final
from zlib import crc32

from roost.errors import BadConfig
from roost.machine import MS
from roost.sim.disk import Disk
from roost.sim.draws import draws
from roost.sim.driver import START, Action, Driver
from roost.sim.happened import Crash, Crashed, Healed, Parted, Started
from roost.sim.medium import Medium
from roost.sim.station import NEVER, Boot, Build, Command, Station
from roost.sim.trace import KEEP_LINES, TOLD, WATCH
from roost.sim.wire import Wire


class World(Driver):
    """Stations under one clock. `keep` is how many lines the timeline goes back."""

    def __init__(self, seed: int, keep: int = KEEP_LINES) -> None:
        watch = WATCH.get()
        super().__init__(keep if watch is None else watch.keep)
        if watch is not None:
            watch.worlds.append(self)
        self.seed: Final = seed
        self.stations: Final[dict[str, Station]] = {}
        self.media: Final[dict[str, Medium]] = {}

    # -- who is there

    def add(self, name: str, build: Build, *, sync_ms: float = 2.0, skew_ms: float = 0.0) -> Station:
        """Build and start a station; its disk takes `sync_ms` to sync, its clock is `skew_ms` ahead."""
        if name in self.stations or not name:
            raise BadConfig(f"{name!r} cannot be added: a station needs a name that no other has")
        disk = Disk(name, round(sync_ms * MS), self.draws("disk", name))
        station = self.stations[name] = Station(len(self.stations) + 1, name, build, disk)
        self._boot(station, skew_ms)
        return station

    def machine(self, name: str) -> Any:  # noqa: ANN401  whatever was built
        """The machine of a station that is up."""
        return self._up(name).machine

    def machines(self) -> dict[str, Any]:
        """The machines of all stations that are up, by name."""
        return {name: station.machine for name, station in self.stations.items() if station.up}

    def draws(self, *purpose: str | int) -> Random:
        """A stream of draws of its own for a purpose."""
        return draws(self.seed, *purpose)

    @property
    def elapsed(self) -> int:
        """How many ns have passed since the world began."""
        return self.now - START

    # -- what connects them

    def wire(self, a: str, b: str, wire: Wire | None = None) -> Medium:
        """Connect two stations point to point; each gets a face."""
        return self._connect(f"{a}–{b}", [a, b], wire, shared=False)

    def wires(self, edges: Iterable[tuple[str, str]], wire: Wire | None = None) -> list[Medium]:
        """Connect many pairs alike, such as those of `roost.sim.topology`."""
        return [self.wire(a, b, wire) for a, b in edges]

    def bus(self, names: Iterable[str], wire: Wire | None = None, *, name: str = "bus") -> Medium:
        """Connect any number of stations by one medium on which all hear each other; `attach` brings more later."""
        return self._connect(name, names, wire, shared=True)

    def attach(self, medium: Medium, name: str) -> None:
        """Give a station a face on a bus."""
        if not medium.shared:
            raise BadConfig(f"{name} cannot be attached to {medium.name}: a wire has two ends")
        self._plug(medium, name)
        self._open_face(self.stations[name], medium)

    def detach(self, medium: Medium, name: str) -> None:
        """Take a station off a medium; its machine hears of it if it has `close_face`."""
        station = self._station(name)
        if name not in medium.stations:
            raise BadConfig(f"{name} is not on {medium.name}")
        face = medium.faces.get(name)
        if face is not None:
            medium.close(station.faces.pop(face.number))
            if hasattr(station.machine, "close_face"):
                self._execute(station, station.machine.close_face(face.number, self.now + station.skew_ns))
            self._set_alarm(station)
        del medium.stations[name]
        station.media.remove(medium)

    # -- faults

    def partition(self, *groups: Iterable[str]) -> None:
        """Let stations of different groups not hear each other, instead of any earlier partition."""
        named = tuple(tuple(group) for group in groups)
        self._regroup(named)
        self._observe(None, Parted(named))

    def heal(self) -> None:
        """Let all hear each other again."""
        self._regroup(())
        self._observe(None, Healed())

    def crash(self, name: str, how: Crash = Crash.KEEP) -> None:
        """Drop a station's machine, its timers and what is under way to it, and do this to its disk."""
        station = self._up(name)
        station.down()
        station.disk.crash(how)
        self._observe(station, Crashed(how))

    def restart(self, name: str, *, skew_ms: float | None = None) -> None:
        """Build a station that is down again, from its disk, and give it a face on each of its media."""
        station = self._station(name)
        if station.up:
            raise BadConfig(f"{name} is up; crash it first")
        self._boot(station, station.skew_ns / MS if skew_ms is None else skew_ms)

    # -- what they are to do

    def after(self, delay: int, action: Action) -> None:
        """Do something so many ns from now."""
        self.at(self.now + delay, action)

    def every(self, period: int, action: Action, *, until: int = NEVER) -> None:
        """Do something every so many ns, one period from now for the first time."""

        def again() -> None:
            if self.now <= until:
                action()
                self.after(period, again)

        if period < 1:
            raise BadConfig("a period is 1 ns at least")
        self.after(period, again)

    def tell(self, name: str, command: Command, label: str = "") -> bool:
        """Give a machine a command, `command(machine, now)`, and execute its effects; False if the station is down."""
        station = self._station(name)
        if not station.up:
            return False
        self.events += 1
        self.trace.add(self.now, station.number, TOLD, crc32(label.encode()))
        self.trace.tell(self.now, name, TOLD, label)
        self._execute(station, command(station.machine, self.now + station.skew_ns))
        self._set_alarm(station)
        return True

    # -- how it is put together

    def _boot(self, station: Station, skew_ms: float) -> None:
        station.incarnation += 1
        station.skew_ns = round(skew_ms * MS)
        found = station.disk.files()
        randomness = self.draws("station", station.name, station.incarnation)
        local = self.now + station.skew_ns
        self._observe(station, Started(len(found)))
        station.machine = station.build(Boot(station.name, local, found, randomness, station.incarnation))
        self._execute(station, station.machine.start(local))
        self._set_alarm(station)
        for medium in station.media:
            self._open_face(station, medium)

    def _open_face(self, station: Station, medium: Medium) -> None:
        if station.up:
            face = medium.open(station, station.free_face())
            station.faces[face.number] = face
            spec = medium.spec(station.name)
            self._execute(station, station.machine.open_face(face.number, spec, self.now + station.skew_ns))
            self._set_alarm(station)

    def _connect(self, name: str, names: Iterable[str], wire: Wire | None, *, shared: bool) -> Medium:
        unique = next(
            each for number in count(1) if (each := f"{name}#{number}" if number > 1 else name) not in self.media
        )
        medium = self.media[unique] = Medium(unique, wire or Wire(), shared=shared, events=self._heap, trace=self.trace)
        for station in names:
            self._plug(medium, station)
        for station in list(medium.stations):
            self._open_face(self.stations[station], medium)
        return medium

    def _plug(self, medium: Medium, name: str) -> None:
        station = self._station(name)
        if name in medium.stations:
            raise BadConfig(f"{name} is on {medium.name} already, and cannot hear itself")
        medium.stations[name] = self.draws("medium", medium.name, name)
        station.media.append(medium)

    def _regroup(self, groups: tuple[tuple[str, ...], ...]) -> None:
        for station in self.stations.values():
            station.group = 0
        for number, group in enumerate(groups, start=1):
            for name in group:
                self._station(name).group = number

    def _station(self, name: str) -> Station:
        if name not in self.stations:
            raise BadConfig(f"there is no station {name!r}")
        return self.stations[name]

    def _up(self, name: str) -> Station:
        station = self._station(name)
        if not station.up:
            raise BadConfig(f"{name} is down")
        return station
