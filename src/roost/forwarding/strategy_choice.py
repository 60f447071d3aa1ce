"""The strategy choice: which strategy decides under which prefix, and how an instance is made from its name.

Instances are named as in NFD [nfd-management §7], parameters as `name~value` components:
`/localhost/nfd/strategy/multicast/v=5/retx-suppression-initial~20`. Each choice is an instance of its own: what a
strategy has learned under one prefix says nothing about another.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from roost.errors import Refused
from roost.forwarding.fib import PrefixTable
from roost.forwarding.pit import INITIAL_SUPPRESSION_NS
from roost.forwarding.strategy import STRATEGY_PREFIX, BestRoute, Multicast, Strategy
from roost.forwarding.strategy_failover import FailOver
from roost.naming.component import VERSION
from roost.naming.name import Name

STRATEGY_VERSION: Final = 5
MAX_CHOICES: Final = 10_000
_MS: Final = 1_000_000


class Strategies:
    """The strategy choice table: which instance decides under which prefix."""

    def __init__(self) -> None:
        self._table: PrefixTable[Strategy] = PrefixTable(MAX_CHOICES)
        self.version = 0  # counts changes
        self.learning = 0  # how many of the chosen want to learn
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
        old = self._table.get(prefix)
        self._table.put(prefix, strategy)
        self._changed(old, strategy)
        if not prefix:
            self.default = strategy
        return strategy.instance

    def unset(self, prefix: Name) -> None:
        """Let the next shorter prefix decide; the choice for `/` stays."""
        if not prefix:
            raise Refused("the strategy of / can be changed, not unset", 400)
        old = self._table.get(prefix)
        self._table.remove(prefix)
        self._changed(old, None)

    def entries(self) -> Iterable[tuple[Name, Name]]:
        """List prefixes and the instances chosen for them."""
        return [(prefix, strategy.instance) for prefix, strategy in self._table.items()]

    def lookup(self, value: bytes, cuts: list[int]) -> Strategy:
        """Return the strategy that decides about a name."""
        return self._table.lookup(value, cuts) or self.default

    def _changed(self, old: Strategy | None, new: Strategy | None) -> None:
        self.version += 1
        if old is not None and old.learns:
            self.learning -= 1
        if new is not None and new.learns:
            self.learning += 1


def make_strategy(instance: Name) -> Strategy:
    """Make the strategy that an instance name describes."""
    if not instance.starts_with(STRATEGY_PREFIX) or len(instance) <= len(STRATEGY_PREFIX):
        raise Refused(f"{instance} is not a strategy name; they start with {STRATEGY_PREFIX}", 404)
    rest = instance.suffix(len(STRATEGY_PREFIX))
    kind = str(rest.at(0))
    if kind not in {"best-route", "fail-over", "multicast"}:
        raise Refused(f"strategy {kind!r} is not here; best-route, fail-over and multicast are", 404)
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
    if kind == "fail-over":
        return FailOver(full, initial_ns, multiplier, max_ns)
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
