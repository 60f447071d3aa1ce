"""Not a broker: says yes to every client and hands what publishers send to the first subscriber, unread.

It does the least that can be done, so a run through it shows what the load generator can do at most.
"""

from __future__ import annotations

import select
import socket
from typing import Final

from bench.mqtt._packets import CONNECTED, subscribe

_CHUNK_BYTES: Final = 1 << 20


def main() -> None:
    door = socket.create_server(("127.0.0.1", 0), backlog=1024)
    poll = select.epoll()
    poll.register(door, select.EPOLLIN)
    print(f"ready {door.getsockname()[1]}", flush=True)
    ends: dict[int, socket.socket] = {}
    subscriber: socket.socket | None = None
    while True:
        for descriptor, _ in poll.poll():
            if descriptor == door.fileno():
                end = door.accept()[0]
                ends[end.fileno()] = end
                poll.register(end, select.EPOLLIN)
                continue
            end = ends[descriptor]
            data = end.recv(_CHUNK_BYTES)
            if not data:
                poll.unregister(descriptor)
                del ends[descriptor]
                end.close()
            elif data[0] == 0x10:  # CONNECT
                end.sendall(CONNECTED)
            elif data[0] == subscribe(b"", 0)[0]:
                subscriber = end
                end.sendall(b"\x90\x03\x00\x01\x00")
            elif subscriber is not None:
                subscriber.sendall(data)


if __name__ == "__main__":
    main()
