"""A repo's own records: what it took in from producers, told to the other repos of its group [NDN-PS §III-C].

    the shelf is about to write a batch ──record──▶ records, numbered and signed, written in the same instant
    the batch is on the disk            ──kept────▶ announce(repo, n): full sync tells the others, once per batch

Only what this repo heard first is recorded (inserted, in bulk, deleted); what it got from others they have recorded.
Numbers wait until full sync says from where they go on (`Ready`), because the disk of a repo that was replaced by an
empty one knows nothing of those it gave before. What is kept meanwhile is remembered by name and recorded then; what is
too much to remember shows when repos compare their holdings (`repos.comparison`). A repo without any record
makes one that names nothing, so that the others know it.

Full sync cannot wait for ever: a repo whose disk is not certain, and which hears nobody, begins with numbers that it
may have given before. Until it meets another repo it is alone, and remembers what it records. Then it records that once
more, under numbers that nobody knows. A repo that is certain, and learns of numbers that it never gave, has a double:
it says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from roost.machine import SECOND, Effect, Rejected
from roost.naming.building import numbered
from roost.naming.name import Name
from roost.pubsub.repos.stock import Stock
from roost.repo.cause import INSERT, REPLICATION
from roost.repo.numbering import numbered as numbered_by
from roost.repo.record import CARRY_BYTES, encode_greeting, encode_named, encode_records, runs_of
from roost.repo.store import Entry
from roost.wire.data import Data, encode_data
from roost.wire.signature import Signer

MAX_UNRECORDED: Final = 10_000
LISTENING: Final = 3 * SECOND
DOUBLE: Final = (
    "the group has records in its name that it did not write, so another process runs as this repo (or its disk is an "
    "older copy): of each repo and each panel one may run, so stop one and give it a name and keys of its own"
)


class Recording:
    """Gives our records their numbers; `announce(stream, high, now)` is the full-sync member's.

    `certain` says whether the disk knows which were given.
    """

    def __init__(
        self,
        repo: Name,
        signer: Signer,
        shelf: Stock,
        announce: Callable[[Name, int, int], list[Effect]],
        *,
        carry_bytes: int = CARRY_BYTES,
        certain: bool = True,
    ) -> None:
        self.recorded = 0
        self.turned_away = 0  # packets that were too many to remember
        self._repo: Final = repo
        self._signer: Final = signer
        self._shelf: Final = shelf
        self._announce: Final = announce
        self._carry_bytes: Final = carry_bytes
        self._floor = 0  # the first number that may be given; 0 until full sync is ready
        self._reserved = 0  # the last one that waits for the disk by itself
        self._told = 0
        self._alone = not certain
        self._met_at: int | None = None  # when we have listened long enough to those we met
        self._unrecorded: Final[dict[Name, int]] = {}  # name → cause; bound: MAX_UNRECORDED

    def record(self, entries: list[Entry], cause: int) -> list[Entry]:
        """Write the records of what is about to be written; an entry without a packet was deleted.

        The batch before is on the disk or failed, and then nobody has seen its numbers: they are given again.
        """
        if cause == REPLICATION or not entries:
            return []
        if not self._floor or self._alone:
            self._remember(entries, cause)
        if not self._floor:
            return []
        return self._signed(encode_records(entries, cause, self._carry_bytes))

    def recall(self) -> None:
        """Take in, before the start, what our disk holds without any record: a crash came before the first one."""
        if self._shelf.holdings.highest(self._repo):
            return
        for stream, holding in self._shelf.holdings:
            if stream.starts_with(self._repo.prefix(-1)):
                continue
            for low, high in holding.held:
                for number in range(low, min(high, low + MAX_UNRECORDED) + 1):
                    if len(self._unrecorded) >= MAX_UNRECORDED:
                        return  # the rest shows when holdings are compared
                    self._unrecorded[numbered(stream, number)] = INSERT

    def kept(self, now: int) -> list[Effect]:
        """Take in that a batch is on the disk: announce its records."""
        high = self._shelf.holdings.highest(self._repo)
        if not self._floor or high <= self._told:
            return []
        self._told = high
        effects = self._announce(self._repo, high, now)
        if self._unrecorded and not (self._reserved or self._alone):  # the disk was full then, and takes records again
            effects += self.ready(self._floor, now)
        return effects

    def ready(self, number: int, now: int) -> list[Effect]:
        """Take in from which number on we may record, the first time or because the group knew more than our disk."""
        given = max(self._shelf.holdings.highest(self._repo), self._reserved)
        told: list[Effect] = []
        if self._floor and not self._alone and number > max(given + 1, self._floor):
            told.append(Rejected(str(self._repo), DOUBLE))
        return told + self._begin(number, now)

    def _begin(self, number: int, now: int) -> list[Effect]:
        if self._floor or number > self._shelf.holdings.highest(self._repo) + 1:
            self.meet(now)
        self._floor = max(self._floor, number)
        is_known = self._shelf.holdings.highest(self._repo) > 0
        if (is_known or self._reserved) and (self._alone or not self._unrecorded):
            return self.kept(now)
        contents = [] if is_known else [encode_greeting()]
        for cause in sorted(set(self._unrecorded.values())):
            names = [name for name, why in self._unrecorded.items() if why == cause]
            contents += encode_named(*runs_of(names), cause)
        if not contents:  # names too long for a record: nobody could ask for them by one
            self._unrecorded.clear()
            return self.kept(now)
        records = [Data.decode(entry.wire) for entry in self._signed(contents)]
        self._reserved = numbered_by(records[-1].name)[1]
        forgotten = dict(self._unrecorded)
        if not self._alone:
            self._unrecorded.clear()

        def written(refusals: list[str], now: int) -> list[Effect]:
            self._reserved = 0
            if any(refusals):
                self._unrecorded.update(forgotten)  # until the next record is written, or full sync is ready again
            return self.kept(now)

        return self._shelf.put(records, REPLICATION, written, now)

    def meet(self, now: int) -> None:
        """Take in that there is another repo, which may know numbers that our disk does not; others may know more."""
        if self._alone and self._met_at is None:
            self._met_at = now + LISTENING

    def tick(self, now: int) -> list[Effect]:
        """Record once more what was recorded alone."""
        if self._met_at is None or now < self._met_at:
            return []
        self._met_at = None
        self._alone = False
        return self.ready(self._floor, now) if self._floor and self._unrecorded else []

    def deadline(self) -> int | None:
        """When that is."""
        return self._met_at

    def sizes(self) -> dict[str, tuple[int, int]]:
        """How full the tables are: now, and at most."""
        return {"unrecorded": (len(self._unrecorded), MAX_UNRECORDED)}

    def _remember(self, entries: list[Entry], cause: int) -> None:
        for entry in entries:
            if len(self._unrecorded) < MAX_UNRECORDED or entry.name in self._unrecorded:
                self._unrecorded[entry.name] = cause
            else:
                self.turned_away += 1

    def _signed(self, contents: list[bytes]) -> list[Entry]:
        first = max(self._floor, self._reserved + 1, self._shelf.holdings.highest(self._repo) + 1)
        names = [numbered(self._repo, first + index) for index in range(len(contents))]
        self.recorded += len(contents)
        return [
            Entry(name, encode_data(name, content, self._signer)) for name, content in zip(names, contents, strict=True)
        ]
