"""What goes in and what has to come out, in bytes: readings sent over and over, and the results they bring.

In the steady state every reading brings one result, and a cycle of readings always the same ones. So what a subscriber
receives is one sequence of bytes that repeats, and checking it is comparing bytes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Final, NamedTuple

from bench.mqtt._layout import Lost
from bench.process._macros import Bench

Message = tuple[str, bytes]  # topic and payload

LARGEST_READ: Final = 256 << 10


class Flow(NamedTuple):
    """A load: one cycle of readings, its results the first time, when not all is there yet, and from then on."""

    filter: str  # of the results
    readings: Sequence[Message]
    first: Sequence[Message]
    steady: Sequence[Message]


def flow_of(bench: Bench) -> Flow:
    """The load of one macro."""
    first, steady = bench.expected(2)
    return Flow(
        bench.topic,
        bench.cycle,
        [(bench.topic, result) for result in first],
        [(bench.topic, result) for result in steady],
    )


def relayed(bench: Bench) -> Flow:
    """The same readings without the macro: they go to a subscriber as they are."""
    topic = "relayed"
    readings = [(topic, payload) for _, payload in bench.cycle]
    return Flow(topic, readings, readings, readings)


class Cycle:
    """PUBLISH packets, over and over."""

    def __init__(self, messages: Sequence[Message]) -> None:
        packets = [publish(topic, payload) for topic, payload in messages]
        self._ends = list(accumulate(map(len, packets)))
        self._size = self._ends[-1]
        self._bytes = b"".join(packets) * (2 + LARGEST_READ // self._size)
        self.count: Final = len(packets)

    def packets(self, first: int, count: int) -> bytes:
        """The packets of these numbers, at most a cycle of them."""
        return self._bytes[self._place(first % self.count) : self._place(first % self.count + count)]

    def agrees(self, at: int, data: bytes) -> bool:
        """Whether this is what stands at an offset from the beginning."""
        return self._bytes.startswith(data, at % self._size)

    def whole(self, at: int) -> int:
        """How many packets end before an offset."""
        return at // self._size * self.count + bisect_right(self._ends, at % self._size)

    def _place(self, number: int) -> int:
        turns, rest = divmod(number, self.count)
        return turns * self._size + (self._ends[rest - 1] if rest else 0)


class Watch:
    """Results as they come; `done` counts those that are whole."""

    def __init__(self, due: Cycle) -> None:
        self._due = due
        self._at = 0
        self.done = 0

    def see(self, data: bytes) -> None:
        """Take what has come; raises `Lost` if that is not what had to come."""
        if not self._due.agrees(self._at, data):
            due = self._due.packets(self.done, 1)
            raise Lost(f"result {self.done} had to be {due!r}; what came is in {data[:120]!r}")
        self._at += len(data)
        self.done = self._due.whole(self._at)


def publish(topic: str, payload: bytes) -> bytes:
    """A PUBLISH of MQTT 3.1.1, QoS 0."""
    name = topic.encode()
    rest, length = 2 + len(name) + len(payload), b""
    while rest > 127:
        length += bytes([rest & 127 | 128])
        rest >>= 7
    return b"\x30" + length + bytes([rest]) + len(name).to_bytes(2, "big") + name + payload
