"""What replication needs of a repo's shelf (`roost.repo.shelf`): to see what is there, and to have packets kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from roost.machine import Effect
from roost.naming import Name
from roost.repo.holdings import Holdings
from roost.wire import Data

Kept: TypeAlias = Callable[[list[str], int], list[Effect]]  # a refusal per packet, "" where it is on the disk


class Stock(Protocol):
    """Where packets are kept; what is wanted is on the disk when its continuation is called."""

    @property
    def holdings(self) -> Holdings: ...

    def put(self, packets: Sequence[Data], cause: int, then: Kept, now: int) -> list[Effect]: ...
    def replace(self, packet: Data, then: Kept, now: int) -> list[Effect]: ...
    def drop(self, names: Sequence[Name], then: Kept, now: int, *, cause: int) -> list[Effect]: ...
    def set_mark(self, key: bytes, value: bytes | None) -> None: ...
