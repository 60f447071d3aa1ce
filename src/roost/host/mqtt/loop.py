"""All MQTT connections on one epoll, which is one reader of asyncio's loop, or waited for first (`BrokerLoop`).

A wake-up reads every socket that is ready, hands all of it to the owner at once (`turn`), and the owner writes what
comes of it, once per link, before the wake-up ends: no turn of the event loop lies between reading and writing. A
socket gets a share of each wake-up and no more; epoll is level-triggered, so the rest comes with the next one.

What a peer does not take waits in its link (`roost.host.mqtt.outbox`). `held` tells the owner before its turn what the
pipes keep back, and `strangers` who did not get through them; `leaving.lost`, and `outbox.crossed`, after it what
happened while it wrote. Nothing here knows MQTT.
"""

from __future__ import annotations

import asyncio
import select
import socket
from collections.abc import Callable
from time import monotonic
from typing import Final

from mypy_extensions import mypyc_attr

from roost.host.mqtt.doors import Doors
from roost.host.mqtt.leaving import Leaving
from roost.host.mqtt.link import GREETING, LEAVING, OPEN, Bounds, Link
from roost.host.mqtt.links import Links
from roost.host.mqtt.listener import Door
from roost.host.mqtt.pipes import Pipe
from roost.host.mqtt.turnstile import first_place

MAX_EVENTS: Final = 512  # of one wake-up
TURN_BYTES: Final = 1 << 20  # to be read in one wake-up, shared by all that are ready: one link may have to take it all
FEW_BYTES: Final = 4096  # read at first, which is all there is when a link brings one message at a time
GREETINGS: Final = 16  # reads by pipes that shake hands, of one wake-up: a TLS handshake takes a millisecond

_IN: Final = select.EPOLLIN
_OUT: Final = select.EPOLLOUT


@mypyc_attr(allow_interpreted_subclasses=True)
class Owner:
    """Who is told; it may send, pause and hang up from within. A class, for calls of a compiled one are C calls."""

    def knocked(self, link: Link) -> None:
        """Somebody is there, and has to shake hands first."""
        raise NotImplementedError

    def opened(self, link: Link) -> None:
        """Somebody is there, and hands are shaken if they have to be."""
        raise NotImplementedError

    def turn(self, arrived: list[tuple[int, bytes]]) -> None:
        """Everything a wake-up brought; `held` comes before it, `leaving.lost` and `outbox.crossed` after."""
        raise NotImplementedError


