"""How links end: at once, or after a goodbye that the peer has time to take.

    leave ─▶ LEAVING: what waits is written ─▶ our end is said ─▶ the peer's end comes, or its time is over ─▶ drop

`lost` tells the owner of links that ended by themselves; who was hung up on by the owner is not told of again.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Final

from roost.host.mqtt.link import LEAVING, Bounds, Link
from roost.host.mqtt.links import Links
from roost.host.mqtt.outbox import Outbox


class Leaving:
    """The ends of one loop's links, and the outbox in which their last bytes wait."""

    def __init__(self, links: Links, bounds: Bounds, clock: Callable[[], int]) -> None:
        self.lost: list[tuple[int, str]] = []  # links that ended by themselves, and why; taken by the owner
        self.outbox: Final = Outbox(links, bounds, self.end)
        self._links: Final = links
        self._bounds: Final = bounds
        self._clock: Final = clock

    def leave(self, link: Link) -> None:
        """Close a link when what was sent to it is written."""
        if self._links.leaving >= self._bounds.max_leaving:
            self.drop(link)
            return
        last = b"" if link.pipe is None else link.pipe.farewell()
        if last:
            self.outbox.write(link, last)
        if link not in self._links:
            return
        self._links.leaving += 1
        link.state = LEAVING
        link.is_paused = link.above = False
        self._links.set_due(link, self._clock() + self._bounds.leaving_timeout)
        if link.out is None:
            self.say_end(link)
        else:
            self._links.watch(link)

    def say_end(self, link: Link) -> None:
        """Close our direction only: closing both while something is unread would throw away what we wrote last."""
        try:
            link.sock.shutdown(socket.SHUT_WR)
        except OSError:
            self.drop(link)
            return
        self._links.watch(link)

    def end(self, link: Link, why: str) -> None:
        """A link ended by itself, or has to."""
        if link.state != LEAVING:
            self.lost.append((link.number, why))
        self.drop(link)

    def drop(self, link: Link) -> None:
        """Close a link at once."""
        self.outbox.forget(link)
        self._links.drop(link)
