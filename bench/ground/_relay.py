"""A socket relay that parses nothing: the limit for a forwarder written in Python (`python -m bench.ground._relay`).

`udp <port-a> <port-b>` copies datagrams between the peers that first spoke on two ports; `unix <path-a> <path-b>`
copies bytes between one connection on each of two sockets. Both drain what is ready before they look again, as any
good relay would.
"""

from __future__ import annotations

import contextlib
import select
import socket
import sys
from pathlib import Path

DRAIN = 256
CHUNK = 262_144


def relay_udp(port_a: int, port_b: int) -> None:
    """Copy datagrams; each side answers to whoever spoke last."""
    sides = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2)]
    for side, port in zip(sides, (port_a, port_b), strict=True):
        side.bind(("127.0.0.1", port))
        side.settimeout(0)
        side.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        side.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
    peers: list[tuple[str, int] | None] = [None, None]
    poll = select.epoll()
    index = {side.fileno(): number for number, side in enumerate(sides)}
    for side in sides:
        poll.register(side, select.EPOLLIN)
    print("ready", flush=True)
    while True:
        for descriptor, _ in poll.poll():
            here = index[descriptor]
            source, target = sides[here], sides[1 - here]
            with contextlib.suppress(BlockingIOError):
                for _ in range(DRAIN):
                    datagram, peers[here] = source.recvfrom(9000)
                    peer = peers[1 - here]
                    if peer is not None:
                        target.sendto(datagram, peer)


def relay_unix(path_a: str, path_b: str) -> None:
    """Copy bytes between two connections."""
    connections = []
    for path in (path_a, path_b):
        Path(path).unlink(missing_ok=True)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(path)
        listener.listen()
        connections.append(listener)
    print("ready", flush=True)
    sides = [listener.accept()[0] for listener in connections]
    other = {sides[0].fileno(): sides[1], sides[1].fileno(): sides[0]}
    here = {side.fileno(): side for side in sides}
    poll = select.epoll()
    for side in sides:
        poll.register(side, select.EPOLLIN)
    buffer = bytearray(CHUNK)
    view = memoryview(buffer)
    with contextlib.suppress(ConnectionError):
        while True:
            for descriptor, _ in poll.poll():
                size = here[descriptor].recv_into(buffer)
                if not size:
                    return
                other[descriptor].sendall(view[:size])


if __name__ == "__main__":
    kind, first, second = sys.argv[1:]
    if kind == "udp":
        relay_udp(int(first), int(second))
    else:
        relay_unix(first, second)
