"""own_content_store: the payload of every content published, on the disk before it is sent [FLIPS §III-C, E14].

A topic's records are appended to one file for all topics; a topic goes on with the counter of its last record.

    record   length of the body (4) · CRC-32 of the body (4) · CRC-32 of these eight bytes (4) · body
    body     kind (1) · counter (8) · topic length (2) · topic · payload
             CONTENT: a payload under this counter · OPENED: the topic goes on with this one · CLOSED: and is at rest

A last record that is cut off was never `Saved`, so nobody has heard of it. Anything else that does not match its
checksum is damage: what stood behind it is unknown. A topic that was not closed passes over `skip` numbers. If nothing
was damaged, the numbers in between were never given away: `gaps` says so, and a publisher may say "nothing here". Of
all others that are not there, it says that they are gone. So an OPENED ahead of the last counter ends a gap, and a
CLOSED there, as a file has it that is written anew, ends what is gone.
Of each topic the newest are kept, by number and by bytes. When most of the file is outdated it is replaced.
A topic that is at rest may go on any time. Of more than `max_topics` at rest only the numbers are kept, and of more
than `MAX_COUNTERS` not even those: who goes on with one of the oldest of them begins anew.
"""

from __future__ import annotations

from collections import OrderedDict
from struct import Struct
from typing import Final
from zlib import crc32

from roost.errors import InvalidInput
from roost.machine.disk import Save

CONTENT: Final = 1
OPENED: Final = 2
CLOSED: Final = 3
COMPACT_BYTES: Final = 1 << 20
MAX_COUNTERS: Final = 65_536
MAX_GAPS: Final = 64
MAX_HOLE: Final = 1024  # counters that are looked through at once for what is kept behind them
_RATIO: Final = 3
_HEAD: Final = Struct(">II")
_HEAD_BYTES: Final = 12
_BODY: Final = Struct(">BQH")


class Shelf:
    """What is kept of one topic: by counter, and the counter to go on with."""

    __slots__ = ("closed", "counter", "gaps", "items", "size_bytes")

    def __init__(self) -> None:
        self.items: Final[OrderedDict[int, bytes]] = OrderedDict()  # bound: store_items and store_bytes
        self.counter = 0
        self.size_bytes = 0
        self.closed = True
        self.gaps: Final[list[tuple[int, int]]] = []  # counters never used, low to high, in order; bound: MAX_GAPS

    def record_bytes(self, topic_bytes: int) -> int:
        """What it takes on the disk."""
        return self.size_bytes + (len(self.items) + 2 * len(self.gaps) + 2) * (_HEAD_BYTES + _BODY.size + topic_bytes)

    def pass_over(self, high: int) -> None:
        """Use no counter up to this one; of too many gaps the oldest is forgotten."""
        low = self.gaps.pop()[0] if self.gaps and self.gaps[-1][1] == self.counter - 1 else self.counter
        self.gaps.append((low, high))
        if len(self.gaps) > MAX_GAPS:
            del self.gaps[0]
        self.counter = high + 1

    def unused(self, counter: int) -> int | None:
        """Behind which counter the gap ends that this one is in; None if it is in none."""
        for low, high in self.gaps:
            if low <= counter <= high:
                return high + 1
        return 0 if counter < 0 else None

    def behind_gone(self, counter: int, end: int) -> int:
        """Where what is not kept from this counter on ends: at content, at a gap, or at `end` at the latest."""
        first = next(iter(self.items), end)
        end = min(end, *[low for low, _ in self.gaps if low > counter], max(first, counter + MAX_HOLE))
        if counter < first:
            return min(first, end)
        return next((each for each in range(counter + 1, end) if each in self.items), end)

    def clear(self) -> None:
        """Keep only the counter."""
        self.items.clear()
        self.size_bytes = 0

    def put(self, counter: int, payload: bytes, max_items: int, max_bytes: int) -> None:
        """Keep one more; the oldest go."""
        self.items[counter] = payload
        self.size_bytes += len(payload)
        self.counter = counter + 1
        self.closed = False
        while len(self.items) > max_items or self.size_bytes > max_bytes:
            self.size_bytes -= len(self.items.popitem(last=False)[1])


