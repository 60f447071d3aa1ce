"""Forwarding strategies: where an Interest goes next, and what a Nack means [nfd-management §7].

`BestRoute` and `Multicast` follow NFD's versions 5, retransmission suppression included. A strategy decides; the
forwarder, seen here as `Plane`, acts. Instances are named as in NFD, parameters as `name~value` components:
`/localhost/nfd/strategy/multicast/v=5/retx-suppression-initial~20`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from roost.errors import Refused
from roost.forwarding.faces import Face
from roost.forwarding.fib import PrefixTable
from roost.forwarding.pit import INITIAL_SUPPRESSION_NS, OutRecord, PitEntry
from roost.naming.component import VERSION
from roost.naming.name import Name
from roost.wire.lp import NO_ROUTE

STRATEGY_PREFIX: Final = Name.parse("/localhost/nfd/strategy")
STRATEGY_VERSION: Final = 5
MAX_CHOICES: Final = 10_000
_MS: Final = 1_000_000


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


class Strategy:
    """One strategy instance, chosen for a prefix."""

    def __init__(self, instance: Name, initial_ns: int, multiplier: float, max_ns: int) -> None:
        self.instance: Final = instance
        self.initial_ns: Final = initial_ns
        self.multiplier: Final = multiplier
        self.max_ns: Final = max_ns
        self.suppressed = 0
        self.uses_new_hops = False  # whether a next hop that appears later gets the Interests that wait

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

    def grown(self, interval_ns: int) -> int:
        """Return the suppression interval after this one."""
        return min(int(interval_ns * self.multiplier), self.max_ns)


class BestRoute(Strategy):
    """The cheapest next hop; a retransmission tries the next one."""

    def after_interest(self, plane: Plane, onward: Onward, hops: list[tuple[int, int]]) -> None:
        """Send a new Interest to the cheapest hop; a retransmission, unless too soon, to an unused or the oldest."""
        entry = onward.entry
        if not _pending(entry, onward.now):
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


class Strategies:
    """The strategy choice table: which instance decides under which prefix."""

    def __init__(self) -> None:
        self._table: PrefixTable[Strategy] = PrefixTable(MAX_CHOICES)
        self.version = 0  # counts changes
        self.default = make_strategy(STRATEGY_PREFIX / "best-route")
        for prefix, kind in (
            ("/", "best-route"),
            ("/localhost", "multicast"),
            ("/localhost/nfd", "best-route"),
            ("/ndn/broadcast", "multicast"),
        ):
            self.set(Name.parse(prefix), STRATEGY_PREFIX / kind)

    def __len__(self) -> int:
        return len(self._table)

    @property
    def depth(self) -> int:
        """Components of the longest prefix that has a choice."""
        return self._table.depth

    def set(self, prefix: Name, instance: Name) -> Name:
        """Choose a strategy for a prefix; returns the full instance name. Refused: 404 unknown, 409 bad parameter."""
        strategy = make_strategy(instance)
        self._table.put(prefix, strategy)
        self.version += 1
        if not prefix:
            self.default = strategy
        return strategy.instance

    def unset(self, prefix: Name) -> None:
        """Let the next shorter prefix decide; the choice for `/` stays."""
        if not prefix:
            raise Refused("the strategy of / can be changed, not unset", 400)
        self._table.remove(prefix)
        self.version += 1

    def entries(self) -> Iterable[tuple[Name, Name]]:
        """List prefixes and the instances chosen for them."""
        return [(prefix, strategy.instance) for prefix, strategy in self._table.items()]

    def lookup(self, value: bytes, cuts: list[int]) -> Strategy:
        """Return the strategy that decides about a name."""
        return self._table.lookup(value, cuts) or self.default


def make_strategy(instance: Name) -> Strategy:
    """Make the strategy that an instance name describes."""
    if not instance.starts_with(STRATEGY_PREFIX) or len(instance) <= len(STRATEGY_PREFIX):
        raise Refused(f"{instance} is not a strategy name; they start with {STRATEGY_PREFIX}", 404)
    rest = instance.suffix(len(STRATEGY_PREFIX))
    kind = str(rest.at(0))
    if kind not in {"best-route", "multicast"}:
        raise Refused(f"strategy {kind!r} is not here; best-route and multicast are", 404)
    start = 1
    version = STRATEGY_VERSION
    if len(rest) > 1 and rest.at(1).type == VERSION:
        version = rest.at(1).number()
        start = 2
    if version != STRATEGY_VERSION:
        raise Refused(f"{kind} has version {STRATEGY_VERSION} here, not {version}", 404)
    named = STRATEGY_PREFIX / kind / Name.parse(f"/v={version}").at(0)
    initial_ns, multiplier, max_ns = _parameters(rest.suffix(start))
    full = named + rest.suffix(start)
    if kind == "multicast":
        return Multicast(full, initial_ns, multiplier, max_ns)
    return BestRoute(full, initial_ns, multiplier, max_ns)


def _parameters(rest: Name) -> tuple[int, float, int]:
    values: dict[str, float] = {
        "retx-suppression-initial": INITIAL_SUPPRESSION_NS / _MS,
        "retx-suppression-multiplier": 2.0,
        "retx-suppression-max": 250.0,
    }
    for part in rest:
        key, tilde, text = part.value.decode(errors="replace").partition("~")
        if not tilde or key not in values:
            raise Refused(f"strategy parameter {part} is unknown; known are {', '.join(values)}", 409)
        try:
            values[key] = float(text)
        except ValueError:
            raise Refused(f"strategy parameter {part} is not a number", 409) from None
    initial, multiplier, maximum = values.values()
    if not (0 < initial <= maximum <= 60_000 and 1 <= multiplier <= 100):
        raise Refused("suppression needs 0 < initial <= max <= 60000 ms and 1 <= multiplier <= 100", 409)
    return int(initial * _MS), multiplier, int(maximum * _MS)


def _pending(entry: PitEntry, now: int) -> bool:
    """Whether somebody was asked who may still answer."""
    for record in entry.outs:  # noqa: SIM110  a generator costs more, compiled and not
        if record.nack < 0 and record.expires > now:
            return True
    return False


def _least_severe(reasons: list[int]) -> int:
    known = [reason for reason in reasons if reason > 0]
    return min(known) if known else 0
