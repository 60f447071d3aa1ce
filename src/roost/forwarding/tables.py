"""The forwarder as management sees it: the tables it may read and change, as protocols.

`roost.forwarding.forwarder` fulfils them. Management depends on these shapes only, so that it can be tested alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from roost.forwarding.face import FaceSpec
from roost.machine import Effect
from roost.naming import Name


class FaceRecord(Protocol):
    """One face: what the driver said of it, what management may change, what was counted."""

    @property
    def id(self) -> int: ...
    @property
    def spec(self) -> FaceSpec: ...

    flags: int
    mtu: int
    persistency: int
    expires: int | None
    congestion_interval_ns: int
    congestion_threshold_bytes: int
    in_interests: int
    in_data: int
    in_nacks: int
    out_interests: int
    out_data: int
    out_nacks: int
    in_bytes: int
    out_bytes: int

    def set_flags(self, flags: int) -> None: ...
    def set_mtu(self, mtu: int) -> None: ...


class FibTable(Protocol):
    """Prefix → next hops as (face, cost)."""

    def set(self, prefix: Name, next_hops: list[tuple[int, int]], now: int) -> None: ...
    def get(self, prefix: Name) -> list[tuple[int, int]]: ...
    def entries(self) -> Iterable[tuple[Name, list[tuple[int, int]]]]: ...
    def __len__(self) -> int: ...


class StrategyTable(Protocol):
    """Prefix → strategy instance; `set` returns the full instance name or raises `Refused`."""

    def set(self, prefix: Name, instance: Name) -> Name: ...
    def unset(self, prefix: Name) -> None: ...
    def entries(self) -> Iterable[tuple[Name, Name]]: ...


class StoreTable(Protocol):
    """The content store."""

    admit: bool
    serve: bool

    @property
    def capacity_packets(self) -> int: ...
    @property
    def hits(self) -> int: ...
    @property
    def misses(self) -> int: ...

    def resize(self, capacity_packets: int) -> None: ...
    def erase(self, prefix: Name, count: int) -> int: ...
    def __len__(self) -> int: ...


class Sized(Protocol):
    """Something of which management only wants to know how many."""

    def __len__(self) -> int: ...


class PacketCounters(Protocol):
    """What the whole forwarder has seen."""

    @property
    def in_interests(self) -> int: ...
    @property
    def in_data(self) -> int: ...
    @property
    def in_nacks(self) -> int: ...
    @property
    def out_interests(self) -> int: ...
    @property
    def out_data(self) -> int: ...
    @property
    def out_nacks(self) -> int: ...
    @property
    def satisfied(self) -> int: ...
    @property
    def unsatisfied(self) -> int: ...


class Tables(Protocol):
    """The forwarder."""

    @property
    def version(self) -> str: ...
    @property
    def started(self) -> int: ...
    @property
    def faces(self) -> Mapping[int, FaceRecord]: ...
    @property
    def fib(self) -> FibTable: ...
    @property
    def strategies(self) -> StrategyTable: ...
    @property
    def store(self) -> StoreTable: ...
    @property
    def pit(self) -> Sized: ...
    @property
    def dead_nonces(self) -> Sized: ...
    @property
    def counters(self) -> PacketCounters: ...

    def destroy_face(self, face_id: int, now: int) -> Sequence[Effect]: ...
