"""What a repo puts into its store, and takes out of it: in batches, and told when it is on the disk.

    put, drop, replace ──▶ waits ──▶ one batch ──▶ Write …… Written ──▶ Kept, Dropped, and each `then`
                                                         …… Unwritten ──▶ each `then`, with the reason

One batch is under way; all that comes meanwhile goes into the next (group commit), so a slow disk makes batches larger
and not more. What may go into one, and beside what, is in `roost.repo.shelving`.

`record` is asked once in a batch, for the one cause it has beside REPLICATION (of which it is not asked), what the repo
adds of its own. What it gave for a batch that was not written is lost, so it takes its number from `holdings`, which
is always what is on the disk.

Whether a packet may be kept (signature, schema) was decided before: nothing is verified here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final

from roost.errors import Backpressure
from roost.machine import Effect
from roost.naming import Name
from roost.repo.cause import DELETE, REPLICATION
from roost.repo.holdings import MAX_STREAMS, Holdings
from roost.repo.recount import restore
from roost.repo.shelving import STREAM_MARK, Record, Shelving, Then, Wish, entry_of
from roost.repo.store import Entry, Store, Unwritten, Write, Written
from roost.wire import Data

MAX_WAITING: Final = 20_000
MAX_WAITING_BYTES: Final = 64 << 20
MAX_BATCH: Final = 2000
MAX_MARKS: Final = 1024
_RETRY_MS: Final = 1000


def _nothing(_entries: list[Entry], _cause: int) -> list[Entry]:
    return []


class Shelf:
    """The way into a store; `holdings` is what is on the disk, per stream."""

    def __init__(
        self,
        name: str,
        store: Store,
        *,
        record: Record = _nothing,
        max_waiting: int = MAX_WAITING,
        max_waiting_bytes: int = MAX_WAITING_BYTES,
        max_batch: int = MAX_BATCH,
        max_streams: int = MAX_STREAMS,
    ) -> None:
        self.name: Final = name
        self.store: Final = store
        self.holdings: Final = Holdings(max_streams)
        self.max_waiting: Final = max_waiting
        self.max_waiting_bytes: Final = max_waiting_bytes
        self.overflowed = 0  # packets and names that there was no room for
        self.conflicts = 0
        self.failed = 0  # batches that could not be written
        self._record: Final = record
        self._max_batch: Final = max_batch
        self._waiting: Final[deque[Wish]] = deque()  # bound: max_waiting packets and names, max_waiting_bytes
        self._waiting_count = 0
        self._waiting_bytes = 0
        self._marks: dict[bytes, bytes | None] = {}  # for the next batch; bound: MAX_MARKS, and at the start a row each
        self._marks_under_way: dict[bytes, bytes | None] = {}
        self._under_way: Shelving | None = None
        self._ticket = 0
        self._certain = False  # whether the holdings know all that is in the store

    def start(self, _now: int) -> list[Effect]:
        """Read what is held; rows that are damaged, or not as the store is, were counted anew and are written."""
        corrected = restore(self.store, self.holdings, STREAM_MARK)
        for stream, row in corrected:
            self._marks[STREAM_MARK + stream] = row
        self._certain = not corrected
        return self.flush()

    # -- commands

    def put(self, packets: Sequence[Data], cause: int, then: Then, now: int) -> list[Effect]:
        """Keep packets; `then` gets for each of them why it was not kept, or nothing."""
        return self.keep([entry_of(packet) for packet in packets], cause, then, now)

    def keep(self, entries: Sequence[Entry], cause: int, then: Then, now: int) -> list[Effect]:
        """The same for who knows the event times of what is in the packets."""
        return self._wish(Wish(entries, (), cause, then), now)

    def replace(self, packet: Data, then: Then, now: int) -> list[Effect]:
        """Write a packet again that was damaged or lost, as it came from another repo; nothing is told of it."""
        wish = Wish((entry_of(packet),), (), REPLICATION, then)
        wish.is_repair = True
        return self._wish(wish, now)

    def drop(self, names: Sequence[Name], then: Then, now: int, *, cause: int = DELETE) -> list[Effect]:
        """Delete packets, and do not have them again; names that are not here are remembered as well."""
        return self._wish(Wish((), names, cause, then), now)

    def set_mark(self, key: bytes, value: bytes | None) -> None:
        """Have a mark written with the next batch; its key begins with neither b"s" nor b"g", which are ours.

        Raises `Backpressure` when MAX_MARKS of them wait.
        """
        if len(self._marks) >= MAX_MARKS and key not in self._marks:
            raise Backpressure(f"{MAX_MARKS} marks wait to be written, which is the limit", _RETRY_MS)
        self._marks[key] = value

    def flush(self) -> list[Effect]:
        """Have the marks written now, or right after what is under way."""
        if self._under_way is not None or not self._marks:
            return []
        return self._write(Shelving(self.store, self.holdings))

    def receive(self, event: Written | Unwritten, now: int) -> list[Effect]:
        """Take in what became of the batch under way."""
        made = self._under_way
        if made is None or event.store != self.name or event.ticket != self._ticket:
            return []
        self._under_way = None
        if isinstance(event, Written):
            effects = made.settle()
        else:
            effects = []
            self.failed += 1
            self._certain = False  # what a disk says it has not written may be there all the same
            self._marks = self._marks_under_way | self._marks
            for wish in made.wishes:
                wish.outcome = [refusal or event.reason for refusal in wish.outcome]
        effects += _answers(made, now)
        effects += self._proceed(now)
        # Marks alone are not tried again and again on a disk that is full: they go with the next batch.
        return effects + self.flush() if isinstance(event, Written) else effects

    def sizes(self) -> dict[str, tuple[int, int]]:
        """How full the tables are: now, and at most."""
        return {
            "waiting": (self._waiting_count, self.max_waiting),
            "waiting_bytes": (self._waiting_bytes, self.max_waiting_bytes),
            "marks": (len(self._marks), MAX_MARKS),
            "streams": (len(self.holdings), self.holdings.max_streams),
        }

    # -- what waits, and the next batch

    def _wish(self, wish: Wish, now: int) -> list[Effect]:
        count, size_bytes = self._waiting_count + len(wish), self._waiting_bytes + wish.size_bytes
        if count > self.max_waiting or size_bytes > self.max_waiting_bytes:
            self.overflowed += len(wish)
            reason = (
                f"{self._waiting_count} packets ({self._waiting_bytes} bytes) wait for the disk: "
                f"{self.max_waiting} ({self.max_waiting_bytes}) is the limit, try again later"
            )
            return wish.then([reason] * len(wish), now)
        self._waiting.append(wish)
        self._waiting_count, self._waiting_bytes = count, size_bytes
        return self._proceed(now)

    def _proceed(self, now: int) -> list[Effect]:
        """Make batches of what waits until one has something to write."""
        effects: list[Effect] = []
        while self._under_way is None and self._waiting:
            shelving = self._make()
            effects += shelving.notes
            effects += _answers(shelving, now) if shelving.is_empty else self._write(shelving)
        return effects

    def _make(self) -> Shelving:
        shelving = Shelving(self.store, self.holdings, certain=self._certain)
        count = 0
        while self._waiting and shelving.has_place_for(self._waiting[0]):
            wish = self._waiting[0]
            if count and count + len(wish) > self._max_batch:
                break
            self._waiting.popleft()
            count += len(wish)
            self._waiting_count -= len(wish)
            self._waiting_bytes -= wish.size_bytes
            shelving.take(wish)
        self.conflicts += shelving.conflicts
        return shelving

    def _write(self, shelving: Shelving) -> list[Effect]:
        self._marks_under_way, self._marks = self._marks, {}
        self._under_way = shelving
        self._ticket += 1
        return [Write(self.name, self._ticket, shelving.finish(self._record, self._marks_under_way))]


def _answers(shelving: Shelving, now: int) -> list[Effect]:
    effects: list[Effect] = []
    for wish in shelving.wishes:
        effects += wish.then(wish.outcome, now)
    return effects
