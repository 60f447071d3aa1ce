"""A subscription for people: `async for reading in group.subscribe("+/Heater/#")`.

    async for reading in group.subscribe(…): ...         until the loop is left, or the face closed
    async with group.subscribe(…) as subscription: ...   the same, with the subscription in hand, and left at the end

A reading is an `Arrival`: verified, with signer, value, unit, quality and lateness. One that is sealed is opened with
the keys of this face, and comes as `sealed` where none of them does. It has been dealt with when the
next one is asked for, or the `async with` block is left without an error; that is kept where the subscription has a
file. So after a crash, or a `break` out of the bare loop, the one in hand comes again and none is lost. Who must not
see it twice stores `reading.stream` and `reading.number` with what comes of it. A bare loop that was left lets its file
go a moment later: who opens the same name again at once uses `async with`.

No more is fetched than there is room for (`room` readings that wait to be taken). What repos dropped on purpose never
comes: `on_missing` is told, by default the log. The machine is `roost.pubsub.consumers.consumer`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final, Self, TypeAlias

from roost.host.residence import Opening, Residence, Way
from roost.machine import Effect, Note
from roost.machine.disk import Saved
from roost.naming import Name
from roost.naming.building import Group
from roost.pubsub.consumers.arrival import Arrival, Deliver, Missing, Subscribed
from roost.pubsub.consumers.consumer import Consumer, ConsumerSettings
from roost.pubsub.consumers.delivery import AWAITED
from roost.pubsub.consumers.policy import Policy
from roost.pubsub.consumers.wishes import Wish
from roost.sync.psync_consumer import UNHEARD

ROOM: Final = 256

OnMissing: TypeAlias = Callable[[Missing], None]
Opened: TypeAlias = Callable[[Arrival], Awaitable[Arrival]]


class Subscription(Residence[Consumer]):
    """A subscription that was opened; iterate over it."""

    def __init__(
        self,
        way: Way,
        group: Group,
        wishes: Sequence[Wish],
        policy: Policy,
        path: Path | None,
        opened: Opened,
        room: int = ROOM,
        on_missing: OnMissing | None = None,
    ) -> None:
        self.missing = 0  # numbers that never come
        self._group: Final = group
        self._opened: Final = opened
        self._on_missing: Final = on_missing or self._log_missing
        self._queue: Final[deque[Arrival | Missing]] = deque()  # bound: room, and a run of missing ones per stream
        self._in_hand: Arrival | None = None
        self._subscribed = False

        def make(found: bytes) -> Consumer:
            return Consumer(
                group,
                wishes,
                way.verifier,
                way.session.randomness,
                saved=found,
                file="place",
                policy=policy,
                settings=ConsumerSettings(credit=room),
            )

        super().__init__(way, make, path)

    @property
    def name(self) -> Name:
        """The group's name."""
        return self._group.name

    @property
    def waiting(self) -> int:
        """How many readings wait to be taken."""
        return len(self._queue)

    async def subscribed(self) -> None:
        """Wait until it has begun: nothing that is published from then on is missed, whatever happens."""
        await self.until(lambda: self._subscribed)

    def acknowledge(self) -> None:
        """Have dealt with the reading in hand, without asking for another one."""
        reading, self._in_hand = self._in_hand, None
        if reading is not None:
            self.act(lambda now: self.part.acknowledge(reading.stream, reading.number, now))

    async def finish(self) -> None:
        """Have dealt with the reading in hand; returns when that, and all before, is on the disk."""
        if not self.closed:
            self.acknowledge()
            await self.until(lambda: self.part.is_saved or self.closed)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Arrival:
        while True:
            if not self.closed:
                self.acknowledge()
            await self.until(lambda: bool(self._queue) or self.closed)
            if self.closed:
                raise StopAsyncIteration
            following = self._queue[0]
            if isinstance(following, Missing):
                self._queue.popleft()
                self._pass_over(following)
                continue
            reading = await self._opened(following) if following.sealed else following
            if self._is_next(following):
                self._queue.popleft()
                self._in_hand = reading
                self.act(lambda now: self.part.take(1, now))
                return reading

    def _is_next(self, reading: Arrival) -> bool:
        """Whether a reading can be taken; the subscription may have ended while it was opened."""
        return not self.closed and bool(self._queue) and self._queue[0] is reading

    def note(self, effect: Effect) -> bool:
        """Take in what the consumer tells."""
        if isinstance(effect, Deliver):
            self._queue.append(effect.arrival)
        elif isinstance(effect, Missing):
            self._queue.append(effect)
        elif isinstance(effect, Subscribed):
            self._subscribed = True
        else:
            return isinstance(effect, Note) and self._warned(effect)
        return True

    def _warned(self, note: Note) -> bool:
        """Say why nothing comes; whether the note is about that."""
        facts = dict(note.facts)
        if note.event == AWAITED:
            awaited = "%s %d was announced, and no repo that answers has it: it is waited for"
            self._session.journal.warn(awaited, facts["stream"], facts["number"])
        elif note.event == UNHEARD:
            unheard = "%s: no repo answers, which is waited for; is one running, and is there a route to it? %s"
            self._session.journal.warn(unheard, self.name, facts["reason"])
        else:
            return False
        return True

    def _pass_over(self, missing: Missing) -> None:
        self.missing += missing.high - missing.low + 1
        self._on_missing(missing)
        self.act(lambda now: self.part.acknowledge(missing.stream, missing.high, now))

    def _log_missing(self, missing: Missing) -> None:
        run = (missing.stream, missing.low, missing.high)
        self._session.journal.warn("%s %d to %d were dropped on purpose, and never come", *run)

    def _saved(self, event: Saved) -> None:
        super()._saved(event)
        self._told()


class Subscribing(Opening[Subscription]):
    """What `subscribe` returns: an `Opening` that can also be iterated over as it is."""

    async def __aiter__(self) -> AsyncGenerator[Arrival, None]:
        subscription = await self.open()
        try:
            async for reading in subscription:
                yield reading
        finally:
            await subscription.close()
