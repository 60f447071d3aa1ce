"""The driver of simulated machines: one heap of what is to come, and turns for the stations it comes for.

At each instant, first the actions scheduled for it are done, in the order they were scheduled; then every station that
something came for gets its turn: what was saved, what arrived (one batch per face), and `tick` if it is due.
What that causes at the same instant comes next, in another round.

This is the driver that `roost.machine` speaks of: it executes `Send`, `Save` and `CloseFace`, and writes every other
effect into the history. A deadline is asked for when its station has had a turn, and at most one event per station is
ahead of it in the heap; when a deadline moves away, the event that comes too early asks again.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from itertools import count
from typing import Any, Final
from zlib import crc32

from roost.errors import BadConfig
from roost.forwarding.face import Arrived, CloseFace, Send
from roost.machine import SECOND, Effect
from roost.machine.disk import Save, Saved
from roost.sim.happened import Happened, Violation
from roost.sim.medium import ARRIVAL, Face
from roost.sim.station import NEVER, Station
from roost.sim.trace import ARRIVED, SAVED, SAVING, TICKED, Trace

START: Final = 1_700_000_000 * SECOND
MAX_HISTORY: Final = 5_000_000
MAX_EVENTS: Final = 5_000_000  # to come; more is a packet storm
MAX_ROUNDS: Final = 10_000  # at one instant; more is a loop without delay

# other kinds of events, beside ARRIVAL
_ALARM: Final = 1  # (time, order, _ALARM, station)
_SYNCED: Final = 2  # (time, order, _SYNCED, station, its incarnation, Saved)
_ACTION: Final = 3  # (time, order, _ACTION, action)

Action = Callable[[], object]


class Driver:
    """The clock, the heap, and what machines ask for."""

    def __init__(self, keep: int) -> None:
        self.now = START
        self.trace: Final = Trace(keep)
        self.history: Final[list[Happened]] = []  # bound: max_history, which ends the run
        self.events = 0  # calls of machines and actions so far
        self.max_events = MAX_EVENTS
        self.max_history = MAX_HISTORY
        self._heap: Final[list[Any]] = []  # bound: max_events, which ends the run
        self._order: Final = count().__next__
        self._rounds = 0
        self._running = False

    def at(self, time: int, action: Action) -> None:
        """Do something at a time, in ns as `now` is."""
        if time < self.now:
            raise BadConfig(f"{(self.now - time) / SECOND} s ago cannot be scheduled")
        heappush(self._heap, (time, self._order(), _ACTION, action))

    def run(self, *, until: int | None = None, for_: int | None = None) -> None:
        """Let time pass until a time, or for so many ns."""
        if (until is None) == (for_ is None):
            raise BadConfig("run() takes either until= or for_=")
        end = until if until is not None else self.now + (for_ or 0)
        if end < self.now or self._running:
            raise BadConfig("time does not go back, and an action cannot let it pass")
        self._running = True
        collecting = gc.isenabled()
        gc.disable()  # a world is one large web of living objects: searching it for garbage again and again finds none
        try:
            while self._heap and self._heap[0][0] <= end:
                self._instant(self._heap[0][0])
        finally:
            self._running = False
            if collecting:
                gc.enable()
        self.now = end

    def _instant(self, now: int) -> None:
        """One round of what is due at one time."""
        heap = self._heap
        self._rounds = self._rounds + 1 if now == self.now else 0
        if self._rounds > MAX_ROUNDS:
            raise Violation(f"time stands still: {MAX_ROUNDS} rounds at one instant, a loop without delay", now)
        if len(heap) > self.max_events:
            raise Violation(f"a storm: more than {self.max_events} packets and timers are under way", now)
        self.now = now
        touched: list[Station] = []
        actions: list[Action] = []
        arrivals: list[Any] = []
        while heap and heap[0][0] == now:
            event = heappop(heap)
            kind = event[2]
            if kind == ARRIVAL:
                arrivals.append(event)
            elif kind == _ACTION:
                actions.append(event[3])
            elif kind == _ALARM:
                station: Station = event[3]
                if station.alarm == now:  # else there was an earlier one
                    station.alarm = NEVER
                    station.touch(touched)
            elif event[3].up and event[3].incarnation == event[4]:
                station = event[3]
                station.disk.synced()
                station.saved.append(event[5])
                station.touch(touched)
        for action in actions:
            self.events += 1
            action()
        for arrival in arrivals:  # after a partition, a healing or a crash at the same instant
            _arrive(arrival, touched)
        for station in touched:
            station.touched = False
            if station.machine is not None:
                try:
                    self._turn(station, now)
                except Violation:
                    raise
                except Exception as error:
                    raise Violation(f"{station.name} raised {type(error).__name__}: {error}", now) from error

    def _turn(self, station: Station, now: int) -> None:
        """Hand a station what came for it, and let it tick if it wants to."""
        machine = station.machine
        local = now + station.skew_ns
        if station.saved:
            saved, station.saved = station.saved, []
            for event in saved:
                self.events += 1
                self.trace.add(now, station.number, SAVED, event.ticket)
                self._execute(station, machine.receive(event, local))
        if station.waiting:
            waiting, station.waiting = station.waiting, []
            for face in waiting:
                if face.open:
                    self.events += 1
                    self.trace.add(now, station.number, ARRIVED, face.checksum << 8 ^ face.number)
                    packets, face.inbox, face.checksum = face.inbox, [], 0
                    effects = machine.receive(Arrived(face.number, packets), local)
                    if effects:
                        self._execute(station, effects)
        due = machine.deadline()
        if due is not None and due <= local:
            self.events += 1
            self.trace.add(now, station.number, TICKED, 0)
            self._execute(station, machine.tick(local))
            due = machine.deadline()
        if due is not None:
            self._wake(station, due)

    # -- what machines want

    def _execute(self, station: Station, effects: Sequence[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Send):
                face = station.faces.get(effect.face)
                if face is None:
                    station.astray += len(effect.packets)
                else:
                    face.medium.send(face, effect.packets, self.now, self._order)
            elif isinstance(effect, Save):
                self._save(station, effect)
            elif isinstance(effect, CloseFace):
                closed = station.faces.pop(effect.face, None)
                if closed is not None:
                    closed.medium.close(closed)
            else:
                self._observe(station, effect)

    def _save(self, station: Station, effect: Save) -> None:
        through = station.disk.save(effect, self.now)
        self.trace.add(self.now, station.number, SAVING, crc32(effect.data, crc32(effect.file.encode())))
        self.trace.tell(self.now, station.name, SAVING, effect)
        saved = Saved(effect.file, effect.ticket)
        heappush(self._heap, (through, self._order(), _SYNCED, station, station.incarnation, saved))

    def _observe(self, station: Station | None, what: object) -> None:
        """Write into the history; without a station it is the world's."""
        if len(self.history) >= self.max_history:
            raise Violation(f"the history is full: {self.max_history} effects", self.now)
        if station is None:
            self.history.append(Happened(self.now, "", 0, what))
            self.trace.observe(self.now, 0, "", what)
        else:
            self.history.append(Happened(self.now, station.name, station.incarnation, what))
            self.trace.observe(self.now, station.number, station.name, what)

    def _set_alarm(self, station: Station) -> None:
        due = station.machine.deadline()
        if due is not None:
            self._wake(station, due)

    def _wake(self, station: Station, due: int) -> None:
        """Have the deadline looked at by then; an event that comes earlier will see to it."""
        time = max(self.now, due - station.skew_ns)
        if time < station.alarm:
            station.alarm = time
            heappush(self._heap, (time, self._order(), _ALARM, station))


def _arrive(event: tuple[int, int, int, list[Face], bytes, int, Face], touched: list[Station]) -> None:
    """Put a packet into the inboxes of those who hear it."""
    _, _, _, faces, packet, checksum, source = event
    tally = source.medium.tally
    origin = source.station
    for face in faces:
        if not face.open or face is source:
            continue
        station = face.station
        if origin.group and station.apart(origin):
            tally.severed += 1
            continue
        tally.delivered += 1
        face.checksum += checksum
        face.inbox.append(packet)
        if len(face.inbox) == 1:
            station.waiting.append(face)
            station.touch(touched)
