"""Sync Interests that were received: opened, and kept while there is nothing to answer yet.

They are unsigned, so anybody can send any number of them: the size of their IBLT, how long they are kept and how many
there are is bounded. What is turned away costs its sender one round: it asks again, and is then answered directly.
"""

from __future__ import annotations

from typing import Final

from roost.errors import BadPacket
from roost.machine import MS
from roost.naming import Name
from roost.sync.compression import decompress
from roost.sync.iblt import CELL_BYTES, Iblt, decode_iblt
from roost.sync.port import Asked
from roost.sync.presets import FullPreset, PartialPreset
from roost.sync.subscriptions import Wanted

MAX_LIFETIME_MS: Final = 60_000


class SyncInterest:
    """One Interest: what its sender has, and in partial sync what it wants."""

    __slots__ = ("behind", "expires", "iblt", "limit", "name", "token", "total", "wanted")

    def __init__(self, asked: Asked, iblt: Iblt, now: int, *, total: int = 0, wanted: Wanted | None = None) -> None:
        self.name: Final[Name] = asked.interest.name
        self.token: Final = asked.token
        self.expires = now + min(asked.interest.lifetime_ms, MAX_LIFETIME_MS) * MS
        self.iblt: Final = iblt
        self.total: Final = total  # the sender's cumulative count, in full sync
        self.wanted: Final = wanted
        self.behind = 0  # how many elements differ, at most; in partial sync
        self.limit = 0  # at how many of them it is answered in any case


class PendingInterests:
    """Interests to be answered with the next news; at most one of a name."""

    def __init__(self, maximum: int) -> None:
        self.maximum: Final = maximum
        self.turned_away = 0
        self._kept: Final[dict[Name, SyncInterest]] = {}  # bound: maximum

    def __len__(self) -> int:
        return len(self._kept)

    def add(self, interest: SyncInterest, now: int) -> None:
        """Keep an Interest until its lifetime ends; one of the same name is replaced, but for how long it is kept."""
        known = self._kept.get(interest.name)
        if known is not None:
            interest.expires = max(interest.expires, known.expires)
        elif len(self._kept) >= self.maximum:
            self.expire(now)
            if len(self._kept) >= self.maximum:
                self.turned_away += 1
                return
        self._kept[interest.name] = interest

    def drop(self, name: Name) -> None:
        """It is answered."""
        self._kept.pop(name, None)

    def expire(self, now: int) -> None:
        """Forget those whose lifetime has ended."""
        for interest in list(self._kept.values()):
            if interest.expires <= now:
                del self._kept[interest.name]

    def alive(self, now: int) -> list[SyncInterest]:
        """Those whose lifetime has not ended."""
        self.expire(now)
        return list(self._kept.values())


def open_iblt(raw: bytes, preset: FullPreset | PartialPreset) -> Iblt:
    """Read a received IBLT, of a size that we can compare with ours."""
    cells = preset.max_cells
    if len(raw) > preset.max_iblt_bytes:  # made longer than compression does, so that less fits beside it in a reply
        raise BadPacket(f"an IBLT of {len(raw)} bytes was received, none is longer than {preset.max_iblt_bytes} bytes")
    iblt = decode_iblt(decompress(raw, preset.iblt_compression, CELL_BYTES * cells), cells)
    if not preset.accepts(iblt.cells):
        raise BadPacket(f"an IBLT of {iblt.cells} cells was received, this group has another size")
    return iblt
