"""Interests for publications that are not there yet: they wait at the producer, and are answered at once [SVS-PS §8].

So a publication comes half a round trip after it was made. An Interest is asked again when an eighth of its lifetime is
left (`REFRESH`), so that one is always waiting; who hears of a number asks for it besides, and takes what comes first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from roost.forwarding.endpoint_effects import NACKED, Delivered, Failed
from roost.forwarding.pending import Question
from roost.machine import MS, Effect
from roost.machine.timetable import Timetable
from roost.pubsub.asking import Asking
from roost.pubsub.blobs.names import Naming
from roost.sync.port import Stream
from roost.wire import Data

REFRESH: Final = 7, 8  # of the lifetime; in half a second of 4 an Interest crosses a network, and is asked once more

Came: TypeAlias = Callable[[Stream, int, Data, int], list[Effect]]


class Prefetching:
    """What waits, by stream and number; `came` takes over outer packets that are believed."""

    def __init__(self, asking: Asking, naming: Naming, came: Came) -> None:
        self._asking: Final = asking
        self._naming: Final = naming
        self._came: Final = came
        self._tickets: Final[dict[tuple[Stream, int], int]] = {}  # bound: what `aim` is given, for each stream
        self._lifetimes_ms: Final[dict[Stream, int]] = {}  # bound: the streams of the group
        self._timers: Final = Timetable()
        self._timed: Final[dict[int, tuple[Stream, int]]] = {}  # by ticket; bound: as above

    def __len__(self) -> int:
        return len(self._tickets)

    def aim(self, stream: Stream, low: int, high: int, lifetime_ms: int, now: int) -> list[Effect]:
        """Have an Interest wait for each of these numbers, both inclusive, and for none behind them."""
        self._lifetimes_ms[stream] = lifetime_ms
        effects: list[Effect] = []
        for other, number in list(self._tickets):
            if other == stream and number > high:
                effects += self.drop(stream, number)
        for number in range(low, high + 1):
            if (stream, number) not in self._tickets:
                effects += self._ask(stream, number, now)
        return effects

    def drop(self, stream: Stream, number: int) -> list[Effect]:
        """Let none wait for it."""
        ticket = self._forget(stream, number)
        return self._asking.cancel(ticket) if ticket else []

    def tick(self, now: int) -> list[Effect]:
        """Ask again what is about to end."""
        effects: list[Effect] = []
        for ticket in list(self._timers.overdue(now)):
            stream, number = self._timed[ticket]
            effects += self.drop(stream, number) + self._ask(stream, number, now)
        return effects

    def deadline(self) -> int | None:
        """When the first one is about to end."""
        return self._timers.deadline()

    def _forget(self, stream: Stream, number: int) -> int:
        ticket = self._tickets.pop((stream, number), 0)
        self._timers.drop(ticket)
        self._timed.pop(ticket, None)
        return ticket

    def _ask(self, stream: Stream, number: int, now: int) -> list[Effect]:
        if not self._asking.room:
            return []

        def answered(event: Delivered | Failed, now: int) -> list[Effect]:
            if isinstance(event, Failed):
                if event.kind != NACKED:
                    self._forget(stream, number)
                return []  # after a Nack it is asked again when its time comes
            self._forget(stream, number)
            data = event.data

            def checked(refusal: str, now: int) -> list[Effect]:
                return [self._asking.rejected(data, refusal)] if refusal else self._came(stream, number, data, now)

            return self._asking.check(data, checked, now)

        name = self._naming.publication(stream, number)
        lifetime_ms = self._lifetimes_ms[stream]
        effects = self._asking.ask(Question(name, can_be_prefix=True, lifetime_ms=lifetime_ms), answered, now)
        ticket = self._asking.last_ticket
        self._tickets[stream, number] = ticket
        self._timed[ticket] = stream, number
        self._timers.set(ticket, now + lifetime_ms * MS * REFRESH[0] // REFRESH[1])
        return effects
