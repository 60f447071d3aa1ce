"""Counts hICN Interests and NDN Interests that leave a port of the switch: `_sniffer.py PORT`; each line asks how many.

What counts is what a publisher is asked for: contents and subscriptions, not whether a hash is free.
"""

from __future__ import annotations

import selectors
import socket
import sys
from typing import Final

_ALL: Final = 3
_UDP_AT: Final = 14 + 20
_FIRST_CONTENT: Final = 100


def is_question(frame: bytes) -> bool:
    """Whether an Ethernet frame has an Interest of FLIPS in it."""
    if len(frame) < _UDP_AT + 8 or frame[12:14] != b"\x08\x00" or frame[23] != socket.IPPROTO_UDP:
        return False
    packet = frame[_UDP_AT + 8 :]
    if packet[0] >> 4 == 6 and len(packet) >= 60:
        return not packet[53] & 0x40 and int.from_bytes(packet[44:48], "big") >= _FIRST_CONTENT
    at = packet.find(b"\x08\x05flips")  # below which all NDN names of FLIPS are
    return at > 0 and (packet[0] == 5 or b"\x05" in packet[:at]) and b"thcd" not in packet and packet[:1] != b"\x06"


def main() -> None:
    link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ALL))
    link.bind((sys.argv[1], 0))
    link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    selector = selectors.DefaultSelector()
    selector.register(link, selectors.EVENT_READ)
    selector.register(sys.stdin, selectors.EVENT_READ)
    print("up", flush=True)
    count = 0
    while True:
        for key, _ in selector.select():
            if key.fileobj is link:
                frame, address = link.recvfrom(2048)
                count += address[2] == socket.PACKET_OUTGOING and is_question(frame)
            elif not sys.stdin.readline():
                return
            else:
                print(count, flush=True)
                count = 0


if __name__ == "__main__":
    main()
