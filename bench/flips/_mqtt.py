"""The smallest client of MQTT 3.1.1 there is, on a blocking socket: nothing that would make the peer look slow."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from bench.mqtt._packets import CONNECTED, DISCONNECT, PUBCOMP, connect, subscribe


def _open(address: str, client: bytes) -> socket.socket:
    host, _, port = address.rpartition(":")
    link = socket.create_connection((host, int(port)), 10)
    link.settimeout(30)
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    link.sendall(connect(client))
    if _packets(link, bytearray()).__next__() != (CONNECTED[0], CONNECTED[2:]):
        raise ConnectionError(f"{address} refuses the connection")
    return link


def _packets(link: socket.socket, buffer: bytearray) -> Iterator[tuple[int, bytes]]:
    """First byte and body of each packet, as they come."""
    while True:
        length, shift, place = 0, 0, 1
        while place < len(buffer) and place <= 4:
            length |= (buffer[place] & 0x7F) << shift
            if not buffer[place] & 0x80:
                break
            shift += 7
            place += 1
        end = place + 1 + length
        if place < len(buffer) and len(buffer) >= end:
            first, body = buffer[0], bytes(buffer[place + 1 : end])
            del buffer[:end]
            yield first, body
            continue
        more = link.recv(65536)
        if not more:
            raise ConnectionError("the broker has closed the connection")
        buffer += more


def follow(address: str, topic: str, qos: int, subscribed: Callable[[], None]) -> Iterator[bytes]:
    """Contents of a topic, acknowledged as their QoS wants it."""
    with _open(address, f"subscriber {os.getpid()}".encode()) as link:
        link.sendall(subscribe(topic.encode(), qos))
        for first, body in _packets(link, bytearray()):
            if first == 0x90:
                subscribed()
            elif first & 0xF0 == 0x30:
                start = 2 + int.from_bytes(body[:2], "big")
                level = first >> 1 & 3
                if level:
                    link.sendall((b"\x40\x02" if level == 1 else b"\x50\x02") + body[start : start + 2])
                    start += 2
                yield body[start:]
            elif first == 0x62:
                link.sendall(PUBCOMP + body)


@contextmanager
def publish(address: str, topic: str, qos: int) -> Iterator[Callable[[bytes], None]]:
    """Publish at a QoS; returns from each when the broker has confirmed it."""
    with _open(address, b"publisher") as link:
        answers = _packets(link, bytearray())
        number = 0

        def send(content: bytes) -> None:
            nonlocal number
            number += 1
            mark = number.to_bytes(2, "big") if qos else b""
            body = len(topic).to_bytes(2, "big") + topic.encode() + mark + content
            link.sendall(bytes((0x30 | qos << 1, len(body) & 0x7F | 0x80, len(body) >> 7)) + body)
            if qos:
                next(answers)
            if qos == 2:
                link.sendall(b"\x62\x02" + mark)
                next(answers)

        yield send
        link.sendall(DISCONNECT)
