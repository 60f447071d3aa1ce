"""A lossy link for datagrams, as a program: `lossy_relay.py LISTEN_HOST:PORT TO_HOST:PORT`.

Whoever sends to the one address is relayed to the other and back, over a socket of its own. Lines on standard input set
the share of datagrams that is lost, each way (`0.05`); each is answered with how many were lost before.
"""

from __future__ import annotations

import random
import selectors
import socket
import sys


def address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host, int(port)


def main() -> None:
    front = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    front.bind(address(sys.argv[1]))
    beyond = address(sys.argv[2])
    draw = random.Random(7)
    loss = 0.0
    passed = lost = 0
    ways: dict[tuple[str, int], socket.socket] = {}
    selector = selectors.DefaultSelector()
    selector.register(front, selectors.EVENT_READ)
    selector.register(sys.stdin, selectors.EVENT_READ)
    print("ready", flush=True)
    while True:
        for key, _ in selector.select():
            source = key.fileobj
            if not isinstance(source, socket.socket):
                line = sys.stdin.readline()
                if not line:
                    return
                print(lost, passed, flush=True)
                loss, lost, passed = float(line), 0, 0
                continue
            packet, sender = source.recvfrom(2000)
            passed += 1
            if draw.random() < loss:
                lost += 1
            elif key.data is not None:  # the way of one peer, back to it
                front.sendto(packet, key.data)
            else:
                if sender not in ways:
                    ways[sender] = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                    ways[sender].connect(beyond)
                    selector.register(ways[sender], selectors.EVENT_READ, sender)
                ways[sender].send(packet)


if __name__ == "__main__":
    main()
