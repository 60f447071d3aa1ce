"""Which next hops an Interest takes: hICN's strategies, by their numbers in control messages.

Random is the default. Load-balance prefers the face with the fewest unanswered Interests, local-remote the first face
on the other side of this machine's border, and none where there is none. Low-latency and best-path, which send probes
of their own, are not here.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Final, Protocol

from roost.errors import Backpressure
from roost.hicn.name import Prefix, masked
from roost.machine import Randomness

MAX_CHOICES: Final = 1024


class StrategyKind(IntEnum):
    """The strategies there are."""

    LOAD_BALANCE = 1
    RANDOM = 3
    REPLICATION = 4
    LOCAL_REMOTE = 6


class Hop(Protocol):
    """What a strategy looks at in a face."""

    @property
    def id(self) -> int: ...
    @property
    def local(self) -> bool: ...
    @property
    def unanswered(self) -> int: ...


def choose(kind: StrategyKind, ingress: Hop, hops: Sequence[Hop], randomness: Randomness) -> list[int]:
    """Return the faces to send to; `hops` are those that may be used, and the ingress is not among them."""
    if kind is StrategyKind.REPLICATION:
        return [hop.id for hop in hops]
    if kind is StrategyKind.LOCAL_REMOTE:
        return [hop.id for hop in hops if hop.local != ingress.local][:1]
    if kind is StrategyKind.LOAD_BALANCE and hops:
        fewest = min(hop.unanswered for hop in hops)
        hops = [hop for hop in hops if hop.unanswered == fewest]
    return [hops[randomness.randint(0, len(hops) - 1)].id] if hops else []


class StrategyChoice:
    """Which strategy serves which prefix; the longest one that matches decides."""

    def __init__(self, default: StrategyKind) -> None:
        self.refused = 0
        self._default: Final = default
        self._chosen: dict[tuple[int, bytes], StrategyKind] = {}  # bound: MAX_CHOICES
        self._lengths: list[int] = []

    def set(self, prefix: Prefix, kind: StrategyKind) -> None:
        """Choose for a prefix; raises `Backpressure` when there are too many."""
        place = (prefix.length, prefix.address)
        if place not in self._chosen and len(self._chosen) >= MAX_CHOICES:
            self.refused += 1
            raise Backpressure(f"strategies are chosen for {MAX_CHOICES} prefixes, which is the limit", 0)
        self._chosen[place] = kind
        self._lengths = sorted({length for length, _ in self._chosen}, reverse=True)

    def lookup(self, address: bytes) -> StrategyKind:
        """Return the strategy for an address."""
        for length in self._lengths:
            kind = self._chosen.get((length, masked(address, length)))
            if kind is not None:
                return kind
        return self._default
