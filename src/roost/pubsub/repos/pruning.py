"""Retention at work: walks over the streams of a repo, a few at a time, and has dropped what the rules say.

    kept(entries)      a reading with lineage came: what it may replace is marked (`pubsub.repos.replacing`)
    tick               some streams: the oldest readings looked at, what is due handed to the shelf to drop

Parts of large payloads (`roost.repo.payloads`) have no rule, whatever pattern matches them: they go when the reading
has gone that they belong to, and their bytes count as its own.

A round over all streams begins every `ROUND`. Work per tick is bounded in streams and in readings, and one drop is
under way at a time. What goes is not recorded for other repos: each keeps as long as its own rules say.

Before a reading goes because it was replaced, what replaces it must be readable in the store, not just marked. Marks
are written a moment after the readings that cause them, so a crash can lose some, and there is a bound on how many may
wait: the first round, and the one after marks were turned away, begins with a look through all streams that replace
others. The decision itself is `roost.repo.retention`'s.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from roost.errors import BadPacket
from roost.machine import MS, SECOND, Effect, Note
from roost.naming import Name
from roost.naming.building import numbered
from roost.naming.topic import TopicFilter
from roost.pubsub.repos.replacing import Replacing
from roost.repo.cause import REPLICATION
from roost.repo.holdings import Holdings
from roost.repo.payloads import owner_of, parts_of, read_part
from roost.repo.retention import Held, Rule, Rules, due
from roost.repo.shelf import Shelf
from roost.repo.shelving import event_time
from roost.repo.store import Entry, Store
from roost.wire import Data

ROUND: Final = 60 * SECOND
PAUSE: Final = 20 * MS  # between two ticks of a round
STREAMS_PER_TICK: Final = 128
READINGS_PER_TICK: Final = 512
PARTS_PER_TICK: Final = 256  # which are large
_NO_RULE: Final = Rule(TopicFilter("#"))


class Pruning:
    """The walk; `now` decides what is too old, so the clock of a repo had better be right."""

    def __init__(self, store: Store, shelf: Shelf, holdings: Holdings, rules: Rules) -> None:
        self.dropped = 0
        self.waiting = 0  # streams of the last round with something due that nothing replaces yet
        self.replacing: Final = Replacing(store, shelf, holdings, rules)
        self._store: Final = store
        self._shelf: Final = shelf
        self._holdings: Final = holdings
        self._rules: Final = rules
        self._panel_at: Final = len(rules.group) + 1
        self._left: list[Name] = []  # streams to look at in this round, the next one last; bound: the holdings
        self._unread: list[tuple[Name, int]] = []  # streams that replace others, from which number on; bound: as above
        self._read_all = rules.replacing
        self._blocked = 0
        self._dropping = False
        self._due: int | None = None

    def start(self, now: int) -> list[Effect]:
        """Begin the first round soon."""
        if self._due is None and not self._dropping:
            self._due = now + SECOND
        return []

    def kept(self, entries: Iterable[Entry], now: int) -> list[Effect]:  # noqa: ARG002  a collaborator's shape
        """Take in what is new on the shelf: mark what it replaces."""
        if not self._rules.replacing:
            return []
        for entry in entries:
            if entry.time and not self.replacing.mark(entry.name, entry.wire):
                self._read_all = True
        return self._shelf.flush()

    def tick(self, now: int) -> list[Effect]:
        """Look at some streams."""
        if self._due is None or now < self._due:
            return []
        if not self._left:
            self._begin_round()
        self._due = now + PAUSE
        if self._unread:
            return self._read()
        effects: list[Effect] = []
        for _ in range(min(STREAMS_PER_TICK, len(self._left))):
            effects += self._prune(self._left.pop(), now)
            if self._dropping:
                return effects
        if self._left:
            return effects
        self._due = now + ROUND
        if self._blocked != self.waiting:
            self.waiting = self._blocked
            effects.append(Note("retention waits for aggregates", (("streams", self.waiting),)))
        return effects

    def deadline(self) -> int | None:
        """When to go on; None while something is being dropped."""
        return None if self._dropping else self._due

    # -- a round

    def _begin_round(self) -> None:
        self._left = [stream for stream, _ in self._holdings]
        self._left.reverse()
        self._blocked = 0
        if self._read_all:
            self._read_all = False
            self._unread = [(stream, 1) for stream in self._left if self._rules.may_replace(stream)]

    def _prune(self, stream: Name, now: int) -> list[Effect]:
        owner = owner_of(stream, self._panel_at)
        if owner is not None:
            return self._prune_parts(stream, owner, now)
        parts = self._parts_of(stream)
        effects = self._prune_parts(parts, stream, now)
        if self._dropping:
            self._left.append(stream)  # as soon as its size is known again
            return effects
        rule = self._rules.of(stream)
        holding = self._holdings.of(stream)
        if rule is None or not rule.bounds or holding.count <= 1:
            return []
        count, size_bytes = holding.count, holding.size_bytes + self._holdings.of(parts).size_bytes
        crowded = (rule.max_count and count > rule.max_count) or (rule.max_bytes and size_bytes > rule.max_bytes)
        limit = READINGS_PER_TICK if crowded else 1
        oldest = self._oldest(stream, rule, limit, now)
        going = due(rule, count, size_bytes, oldest, now)
        if going == limit == 1:  # the oldest is too old: see how many are
            oldest = self._oldest(stream, rule, READINGS_PER_TICK, now)
            going = due(rule, count, size_bytes, oldest, now)
        if going:
            return self._drop(stream, rule, oldest[going - 1].number, now)
        if oldest and rule.replaced_by is not None:
            self._blocked += due(rule, count, size_bytes, [oldest[0]._replace(replaced=True)], now)
        return []

    def _prune_parts(self, stream: Name, owner: Name, now: int) -> list[Effect]:
        """Drop the oldest parts whose readings have gone, but not the newest of all."""
        holding, readings = self._holdings.of(stream), self._holdings.of(owner)
        if not readings.gone or holding.count <= 1:
            return []
        low = holding.lowest
        high = 0
        for number, wire in self._store.range(stream, low, holding.highest - 1, PARTS_PER_TICK):
            try:
                is_over = readings.is_gone(read_part(wire)[0])
            except BadPacket:
                is_over = True  # it is of no use to anybody
            if not is_over:
                break
            high = number
        return self._drop(stream, _NO_RULE, high, now) if high else []

    def _parts_of(self, stream: Name) -> Name:
        return parts_of(stream, self._panel_at)

    def _parts_bytes(self, stream: Name, time: int) -> int:
        """About how many bytes the parts of a reading of this time have."""
        parts = self._parts_of(stream)
        holding = self._holdings.of(parts)
        if not time or not holding.count:
            return 0
        of_it = len(self._store.between(parts, time, time, PARTS_PER_TICK))
        return of_it * holding.size_bytes // holding.count

    def _oldest(self, stream: Name, rule: Rule, limit: int, now: int) -> list[Held]:
        """The lowest readings, but not the newest; and none behind a gap if what fills it has to be replaced too."""
        holding = self._holdings.of(stream)
        low = holding.lowest
        found = self._store.range(stream, low, min(low + READINGS_PER_TICK, holding.highest) - 1, limit)
        times: dict[int, int] = {}
        oldest: list[Held] = []
        for number, wire in found:
            if rule.replaced_by is not None and number != low + len(oldest):
                break
            time = event_time(Data.decode(wire))
            if not time and rule.max_age_ms:  # no reading, a record: only the store knows when it was made
                horizon = now - rule.max_age_ms * MS
                times = times or {each: time for time, each in self._store.between(stream, 0, horizon, limit)}
                time = times.get(number, 0)
            name = numbered(stream, number)
            replaced = rule.replaced_by is not None and self.replacing.is_replaced(stream, number, name)
            size_bytes = len(wire) + (self._parts_bytes(stream, time) if rule.max_bytes else 0)
            oldest.append(Held(number, time, size_bytes, replaced))
        return oldest

    def _drop(self, stream: Name, rule: Rule, high: int, now: int) -> list[Effect]:
        """Drop all up to a number, unreadable ones between them too."""
        names = [numbered(stream, number) for number in range(self._holdings.lowest(stream), high + 1)]

        def then(refusals: list[str], now: int) -> list[Effect]:
            self._dropping = False
            refused = [refusal for refusal in refusals if refusal]
            self.dropped += len(names) - len(refused)
            if refused:  # in the next round again
                self._due = now + (PAUSE if self._left else ROUND)
                return [Note("retention failed", (("stream", str(stream)), ("reason", refused[0])))]
            self._due = now
            self._left.append(stream)  # there may be more
            if rule.replaced_by is not None:
                self.replacing.forget(stream, names, high)
            return self._shelf.flush()

        self._dropping = True
        return self._shelf.drop(names, then, now, cause=REPLICATION)

    def _read(self) -> list[Effect]:
        """Look through some readings of a stream that replaces others, and mark what is not marked."""
        stream, low = self._unread.pop()
        high = self._holdings.highest(stream)
        found = self._store.range(stream, low, high, READINGS_PER_TICK)
        for number, wire in found:
            if not self.replacing.mark(numbered(stream, number), wire):
                self._unread.append((stream, number))
                break
        else:
            if len(found) == READINGS_PER_TICK:
                self._unread.append((stream, found[-1][0] + 1))
        return self._shelf.flush()
