"""From a panel's disk to a repo: readings in batches, some commands under way, again until a repo has confirmed them.

- Batches go to whichever repo the network finds nearest under the commander's prefix: fail-over is the network's.
- A batch waits at most `FILL` for more readings, and not at all while nothing is under way.
- A batch without a good receipt is sent again, the oldest first, in a new command. The pause grows from `MIN_PAUSE` to
  `MAX_PAUSE`, or is what the repo says, and one command at a time finds out whether the trouble is over.
- Readings that a repo refuses for now, because it could not get a certificate for instance, are sent again `REFUSALS`
  times, later and later, and then given up; those it refuses for good are given up at once.

The commander verifies receipts.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Iterable
from heapq import heappop, heappush
from typing import Final, NamedTuple, Protocol, TypeAlias

from roost.machine import MS, SECOND, Effect, Note, Randomness, earliest
from roost.pubsub.panels.outbox_log import Packet
from roost.repo.batch import ALL_KEPT, MAX_BYTES, SOME_REFUSED, Receipt
from roost.wire import Data

MAX_READING_BYTES: Final = MAX_BYTES - 16  # of all Data in a batch, which has a head
BATCH_READINGS: Final = 64
WINDOW: Final = 8
FILL: Final = 20 * MS
MIN_PAUSE: Final = SECOND // 2
MAX_PAUSE: Final = 30 * SECOND
REFUSALS: Final = 4
UNCONFIRMED: Final = "readings unconfirmed"

Inserted: TypeAlias = Callable[[Receipt | None, str, int], list[Effect]]


class Inserting(Protocol):
    """What this needs of a commander."""

    def insert_batch(self, packets: list[Data], then: Inserted, now: int, *, copies: int = 1) -> list[Effect]: ...


class _Batch(NamedTuple):
    """Readings that are sent together: not before a time, the oldest first."""

    due: int
    serial: int
    refusals: int
    packets: list[Packet]


class Dispatch:
    """The queue and what is under way; `confirmed` and `refused` are called with what became of readings."""

    def __init__(
        self,
        commander: Inserting,
        randomness: Randomness,
        confirmed: Callable[[list[Packet], int], list[Effect]],
        refused: Callable[[Packet, str, int], list[Effect]],
        *,
        copies: int = 1,
        window: int = WINDOW,
    ) -> None:
        self.sent = 0  # readings, each time they are
        self.failed = 0  # commands without a good receipt
        self._commander: Final = commander
        self._randomness: Final = randomness
        self._confirmed: Final = confirmed
        self._refused: Final = refused
        self._copies: Final = copies
        self._window: Final = window
        self._queue: Final[deque[Packet]] = deque()  # not sent yet; bound of both: the outbox
        self._queued_bytes = 0
        self._again: Final[list[_Batch]] = []  # a heap
        self._serial = 0
        self._under_way = 0  # commands; bound: window
        self._pause = 0  # after the last trouble; 0 while all is well
        self._resume_at: int | None = None
        self._fill_until: int | None = None

    def add(self, packets: Iterable[Packet]) -> None:
        """Take readings that are on the disk; `send` sends them."""
        for packet in packets:
            self._queue.append(packet)
            self._queued_bytes += len(packet.wire)

    def drop(self, values: Container[bytes]) -> None:
        """Send these no more, by the bytes of their names; what is under way is."""
        queue = [packet for packet in self._queue if packet.value not in values]
        self._queue.clear()
        self._queued_bytes = 0
        self.add(queue)
        again = [
            batch._replace(packets=left)
            for batch in self._again
            if (left := [packet for packet in batch.packets if packet.value not in values])
        ]
        self._again[:] = sorted(again, key=lambda batch: batch[:2])

    def start(self, now: int) -> list[Effect]:
        """The network is back, so nothing has to wait longer."""
        self._resume_at = None
        return self.send(now)

    def send(self, now: int) -> list[Effect]:
        """Send what there is reason to send now."""
        if self._resume_at is not None:
            if now < self._resume_at:
                return []
            self._resume_at = None
        effects: list[Effect] = []
        while (batch := self._next(now)) is not None:
            effects += self._send(batch, now)
        return effects

    def deadline(self) -> int | None:
        """When there may be reason to send."""
        if self._resume_at is not None:
            return self._resume_at
        again = self._again[0].due if self._again and self._under_way < self._room else None
        return earliest(self._fill_until, again)

    @property
    def _room(self) -> int:
        return 1 if self._pause else self._window

    def _next(self, now: int) -> _Batch | None:
        if self._under_way >= self._room or self._resume_at is not None:
            self._fill_until = None  # what waits goes when there is room
            return None
        if self._again and self._again[0].due <= now:
            return heappop(self._again)
        if not self._queue:
            return None
        is_full = len(self._queue) >= BATCH_READINGS or self._queued_bytes >= MAX_READING_BYTES
        if not is_full and self._under_way and (self._fill_until is None or now < self._fill_until):
            self._fill_until = self._fill_until or now + FILL
            return None
        self._fill_until = None
        self._serial += 1
        return _Batch(0, self._serial, 0, self._take())

    def _take(self) -> list[Packet]:
        packets: list[Packet] = []
        room = MAX_READING_BYTES
        while self._queue and len(packets) < BATCH_READINGS and len(self._queue[0].wire) <= room:
            packet = self._queue.popleft()
            room -= len(packet.wire)
            packets.append(packet)
        self._queued_bytes -= MAX_READING_BYTES - room
        return packets

    def _send(self, batch: _Batch, now: int) -> list[Effect]:
        def then(receipt: Receipt | None, reason: str, now: int) -> list[Effect]:
            self._under_way -= 1
            if receipt is not None and receipt.code in {ALL_KEPT, SOME_REFUSED}:
                return self._receipted(batch, receipt, now)
            heappush(self._again, batch._replace(due=0))
            wait = receipt.retry_after_ms * MS if receipt is not None else 0
            return self._trouble(reason, wait, now)

        self._under_way += 1
        self.sent += len(batch.packets)
        packets = [Data.decode(packet.wire) for packet in batch.packets]
        return self._commander.insert_batch(packets, then, now, copies=self._copies)

    def _receipted(self, batch: _Batch, receipt: Receipt, now: int) -> list[Effect]:
        self._pause = 0
        self._resume_at = None
        reasons = {index: reason for index, reason in receipt.refused if index < len(batch.packets)}
        kept = [packet for index, packet in enumerate(batch.packets) if index not in reasons]
        effects = self._confirmed(kept, now)
        if reasons and receipt.retry_after_ms and batch.refusals + 1 < REFUSALS:
            again = [batch.packets[index] for index in sorted(reasons)]
            due = now + self._jittered(min(MAX_PAUSE, MIN_PAUSE << 2 * (batch.refusals + 1)))
            heappush(self._again, _Batch(due, batch.serial, batch.refusals + 1, again))
        else:
            for index in sorted(reasons):
                effects += self._refused(batch.packets[index], reasons[index], now)
        return effects + self.send(now)

    def _trouble(self, reason: str, wait: int, now: int) -> list[Effect]:
        self.failed += 1
        if self._resume_at is not None:  # of several commands that fail together, the first says how long to pause
            return []
        self._pause = min(MAX_PAUSE, self._pause * 2 or MIN_PAUSE)
        self._resume_at = now + max(min(wait, MAX_PAUSE), self._jittered(self._pause))
        return [Note(UNCONFIRMED, (("reason", reason), ("pause_ms", self._pause // MS)))]

    def _jittered(self, pause: int) -> int:
        """Between half and all of it, so that panels which lost the same repo do not come back in step."""
        return pause // 2 + self._randomness.randint(0, pause // 2)
