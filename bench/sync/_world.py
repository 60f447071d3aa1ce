"""A dataset of many streams, ours and NDNts' alike, the tables it receives and the publications that happen in it.

NDNts stops at two elements with the same key, and gives up on some differences that can be told: no set here has the
one, no table the other.
"""

from __future__ import annotations

import random
import time

from bench.sync._ndnts import Ndnts
from roost.naming import Name
from roost.sync.dataset import Dataset
from roost.sync.iblt import decode_iblt
from roost.sync.murmur import element_key
from roost.sync.sync_state import element_value

EXPECTED = 80
NUMBER = 300  # of every stream at the beginning
BEHIND = 10  # streams in which whoever sent a table is behind, so twenty elements differ
TABLES = 64
CALLS = 2000
UPDATES = 1000


def stream(number: int) -> Name:
    return Name.parse(f"/BigCompany/Building{number % 100}/Electricity/Panel{number // 100 % 100}/Metric{number}")


class World:
    """The same for both of us. Measures return nanoseconds of one call, from a batch of calls."""

    def __init__(self, count: int, peer: Ndnts | None) -> None:
        self.peer = peer
        self._dataset = Dataset(count)
        self._streams: list[Name] = []
        self._draw = random.Random(count)
        self._keys: set[int] = set()  # of all elements that ever were
        self._fill(count)
        self._numbers = [NUMBER] * count
        self._tables = self._received()
        self._batches: list[list[tuple[int, int]]] = []  # of publications: stream, number
        self._our_batches = self._their_batches = 0

    def difference(self) -> float:
        """Read a received table, subtract it from ours, look up the streams that we know more of."""
        tables = [self._tables[number % TABLES] for number in range(CALLS)]
        began = time.perf_counter_ns()
        for raw in tables:
            self._ahead_of(raw)
        return (time.perf_counter_ns() - began) / CALLS

    def their_difference(self) -> float:
        return self._asked("difference", calls=CALLS)

    def update(self) -> float:
        """Look up a stream, take its old element out of the table and put its next one in."""
        batch = [(self._streams[index], number) for index, number in self._batch(self._our_batches)]
        self._our_batches += 1
        update = self._dataset.set
        began = time.perf_counter_ns()
        for name, number in batch:
            update(name, number)
        return (time.perf_counter_ns() - began) / len(batch)

    def their_update(self) -> float:
        batch = self._batch(self._their_batches)
        self._their_batches += 1
        return self._asked("update", streams=[index for index, _ in batch])

    def _asked(self, request: str, **parameters: object) -> float:
        assert self.peer is not None
        return float(self.peer.ask(request, **parameters))

    def _fill(self, count: int) -> None:
        number = 0
        while len(self._streams) < count:
            name = stream(number)
            number += 1
            if self._is_new(name, NUMBER - 1) and self._is_new(name, NUMBER):
                self._streams.append(name)
                self._dataset.set(name, NUMBER)
        table = self._dataset.iblt(EXPECTED).encode()
        if self.peer is not None:
            uris = [str(name) for name in self._streams]
            theirs = self.peer.ask("fill", streams=uris, expected=EXPECTED, number=NUMBER)
            assert theirs == table.hex(), "NDNts and we make different tables of the same streams"

    def _is_new(self, name: Name, number: int) -> bool:
        """Whether no element before this one had its key."""
        key = element_key(element_value(name, number))
        new = key not in self._keys
        self._keys.add(key)
        return new

    def _received(self) -> list[bytes]:
        behind = [self._draw.sample(range(len(self._streams)), BEHIND) for _ in range(2 * TABLES)]
        tables = [self._table(indexes) for indexes in behind]
        ours = [{name for name, _ in self._ahead_of(raw)} for raw in tables]
        theirs = ours
        if self.peer is not None:
            answers = self.peer.ask("tables", received=[raw.hex() for raw in tables])
            theirs = [{self._streams[index] for index in found} for found in answers]
        truth = [{self._streams[index] for index in indexes} for indexes in behind]
        told = [raw for raw, a, b, c in zip(tables, ours, theirs, truth, strict=True) if a == b == c][:TABLES]
        assert len(told) == TABLES, "too few of the differences can be told by both"
        if self.peer is not None:
            self.peer.ask("tables", received=[raw.hex() for raw in told])
        return told

    def _table(self, behind: list[int]) -> bytes:
        table = self._dataset.iblt(EXPECTED).copy()
        for name in [self._streams[index] for index in behind]:
            table.erase(element_key(element_value(name, NUMBER)))
            table.insert(element_key(element_value(name, NUMBER - 1)))
        return table.encode()

    def _ahead_of(self, raw: bytes) -> list[tuple[Name, int]]:
        return self._dataset.elements_of(self._dataset.iblt(EXPECTED).difference(decode_iblt(raw)).positive)

    def _batch(self, number: int) -> list[tuple[int, int]]:
        if number == len(self._batches):
            drawn = self._draw.sample(range(len(self._streams)), UPDATES)
            self._batches.append([(index, self._numbers[index]) for index in drawn if self._publishes(index)])
        return self._batches[number]

    def _publishes(self, index: int) -> bool:
        new = self._is_new(self._streams[index], self._numbers[index] + 1)
        self._numbers[index] += new
        return new
