"""One subscription in one stream at work: look at numbers, learn their names, obtain them, hand them on in order.

    next number ──▶ had, or not of this past ──▶ settled
        └──▶ name unknown ──▶ mapping query ──▶ again
        └──▶ not wanted ──▶ settled
        └──▶ obtained ──▶ settled, delivered when its turn comes, or at once
                 ├──failed──▶ later, with those who carry; given up if nobody can have it any more (`patience`)
                 └──disbelieved──▶ the same, and passed over the `MAX_DISBELIEVED`th time

What is to be done with an item is `deliver`'s. What finds no room in the subscription's `Allowance` is parked until
something of it was taken, or turned out not to be had.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from roost.machine import MS, Effect, Note, Randomness, Rejected
from roost.machine.timetable import Timetable
from roost.pubsub.blobs.allowance import Allowance
from roost.pubsub.blobs.directory import MAX_ANSWERED
from roost.pubsub.blobs.inquiring import Inquiring
from roost.pubsub.blobs.items import Disbelieved, Item
from roost.pubsub.blobs.line import SPAN, WINDOW, Line, Open
from roost.pubsub.blobs.mapping import Entry
from roost.pubsub.blobs.names import Query
from roost.pubsub.blobs.obtaining import Obtaining
from roost.pubsub.blobs.patience import STUBBORN, is_hopeless, longest_ms, was_silent
from roost.pubsub.blobs.prefetching import Prefetching
from roost.pubsub.blobs.seat import Seat
from roost.pubsub.blobs.surveying import Surveying

PASSED_OVER: Final = "passed over"
MAX_DISBELIEVED: Final = 3
_WAKING_MS: Final = 200

HandOn: TypeAlias = Callable[[Line, Item], list[Effect]]


class LineWork:
    """All lines of one subscriber."""

    def __init__(
        self,
        seat: Seat,
        randomness: Randomness,
        obtaining: Obtaining,
        prefetching: Prefetching,
        allowance: Allowance,
        deliver: HandOn,
    ) -> None:
        self.gone = 0  # numbers that nobody has any more
        self.disbelieved = 0  # numbers that were passed over, as what is in them is refused
        self.inquiring: Final = Inquiring(seat)
        self._seat: Final = seat
        self._directory: Final = seat.directory
        self._randomness: Final = randomness
        self._obtaining: Final = obtaining
        self._prefetching: Final = prefetching
        self._allowance: Final = allowance
        self._parked: Final[dict[int, None]] = {}  # timers of those that wait for room; bound: as `_timed`
        self._deliver: Final = deliver
        self._surveying: Final = Surveying(seat.directory, self.inquiring, self.go_on, self._later)
        self._last_timer = 0
        self._timers: Final = Timetable()
        self._timed: Final[dict[int, tuple[Line, Open | None]]] = {}  # bound: SPAN and one for each line

    def __len__(self) -> int:
        return len(self._timed)

    @property
    def is_parked(self) -> bool:
        """Whether something waits for room."""
        return bool(self._parked)

    def add(self, line: Line) -> None:
        """Have a line that may be gone on with."""
        line.timer = self._new_timer()
        self._timed[line.timer] = line, None

    def drop(self, line: Line) -> None:
        """Go on with it no longer; what is under way for it is of no use."""
        line.over = True
        self._forget_timer(line.timer)
        for each in line.open.values():
            each.settled = True
            self._forget_timer(each.timer)
        self._obtaining.forsake()

    def heard(self, line: Line, now: int) -> None:
        """Something of its stream came, or is new: what was put off is tried again soon, if that is a while ago."""
        if was_silent(line, now):
            for each in line.open.values():
                if each.stubborn and not (each.asked or each.settled or each.parked):
                    self._soon(each.timer, now)
            if line.history is not None and not line.history.over and not line.questions:
                self._soon(line.timer, now)
        line.heard_at = now

    def tick(self, now: int) -> list[Effect]:
        """Try again what is due."""
        effects: list[Effect] = []
        for timer in list(self._timers.overdue(now)):
            line, each = self._timed[timer]
            effects += self.go_on(line, now) if each is None else self._again(line, each, now)
        return effects

    def deadline(self) -> int | None:
        """When something is."""
        return self._timers.deadline()

    def go_on(self, line: Line, now: int) -> list[Effect]:
        """Deliver what is next in order, and begin with as many numbers as there is room for."""
        if line.over:
            return []
        if line.history is not None and not line.history.over:
            return [] if line.questions else self._surveying.survey(line, line.history, now)
        if line.busy:  # what was obtained at once has come back to here; whoever began goes on
            return []
        line.busy = True
        try:
            effects = self._begin(line, now)
        finally:
            line.busy = False
        return effects + self._ask_names(line, now)

    def _begin(self, line: Line, now: int) -> list[Effect]:
        effects: list[Effect] = []
        line.heard_at = line.heard_at or now
        while True:
            while (each := line.open.get(line.turn)) is not None and each.settled:
                del line.open[line.turn]
                line.turn += 1
                self._reserve(line, each, 0)
                if each.item is not None and line.wanted.in_order:
                    effects += self._deliver(line, each.item)
            effects += self._revive(line, now)
            if not line.may_begin or not self._allowance.has_room(line.subscription):
                return effects
            each = Open(line.next, self._new_timer())
            line.open[line.next] = each
            line.unsettled += 1
            self._timed[each.timer] = line, each
            line.next += 1
            effects += self._consider(line, each, now)

    def _consider(self, line: Line, each: Open, now: int) -> list[Effect]:
        """Pass over a number, fetch it, or leave it to a mapping query."""
        if each.asked or each.settled:
            return []
        each.parked = False
        number = each.number
        if line.had(number) or (line.history is not None and line.history.passes_over(number)):
            return self._settle(line, each, None, now)
        entry = self._directory.get(line.stream, number)
        if entry is None:
            old = number < self._directory.oldest(line.stream)
            if old and number <= line.vain:
                self.gone += 1
                return self._settle(line, each, None, now)
            if old or line.wanted.needs_mapping:
                return []
        elif not line.wanted.takes(entry, now):
            return self._settle(line, each, None, now)
        if not self._allowance.may_fetch(line.subscription, is_next=number == line.turn):
            self._allowance.held_up += each.timer not in self._parked
            self._parked[each.timer] = None
            each.parked = True
            self._release(line, each, now)
            return []
        self._parked.pop(each.timer, None)
        self._reserve(line, each, 0 if entry is None else max(0, entry.size_bytes))
        return self._fetch(line, each, now)

    def _reserve(self, line: Line, each: Open, size: int) -> None:
        self._allowance.reserve(line.subscription, size - each.reserved)
        each.reserved = size

    def _revive(self, line: Line, now: int) -> list[Effect]:
        """Go on with what was parked of this subscription, if there is room again."""
        effects: list[Effect] = []
        if not self._parked or not self._allowance.may_fetch(line.subscription, is_next=True):
            return effects
        for timer in list(self._parked):
            other, each = self._timed.get(timer, (line, None))
            if each is None:
                self._parked.pop(timer, None)
            elif other.subscription == line.subscription and timer in self._parked:
                effects += self._consider(other, each, now)
        return effects

    def _fetch(self, line: Line, each: Open, now: int) -> list[Effect]:
        each.asked = True

        def obtained(item: Item | Disbelieved | None, now: int) -> list[Effect]:
            if each.settled:
                return []
            each.asked = False
            self._reserve(line, each, len(item.blob) if isinstance(item, Item) else 0)
            if isinstance(item, Disbelieved):
                return self._disbelieved(line, each, item.reason, now)
            if item is None:
                return self._failed(line, each, now)
            drop = self._prefetching.drop(line.stream, each.number)
            entry = Entry(each.number, item.name, item.published_us or 0, item.size_bytes)
            line.best = max(line.best, each.number)
            settled = self._settle(line, each, item if line.wanted.takes(entry, now) else None, now)
            self.heard(line, now)
            return drop + settled + self.go_on(line, now)

        held = each.tries % 2 == 1 or each.number < self._directory.oldest(line.stream)
        key = (line.stream, each.number)
        in_pieces = line.wanted.in_pieces
        return self._obtaining.obtain(key, obtained, lambda: not each.settled, now, in_pieces=in_pieces, held=held)

    def _settle(self, line: Line, each: Open, item: Item | None, now: int) -> list[Effect]:
        """It needs nothing more; who takes things as they come gets it now."""
        each.settled = True
        each.item = item
        line.unsettled -= not each.stubborn
        self._release(line, each, now)
        self._forget_timer(each.timer)
        self._parked.pop(each.timer, None)
        if item is None or not line.wanted.in_order:
            self._reserve(line, each, 0)
        if item is None:
            if not line.wanted.in_order:
                line.deal(each.number)
            self._obtaining.drop((line.stream, each.number))
            return self._prefetching.drop(line.stream, each.number)
        return [] if line.wanted.in_order else self._deliver(line, item)

    def _failed(self, line: Line, each: Open, now: int) -> list[Effect]:
        """It could not be had: give it up if it cannot be, or try again later."""
        if line.best > each.number and not each.missed_at:
            each.missed_at = now
        hopeless = is_hopeless(line, each, self._seat.naming.version, now)
        if hopeless or (each.tries >= STUBBORN and each.number < self._directory.oldest(line.stream)):
            self.gone += 1
            told = (("stream", str(line.stream.name)), ("number", each.number))
            noted: list[Effect] = [Note(PASSED_OVER, told)] if hopeless else []
            return noted + self._settle(line, each, None, now) + self.go_on(line, now)
        self._release(line, each, now)
        self._later(each.timer, each.tries, now, now - line.heard_at)
        each.tries += 1
        if each.tries < STUBBORN:
            return []
        line.unsettled -= not each.stubborn
        each.stubborn = True
        return self.go_on(line, now) + self._probe(line, now, held=each.tries % 2 == 1)

    def _release(self, line: Line, each: Open, now: int) -> None:
        """A number that was tried again is not any more: the next one may be."""
        line.due.pop(each.number, None)
        if not each.again:
            return
        each.again = False
        line.again -= 1
        while line.due:
            other = line.due.pop(next(iter(line.due)))
            if not other.settled:
                self._timers.set(other.timer, now)
                return

    def _probe(self, line: Line, now: int, *, held: bool) -> list[Effect]:
        """Where there is no room to look further, find out whether something behind that is to be had."""
        if len(line.open) < SPAN or line.best >= line.next or line.next > line.high or line.probing:
            return []
        line.probing = True
        number = line.high

        def obtained(item: Item | Disbelieved | None, now: int) -> list[Effect]:
            line.probing = False
            if isinstance(item, Item) and not line.over:
                line.best = max(line.best, number)
                self.heard(line, now)
            return []

        key = (line.stream, number)
        return self._obtaining.obtain(key, obtained, lambda: not line.over, now, in_pieces=True, held=held)

    def _disbelieved(self, line: Line, each: Open, reason: str, now: int) -> list[Effect]:
        """It came and was refused: try what others have of it, a few times."""
        each.disbelieved += 1
        if each.disbelieved < MAX_DISBELIEVED:
            return self._failed(line, each, now)
        self.disbelieved += 1
        told = f"number {each.number} of {line.stream.name} is passed over, it was refused {MAX_DISBELIEVED} times: "
        rejected = Rejected(str(self._seat.naming.group), told + reason)
        return [rejected, *self._settle(line, each, None, now), *self.go_on(line, now)]

    def _again(self, line: Line, each: Open, now: int) -> list[Effect]:
        """Try a number again that could not be had, or whose name could not; now and then ask whether there is hope."""
        if each.parked:
            return []
        if each.stubborn and not each.again:
            if line.again >= WINDOW:
                line.due[each.number] = each
                return []
            each.again = True
            line.again += 1
        if each.tries % 4 == 2:
            return self._query_for(line, Query(each.number, each.number), now, held=False)
        effects = self._consider(line, each, now)
        if each.settled:
            return effects + self.go_on(line, now)
        return effects if each.asked or each.parked else effects + self._ask_name(line, each, now)

    # -- names

    def _ask_names(self, line: Line, now: int) -> list[Effect]:
        """Ask for the names of those numbers under way that are neither known nor asked for, and of what follows."""
        lacking = [each for each in line.open.values() if line.lacks_name(each)]
        if not lacking:
            return []
        if lacking[0].number < self._directory.oldest(line.stream):
            return self._ask_name(line, lacking[0], now)
        low = lacking[0].number
        high = max(lacking[-1].number, min(low + self._directory.max_asked - 1, line.high))
        effects: list[Effect] = []
        for query in self._directory.lacking(line.stream, low, high):
            effects += self._query_for(line, query, now, held=False)
        return effects

    def _ask_name(self, line: Line, each: Open, now: int) -> list[Effect]:
        """Ask for a name, and for others that are lacking; of what its producer has no more, from who carries them.

        A producer of version 2 that lacks one of several may not answer at all, so it is asked for one.
        """
        oldest = self._directory.oldest(line.stream)
        if each.number < oldest:
            high = min(each.number + MAX_ANSWERED, oldest) - 1
            return self._query_for(line, Query(each.number, high), now, held=True)
        held = each.tries % 2 == 1
        alone = self._seat.naming.version == 2 and not held
        query = Query(each.number, each.number) if alone else self._around(line, each)
        return self._query_for(line, query, now, held=held)

    def _around(self, line: Line, each: Open) -> Query:
        """The query for a name and others that are lacking, from the first of them on: so others ask for the same."""
        most = self._directory.max_asked
        lacking = [each.number]
        for number, other in line.open.items():
            if abs(number - each.number) < most and not (other.asked or other.settled or other.parked):
                lacking += [number] if self._directory.get(line.stream, number) is None else []
        low = min(lacking)
        return Query(low, max([number for number in lacking if number < low + most]))

    def _query_for(self, line: Line, query: Query, now: int, *, held: bool) -> list[Effect]:
        """Ask for names; numbers that are begun meanwhile wait for the answer, too."""
        mine = [each for each in _within(line, query) if not each.asked and not each.settled and not each.parked]
        for each in mine:
            each.asked = True
        line.inquired.append(query)

        def answered(answered: bool, fresh: bool, now: int) -> list[Effect]:  # noqa: ARG001, FBT001  a continuation
            effects: list[Effect] = []
            line.inquired.remove(query)
            if held and query.high < self._directory.oldest(line.stream):
                line.vain = max(line.vain, query.high)
            for each in mine:
                each.asked = False
            for each in _within(line, query):
                effects += self._consider(line, each, now)
                if not each.asked and not each.settled and not each.parked:
                    effects += self._failed(line, each, now)
            return effects + self.go_on(line, now)

        return self.inquiring.ask(line.stream, query, answered, now, held=held)

    # -- time

    def _new_timer(self) -> int:
        self._last_timer += 1
        return self._last_timer

    def _forget_timer(self, timer: int) -> None:
        self._timers.drop(timer)
        self._timed.pop(timer, None)

    def _later(self, timer: int, tries: int, now: int, silent: int) -> None:
        longest = longest_ms(tries, silent)
        self._timers.set(timer, now + self._randomness.randint(longest // 2 * MS, longest * MS))

    def _soon(self, timer: int, now: int) -> None:
        self._timers.set(timer, now + self._randomness.randint(0, _WAKING_MS * MS))


def _within(line: Line, query: Query) -> list[Open]:
    """The numbers under way that a query asks for."""
    return [each for number in range(query.low, query.high + 1) if (each := line.open.get(number)) is not None]
