"""Many connections that say nothing: opened some dozens at a time, then kept, or left behind as persistent sessions."""

from __future__ import annotations

import select
import socket
import time
from dataclasses import dataclass
from typing import Final

from bench.mqtt._packets import CONNECTED, DISCONNECT, PATIENCE_S, Refused, connect, subscribe

AT_ONCE: Final = 64  # fewer than any broker's backlog of connections it has not accepted yet
_SUBSCRIBED: Final = b"\x90\x03\x00\x01\x01"


@dataclass(slots=True)
class _Opening:
    end: socket.socket
    due: bytes  # what the broker has yet to say


class Crowd:
    """The connections that are open now."""

    def __init__(self) -> None:
        self._ends: list[socket.socket] = []

    def open(self, port: int, count: int, *, persistent: bool = False) -> float:
        """Open so many, each accepted by the broker; returns how many that were per second.

        A persistent one also subscribes with QoS 1 to a topic of its own, and leaves when it has.
        """
        poll, opening = select.epoll(), dict[int, _Opening]()
        began, number = time.perf_counter(), 0
        while number < count or opening:
            while number < count and len(opening) < AT_ONCE:
                end = _greet(port, number, persistent=persistent)
                opening[end.fileno()] = _Opening(end, CONNECTED + (_SUBSCRIBED if persistent else b""))
                poll.register(end, select.EPOLLIN)
                number += 1
            ready = poll.poll(PATIENCE_S)
            if not ready:
                raise Refused(f"{len(opening)} connections have not been answered for {PATIENCE_S:g} s")
            for descriptor, _ in ready:
                one = opening[descriptor]
                said = one.end.recv(len(one.due))
                if not said or not one.due.startswith(said):
                    raise Refused(f"where {one.due.hex()} was due, {said.hex() or 'nothing'} came")
                one.due = one.due[len(said) :]
                if not one.due:
                    poll.unregister(one.end)
                    del opening[descriptor]
                    self._keep(one.end, persistent=persistent)
        rate = count / (time.perf_counter() - began)
        poll.close()
        return rate

    def close(self) -> int:
        """End all of them; returns how many there were."""
        for end in self._ends:
            end.close()
        count = len(self._ends)
        self._ends.clear()
        return count

    def _keep(self, end: socket.socket, *, persistent: bool) -> None:
        if persistent:
            end.send(DISCONNECT)
            end.close()
        else:
            self._ends.append(end)


def _greet(port: int, number: int, *, persistent: bool) -> socket.socket:
    end = socket.create_connection(("127.0.0.1", port), PATIENCE_S)
    hello = connect(b"crowd%05d" % number, clean=not persistent)
    end.send(hello + subscribe(b"crowd/%05d" % number, 1) if persistent else hello)
    return end
