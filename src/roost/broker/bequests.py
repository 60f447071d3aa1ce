"""The wills of clients at other nodes, as these told: what becomes of them if their node is lost.

A node tells of a client with a will when it comes, and when the will is over: spoken, withdrawn or replaced
(`roost.broker.arrivals`). So a client that comes here is known to have left one, and if a node is heard no more, the
others have what its clients wanted said (`roost.broker.inheriting`). Nothing of this is kept over a restart: who starts
is told it again. Streams of nodes have no order between them, so what one says is over of another's is remembered: that
it began may be heard later.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from roost.broker.packets.connect import Will

MAX_BEQUESTS: Final = 100_000
MAX_BYTES: Final = 64 << 20
MAX_ENDED: Final = 100_000  # remembered ends; the oldest make room, by either bound
MAX_ENDED_BYTES: Final = 16 << 20
_HEAD_BYTES: Final = 300


@dataclass(frozen=True, slots=True)
class Bequest:
    """One: whose it is, at which node, since when, and what it says, if that was told."""

    client: bytes
    panel: bytes
    came: int
    user: bytes = b""
    will: Will | None = None
    told: int = 0  # when its node said so

    @property
    def size(self) -> int:
        """About so many bytes."""
        will = self.will
        said = 0 if will is None else len(will.topic) + len(will.payload) + len(will.properties.kept)
        return len(self.client) + len(self.user) + said + _HEAD_BYTES


class Bequests:
    """All of them."""

    def __init__(self) -> None:
        self.turned_away = 0  # by either bound
        self.held_bytes = 0
        self._all: Final[dict[bytes, dict[bytes, Bequest]]] = {}  # by panel and client; bounds: as above
        self._count = 0
        # by client and panel, none for all: the last arrival there that does not count; bounds: as above
        self._ended: Final[dict[tuple[bytes, bytes], int]] = {}
        self._ended_bytes = 0

    def __len__(self) -> int:
        return self._count

    def take(self, bequest: Bequest) -> None:
        """A client came to a node with a will: it is there, and not where it was before."""
        if bequest.came <= max(self._ended.get((bequest.client, each), 0) for each in (b"", bequest.panel)):
            return
        self.supersede(bequest.client, bequest.came)
        known = self._all.get(bequest.panel, {}).get(bequest.client)
        if known is not None and known.came > bequest.came:
            return
        self._drop(known)
        if self._count >= MAX_BEQUESTS or self.held_bytes + bequest.size > MAX_BYTES:
            self.turned_away += 1
            return
        self._all.setdefault(bequest.panel, {})[bequest.client] = bequest
        self._count += 1
        self.held_bytes += bequest.size

    def supersede(self, client: bytes, came: int) -> None:
        """A client came somewhere: what it left before does not count any more."""
        self._note_end(client, b"", came - 1)
        for bequest in self._of(client):
            if bequest.came < came:
                self._drop(bequest)

    def end(self, client: bytes, panel: bytes, came: int) -> None:
        """The will that a client left at a node is over, as that node says: behind all that it said of it before."""
        known = self._all.get(panel, {}).get(client)
        if known is not None and known.came <= came:
            self._drop(known)

    def spoken(self, client: bytes, panel: bytes, came: int) -> None:
        """The will that a client left at a node is over, for another node spoke it, or this one."""
        self._note_end(client, panel, came)
        self.end(client, panel, came)

    def withdraw(self, client: bytes, now: int) -> Bequest | None:
        """A client is here: what it left elsewhere last."""
        self._note_end(client, b"", now)
        found = self._of(client)
        for bequest in found:
            self._drop(bequest)
        return max(found, key=_came, default=None)

    def restarted(self, panel: bytes, started: int) -> None:
        """A node runs anew: what it told before it tells again, or it is over."""
        for bequest in list(self._all.get(panel, {}).values()):
            if bequest.told < started:
                self._drop(bequest)

    @property
    def panels(self) -> list[bytes]:
        """The nodes at which there are any."""
        return list(self._all)

    def of(self, panel: bytes) -> list[Bequest]:
        """Those of the clients of a node."""
        return list(self._all.get(panel, {}).values())

    def _note_end(self, client: bytes, panel: bytes, came: int) -> None:
        key = (client, panel)
        before = self._ended.pop(key, None)
        self._ended[key] = max(came, before or 0)
        if before is None:
            self._ended_bytes += _size_of(key)
        while len(self._ended) > MAX_ENDED or self._ended_bytes > MAX_ENDED_BYTES:
            oldest = next(iter(self._ended))
            del self._ended[oldest]
            self._ended_bytes -= _size_of(oldest)

    def _of(self, client: bytes) -> list[Bequest]:
        return [found[client] for found in self._all.values() if client in found]

    def _drop(self, bequest: Bequest | None) -> None:
        if bequest is None:
            return
        found = self._all[bequest.panel]
        del found[bequest.client]
        if not found:
            del self._all[bequest.panel]
        self._count -= 1
        self.held_bytes -= bequest.size


def _size_of(key: tuple[bytes, bytes]) -> int:
    return len(key[0]) + len(key[1])


def _came(bequest: Bequest) -> int:
    return bequest.came
