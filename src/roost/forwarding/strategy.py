"""Forwarding strategies: where an Interest goes next, and what a Nack means [nfd-management §7].

`BestRoute` and `Multicast` follow NFD's versions 5, retransmission suppression included. A strategy decides; the
forwarder, seen here as `Plane`, acts. Which one decides under which prefix is in `roost.forwarding.strategy_choice`.
"""

from __future__ import annotations

from typing import Final

from roost.forwarding.faces import Face
from roost.forwarding.pit import OutRecord, PitEntry
from roost.naming.name import Name
from roost.wire.lp import NO_ROUTE

STRATEGY_PREFIX: Final = Name.parse("/localhost/nfd/strategy")


class Onward:
    """An Interest on its way through: where it belongs, where it came from, what to send on."""

    __slots__ = ("entry", "hops_spent", "ingress", "lifetime_ns", "mark", "nonce", "now", "wire")

    def __init__(
        self,
        entry: PitEntry,
        ingress: Face,
        wire: bytes,
        nonce: bytes,
        lifetime_ns: int,
        hops_spent: bool,  # noqa: FBT001  keywords cost time on the fast path
        mark: int,
        now: int,
    ) -> None:
        self.entry: Final = entry
        self.ingress: Final = ingress
        self.wire: Final = wire
        self.nonce: Final = nonce
        self.lifetime_ns: Final = lifetime_ns
        self.hops_spent: Final = hops_spent
        self.mark: Final = mark
        self.now: Final = now


class Plane:
    """What a strategy may ask of the forwarder."""

    def eligible(self, onward: Onward, hop: int) -> bool:
        """Whether an Interest may go to a next hop."""
        raise NotImplementedError

    def send_interest(self, onward: Onward, hop: int) -> OutRecord:
        """Send an Interest upstream and record it."""
        raise NotImplementedError

    def send_nack(self, entry: PitEntry, face: int, reason: int, now: int) -> None:
        """Send a Nack downstream and forget that in-record."""
        raise NotImplementedError

    def again(self, entry: PitEntry, now: int) -> list[Onward]:
        """Collect the Interests of an entry that still wait, the newest first, to be sent once more."""
        raise NotImplementedError

    def hops(self, onward: Onward) -> list[tuple[int, int]]:
        """Return the next hops of an Interest, cheapest first."""
        raise NotImplementedError


class Strategy:
    """One strategy instance, chosen for a prefix."""

    def __init__(self, instance: Name, initial_ns: int, multiplier: float, max_ns: int) -> None:
        self.instance: Final = instance
        self.initial_ns: Final = initial_ns
        self.multiplier: Final = multiplier
        self.max_ns: Final = max_ns
        self.suppressed = 0
        self.uses_new_hops = False  # whether a next hop that appears later gets the Interests that wait
        self.learns = False  # whether it wants to hear of answers and of expired Interests

    def after_interest(self, plane: Plane, onward: Onward, hops: list[tuple[int, int]]) -> None:
        """Decide about an Interest that the content store could not answer."""
        raise NotImplementedError

    def after_nack(self, plane: Plane, entry: PitEntry, record: OutRecord, now: int) -> None:
        """Pass a Nack on once nobody is left who may still answer."""
        waiting = [out for out in entry.outs if out.nack < 0 and out.expires > now]
        reason = _least_severe([out.nack for out in entry.outs if out.nack >= 0])
        if not waiting:
            for downstream in list(entry.ins):
                plane.send_nack(entry, downstream.face.id, reason, now)
        elif len(waiting) == 1 and waiting[0].face != record.face and entry.in_record(waiting[0].face) is not None:
            plane.send_nack(entry, waiting[0].face, reason, now)

    def after_new_hop(self, plane: Plane, onward: Onward, hop: int) -> None:
        """Use a next hop that appeared while the Interest was pending; only asked if `uses_new_hops`."""
        raise NotImplementedError

    def after_answer(self, hop: int, entry: PitEntry | None, now: int) -> None:
        """Learn that Data came from a hop, for an entry or, too late, for none; only asked if it `learns`."""
        raise NotImplementedError

    def after_expiry(self, entry: PitEntry, now: int) -> None:
        """Learn that nobody answered in time; only asked if it `learns`."""
        raise NotImplementedError

    def grown(self, interval_ns: int) -> int:
        """Return the suppression interval after this one."""
        return min(int(interval_ns * self.multiplier), self.max_ns)


class BestRoute(Strategy):
    """The cheapest next hop; a retransmission tries the next one."""

    def after_interest(self, plane: Plane, onward: Onward, hops: list[tuple[int, int]]) -> None:
        """Send a new Interest to the cheapest hop; a retransmission, unless too soon, to an unused or the oldest."""
        entry = onward.entry
        if not is_pending(entry, onward.now):
            for hop, _ in hops:
                if plane.eligible(onward, hop):
                    plane.send_interest(onward, hop)
                    return
            plane.send_nack(entry, onward.ingress.id, NO_ROUTE, onward.now)
            return
        interval_ns = entry.interval_ns or self.initial_ns
        if onward.now - entry.last_sent < interval_ns:
            self.suppressed += 1
            return
        entry.interval_ns = self.grown(interval_ns)
        oldest = -1
        oldest_sent = 0
        for hop, _ in hops:
            if plane.eligible(onward, hop):
                out = entry.out_record(hop)
                if out is None:
                    oldest = hop
                    break
                if oldest < 0 or out.sent < oldest_sent:
                    oldest = hop
                    oldest_sent = out.sent
        if oldest >= 0:
            plane.send_interest(onward, oldest)


class Multicast(Strategy):
    """Every next hop, each with its own suppression; says nothing when there is none."""

    def __init__(self, instance: Name, initial_ns: int, multiplier: float, max_ns: int) -> None:
        super().__init__(instance, initial_ns, multiplier, max_ns)
        self.uses_new_hops = True

    def after_interest(self, plane: Plane, onward: Onward, hops: list[tuple[int, int]]) -> None:
        """Send to all eligible hops that were not asked just now."""
        for hop, _ in hops:
            if plane.eligible(onward, hop):
                self.after_new_hop(plane, onward, hop)

    def after_new_hop(self, plane: Plane, onward: Onward, hop: int) -> None:
        """Send to one hop, unless it was asked just now."""
        record = onward.entry.out_record(hop)
        if record is None:
            plane.send_interest(onward, hop).interval_ns = self.initial_ns
        elif onward.now - record.sent < record.interval_ns:
            self.suppressed += 1
        else:
            record.interval_ns = self.grown(record.interval_ns)
            plane.send_interest(onward, hop)


def is_pending(entry: PitEntry, now: int) -> bool:
    """Whether somebody was asked who may still answer."""
    for record in entry.outs:  # noqa: SIM110  a generator costs more, compiled and not
        if record.nack < 0 and record.expires > now:
            return True
    return False


def _least_severe(reasons: list[int]) -> int:
    known = [reason for reason in reasons if reason > 0]
    return min(known) if known else 0
