"""Where connections come from: the listening sockets on the loop's epoll, and how many are let in at a time.

Out of descriptors or memory, a listening socket would be ready for ever: the loop looks away from it for a second.
"""

from __future__ import annotations

import asyncio
import errno
import select
import socket
import sys
from typing import Final

from roost.host.mqtt.listener import Door

ACCEPTS: Final = 64  # of one wake-up
LOOK_AWAY_S: Final = 1.0

_EXHAUSTED: Final = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class Doors:
    """The doors of one loop."""

    def __init__(self, epoll: select.epoll) -> None:
        self.turned_away = 0  # for there was no room
        self.exhausted = 0  # times it looked away
        self._epoll: Final = epoll
        self._loop: Final = asyncio.get_running_loop()
        self._doors: Final[dict[int, Door]] = {}  # by descriptor; bound: the configuration

    def add(self, door: Door) -> None:
        """Watch a door."""
        self._doors[door.sock.fileno()] = door
        self._epoll.register(door.sock.fileno(), select.EPOLLIN)

    def accept(self, descriptor: int, room: int) -> list[tuple[socket.socket, str, Door]]:
        """Who stands at a door, and from where; nobody if the descriptor is none of a door, or there is no room."""
        door = self._doors.get(descriptor)
        came: list[tuple[socket.socket, str, Door]] = []
        if door is None:
            return came
        for _ in range(ACCEPTS):
            try:
                sock, address = door.sock.accept()
            except (BlockingIOError, InterruptedError):
                break
            except OSError as error:
                if error.errno in _EXHAUSTED:
                    self.exhausted += 1
                    self._epoll.unregister(descriptor)
                    self._loop.call_later(LOOK_AWAY_S, self._look_again, door)
                    break
                continue  # one that was gone before we looked
            if len(came) < room:
                came.append((sock, sys.intern(address[0]), door))  # one name for all from there
            else:
                self.turned_away += 1
                sock.close()
        return came

    def close(self) -> None:
        """Let nobody in any more."""
        for door in self._doors.values():
            door.close()
        self._doors.clear()

    def _look_again(self, door: Door) -> None:
        if self._doors.get(door.sock.fileno()) is door:
            self._epoll.register(door.sock.fileno(), select.EPOLLIN)
