"""The register of links: by number and by descriptor, what epoll watches of each, and when something is due for it.

A number is never given twice, so whatever is late finds nothing. One time per link is enough: the end of its greeting,
of its pause, or of its leaving.
"""

from __future__ import annotations

import select
import socket
from collections.abc import Callable, Iterator
from typing import Final

from roost.host.alarm import Alarm
from roost.host.mqtt.link import LEAVING, Link
from roost.host.mqtt.listener import Door
from roost.machine.timetable import Timetable


class Links:
    """The links of one loop; `due(link)` is called when a link's time has come."""

    def __init__(self, epoll: select.epoll, clock: Callable[[], int], due: Callable[[Link], None]) -> None:
        self.leaving = 0  # how many are
        self._epoll: Final = epoll
        self._clock: Final = clock
        self._due: Final = due
        self._numbers: Final[dict[int, Link]] = {}  # bound: the loop's max_links
        self._sockets: Final[dict[int, Link]] = {}  # by descriptor; the same
        self._times: Final = Timetable()  # by number
        self._alarm: Final = Alarm(clock, self._ring)
        self._next = 1

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[Link]:
        return iter(self._numbers.values())

    def __contains__(self, link: Link) -> bool:
        return link.number in self._numbers

    def numbered(self, number: int) -> Link | None:
        """The link of a number."""
        return self._numbers.get(number)

    def at(self, descriptor: int) -> Link | None:
        """The link of a descriptor."""
        return self._sockets.get(descriptor)

    def add(self, sock: socket.socket, host: str, door: Door) -> Link:
        """Give a socket that was accepted a number, and watch it."""
        sock.settimeout(0)
        is_proxied = door.settings.behind_proxy
        link = Link(self._next, sock, door.make_pipe(), host, door.transport, is_proxied=is_proxied)
        self._next += 1
        self._numbers[link.number] = link
        self._sockets[sock.fileno()] = link
        link.mask = select.EPOLLIN
        self._epoll.register(sock.fileno(), select.EPOLLIN)
        return link

    def watch(self, link: Link) -> None:
        """Have epoll watch what there is to do now."""
        if link not in self:
            return
        mask = 0 if link.is_paused or link.above else select.EPOLLIN
        if link.out is not None:
            mask |= select.EPOLLOUT
        if mask != link.mask:
            link.mask = mask
            self._epoll.modify(link.sock.fileno(), mask)

    def drop(self, link: Link) -> None:
        """Close a link at once, if it is still there."""
        if self._numbers.pop(link.number, None) is not None:
            self.leaving -= link.state == LEAVING
            self._times.drop(link.number)
            del self._sockets[link.sock.fileno()]
            link.sock.close()  # which takes it off epoll

    def set_due(self, link: Link, time: int) -> None:
        """Have something due for a link, and nothing else."""
        self._times.set(link.number, time)
        self._alarm.set(self._times.deadline(), self._clock())

    def unset_due(self, link: Link) -> None:
        """Nothing is due for a link any more."""
        self._times.drop(link.number)

    def close(self) -> None:
        """Close them all at once."""
        self._alarm.cancel()
        for link in list(self):
            self.drop(link)

    def _ring(self, now: int) -> None:
        for number in self._times.overdue(now):
            self._due(self._numbers[number])
        self._alarm.set(self._times.deadline(), now)
