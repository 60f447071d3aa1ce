"""Answers that wait until the other nodes of a group know: what waits, for what, and no longer than `PATIENCE`.

A client that has its answer may be at another node in the next moment, and finds there what it was promised here. So
SUBACK, UNSUBACK, and the CONNACK that ends an earlier session, or has one that was elsewhere, wait until that was told;
and the CONNACK of a client that another node has waits for that node's last word, which says what is done; if its
session ended with its link there, for the word that its will is over, which comes before what it says here. A node that
does not answer delays nobody for long: what it has not heard by then it hears late. What follows is
`roost.broker.vouching`'s business.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from roost.broker.link import Held, Link
from roost.machine.contract import SECOND

PATIENCE: Final = 2 * SECOND
MAX_VOWS: Final = 10_000  # what comes beyond is answered at once


class Vow:
    """One answer: of a link, and what it holds; None is the CONNACK."""

    __slots__ = ("began", "client", "due", "held", "is_for_will", "is_told", "link", "panel", "tickets")

    def __init__(
        self, link: Link, held: Held | None, panel: bytes = b"", began: int = 0, *, is_for_will: bool = False
    ) -> None:
        self.link: Final = link
        self.held: Final = held
        self.client: Final = link.client
        self.panel: Final = panel  # of the node whose last word is awaited; empty: what is to be told is
        self.began: Final = began  # when the client came there
        self.is_for_will: Final = is_for_will  # that word is of its will only, for its session does not last
        self.due = 0  # 0 until the call that it was made in ends
        self.is_told = False
        self.tickets: set[int] = set()  # of what was told, and is not everywhere yet


class Vows:
    """All of them."""

    def __init__(self) -> None:
        self.overdue = 0  # by PATIENCE
        self.turned_away = 0  # by MAX_VOWS
        self._all: Final[dict[Vow, None]] = {}  # by when they are due; bound: MAX_VOWS
        self._fresh: Final[list[Vow]] = []  # of this call; bound: as above
        self._awaiting: Final[dict[bytes, list[Vow]]] = {}  # by client, those that wait for a word; bound: as above
        self._tickets: Final[dict[int, list[Vow]]] = {}  # bound: what the vows wait for

    def __len__(self) -> int:
        return len(self._all)

    def add(self, vow: Vow) -> bool:
        """Have an answer wait, unless too many do."""
        if len(self._all) >= MAX_VOWS:
            self.turned_away += 1
            return False
        self._all[vow] = None
        self._fresh.append(vow)
        if vow.panel:
            self._awaiting.setdefault(vow.client, []).append(vow)
        return True

    def schedule(self, now: int) -> None:
        """End of a call: from now on those that are new have patience."""
        for vow in self._fresh:
            vow.due = now + PATIENCE
        self._fresh.clear()

    def deadline(self) -> int | None:
        """When the first one has waited long enough."""
        return next((vow.due for vow in self._all), None)

    def told(self, tickets: Mapping[bytes, set[int]]) -> list[Vow]:
        """What there was to tell of clients was told, with these tickets; gives those of whom there was nothing."""
        free: list[Vow] = []
        for vow in [vow for vow in self._all if not vow.panel and not vow.is_told]:
            vow.is_told = True
            vow.tickets = set(tickets.get(vow.client, ()))
            for ticket in vow.tickets:
                self._tickets.setdefault(ticket, []).append(vow)
            if not vow.tickets:
                free.append(vow)
        return self._freed(free)

    def inserted(self, ticket: int) -> list[Vow]:
        """Every node has the readings of a ticket: those that wait for nothing else."""
        free: list[Vow] = []
        for vow in self._tickets.pop(ticket, ()):
            vow.tickets.discard(ticket)
            if not vow.tickets and vow in self._all:
                free.append(vow)
        return self._freed(free)

    def heard(self, client: bytes, panel: bytes, began: int, *, is_of_will: bool = False) -> list[Vow]:
        """A node said that it has a client no more, which came there at a time, or that its will is over."""
        found = [
            vow
            for vow in self._awaiting.get(client, ())
            if vow.panel == panel and vow.began <= began and vow.is_for_will == is_of_will
        ]
        return self._freed(found)

    def expire(self, now: int) -> list[Vow]:
        """Those that have waited long enough."""
        late: list[Vow] = []
        for vow in self._all:
            if not vow.due or vow.due > now:
                break
            late.append(vow)
        self.overdue += len(late)
        return self._freed(late)

    def _freed(self, vows: list[Vow]) -> list[Vow]:
        for vow in vows:
            del self._all[vow]
            awaiting = self._awaiting.get(vow.client) if vow.panel else None
            if awaiting is not None:
                awaiting.remove(vow)
                if not awaiting:
                    del self._awaiting[vow.client]
            for ticket in vow.tickets:
                waiting = self._tickets.get(ticket)
                if waiting is not None:
                    waiting.remove(vow)
                    if not waiting:
                        del self._tickets[ticket]
        return vows
