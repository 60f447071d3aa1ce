"""The few MQTT 3.1.1 packets that a client of the load generator sends before its run, and how its answers begin."""

from __future__ import annotations

import socket
from typing import Final

PUBACK: Final = b"\x40\x02"  # kind, flags and remaining length
PUBREC: Final = b"\x50\x02"
PUBREL: Final = b"\x62\x02"
PUBCOMP: Final = b"\x70\x02"
DISCONNECT: Final = b"\xe0\x00"
CONNECTED: Final = b"\x20\x02\x00\x00"
KEEP_ALIVE_S: Final = 600
PATIENCE_S: Final = 10.0


class Refused(Exception):
    """The broker did not accept a connection or a subscription."""


def connect(client: bytes, *, clean: bool = True) -> bytes:
    body = b"\x00\x04MQTT\x04" + bytes([2 if clean else 0]) + KEEP_ALIVE_S.to_bytes(2, "big") + _text(client)
    return b"\x10" + bytes([len(body)]) + body


def subscribe(topics: bytes, qos: int) -> bytes:
    body = b"\x00\x01" + _text(topics) + bytes([qos])
    return b"\x82" + bytes([len(body)]) + body


def open_link(port: int, client: bytes, *, clean: bool = True) -> socket.socket:
    """Connect and wait until the broker has said yes."""
    end = socket.create_connection(("127.0.0.1", port), PATIENCE_S)
    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    end.sendall(connect(client, clean=clean))
    answer = _exactly(end, 4)
    if answer[:2] != CONNECTED[:2] or answer[3]:
        raise Refused(f"CONNECT was answered with {answer.hex()}")
    return end


def open_subscription(end: socket.socket, topics: bytes, qos: int) -> None:
    """Subscribe and wait until the broker has granted the QoS."""
    end.sendall(subscribe(topics, qos))
    answer = _exactly(end, 5)
    if answer != b"\x90\x03\x00\x01" + bytes([qos]):
        raise Refused(f"SUBSCRIBE was answered with {answer.hex()}")


def _exactly(end: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        more = end.recv(count - len(data))
        if not more:
            raise Refused(f"the broker closed the connection after {data.hex() or 'nothing'}")
        data += more
    return data


def _text(value: bytes) -> bytes:
    return len(value).to_bytes(2, "big") + value
