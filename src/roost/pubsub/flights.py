"""Interests that were asked and are unanswered: which are in the air, which wait to be sent again, when each is due.

A flight is `waiting` from the moment it counts as lost or was refused until it is sent again: it takes no room in the
window then. This is book-keeping; what is asked, and when to give up, is decided in `roost.pubsub.fetch`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Final

from roost.machine.timetable import Timetable


class Flight:
    """One segment that was asked and has not come."""

    __slots__ = ("distrusted", "last", "nack", "number", "refusals", "sent_at", "tries", "waiting")

    def __init__(self, number: int) -> None:
        self.number: Final = number
        self.tries = 0
        self.refusals = 0
        self.distrusted = 0  # answers that failed verification
        self.sent_at = 0
        self.waiting = False  # not in the air: to be sent again when it is due, or when the window has room
        self.nack = -1
        self.last = "nothing came back"


class Flights:
    """All of them; the bound on their number is the owner's to keep."""

    def __init__(self) -> None:
        self.air = 0  # how many are in the air
        self.timers: Final = Timetable()
        self._flights: dict[int, Flight] = {}  # bound: capacity, and one discovery
        self._again: deque[int] = deque()  # lost ones; bound: capacity

    def __len__(self) -> int:
        return len(self._flights)

    def get(self, number: int) -> Flight | None:
        """The flight of a segment, None if it is not on its way."""
        return self._flights.get(number)

    def send(self, flight: Flight, now: int, due: int) -> None:
        """It is in the air from now on."""
        flight.waiting = False
        flight.tries += 1
        flight.sent_at = now
        self.air += 1
        self._flights[flight.number] = flight
        self.timers.set(flight.number, due)

    def pause(self, flight: Flight, due: int) -> None:
        """It is not in the air; it comes out of `overdue` at a time."""
        self.lose(flight)
        self.timers.set(flight.number, due)

    def lose(self, flight: Flight) -> None:
        """It is not in the air."""
        self.air -= not flight.waiting
        flight.waiting = True

    def queue(self, flight: Flight) -> None:
        """Have `next_again` hand it out when the window has room."""
        self._again.append(flight.number)

    def next_again(self) -> Flight | None:
        """The next one to be sent again."""
        while self._again:
            flight = self._flights.get(self._again.popleft())
            if flight is not None and flight.waiting:
                return flight
        return None

    def land(self, number: int) -> Flight | None:
        """It is over: answered or given up."""
        flight = self._flights.pop(number, None)
        if flight is not None:
            self.timers.drop(number)
            self.air -= not flight.waiting
        return flight

    def land_beyond(self, number: int) -> list[int]:
        """End all flights of later segments; returns which."""
        ended = [other for other in self._flights if other > number]
        for other in ended:
            self.land(other)
        return ended

    def overdue(self, now: int) -> Iterator[Flight]:
        """Those whose time has come, one after the other."""
        for number in self.timers.overdue(now):
            yield self._flights[number]

    def clear(self) -> None:
        """End all."""
        self._flights.clear()
        self._again.clear()
        self.timers.clear()
        self.air = 0