class ContentStore:
    """All topics of one machine; made of what is found on the disk, or told of it before anything is registered."""

    def __init__(
        self, file: str, found: bytes, max_items: int, max_bytes: int, skip: int, max_topics: int = 1024
    ) -> None:
        self.file: Final = file
        self.damaged = False
        self.is_kept = True  # False: nobody writes, so nothing is prepared for the disk
        self.shelves: Final[dict[str, Shelf]] = {}  # bound: MAX_COUNTERS; at rest longest first
        self._max_items: Final = max_items
        self._max_bytes: Final = max_bytes
        self._skip: Final = skip
        self._max_topics: Final = max_topics
        self._ticket = 0
        self._size = 0
        self._compact_at = COMPACT_BYTES
        self._replace = False
        self.restore(found)

    def restore(self, found: bytes) -> None:
        """Take in what is on the disk; only while nothing is kept yet."""
        if self.shelves:
            raise InvalidInput(f"{self.file} is in use: what is on the disk comes before what is new")
        self._size = len(found)
        self._restore(found)
        self._trim()
        for shelf in self.shelves.values():
            if self.damaged:
                shelf.counter += self._skip
            elif not shelf.closed:
                shelf.pass_over(shelf.counter + self._skip - 1)

    def shelf(self, topic: str) -> Shelf:
        """The shelf of a topic, a new one if there is none."""
        return self.shelves.setdefault(topic, Shelf())

    def open(self, topic: str) -> Save:
        """Have it saved that a topic goes on, and with which number."""
        shelf = self.shelf(topic)
        shelf.closed = False
        return self._save([(OPENED, topic, shelf.counter, b"")])

    def close(self, topic: str) -> Save:
        """Have it saved that a topic is at rest."""
        shelf = self.shelf(topic)
        shelf.closed = True
        self.shelves[topic] = self.shelves.pop(topic)
        save = self._save([(CLOSED, topic, shelf.counter, b"")])
        self._trim()
        return save

    def give_up(self, topic: str) -> None:
        """A topic is not ours after all: nothing is kept of it that was not there before."""
        shelf = self.shelves.get(topic)
        if shelf is not None and not shelf.counter:
            del self.shelves[topic]

    def add(self, topic: str, payloads: list[bytes]) -> Save:
        """Keep payloads under the next counters, and have them saved, all or, after a crash, a first part."""
        shelf = self.shelf(topic)
        first = shelf.counter
        for payload in payloads:
            shelf.put(shelf.counter, payload, self._max_items, self._max_bytes)
        return self._save([(CONTENT, topic, first + number, payload) for number, payload in enumerate(payloads)])

    def _save(self, records: list[tuple[int, str, int, bytes]]) -> Save:
        self._ticket += 1
        if not self.is_kept:
            return Save(self.file, self._ticket, b"", replace=False)
        if self._size > self._compact_at:
            needed = sum(shelf.record_bytes(len(topic.encode())) for topic, shelf in self.shelves.items())
            self._compact_at = max(COMPACT_BYTES, _RATIO * needed)
            self._replace = self._replace or self._size > self._compact_at
        replace = self._replace
        data = self._everything() if replace else b"".join([_record(*record) for record in records])
        self._replace = False
        self._size = len(data) if replace else self._size + len(data)
        return Save(self.file, self._ticket, data, replace)

    def _trim(self) -> None:
        at_rest = [topic for topic, shelf in self.shelves.items() if shelf.closed]
        for topic in at_rest[: -self._max_topics]:
            self.shelves[topic].clear()
        for topic in at_rest[: max(0, len(self.shelves) - MAX_COUNTERS)]:
            del self.shelves[topic]

    def _everything(self) -> bytes:
        parts: list[bytes] = []
        for topic, shelf in self.shelves.items():
            records = [(counter, CONTENT, payload) for counter, payload in shelf.items.items()]
            for low, high in shelf.gaps:
                records += [(low, CLOSED, b""), (high + 1, OPENED, b"")]
            records.sort(key=_by_counter)
            records.append((shelf.counter, CLOSED, b""))
            if not shelf.closed:
                records.append((shelf.counter, OPENED, b""))
            parts += [_record(kind, topic, counter, payload) for counter, kind, payload in records]
        return b"".join(parts)

    def _restore(self, found: bytes) -> None:
        position = 0
        while position < len(found):
            low = position + _HEAD_BYTES
            if low > len(found):
                self._replace = True
                return
            head = found[position : position + _HEAD.size]
            length, checksum = _HEAD.unpack(head)
            if crc32(head).to_bytes(4, "big") != found[position + _HEAD.size : low]:
                self.damaged = self._replace = True
                return
            body = found[low : low + length]
            if len(body) < length:
                self._replace = True
                return
            if crc32(body) != checksum or len(body) < _BODY.size:
                self.damaged = self._replace = True
                return
            self._take(body)
            position = low + length

    def _take(self, body: bytes) -> None:
        kind, counter, length = _BODY.unpack_from(body)
        shelf = self.shelf(body[_BODY.size : _BODY.size + length].decode())
        if kind == CONTENT:
            shelf.put(counter, body[_BODY.size + length :], self._max_items, self._max_bytes)
            return
        if counter > shelf.counter and kind == OPENED:
            shelf.pass_over(counter - 1)
        shelf.counter = counter
        shelf.closed = kind == CLOSED


def _by_counter(record: tuple[int, int, bytes]) -> tuple[int, bool]:
    return record[0], record[1] == CONTENT  # what ends a gap comes before what is behind it


def _record(kind: int, topic: str, counter: int, payload: bytes) -> bytes:
    name = topic.encode()
    body = _BODY.pack(kind, counter, len(name)) + name + payload
    head = _HEAD.pack(len(body), crc32(body))
    return head + crc32(head).to_bytes(4, "big") + body