class Poll:
    """The loop; made and used in asyncio's."""

    def __init__(self, owner: Owner, clock: Callable[[], int], bounds: Bounds) -> None:
        self._bounds: Final = bounds
        self.held: list[tuple[int, int]] = []  # links whose pipes hold more or less than before; taken by the owner
        self.strangers: list[tuple[str, str, str]] = []  # whose greetings failed: host, transport, why; the same
        self.is_called = False  # the event loop has something to do
        self.ungreeted = 0  # for greeting_timeout
        self._owner: Final = owner
        self._clock: Final = clock
        self._loop: Final = asyncio.get_running_loop()
        self._epoll: Final = select.epoll()
        self._room: Final = memoryview(bytearray(bounds.max_read_bytes))  # recv of so much would map memory every time
        self._links: Final = Links(self._epoll, clock, self._overdue)
        self._doors: Final = Doors(self._epoll)
        self.leaving: Final = Leaving(self._links, bounds, clock)
        self.outbox: Final = self.leaving.outbox
        self._greetings = 0  # of this wake-up
        self._turnstile: Final = first_place(self._loop)
        if self._turnstile is not None:
            self._epoll.register(self._turnstile.fileno(), _IN)
        self._is_listening = False
        self.listen(wanted=True)

    def __len__(self) -> int:
        return len(self._links)

    @property
    def exhausted(self) -> int:
        """How often there were no descriptors or no memory for one more."""
        return self._doors.exhausted

    @property
    def turned_away(self) -> int:
        """How many were, for there were `max_links` already."""
        return self._doors.turned_away

    # -- what the owner wants

    def add(self, door: Door) -> None:
        """Accept who comes to this door."""
        self._doors.add(door)

    def listen(self, *, wanted: bool) -> None:
        """Whether to read and write at all: an owner whose disk is behind lets everybody wait."""
        if wanted == self._is_listening:
            return
        if self._turnstile is not None:
            self._turnstile.first = self if wanted else None
        elif wanted:
            self._loop.add_reader(self._epoll.fileno(), self.serve)
        else:
            self._loop.remove_reader(self._epoll.fileno())
        self._is_listening = wanted

    def send(self, number: int, chunks: list[bytes]) -> None:
        """Write to a link, with one system call if the peer keeps up; nothing if it ended meanwhile."""
        link = self._links.numbered(number)
        if link is not None and link.state == OPEN:
            data = chunks[0] if len(chunks) == 1 else b"".join(chunks)
            self.outbox.write(link, data if link.pipe is None else link.pipe.wrap(data))

    def pause(self, number: int, until: int) -> None:
        """Do not read a link before this time."""
        link = self._links.numbered(number)
        if link is not None and link.state == OPEN:
            link.is_paused = True
            self._links.set_due(link, until)
            self._links.watch(link)

    def hang_up(self, number: int) -> None:
        """Close a link when what was sent to it is written; the owner hears no more of it."""
        link = self._links.numbered(number)
        if link is not None and link.state == OPEN:
            self.leaving.leave(link)
        elif link is not None and link.state == GREETING:
            self.leaving.drop(link)

    def close(self) -> None:
        """Close everything at once."""
        self.listen(wanted=False)
        self._links.close()
        self._doors.close()
        self._epoll.close()

    # -- readiness

    def attend(self, timeout_s: float) -> bool:
        """Serve until the event loop is called or its own descriptor is ready, which is told, or until it is time."""
        self.is_called = False
        left_s = timeout_s
        end_s = monotonic() + timeout_s
        while not self.serve(left_s):
            if self.is_called or not self._is_listening:
                return False
            if timeout_s >= 0:
                left_s = end_s - monotonic()
                if left_s <= 0:
                    return False
        return True

    def serve(self, timeout_s: float = 0) -> bool:
        """Serve whoever is ready, within a time; whether the event loop's own descriptor, if it is here, is too."""
        events = self._epoll.poll(timeout_s, MAX_EVENTS)
        try:
            return self._take(events)
        except Exception as error:  # noqa: BLE001  a bug of ours, told as the event loop tells those of its callbacks
            self._loop.call_exception_handler({"message": "a wake-up of the broker failed", "exception": error})
        return False

    def _take(self, events: list[tuple[int, int]]) -> bool:
        share = min(self._bounds.max_read_bytes, TURN_BYTES // (len(events) or 1))
        arrived: list[tuple[int, bytes]] = []
        self._greetings = 0
        others = False
        for descriptor, event in events:
            link = self._links.at(descriptor)
            if link is None:
                others = others or (self._turnstile is not None and descriptor == self._turnstile.fileno())
                for sock, host, door in self._doors.accept(descriptor, self._bounds.max_links - len(self._links)):
                    self._admit(sock, host, door)
                continue
            if event & _OUT and self.outbox.flush(link) and link.state == LEAVING:
                self.leaving.say_end(link)
            if event & _IN and link.mask & _IN:
                self._read(link, share, arrived)
            elif event & ~(_IN | _OUT):  # an end that concerns both directions
                self.leaving.end(link, "the connection broke")
        news = self.held or self.strangers or self.leaving.lost or self.outbox.crossed or self.outbox.took
        if arrived or news:
            self._owner.turn(arrived)
        return others

    def _read(self, link: Link, share: int, arrived: list[tuple[int, bytes]]) -> None:
        if link.state == GREETING:
            self._greetings += 1
            if self._greetings > GREETINGS:
                return  # it is still ready the next time, and those who were before it are not
        try:
            data = link.sock.recv(FEW_BYTES if share > FEW_BYTES else share)  # noqa: FURB136  `min` is no C call
            if len(data) == FEW_BYTES and share > FEW_BYTES:
                data += self._read_on(link, share - FEW_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self.leaving.end(link, f"reading failed: {error.strerror}")
            return
        if not data:
            self.leaving.end(link, "the other end closed it")
        elif link.state == LEAVING:
            pass  # it may not have heard yet
        elif link.pipe is None:
            arrived.append((link.number, data))
        else:
            self._feed(link, link.pipe, data, arrived)

    def _read_on(self, link: Link, share: int) -> bytes:
        """Read what there is more; an end is found the next time."""
        try:
            size = link.sock.recv_into(self._room, share)
        except OSError:
            return b""
        return bytes(self._room[:size])  # compiled, a call within the slice would be made twice

    def _feed(self, link: Link, pipe: Pipe, data: bytes, arrived: list[tuple[int, bytes]]) -> None:
        plain, reply = pipe.feed(data)
        if reply:
            self.outbox.write(link, reply)
        if link.state == GREETING and pipe.ready:
            self._open(link)
        if link.state == OPEN:
            if plain:
                arrived.append((link.number, plain))
            if pipe.held_bytes != link.held_bytes:
                link.held_bytes = pipe.held_bytes
                self.held.append((link.number, link.held_bytes))
        if pipe.ended and link in self._links:
            if link.state != LEAVING:
                self.leaving.lost.append((link.number, pipe.ended))
            if link.state == GREETING:
                self.strangers.append((link.host, link.transport, pipe.ended))
            self.leaving.leave(link)

    # -- how links begin and end

    def _admit(self, sock: socket.socket, host: str, door: Door) -> None:
        link = self._links.add(sock, host, door)
        if link.pipe is None:
            self._open(link)
        else:
            self._links.set_due(link, self._clock() + self._bounds.greeting_timeout)
            self._owner.knocked(link)

    def _open(self, link: Link) -> None:
        link.state = OPEN
        self._links.unset_due(link)
        self._owner.opened(link)

    def _overdue(self, link: Link) -> None:
        if link.state == OPEN:
            link.is_paused = False
            self._links.watch(link)
        elif link.state == GREETING:
            self.ungreeted += 1
            self.leaving.end(link, "its handshake took too long")
            self._owner.turn([])
        else:
            self.leaving.drop(link)
