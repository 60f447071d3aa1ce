"""The orders of an inserter: packets that were handed in together, who waits for which, and what became of them.

A name may be waited for by several orders at once, if they mean the same bytes: tasks that are tried twice do that. An
order is told, by `Inserted`, when nothing of it waits; one that was given up is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple

from roost.errors import Backpressure
from roost.machine import Effect
from roost.naming import Name
from roost.pubsub.panels.dispatch import MAX_READING_BYTES
from roost.pubsub.panels.outbox_log import Packet
from roost.repo.numbering import numbered
from roost.wire import Data

MAX_WAITING: Final = 8192  # packets of all orders
_RETRY_MS: Final = 100
_TWICE: Final = "another packet of this name was handed in before it"


class Fate(Enum):
    """What became of a packet."""

    KEPT = "on a repo's disk"
    PRESENT = "there already, its content signed by another key"
    DROPPED = "there once, and dropped since"
    CONFLICT = "not there, another content is"
    REFUSED = "not there"


class Outcome(NamedTuple):
    """What became of packets; conflicts and refusals by name, with the reason."""

    kept: int = 0
    present: int = 0
    conflicts: tuple[tuple[Name, str], ...] = ()
    refused: tuple[tuple[Name, str], ...] = ()
    dropped: int = 0

    def plus(self, other: Outcome) -> Outcome:
        """Both together."""
        return Outcome(
            self.kept + other.kept,
            self.present + other.present,
            self.conflicts + other.conflicts,
            self.refused + other.refused,
            self.dropped + other.dropped,
        )


@dataclass(frozen=True, slots=True)
class Inserted(Effect):
    """Tell: nothing of an order waits any more."""

    order: int
    outcome: Outcome


class _Order:
    """One order."""

    __slots__ = ("conflicts", "counts", "refused", "waiting")

    def __init__(self) -> None:
        self.waiting = 0
        self.counts: Final = dict.fromkeys(Fate, 0)
        self.conflicts: Final[list[tuple[Name, str]]] = []  # bound of both: the packets of the order
        self.refused: Final[list[tuple[Name, str]]] = []

    def settle(self, name: Name, fate: Fate, reason: str) -> None:
        self.counts[fate] += 1
        if fate is Fate.CONFLICT:
            self.conflicts.append((name, reason))
        elif fate is Fate.REFUSED:
            self.refused.append((name, reason))

    def outcome(self) -> Outcome:
        kept, present, dropped = (self.counts[fate] for fate in (Fate.KEPT, Fate.PRESENT, Fate.DROPPED))
        return Outcome(kept, present, tuple(self.conflicts), tuple(self.refused), dropped)


class Orders:
    """All orders of which something waits."""

    def __init__(self) -> None:
        self.last = 0
        self.settled = 0  # packets of which is known what became of them
        self.turned_away = 0  # orders for which there was no room
        self._orders: Final[dict[int, _Order]] = {}  # bound: MAX_WAITING, something of each waits
        self._waiting: Final[dict[bytes, tuple[bytes, list[int]]]] = {}  # by name, the wire, whose; bound: MAX_WAITING

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def room(self) -> int:
        """How many packets can be handed in now."""
        return MAX_WAITING - len(self._waiting)

    def add(self, packets: Sequence[Data]) -> list[Packet]:
        """Take in an order, of the number `last`; returns the packets that are to be sent for it."""
        if len(packets) > self.room:
            self.turned_away += 1
            raise Backpressure(
                f"{len(packets)} packets cannot wait for a repo, {len(self)} of {MAX_WAITING} do", _RETRY_MS
            )
        self.last += 1
        order = self._orders[self.last] = _Order()
        fresh: list[Packet] = []
        for data in packets:
            name, wire = data.name, data.wire
            waiting = self._waiting.get(name.value)
            if len(wire) > MAX_READING_BYTES:
                reason = f"it has {len(wire)} bytes, a reading has at most {MAX_READING_BYTES}: make it smaller"
                order.settle(name, Fate.REFUSED, reason)
            elif waiting is None:
                stream, number = numbered(name)
                fresh.append(Packet(Name(stream), number, name.value, wire))
                self._waiting[name.value] = (wire, [self.last])
                order.waiting += 1
            elif waiting[0] != wire:
                order.settle(name, Fate.CONFLICT, _TWICE)
            else:
                waiting[1].append(self.last)
                order.waiting += 1
        return fresh

    def waits(self, packet: Packet) -> bool:
        """Whether somebody waits for this packet."""
        return self._waiting.get(packet.value, (b"",))[0] == packet.wire

    def settle(self, packets: Iterable[Packet], fate: Fate, reason: str = "") -> list[Effect]:
        """Take in what became of packets; of those that were given up it concerns nobody."""
        touched: dict[int, None] = {}
        for packet in packets:
            if not self.waits(packet):
                continue
            self.settled += 1
            for owner in self._waiting.pop(packet.value)[1]:
                order = self._orders[owner]
                order.waiting -= 1
                order.settle(Name(packet.value), fate, reason)
                touched[owner] = None
        return [effect for owner in touched for effect in self.finished(owner)]

    def finished(self, number: int) -> list[Effect]:
        """Tell an order if nothing of it waits."""
        order = self._orders[number]
        if order.waiting:
            return []
        del self._orders[number]
        return [Inserted(number, order.outcome())]

    def abandon(self, number: int) -> tuple[int, set[bytes]]:
        """Give an order up: how many of its packets waited, and the names that nobody waits for now."""
        order = self._orders.pop(number, None)
        if order is None:
            return 0, set()
        alone: set[bytes] = set()
        for value, (_, owners) in self._waiting.items():
            owners[:] = [owner for owner in owners if owner != number]
            if not owners:
                alone.add(value)
        for value in alone:
            del self._waiting[value]
        return order.waiting, alone
