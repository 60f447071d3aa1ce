"""A wire between two stations or a bus among many: who hears a packet, and when.

One rule serves both: what one end sends, all other ends may hear. On a wire each direction waits for itself, on a bus
all wait for each other (`rate_bps`). Everyone who hears draws from a stream of their own, so a new end changes nothing
for the others.

A packet that all hear at the same instant is one event, however many they are. A face lives from when it was opened
until it is closed or its station crashes, and what was under way to it is lost with it.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappush
from random import Random
from typing import Any, Final
from zlib import crc32

from roost.forwarding.face import MULTI_ACCESS, POINT_TO_POINT, FaceSpec
from roost.machine import MS, SECOND
from roost.sim.station import Station
from roost.sim.trace import SENT, Trace
from roost.sim.wire import Wire

ARRIVAL: Final = 0  # kind of event: (time, order, ARRIVAL, faces that hear it, packet, its CRC, face it came from)


class Tally:
    """What became of the packets of a medium, counted once per sender (the first four) or per hearer."""

    def __init__(self) -> None:
        self.sent = 0
        self.sent_bytes = 0
        self.overflowed = 0  # the queue was full
        self.oversized = 0  # larger than the mtu
        self.lost = 0
        self.duplicated = 0
        self.held_back = 0
        self.severed = 0  # the two were in different parts of a partition
        self.delivered = 0


# a packet that was sent is told as (packet, medium, heard by how many, of how many others); instead of how many:
OVERFLOWED: Final = -1
OVERSIZED: Final = -2


class Face:
    """One end of a medium at one station, while it is open."""

    __slots__ = ("busy_until", "checksum", "draw", "inbox", "last", "medium", "number", "open", "station")

    def __init__(self, medium: Medium, station: Station, number: int, randomness: Random) -> None:
        self.medium: Final = medium
        self.station: Final = station
        self.number: Final = number
        self.draw: Final[Callable[[], float]] = randomness.random
        self.open = True
        self.inbox: list[bytes] = []  # of this instant; handed over as one batch
        self.checksum = 0  # of the inbox
        self.busy_until = 0  # sending, on a wire
        self.last = 0  # when the last packet arrives that was not held back


class Medium:
    """A wire or a bus."""

    def __init__(self, name: str, wire: Wire, *, shared: bool, events: list[Any], trace: Trace) -> None:
        self.name: Final = name
        self.wire: Final = wire
        self.shared: Final = shared
        self.tally: Final = Tally()
        self.stations: Final[dict[str, Random]] = {}  # who is attached, down ones too, and the draws of what they hear
        self.faces: Final[dict[str, Face]] = {}  # of those who are up
        self._open: list[Face] = []  # the same; events hold on to it, so it is replaced, never changed
        self._events: Final = events
        self._trace: Final = trace
        self._busy_until = 0
        self._delay_ns: Final = round(wire.delay_ms * MS)
        self._jitter_ns: Final = round(wire.jitter_ms * MS)
        self._held_ns: Final = round(wire.held_ms * MS)
        self._alike: Final = not (wire.jitter_ms or wire.duplicate or wire.reorder)  # all hear it at the same instant

    def face(self, station: str) -> int:
        """The number that a station's machine knows its face by."""
        return self.faces[station].number

    def spec(self, station: str) -> FaceSpec:
        """What a station's machine is told of its face."""
        others = [name for name in self.stations if name != station]
        remote = f"sim://{self.name}" if self.shared or not others else f"sim://{others[0]}"
        link_type = MULTI_ACCESS if self.shared else POINT_TO_POINT
        wire = self.wire
        return FaceSpec(
            remote, f"sim://{station}", local=wire.local, link_type=link_type, mtu=wire.mtu, flags=wire.flags
        )

    def open(self, station: Station, number: int) -> Face:
        """Let a station hear and be heard."""
        face = Face(self, station, number, self.stations[station.name])
        self.faces[station.name] = face
        self._open = [*self._open, face]
        return face

    def close(self, face: Face) -> None:
        """What is under way to this face is lost."""
        face.open = False
        face.inbox = []
        del self.faces[face.station.name]
        self._open = [other for other in self._open if other is not face]

    def send(self, source: Face, packets: list[bytes], now: int, order: Callable[[], int]) -> None:
        """Put packets on their way, in order."""
        wire = self.wire
        tally = self.tally
        others = len(self._open) - 1
        for packet in packets:
            size = len(packet)
            checksum = crc32(packet)
            tally.sent += 1
            tally.sent_bytes += size
            if wire.mtu and size > wire.mtu:
                tally.oversized += 1
                heard = OVERSIZED
            else:
                leaves = self._leave(source, size, now) if wire.rate_bps else now
                if leaves < 0:
                    tally.overflowed += 1
                    heard = OVERFLOWED
                elif self._alike:
                    heard = self._reach_all(source, packet, checksum, leaves + self._delay_ns, order)
                else:
                    heard = self._reach_each(source, packet, checksum, leaves + self._delay_ns, order)
            self._trace.add(now, source.station.number, SENT, checksum << 20 | (heard + 2))
            self._trace.tell(now, source.station.name, SENT, (packet, self, heard, others))

    def _leave(self, source: Face, size: int, now: int) -> int:
        """When the last bit has left, -1 if there is no room to wait."""
        wire = self.wire
        free = max(now, self._busy_until if self.shared else source.busy_until)
        if (free - now) * wire.rate_bps > wire.queue_bytes * 8 * SECOND:
            return -1
        leaves = free + size * 8 * SECOND // wire.rate_bps
        if self.shared:
            self._busy_until = leaves
        else:
            source.busy_until = leaves
        return leaves

    def _reach_all(self, source: Face, packet: bytes, checksum: int, at: int, order: Callable[[], int]) -> int:
        """One event for all who hear it."""
        hearers = self._connected(source) if source.station.group else self._open
        loss = self.wire.loss
        if loss:
            could = len(hearers) - 1
            hearers = [face for face in hearers if face is not source and face.draw() >= loss]
            heard = len(hearers)
            self.tally.lost += could - heard
        else:
            heard = len(hearers) - 1
        if heard > 0:
            heappush(self._events, (at, order(), ARRIVAL, hearers, packet, checksum, source))
        return max(heard, 0)

    def _reach_each(self, source: Face, packet: bytes, checksum: int, at: int, order: Callable[[], int]) -> int:
        """One event for everyone who hears it."""
        wire = self.wire
        tally = self.tally
        heard = 0
        for face in self._connected(source) if source.station.group else self._open:
            if face is source:
                continue
            draw = face.draw
            if wire.loss and draw() < wire.loss:
                tally.lost += 1
                continue
            heard += 1
            arrives = face.last = max(face.last, at + int(draw() * self._jitter_ns))
            if wire.reorder and draw() < wire.reorder:
                tally.held_back += 1
                arrives += 1 + int(draw() * self._held_ns)
            heappush(self._events, (arrives, order(), ARRIVAL, [face], packet, checksum, source))
            if wire.duplicate and draw() < wire.duplicate:
                tally.duplicated += 1
                arrives += 1 + int(draw() * self._held_ns)
                heappush(self._events, (arrives, order(), ARRIVAL, [face], packet, checksum, source))
        return heard

    def _connected(self, source: Face) -> list[Face]:
        """Those who are not in another part of a partition, the source among them."""
        hearers = [face for face in self._open if not source.station.apart(face.station)]
        self.tally.severed += len(self._open) - len(hearers)
        return hearers
