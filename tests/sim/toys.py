"""Small machines for tests of the simulator: one that only listens, and a protocol as a user might write it."""

# ruff: noqa: ARG002  the contract hands in more than toys need

from __future__ import annotations

import os
from collections.abc import Callable

from roost.forwarding.face import Arrived, FaceSpec, Send
from roost.machine import MS, SECOND, Effect
from roost.machine.disk import Save, Saved
from roost.naming import Name
from roost.sim import START, Boot, Happened, Violation, World
from roost.sync.port import Announced, Learned, Ready, Stream


class Probe:
    """Remembers what it is handed and when; sends and saves what it is told; ticks at `due`."""

    def __init__(self, boot: Boot) -> None:
        self.boot = boot
        self.specs: dict[int, FaceSpec] = {}
        self.batches: list[tuple[int, int, list[bytes]]] = []
        self.saved: list[tuple[int, int]] = []
        self.ticks: list[int] = []
        self.due: int | None = None

    @property
    def heard(self) -> list[bytes]:
        return [packet for _, _, packets in self.batches for packet in packets]

    def start(self, now: int) -> list[Effect]:
        return []

    def open_face(self, face: int, spec: FaceSpec, now: int) -> list[Effect]:
        self.specs[face] = spec
        return []

    def close_face(self, face: int, now: int) -> list[Effect]:
        del self.specs[face]
        return []

    def receive(self, event: Arrived | Saved, now: int) -> list[Effect]:
        if isinstance(event, Saved):
            self.saved.append((now, event.ticket))
        else:
            self.batches.append((now, event.face, event.packets))
        return []

    def tick(self, now: int) -> list[Effect]:
        self.ticks.append(now)
        self.due = None
        return []

    def deadline(self) -> int | None:
        return self.due

    def send(self, *packets: bytes) -> list[Effect]:
        return [Send(face, list(packets)) for face in self.specs]


def say(world: World, name: str, *packets: bytes) -> None:
    world.tell(name, lambda machine, _: machine.send(*packets), "send")


def save(world: World, name: str, ticket: int, data: bytes, *, file: str = "f", replace: bool = False) -> None:
    world.tell(name, lambda _machine, _now: [Save(file, ticket, data, replace)], "save")


class Rumour:
    """A protocol of a user's own: everyone tells everyone, every second, how far each stream has come.

    A number is on the disk before it is told. `careless` tells at once, and so gives numbers twice after a crash.
    """

    def __init__(self, boot: Boot, *, careless: bool = False) -> None:
        self.stream = Stream(Name.parse(f"/{boot.name}"))
        self.careless = careless
        self.own = int(boot.disk.get("own", b"0"))
        self.known: dict[Stream, int] = {}
        if self.own:
            self.known[self.stream] = self.own
        self._faces: list[int] = []
        self._due = boot.now + boot.randomness.randint(1, SECOND // MS) * MS

    def start(self, now: int) -> list[Effect]:
        return [Ready(self.stream, self.own + 1)]

    def open_face(self, face: int, spec: FaceSpec, now: int) -> list[Effect]:
        self._faces.append(face)
        return []

    def announce(self, now: int) -> list[Effect]:
        self.own += 1
        effects: list[Effect] = [Save("own", self.own, b"%d" % self.own, replace=True)]
        return [*effects, *self._told(self.own)] if self.careless else effects

    def receive(self, event: Arrived | Saved, now: int) -> list[Effect]:
        if isinstance(event, Saved):
            return [] if self.careless else self._told(event.ticket)
        effects: list[Effect] = []
        for packet in event.packets:
            for line in packet.decode().split():
                name, _, number = line.rpartition("=")
                stream = Stream(Name.parse(name))
                if stream != self.stream and int(number) > self.known.get(stream, 0):
                    effects.append(Learned(stream, self.known.get(stream, 0) + 1, int(number)))
                    self.known[stream] = int(number)
        return effects

    def tick(self, now: int) -> list[Effect]:
        self._due = now + SECOND
        rumour = " ".join(f"{stream}={number}" for stream, number in self.known.items()).encode()
        return [Send(face, [rumour]) for face in self._faces] if rumour else []

    def deadline(self) -> int | None:
        return self._due

    def latest(self) -> dict[Stream, int]:
        return self.known

    def sizes(self) -> dict[str, tuple[int, int]]:
        return {"known": (len(self.known), 100)}

    def _told(self, number: int) -> list[Effect]:
        self.known[self.stream] = number
        return [Announced(self.stream, number)]


def announcing(world: World, name: str) -> Callable[[], bool]:
    return lambda: world.tell(name, lambda machine, now: machine.announce(now), "announce")


def happened(world: World, kind: type) -> list[Happened]:
    return [each for each in world.history if isinstance(each.what, kind)]


def fussy(seed: int) -> World:
    """Two stations that talk; every seventh seed is not good enough for it."""
    world = World(seed)
    for name in "ab":
        world.add(name, Probe)
    world.wire("a", "b")
    for number in range(20):
        say(world, "a", b"ping %d" % number)
        world.run(for_=100 * MS)
    if seed % 7 == 0:
        raise Violation(f"{seed} is divisible by 7", START + SECOND)
    return world


def broken(seed: int) -> World:
    """A scenario with a bug of its own."""
    raise ZeroDivisionError(f"seed {seed}")


def deadly(seed: int) -> World:
    """A scenario of which one seed takes its process with it."""
    if seed == 3:
        os._exit(1)
    return World(seed)


def buggy(seed: int) -> World:
    """A machine with a bug."""

    class Buggy(Probe):
        def receive(self, event: Arrived | Saved, now: int) -> list[Effect]:
            return [Send(self.specs[999].mtu, [])]

    world = World(seed)
    world.add("a", Probe)
    world.add("b", Buggy)
    world.wire("a", "b")
    say(world, "a", b"ping")
    world.run(for_=SECOND)
    return world
