"""Best route that remembers who did not answer: a strategy for prefixes that several nodes serve alike [ours].

    heard ──SILENT_AFTER Interests in a row expire, nothing came since they were sent──▶ silent
      ▲                                                                                    │
      └───────────────────── any Data or Nack from it under this choice ───────────────────┘

- A new Interest goes to the cheapest hop that is not silent, as with best-route. Cheaper hops that are silent get a
  copy of an Interest every `PROBE_NS`, one at a time, so that traffic goes back to them once they answer again.
- If all are silent, the one asked longest ago is next: silence never means that there is no way. Questions that
  wait for news, and rightly get no answer for a long time, so wander from hop to hop.
- A hop counts as unanswered, too, if another one answered what it was asked earlier.
- A Nack "no route", or a face that goes down, sends the Interest on to the next hop that was not asked.

The memory belongs to the choice, one instance per prefix. Questions that wait for news should have a choice of their
own: their silence says nothing of the others. A hop may get a copy of what another one answers, commands included.
"""

from __future__ import annotations

from typing import Final

from roost.forwarding.pit import OutRecord, PitEntry
from roost.forwarding.strategy import BestRoute, Onward, Plane, is_pending
from roost.naming.name import Name
from roost.wire.lp import NO_REASON, NO_ROUTE

SILENT_AFTER: Final = 2
PROBE_NS: Final = 2_000_000_000
MAX_HOPS: Final = 256  # remembered; beyond it the one remembered longest is forgotten and counts as heard


class Hop:
    """What is remembered of a next hop: when it last answered or was asked, and how often in a row it was silent."""

    __slots__ = ("asked", "heard", "unanswered")

    def __init__(self) -> None:
        self.heard = 0
        self.unanswered = 0
        self.asked = 0  # kept up to date while it is silent


class FailOver(BestRoute):
    """The cheapest next hop that answers."""

    def __init__(self, instance: Name, initial_ns: int, multiplier: float, max_ns: int) -> None:
        super().__init__(instance, initial_ns, multiplier, max_ns)
        self.learns = True
        self.probes = 0
        self.forgotten = 0
        self._hops: dict[int, Hop] = {}  # bound: MAX_HOPS
        self._silent = 0  # how many of them are

    def is_silent(self, hop: int) -> bool:
        """Whether a next hop has left the last Interests unanswered."""
        memory = self._hops.get(hop)
        return memory is not None and memory.unanswered >= SILENT_AFTER

    def after_interest(self, plane: Plane, onward: Onward, hops: list[tuple[int, int]]) -> None:
        """Do as best-route does, with those that answer first, and those that let this very Interest expire last."""
        entry = onward.entry
        overdue = self._overdue(entry, onward.now) if entry.outs else []
        if not self._silent and not overdue:
            super().after_interest(plane, onward, hops)
            return
        preferred = self._preferred(hops)
        if overdue:
            preferred = [hop for hop in preferred if hop[0] not in overdue] + [
                hop for hop in preferred if hop[0] in overdue
            ]
        super().after_interest(plane, onward, preferred)
        if entry.ins:  # else it was refused just now
            self._probe(plane, onward, hops)
        for record in entry.outs:
            memory = self._hops.get(record.face)
            if memory is not None and record.sent == onward.now:
                memory.asked = onward.now

    def after_nack(self, plane: Plane, entry: PitEntry, record: OutRecord, now: int) -> None:
        """Ask the next hop if this one has no route; else pass the Nack on."""
        self._heard(record.face, now)
        if record.nack == NO_ROUTE and not is_pending(entry, now):
            for onward in plane.again(entry, now):
                for hop, _ in self._preferred(plane.hops(onward)):
                    if entry.out_record(hop) is None and plane.eligible(onward, hop):
                        plane.send_interest(onward, hop)
                        return
        super().after_nack(plane, entry, record, now)

    def after_answer(self, hop: int, entry: PitEntry | None, now: int) -> None:
        """A hop answers; those who were asked before it did not."""
        self._heard(hop, now)
        if entry is None or len(entry.outs) < 2:
            return
        answered = entry.out_record(hop)
        if answered is not None:
            for record in entry.outs:
                if record.sent < answered.sent and record.nack <= NO_REASON:  # one that expired counts once more
                    self._missed(record)

    def after_expiry(self, entry: PitEntry, now: int) -> None:  # noqa: ARG002  a hook's shape
        """None of those asked answered."""
        for record in entry.outs:
            if record.nack < 0:
                self._missed(record)

    def _overdue(self, entry: PitEntry, now: int) -> list[int]:
        """Collect the hops that were asked and whose time is over; a retransmission kept the entry from expiring."""
        found: list[int] = []
        for record in entry.outs:
            if record.expires <= now:
                found.append(record.face)
                if record.nack < 0:
                    record.nack = NO_REASON  # counted, once
                    self._missed(record)
        return found

    def _preferred(self, hops: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Put those that answer first, by cost, then the silent ones, those asked longest ago first."""
        if not self._silent:
            return hops
        silent = [hop for hop in hops if self.is_silent(hop[0])]
        silent.sort(key=self._asked)
        return [hop for hop in hops if not self.is_silent(hop[0])] + silent

    def _probe(self, plane: Plane, onward: Onward, hops: list[tuple[int, int]]) -> None:
        """Send a copy to the first silent hop that is cheaper than the one in use, if it is time."""
        for hop, _ in hops:
            asked = onward.entry.out_record(hop) is not None
            if not self.is_silent(hop):
                if asked:
                    return
            elif not asked and onward.now - self._hops[hop].asked >= PROBE_NS and plane.eligible(onward, hop):
                self.probes += 1
                plane.send_interest(onward, hop)
                return

    def _asked(self, hop: tuple[int, int]) -> int:
        return self._hops[hop[0]].asked

    def _heard(self, hop: int, now: int) -> None:
        memory = self._memory(hop)
        memory.heard = now
        if memory.unanswered >= SILENT_AFTER:
            self._silent -= 1
        memory.unanswered = 0

    def _missed(self, record: OutRecord) -> None:
        """Count an Interest that stayed unanswered, unless something else was answered since it was sent."""
        memory = self._memory(record.face)
        if memory.heard > record.sent:
            return
        memory.unanswered += 1
        memory.asked = max(memory.asked, record.sent)
        if memory.unanswered == SILENT_AFTER:
            self._silent += 1

    def _memory(self, hop: int) -> Hop:
        memory = self._hops.get(hop)
        if memory is None:
            if len(self._hops) >= MAX_HOPS:
                oldest = next(iter(self._hops))
                if self._hops.pop(oldest).unanswered >= SILENT_AFTER:
                    self._silent -= 1
                self.forgotten += 1
            memory = self._hops[hop] = Hop()
        return memory
