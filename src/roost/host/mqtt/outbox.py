"""Writing to links: at once if the peer keeps up, and what it does not take waits, within bounds.

A link above the high-water mark is not read until it is down to the low one, so whoever does not read the answers
cannot go on asking; `crossed` tells both. Beyond the bounds somebody is cut off: a link that has too much waiting, or
the fullest of all when they have too much together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from roost.host.mqtt.link import LEAVING, Bounds, Link
from roost.host.mqtt.links import Links


class Outbox:
    """What all links of a loop have not taken; `end(link, why)` is asked to end one."""

    def __init__(self, links: Links, bounds: Bounds, end: Callable[[Link, str], None]) -> None:
        self.crossed: list[tuple[int, int]] = []  # links that crossed a mark, and what waits; taken by the owner
        self.took: list[int] = []  # links above the mark that took something; taken by the owner
        self.queued_bytes = 0  # in all links
        self.cut = 0  # for max_link_bytes or max_total_bytes
        self._links: Final = links
        self._bounds: Final = bounds
        self._end: Final = end

    def write(self, link: Link, data: bytes) -> None:
        """Write, with one system call if the peer keeps up."""
        if link.is_deaf:
            return
        if link.out is not None:
            self._queue(link, link.out, data)
            return
        try:
            sent = link.sock.send(data)
        except (BlockingIOError, InterruptedError):
            sent = 0
        except OSError:
            self._deafen(link)
            return
        if sent < len(data):
            link.out = bytearray()
            self._queue(link, link.out, memoryview(data)[sent:])

    def flush(self, link: Link) -> bool:
        """Write what waits, as far as the peer takes it; whether nothing waits any more."""
        waiting = link.out
        if waiting is None:
            return True
        try:
            sent = link.sock.send(waiting)
        except (BlockingIOError, InterruptedError):
            return False
        except OSError:
            self._deafen(link)
            return False
        self.queued_bytes -= sent
        del waiting[:sent]
        if link.above:
            self.took.append(link.number)
        if not waiting:
            link.out = None
        if link.above and len(waiting) <= self._bounds.low_water_bytes:
            link.above = False
            self.crossed.append((link.number, len(waiting)))
        self._links.watch(link)
        return not waiting

    def forget(self, link: Link) -> None:
        """Nobody wants what waits for a link."""
        self.queued_bytes -= link.waiting_bytes
        link.out = None

    def _queue(self, link: Link, waiting: bytearray, data: bytes | memoryview) -> None:
        waiting += data
        self.queued_bytes += len(data)
        if len(waiting) > self._bounds.max_link_bytes:
            self._cut(link)
            return
        if self.queued_bytes > self._bounds.max_total_bytes:
            self._cut(max(self._links, key=lambda other: other.waiting_bytes))
        if link in self._links:
            if not link.above and len(waiting) > self._bounds.high_water_bytes:
                link.above = True
                self.crossed.append((link.number, len(waiting)))
            self._links.watch(link)

    def _deafen(self, link: Link) -> None:
        """The other end takes nothing more; what it sent before is still to be read."""
        link.is_deaf = True
        self.forget(link)
        if link.state == LEAVING:
            self._end(link, "the other end is gone")
        else:
            self._links.watch(link)

    def _cut(self, link: Link) -> None:
        self.cut += 1
        self._end(link, f"it did not take what waits for it, {link.waiting_bytes} bytes")
